# SPDX-License-Identifier: Apache-2.0
"""The published call order gives the same in Python and in C, for a real network."""
import json
import os
import subprocess
import sys
from collections import Counter

from harness import MODELS, SOURCE, ClientTest, environment, rows


class SeedOrder(ClientTest):
    ITERATIONS = 3

    def in_c(self, model):
        directory = self.fresh("c")
        self.run_client("seed_order", directory, model, self.ITERATIONS)
        return self.profile_in(directory)

    def in_python(self, model):
        directory = self.fresh("python")
        script = os.path.join(SOURCE, "tests", "clients", "seed_order.py")
        done = subprocess.run(["/usr/bin/python3", script, directory, model, str(self.ITERATIONS)],
                              capture_output=True, text=True, env=environment(), check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return self.profile_in(directory)

    def summary(self, profile):
        """What does not depend on time: operators with everything that describes them, and their counts."""
        self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        exported = profile.export()
        keys = ("Device_id", "Op Name", "OP Type", "OP State", "Task Type", "Block Num", "Mix Block Num",
                "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types",
                "Output Formats", "aic_total_cycles", "aiv_total_cycles")
        operators = Counter(tuple(r[k] for k in keys) for r in rows(exported["output"], "op_summary"))
        statistic = sorted((r["OP Type"], r["Core Type"], r["Count"]) for r in rows(exported["output"], "op_statistic"))
        calls = Counter({(r["Level"], r["API Name"]): int(r["Count"])
                         for r in rows(exported["output"], "api_statistic")})
        return operators, statistic, calls, len(rows(exported["output"], "task_time"))

    def test_python_gives_what_c_gives(self):
        model = os.path.join(MODELS, "resnet50_b1.json")
        one, other = self.summary(self.in_c(model)), self.summary(self.in_python(model))
        self.assertGreater(sum(one[0].values()), 50 * self.ITERATIONS)
        self.assertEqual(one, other)


class Script(ClientTest):
    """tests/clients/pyacl_script.py: what a script of the published kind leaves, in files and in rows."""
    STEPS = 4

    def test_every_step_stamp_and_operator_of_a_script_is_in_the_files(self):
        directory, model = self.fresh("script"), os.path.join(MODELS, "resnet50_b1.json")
        done = subprocess.run(["/usr/bin/python3", os.path.join(SOURCE, "tests", "clients", "pyacl_script.py"), directory, model,
                               str(self.STEPS)], capture_output=True, text=True, env=environment(), check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        self.assertNotEqual(0, said["config"])
        self.assertEqual({}, {call: rets for call, rets in said["rets"].items() if set(rets) != {0}})

        profile = self.profile_in(directory)
        counts = self.assert_readable(profile)
        self.assertEqual((0, True), (profile.lost(), profile.manifest["complete"]))
        with open(model, encoding="utf-8") as f:
            operators = len(json.load(f)["ops"])
        exported = profile.export()
        self.assertEqual(self.STEPS * operators, len(rows(exported["output"], "op_summary")))
        self.assertGreater(len(rows(exported["output"], "api_statistic")), 0)
        # A mark, a nested range and a mark with the stream for each step, and the range around them all.
        stamps = {k["kind"]: k["records"] for k in profile.manifest["host"]["kinds"]}
        self.assertEqual(3 * self.STEPS + 1, stamps["msproftx"], stamps)
        # Begin and end of a step each leave a mark on the device; steps belong to no model, executions to theirs.
        steps = Counter(r["Model ID"] == "4294967295" for r in rows(exported["output"], "step_trace"))
        self.assertEqual({True: self.STEPS, False: self.STEPS}, dict(steps))
        self.assertIn("hbm", {r["channel"] for r in profile.rings()}, counts)


if __name__ == "__main__":
    sys.exit("run with python3 -m unittest")
