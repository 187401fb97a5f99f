# SPDX-License-Identifier: Apache-2.0
"""Injected losses are found, to the last record."""
import os
import signal
import subprocess
import time
from collections import Counter

from harness import CLIENTS, ClientTest, environment, on_drain_paths, on_each_drain_path, rows


class Losses(ClientTest):
    serial = True
    # Sixty microseconds a task: the device's FIFO holds more of them than arrive until the driver looks.
    SLOW = ("tasks=15000", "cycles=108000", "blocks=24")

    def assert_loss(self, model, profile, injected):
        """Kept + lost = what the model did, channel by channel, and lost = what was injected, cause by cause.

        `injected` maps a channel to the expected {cause: records}.
        """
        self.assert_ring_sums(profile)
        made = {"task_log": sum(2 * d["started"] for d in model), "task_pmu": sum(d["kernels"] for d in model)}
        for channel, produced in made.items():
            rings = profile.rings(channel)
            causes = Counter()
            for ring in rings:
                causes.update({cause: n for cause, n in ring["lost_by_cause"].items() if n})
            self.assertEqual(injected.get(channel, {}), dict(causes), channel)
            self.assertEqual(produced, sum(r["kept"] for r in rings) + sum(causes.values()), channel)
            gaps = [g for d in profile.manifest["devices"] for g in d["gaps"] if g["channel"] == channel]
            self.assertEqual(sum(causes.values()), sum(g["count"] for g in gaps), channel)
        self.assertEqual(sum(sum(causes.values()) for causes in injected.values()), profile.lost())
        # Every record that was kept is in the files, and the export names the loss.
        counts = profile.validate().counts["devices"].values()
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_log")), sum(d.get("stars_soc", 0) for d in counts))
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_pmu")), sum(d.get("context_pmu", 0) for d in counts))
        exported = profile.export()
        self.assertEqual(profile.lost(), sum(loss["records"] for loss in exported["losses"]))

    @on_each_drain_path
    def test_nothing_is_lost_without_a_fault(self, path):
        model, profile = self.workload(self.fresh("sound"), "tasks=5000", NPUPROF_RING_RECORDS=16384, **self.drain(path))
        self.assertEqual((0, 0, 0), tuple(model[0][k] for k in ("log_lost", "pmu_lost", "queue_dropped")))
        self.assert_loss(model, profile, {})

    @on_each_drain_path
    def test_stalled_drain(self, path):
        model, profile = self.workload(self.fresh("stalled"), "tasks=5000", NPUSIM_FAULT="stall_drain",
                                       NPUPROF_RING_RECORDS=256, **self.drain(path))
        # The device writes as many records as a ring has slots, then has no credit left.
        self.assert_loss(model, profile, {"task_log": {"no_credit": 10_000 - 256}, "task_pmu": {"no_credit": 5000 - 256}})
        self.assertEqual(model[0]["queue_dropped"], profile.lost())

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

    @on_each_drain_path
    def test_dropped_interrupts(self, path):
        model, profile = self.workload(self.fresh("irq"), *self.SLOW, NPUSIM_FAULT="drop_irq=3", **self.drain(path))
        self.assertEqual(3, model[0]["interrupts_swallowed"])
        # Each goes unnoticed for a tenth of a second, of about one in all: much is lost, not all.
        self.assertTrue(0 < model[0]["pmu_lost"] < model[0]["log_lost"] < 30_000, model)
        self.assert_loss(model, profile, {"task_log": {"fifo_overflow": model[0]["log_lost"]},
                                          "task_pmu": {"fifo_overflow": model[0]["pmu_lost"]}})

    def test_two_faults_at_once_are_told_apart(self):
        model, profile = self.workload(self.fresh("both"), *self.SLOW, NPUPROF_RING_RECORDS=256,
                                       NPUSIM_FAULT="drop_irq=3,stall_drain")
        log, pmu = model[0]["log_lost"], model[0]["pmu_lost"]
        self.assertGreater(pmu, 0)
        # What the device's FIFO lost never came to the ring; of what came, the ring had room for its slots.
        self.assert_loss(model, profile, {"task_log": {"fifo_overflow": log, "ring_full": 30_000 - log - 256},
                                          "task_pmu": {"fifo_overflow": pmu, "ring_full": 15_000 - pmu - 256}})

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
    serial = True

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

    # Slices that were written past the page cache end in zeros of their preset size and need repair.
    @on_drain_paths("uring", "pwritev")
    def test_killed_process_leaves_readable_data(self, path):
        ended, profile = self.kill(path)
        self.assertGreater(ended, 0)
        self.assertFalse(profile.manifest["complete"])
        # What belongs together may be torn apart at the very end; nothing else may be wrong.
        counts = self.assert_readable(profile, ("done", "task-pairs", "pmu-inside-task", "track-inside-api",
                                                "node-inside-launch", "flips"))
        self.assertGreaterEqual(counts["devices"]["0"]["tasks"], ended)
        self.assertGreaterEqual(counts["devices"]["0"]["context_pmu"], ended)
        self.assertGreaterEqual(counts["host"]["task_track"], ended)
        self.assertGreaterEqual(counts["host"]["launches"], ended // 10)
        exported = profile.export()
        self.assertFalse(exported["losses_known"])
        self.assertGreaterEqual(len(rows(exported["output"], "op_summary")), ended)
        self.assertEqual({"work"}, {task["kernel_name"] for task in rows(exported["output"], "task_time")[:ended]})
