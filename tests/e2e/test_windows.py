# SPDX-License-Identifier: Apache-2.0
"""Windows of every size keep every record, on every drain path."""
import glob
import json
import os
import shutil

from harness import METRICS, RUNTIME_API, TASK_TIME, ClientTest, Profile, on_each_drain_path, rows, uring_refused


class Windows(ClientTest):
    serial = True

    @on_each_drain_path
    def test_window_of_one_task(self, path):
        model, profile = self.workload(self.fresh("one"), "tasks=1", **self.drain(path))
        self.assertEqual(1, model[0]["kernels"])
        self.assertEqual(path, profile.manifest["drain"]["path"])
        self.assert_whole(model, profile)

    def test_window_without_a_task(self):
        model, profile = self.workload(self.fresh("none"), "tasks=0")
        self.assertEqual(0, model[0]["submitted"])
        self.assert_readable(profile)
        self.assertEqual(0, profile.lost())

    @on_each_drain_path
    def test_a_thousand_tasks_on_each_of_two_devices(self, path):
        model, profile = self.workload(self.fresh("two"), "tasks=1000", "devices=2", "streams=3", "single=1",
                                       **self.drain(path))
        self.assertEqual([1000, 1000], [d["kernels"] for d in model])
        self.assert_whole(model, profile)

    def test_every_kind_of_kernel(self):
        for kind in ("aic", "aiv", "mix", "mixaiv"):
            with self.subTest(kind):
                model, profile = self.workload(self.fresh(kind), "tasks=50", f"kind={kind}", "blocks=30")
                exported = self.assert_whole(model, profile)
                types = {r["Task Type"] for r in rows(exported["output"], "op_summary")}
                self.assertEqual({{"aic": "AI_CORE", "aiv": "AI_VECTOR_CORE", "mix": "MIX_AIC",
                                   "mixaiv": "MIX_AIV"}[kind]}, types)

    def test_counted_cycles_are_those_of_the_model(self):
        model, profile = self.workload(self.fresh("cycles"), "tasks=300", "blocks=24")
        exported = self.assert_whole(model, profile)
        cycles = sum(float(r["aic_total_cycles"]) for r in rows(exported["output"], "op_summary"))
        self.assertEqual(model[0]["aic_cycles"], cycles)

    def test_mixed_kernels_are_counted_on_both_kinds_of_core(self):
        # Blocks of the second kind per block of the main one: of MIX_AIC two vector cores, of MIX_AIV one cube core.
        for kind, main, second, ratio in (("mix", "aic", "aiv", 2), ("mixaiv", "aiv", "aic", 1)):
            with self.subTest(kind):
                model, profile = self.workload(self.fresh(kind), "tasks=200", f"kind={kind}", "blocks=20", "streams=3")
                exported = self.assert_whole(model, profile)
                table = rows(exported["output"], "op_summary")
                self.assertEqual(200 * 20 * ratio, exported["raw"]["devices"]["0"]["block_pmu"])
                for core in (main, second):
                    self.assertEqual(model[0][f"{core}_cycles"],
                                     sum(float(r[f"{core}_total_cycles"]) for r in table), core)
                for row in table:
                    # Every block of a kernel runs equally long, so both kinds were busy for the same time.
                    self.assertGreater(float(row["aiv_time(us)"]), 0)
                    self.assertAlmostEqual(float(row["aicore_time(us)"]), float(row["aiv_time(us)"]), delta=0.01)
                    self.assertEqual(ratio * float(row[f"{main}_total_cycles"]), float(row[f"{second}_total_cycles"]))
                    self.assertGreater(float(row["aiv_vec_ratio"]), 0)
                    self.assertGreater(float(row["aic_mac_ratio_extra"]), 0)

    @on_each_drain_path
    def test_tasks_before_and_after_the_window_stay_out(self, path):
        model, profile = self.workload(self.fresh("outside"), "tasks=7", "before=500", "after=500", **self.drain(path))
        self.assertEqual(7, model[0]["kernels"])
        self.assert_whole(model, profile)

    @on_each_drain_path
    def test_first_and_last_task_of_a_window_that_cuts_tasks(self, path):
        self.window_that_cuts_tasks(path)

    def test_a_window_that_was_warmed_up_while_tasks_run_has_its_own_alone(self):
        self.window_that_cuts_tasks("uring" if uring_refused() is None else "pwritev", "warm")

    def window_that_cuts_tasks(self, path, *options):
        directory = self.fresh("straddle")
        self.run_client("straddle", directory, 20, *options, **self.drain(path))
        profile = self.profile_in(directory)
        self.assertEqual(path, profile.manifest["drain"]["path"])
        tasks = profile.manifest["devices"][0]["tasks"]
        # The task that ran at Start is left out, the one that runs at Stop is kept to its end.
        self.assertEqual({"started": 21, "ended": 21, "straddling_start": 1, "straddling_stop": 1}, tasks)
        self.assertEqual(0, profile.lost())
        self.assert_ring_sums(profile)
        exported = profile.export()
        # "before" was launched before Start, so the host did not tell of it; its end alone makes no task.
        names = [r["Op Name"] for r in rows(exported["output"], "op_summary")]
        self.assertEqual(["inside"] * 20 + ["after"], names)
        self.assertEqual((21, 21, 0), tuple(exported["devices"][0][k] for k in ("tasks", "pmu_matched", "unpaired")))


class DisjointWindows(ClientTest):
    """Windows that overlap in time, of devices that do not."""

    def test_each_has_its_own_directory_with_the_tasks_of_its_device(self):
        directory, windows = self.fresh("disjoint"), 6
        kernels = json.loads(self.run_client("windows", directory, windows).stdout)
        by_device = {"0": [], "1": []}
        for path in sorted(glob.glob(os.path.join(directory, "PROF_*"))):
            profile = Profile(path)
            self.assertTrue(profile.manifest["complete"])
            self.assertEqual(0, profile.lost())
            self.assert_ring_sums(profile)
            self.assertEqual(1, len(profile.manifest["devices"]))
            by_device[str(profile.manifest["devices"][0]["id"])].append(profile)
        for device, profiles in by_device.items():
            self.assertEqual([kernels[device]] * windows + [7],
                             [p.manifest["devices"][0]["tasks"]["started"] for p in profiles])
            self.assertEqual([device == "0"] * windows + [False], [p.rings("task_pmu") != [] for p in profiles])
            exported = profiles[0].export()
            self.assertEqual([{"0": "matmul", "1": "add"}[device]] * kernels[device],
                             [row["Op Name"] for row in rows(exported["output"], "op_summary")])
            shutil.rmtree(exported["output"])


class LongWindows(ClientTest):
    """More tasks than a stream has ids, so that ids begin anew."""
    serial = True
    timeout = 600
    TASKS = 1_000_000

    @on_each_drain_path
    def test_million_tasks(self, path):
        # Five microseconds a task: the rings hold a third of a second of them, more than a busy machine
        # keeps the drain waiting.
        model, profile = self.workload(self.fresh("million"), f"tasks={self.TASKS}", "cycles=9000", "blocks=24",
                                       f"types={TASK_TIME | METRICS | RUNTIME_API:#x}", **self.drain(path))
        self.assertEqual(self.TASKS, model[0]["kernels"])
        self.assertEqual(path, profile.manifest["drain"]["path"])
        exported = self.assert_whole(model, profile)
        self.assertEqual((self.TASKS - 1) // 65536, exported["raw"]["devices"]["0"]["flips"])
