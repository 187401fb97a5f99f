# SPDX-License-Identifier: Apache-2.0
"""Whole runs of a model with profiling, from inside (acl.prof) and from outside (npuprof record).

usage: run_test.py MODELS NPUPROF [unittest arguments]
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS, NPUPROF = sys.argv.pop(1), sys.argv.pop(1)
RESNET50 = os.path.join(MODELS, "resnet50_b1.json")
ITERATIONS = 3


def kernels(model):
    """Number of operators in a model file."""
    with open(model, encoding="utf-8") as f:
        return len(json.load(f)["ops"])


def script(name, *arguments, prefix=(), **environment):
    return subprocess.run([*prefix, "/usr/bin/python3", "-B", os.path.join(HERE, name), *arguments],
                          capture_output=True, text=True, env={**os.environ, **environment})


class Run(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.out = self.dir.name

    def tearDown(self):
        self.dir.cleanup()

    def manifest(self):
        found = glob.glob(os.path.join(self.out, "PROF_*", "npuprof", "manifest.json"))
        self.assertEqual(len(found), 1)
        with open(found[0], encoding="utf-8") as f:
            return json.load(f)

    def export(self):
        done = subprocess.run([NPUPROF, "export", self.out, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_published_order_of_calls_profiles_every_operator(self):
        done = script("run_model.py", RESNET50, self.out, str(ITERATIONS))
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(set(result["rets"]), {0})
        self.assertNotEqual(result["config"], 0)
        manifest = self.manifest()
        self.assertTrue(manifest["complete"])
        self.assertTrue(manifest["simulated"])
        tasks = manifest["devices"][0]["tasks"]
        self.assertEqual(tasks["started"], tasks["ended"])
        exported = self.export()
        self.assertEqual(exported["rows"]["op_summary"], ITERATIONS * kernels(RESNET50))
        self.assertEqual(exported["devices"][0]["pmu_matched"], exported["devices"][0]["pmu_records"])
        self.assertEqual(exported["losses"], [])

    def test_a_recorded_program_keeps_profiling_to_itself(self):
        own, recorded = os.path.join(self.out, "own"), os.path.join(self.out, "recorded")
        done = script("run_model.py", RESNET50, own, str(ITERATIONS), prefix=(NPUPROF, "record", "-o", recorded, "--"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(json.loads(done.stdout)["rets"]), {0})
        path, = glob.glob(os.path.join(own, "PROF_*"))
        self.assertIn(f"the program profiled itself; its session is in {path}", done.stderr)
        self.out = own
        self.assertTrue(self.manifest()["complete"])
        self.assertEqual(self.export()["rows"]["op_summary"], ITERATIONS * kernels(RESNET50))

    def test_other_threads_run_during_a_call(self):
        done = script("threads.py", RESNET50, self.out, NPUSIM_TIME_SCALE="100")
        self.assertEqual(done.returncode, 0, done.stderr)
        for call, turns in json.loads(done.stdout).items():
            self.assertEqual(turns > 0, call != "nothing", f"{call}: {turns} turns of the other thread")


if __name__ == "__main__":
    unittest.main()
