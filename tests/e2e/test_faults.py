# SPDX-License-Identifier: Apache-2.0
"""Injected losses are found, to the last record."""
import os
import signal
import subprocess
import time

from harness import CLIENTS, DRAIN_PATHS, ClientTest, environment, rows


class Losses(ClientTest):
    def assert_loss(self, model, profile):
        """Kept + lost = what the model did, on every channel. Returns records lost of the scheduler log."""
        self.assert_ring_sums(profile)
        log, pmu = profile.rings("task_log"), profile.rings("task_pmu")
        self.assertEqual(sum(2 * d["started"] for d in model), sum(r["records"] for r in log))
        self.assertEqual(sum(d["kernels"] for d in model), sum(r["records"] for r in pmu))
        lost = sum(r["lost"] for r in log)
        # Every record that was kept is in the files, and the export names the loss.
        counts = profile.validate().counts
        stored = sum(d.get("stars_soc", 0) for d in counts["devices"].values())
        self.assertEqual(sum(r["kept"] for r in log), stored)
        exported = profile.export()
        self.assertEqual(profile.lost(), sum(loss["records"] for loss in exported["losses"]))
        return lost

    def test_nothing_is_lost_without_a_fault(self):
        model, profile = self.workload(self.fresh("sound"), "tasks=5000", NPUPROF_RING_RECORDS=16384)
        self.assertEqual(0, self.assert_loss(model, profile))

    def test_stalled_drain(self):
        for path in DRAIN_PATHS:
            with self.subTest(path):
                model, profile = self.workload(self.fresh(path), "tasks=5000", NPUSIM_FAULT="stall_drain",
                                               NPUPROF_RING_RECORDS=256, **self.drain(path))
                lost = self.assert_loss(model, profile)
                # The device writes as many records as the ring has slots, then has no credit left.
                self.assertEqual(10_000 - 256, lost)
                self.assertEqual({"no_credit"}, {c for r in profile.rings("task_log")
                                                 for c, n in r["lost_by_cause"].items() if n})
                gaps = [g for g in profile.manifest["devices"][0]["gaps"] if g["channel"] == "task_log"]
                self.assertEqual(lost, sum(g["count"] for g in gaps))

    def test_stalled_drain_of_mixed_kernels(self):
        # Each of 48 cores runs a block of each of 50 tasks, and has a ring of 16.
        _, profile = self.workload(self.fresh("mix"), "tasks=50", "kind=mix", "blocks=24",
                                   NPUSIM_FAULT="stall_drain", NPUPROF_RING_RECORDS=16)
        self.assert_ring_sums(profile)
        blocks = profile.rings("block_pmu")
        vector = [r for r in blocks if r["core_kind"] == "vector"]
        self.assertEqual({(50, 16, 34)}, {(r["records"], r["kept"], r["lost"]) for r in vector})
        self.assertEqual(0, sum(r["records"] for r in blocks if r["core_kind"] == "cube"))
        self.assertEqual(48 * 16, profile.validate().counts["devices"]["0"]["block_pmu"])
    def test_dropped_interrupts(self):
        model, profile = self.workload(self.fresh("irq"), "tasks=20000", "cycles=500", NPUSIM_FAULT="drop_irq=50")
        lost = self.assert_loss(model, profile)
        self.assertGreater(lost, 0)
        causes = {c for r in profile.rings("task_log") for c, n in r["lost_by_cause"].items() if n}
        self.assertEqual({"fifo_overflow"}, causes)

    def test_the_checks_of_whole_windows_fail_on_injected_losses(self):
        for fault, env in (("drop_irq=50", {}), ("stall_drain", {"NPUPROF_RING_RECORDS": 256})):
            with self.subTest(fault):
                model, profile = self.workload(self.fresh(fault), "tasks=20000", "cycles=500", NPUSIM_FAULT=fault, **env)
                with self.assertRaises(AssertionError):
                    self.assert_whole(model, profile)

    def test_refused_start_leaves_the_program_alone(self):
        directory = self.fresh("refused")
        done = self.run_client("unaffected", directory, status=7, NPUSIM_FAULT="refuse_start")
        self.assertEqual(done.stdout, self.run_client("unaffected", self.fresh("fine"), status=7).stdout)
        self.assertIn("start 500005", done.stderr)


class Killed(ClientTest):
    """Records older than a second are in the files, whole, when the process is killed."""

    def kill(self, path):
        directory = self.fresh(path)
        with subprocess.Popen([os.path.join(CLIENTS, "forever"), directory], stdout=subprocess.PIPE, text=True,
                              env=environment(**self.drain(path))) as process:
            ended = 0
            for _ in range(3):
                ended = int(process.stdout.readline())
            time.sleep(1.3)
            process.send_signal(signal.SIGKILL)
            process.wait()
        return ended, self.profile_in(directory)

    def test_killed_process_leaves_readable_data(self):
        for path in ("uring", "pwritev"):
            with self.subTest(path):
                ended, profile = self.kill(path)
                self.assertGreater(ended, 0)
                self.assertFalse(profile.manifest["complete"])
                # What belongs together may be torn apart at the very end; nothing else may be wrong.
                counts = self.assert_readable(profile, ("done", "task-pairs", "pmu-inside-task", "hash-name",
                                                        "type-name", "track-inside-api", "node-inside-launch",
                                                        "flips"))
                self.assertGreaterEqual(counts["devices"]["0"]["tasks"], ended)
                self.assertGreaterEqual(counts["devices"]["0"]["context_pmu"], ended)
                self.assertGreaterEqual(counts["host"]["task_track"], ended)
                self.assertGreaterEqual(counts["host"]["launches"], ended // 10)
                exported = profile.export()
                self.assertGreaterEqual(len(rows(exported["output"], "op_summary")), ended)
