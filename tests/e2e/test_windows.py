# SPDX-License-Identifier: Apache-2.0
"""Windows of every size keep every record, on every drain path."""
from harness import DRAIN_PATHS, METRICS, RUNTIME_API, TASK_TIME, ClientTest, rows


class Windows(ClientTest):
    def test_window_of_one_task(self):
        for path in DRAIN_PATHS:
            with self.subTest(path):
                directory = self.fresh(path)
                model, profile = self.workload(directory, "tasks=1", **self.drain(path))
                self.assertEqual(1, model[0]["kernels"])
                self.assertEqual(path, profile.manifest["drain"]["path"])
                self.assert_whole(model, profile)

    def test_window_without_a_task(self):
        model, profile = self.workload(self.fresh("none"), "tasks=0")
        self.assertEqual(0, model[0]["submitted"])
        self.assert_readable(profile)
        self.assertEqual(0, profile.lost())

    def test_a_thousand_tasks_on_each_of_two_devices(self):
        for path in DRAIN_PATHS:
            with self.subTest(path):
                model, profile = self.workload(self.fresh(path), "tasks=1000", "devices=2", "streams=3", "single=1",
                                               **self.drain(path))
                self.assertEqual([1000, 1000], [d["kernels"] for d in model])
                self.assert_whole(model, profile)

    def test_every_kind_of_kernel(self):
        for kind in ("aic", "aiv", "mix"):
            with self.subTest(kind):
                model, profile = self.workload(self.fresh(kind), "tasks=50", f"kind={kind}", "blocks=30")
                exported = self.assert_whole(model, profile)
                types = {r["Task Type"] for r in rows(exported["output"], "op_summary")}
                self.assertEqual({{"aic": "AI_CORE", "aiv": "AI_VECTOR_CORE", "mix": "MIX_AIC"}[kind]}, types)

    def test_counted_cycles_are_those_of_the_model(self):
        model, profile = self.workload(self.fresh("cycles"), "tasks=300", "blocks=24")
        exported = self.assert_whole(model, profile)
        cycles = sum(float(r["aic_total_cycles"]) for r in rows(exported["output"], "op_summary"))
        self.assertEqual(model[0]["aic_cycles"], cycles)

    def test_tasks_before_and_after_the_window_stay_out(self):
        model, profile = self.workload(self.fresh("outside"), "tasks=7", "before=500", "after=500")
        self.assertEqual(7, model[0]["kernels"])
        self.assert_whole(model, profile)

    def test_first_and_last_task_of_a_window_that_cuts_tasks(self):
        directory = self.fresh("straddle")
        self.run_client("straddle", directory, 20)
        profile = self.profile_in(directory)
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


class LongWindows(ClientTest):
    """More tasks than a stream has ids, so that ids begin anew."""

    def wraps(self, tasks, path):
        # Five microseconds a task: the rings hold a third of a second of them, more than a busy machine
        # keeps the drain waiting.
        model, profile = self.workload(self.fresh(path), f"tasks={tasks}", "cycles=9000", "blocks=24",
                                       f"types={TASK_TIME | METRICS | RUNTIME_API:#x}", **self.drain(path))
        self.assertEqual(tasks, model[0]["kernels"])
        exported = self.assert_whole(model, profile)
        self.assertEqual((tasks - 1) // 65536, exported["raw"]["devices"]["0"]["flips"])

    def test_hundred_thousand_tasks_direct(self):
        self.wraps(100_000, "direct")

    def test_hundred_thousand_tasks_pwritev(self):
        self.wraps(100_000, "pwritev")

    def test_million_tasks_uring(self):
        self.wraps(1_000_000, "uring")
