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

    def test_runs_that_are_alike_and_runs_that_differ_in_one_operator_or_task(self):
        columns = ("Device_id", "Op Name", "OP Type", "OP State", "Task Type", "Block Num", "Input Shapes",
                   "Input Data Types", "Output Shapes", "Output Data Types", "aic_total_cycles", "aiv_total_cycles")
        row = ("0", "conv", "Conv2D", "static", "AI_CORE", "24", "1", "FLOAT16", "1", "FLOAT16", "5000", "0")
        for operators, tasks, status in (([row, row], ["AI_CORE", "AI_CORE"], 0), ([row], ["AI_CORE", "AI_CORE"], 1),
                                         ([row, (*row[:-2], "5001", "0")], ["AI_CORE", "AI_CORE"], 1),
                                         ([row, row], ["AI_CORE", "EVENT_WAIT"], 1)):
            with self.subTest(status):
                paths = []
                for name, rows, kinds in (("one", [row, row], ["AI_CORE", "AI_CORE"]), ("two", operators, tasks)):
                    paths.append(os.path.join(self.root.name, name))
                    os.makedirs(paths[-1], exist_ok=True)
                    with open(os.path.join(paths[-1], "op_summary_20260101000000.csv"), "w", encoding="utf-8") as f:
                        csv.writer(f).writerows([columns, *rows])
                    with open(os.path.join(paths[-1], "task_time_20260101000000.csv"), "w", encoding="utf-8") as f:
                        f.write("\n".join(["kernel_type", *kinds]) + "\n")
                done = self.run_check("same", *paths)
                self.assertEqual(status, done.returncode, done.stdout + done.stderr)
                self.assertEqual(status, int("!=" in done.stdout), done.stdout)

    def phases(self, lock_ms=20, faults=10_000):
        """Twenty steps of five milliseconds, some prolonged by a lock, some with page faults."""
        events, samples, at, count = [], [], 0, 100
        for step in range(20):
            planted = lock_ms if step in (8, 9, 10) else 0
            at += 5000 + 1000 * planted
            count += faults if step in (14, 15, 16) else 10
            for thread in (1, 2):
                for name, begin in (("aclrtMemcpyAsync", at), ("aclrtSynchronizeStream", at + 100)):
                    events.append({"ph": "X", "name": f"AscendCL@{name}", "tid": thread, "ts": begin, "dur": 50})
            at += 200
            samples += [f"time {1_000_000 + 1000 * at}", "1.0 1.0", f"7 (demo) S 1 1 1 0 -1 0 {count} 0 0 0 0 0"]
        self.write()
        with open(os.path.join(self.tables, "msprof_20260101000000.json"), "w", encoding="utf-8") as f:
            json.dump(events, f)
        with open(os.path.join(self.prof, "npuprof", "manifest.json"), "w", encoding="utf-8") as f:
            json.dump({"window": {"begin_realtime_us": 0, "begin_monotonic_raw_ns": 1_000_000}}, f)
        os.makedirs(os.path.join(self.prof, "host", "data"), exist_ok=True)
        with open(os.path.join(self.prof, "host", "data", "host_cpu.data.slice_0"), "w", encoding="utf-8") as f:
            f.write("\n".join(samples) + "\n")
        return subprocess.run(["/usr/bin/python3", CHECK, "phases", self.prof, self.tables], capture_output=True,
                              text=True, check=False)

    def test_planted_phases_that_show_and_that_do_not(self):
        done = self.phases()
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("at least 25.1 ms before it launches, 5.0 ms in other steps", done.stdout)
        self.assertIn("30010 of 30160 sampled", done.stdout)
        for change in ({"lock_ms": 1}, {"faults": 10}):
            with self.subTest(change):
                done = self.phases(**change)
                self.assertEqual(1, done.returncode, done.stdout + done.stderr)
                self.assertIn("NOT SEEN", done.stdout)


if __name__ == "__main__":
    unittest.main()
