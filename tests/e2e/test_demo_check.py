# SPDX-License-Identifier: Apache-2.0
"""The demonstration's comparison of counts says so when a single count is off."""
import csv
import json
import os
import struct
import subprocess
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(__file__), "..", "clients", "demo", "check.py")


class DemoCheck(unittest.TestCase):
    """A run of three kernels and one copy on one device, made by hand."""

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        self.prof, self.tables = os.path.join(self.root.name, "PROF_x"), os.path.join(self.root.name, "tables")
        self.totals = os.path.join(self.root.name, "totals.json")
        for path in ("npuprof", "device_0/data", "host"):
            os.makedirs(os.path.join(self.prof, path))
        os.makedirs(self.tables)
        self.model = {"id": 0, "submitted": 4, "started": 4, "ended": 4, "kernels": 3}
        self.rings = {"task_log": [8, 0], "task_pmu": [3, 0]}
        self.tasks = {"started": 4, "ended": 4}
        self.log = [(sqe, end) for sqe in (0, 0, 2, 11) for end in (0, 1)]
        self.operators = [("AI_CORE", "1.0"), ("AI_CORE", "1.0"), ("AI_VECTOR_CORE", "1.0")]
        self.host_lost = 0

    def write(self):
        rings = [{"channel": c, "records": k + l, "kept": k, "lost": l, "lost_by_cause": {"ring_full": l}}
                 for c, (k, l) in self.rings.items()]
        manifest = {"devices": [{"id": 0, "tasks": self.tasks, "rings": rings}],
                    "host": {"kinds": [{"kind": "api_event", "records": 5, "lost": self.host_lost}]}}
        with open(os.path.join(self.prof, "npuprof", "manifest.json"), "w", encoding="utf-8") as f:
            json.dump(manifest, f)
        with open(os.path.join(self.prof, "device_0/data/stars_soc.data.0.slice_0"), "wb") as f:
            for sqe, end in self.log:
                f.write(struct.pack("<H62x", sqe << 10 | end))
        with open(self.totals, "w", encoding="utf-8") as f:
            json.dump({"devices": [self.model]}, f)
        with open(os.path.join(self.tables, "op_summary_20260101000000.csv"), "w", encoding="utf-8") as f:
            out = csv.writer(f)
            out.writerow(["Op Name", "Task Type", "aicore_time(us)", "aiv_time(us)"])
            for kind, time in self.operators:
                out.writerow(["op", kind, time, time])
        with open(os.path.join(self.tables, "task_time_20260101000000.csv"), "w", encoding="utf-8") as f:
            f.write("kernel_name\n" + "x\n" * 4)

    def run_check(self, *arguments):
        self.write()
        return subprocess.run(["/usr/bin/python3", CHECK, *arguments], capture_output=True, text=True, check=False)

    def sound(self):
        return self.run_check("sound", self.prof, self.tables, self.totals)

    def test_sound_run(self):
        done = self.sound()
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("kernels: launched 3 = started 3 = ended 3 = PMU rows 3 = exported 3, lost 0\n"
                         "all tasks: launched 4 = started 4 = ended 4 = exported 4, lost 0\n", done.stdout)

    def test_each_count_that_is_off_is_found(self):
        changes = (lambda: self.model.update(kernels=4), lambda: self.model.update(submitted=5),
                   lambda: self.log.pop(), lambda: self.log.pop(0), lambda: self.tasks.update(ended=3),
                   lambda: self.operators.pop(), lambda: self.operators.__setitem__(0, ("AI_CORE", "N/A")),
                   lambda: self.rings.update(task_pmu=[2, 0]), lambda: self.rings.update(task_log=[8, 1]),
                   lambda: setattr(self, "host_lost", 1))
        for i, change in enumerate(changes):
            with self.subTest(i):
                self.setUp()
                change()
                if i == 2:  # the end of the copy: no kernel, but a task
                    self.tasks["ended"] = 3
                self.assertEqual(1, self.sound().returncode)

    def stalled(self):
        return self.run_check("stalled", self.prof, self.totals)

    def test_stalled_run(self):
        self.rings = {"task_log": [6, 2], "task_pmu": [1, 2]}
        done = self.stalled()
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn("kept 6 + lost 2 (ring_full 2) = model total 8", done.stdout)

    def test_stalled_run_that_does_not_add_up(self):
        for rings in ({"task_log": [6, 1], "task_pmu": [1, 2]}, {"task_log": [6, 2], "task_pmu": [1, 1]},
                      {"task_log": [8, 0], "task_pmu": [3, 0]}):
            with self.subTest(rings):
                self.rings = rings
                self.assertEqual(1, self.stalled().returncode)


if __name__ == "__main__":
    unittest.main()
