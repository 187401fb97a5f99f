# SPDX-License-Identifier: Apache-2.0
"""A program that reads from a pipe which operators of its model ran."""
import glob
import json
import os

from harness import MODELS, ClientTest

MODEL = os.path.join(MODELS, "resnet50_b1.json")


class Subscription(ClientTest):
    def read(self, executions, *arguments, **env):
        scratch = self.fresh("scratch")
        done = self.run_client("subscriber", MODEL, executions, *arguments, TMPDIR=scratch, **env)
        self.assertEqual([], glob.glob(os.path.join(scratch, "*")), "files of the subscription stay")
        return json.loads(done.stdout)

    def assert_whole(self, told, executions):
        with open(MODEL, encoding="utf-8") as f:
            ops = [(op["name"], op["type"]) for op in json.load(f)["ops"]]
        self.assertEqual(ops * executions, [tuple(op[:2]) for op in told["ops"]])
        before = 0
        for name, _, start, end, duration, model, flag, same in told["ops"]:
            self.assertEqual((told["model"], 0, True), (model, flag, same), name)
            self.assertTrue(before <= start <= end, name)
            self.assertTrue(abs(end - start - duration) <= 1, name)
            before = start
        self.assertGreater(sum(op[4] for op in told["ops"]), 0)
        self.assertEqual(-1, told["fd"], "the library closes its end and says so")
        self.assertEqual(100000, told["changed"], "an item that was changed is no item")

    def test_every_operator_comes_once_in_order(self):
        told = self.read(3)
        self.assert_whole(told, 3)
        self.assertGreater(told["before"], 0, "operators come while the subscription is on")

    def test_with_counters(self):
        self.assert_whole(self.read(2, 1), 2)
