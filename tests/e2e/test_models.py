# SPDX-License-Identifier: Apache-2.0
"""Executions of models: memory of their operators, steps, and what was captured and replayed."""
import os
import struct
from collections import Counter

from harness import METRICS, MODELS, TASK_MEMORY, TASK_TIME, TASK_TIME_L0, TRAINING_TRACE, ClientTest, rows

MODEL = os.path.join(MODELS, "resnet50_b1.json")


class Models(ClientTest):
    serial = True

    def memory(self, profile):
        path = os.path.join(profile.path, "host", "data", "aging.additional.task_memory_info.slice_0")
        with open(path, "rb") as f:
            return list(struct.iter_unpack("<HHIIIQQqQQQII184x", f.read()))

    def test_operators_of_models_take_memory_and_give_it_back(self):
        model, profile = self.workload(self.fresh("memory"), f"model={MODEL}", "tasks=3",
                                       f"types={TASK_TIME | TASK_MEMORY:#x}")
        counts = self.assert_readable(profile)
        records = self.memory(profile)
        self.assertEqual(2 * model[0]["submitted"], len(records))
        self.assertEqual(len(records), counts["host"]["task_memory_info"])
        held, names = {}, Counter()
        for *_, address, size, node, allocated, reserved, device, kind in records:
            self.assertEqual((0, 20), (device, kind))
            if size > 0:
                self.assertNotIn(address, held)
                held[address] = size
                names[node] += 1
            else:
                self.assertEqual(-size, held.pop(address))
            self.assertEqual(sum(held.values()), allocated)
            self.assertLessEqual(allocated, reserved)
        self.assertEqual({}, held)
        self.assertEqual({3}, set(names.values()), "each operator once per execution")

    def test_single_operators_have_no_memory_of_a_model(self):
        _, profile = self.workload(self.fresh("single"), "tasks=20", f"types={TASK_TIME | TASK_MEMORY:#x}")
        self.assertNotIn("task_memory_info", self.assert_readable(profile)["host"])
        _, profile = self.workload(self.fresh("unasked"), f"model={MODEL}", "tasks=1", f"types={TASK_TIME:#x}")
        self.assertNotIn("task_memory_info", self.assert_readable(profile)["host"])

    def test_each_execution_is_a_step(self):
        _, profile = self.workload(self.fresh("steps"), f"model={MODEL}", "tasks=4",
                                   f"types={TASK_TIME | TRAINING_TRACE:#x}")
        table = rows(profile.export()["output"], "step_trace")
        self.assertEqual(["1", "2", "3", "4"], [r["Iteration ID"] for r in table])
        self.assertEqual(1, len({r["Model ID"] for r in table}))
        ends = [float(r["Iteration End(us)"]) for r in table]
        self.assertEqual(sorted(ends), ends)
        alone = self.workload(self.fresh("alone"), f"model={MODEL}", "tasks=4", f"types={TRAINING_TRACE:#x}")[1]
        counts = self.assert_readable(alone)["devices"]["0"]
        self.assertEqual((12, 0), (counts["ts_track"], counts.get("starts", 0)))

    def test_tasks_of_several_contexts(self):
        fused, contexts = 52, {("product", "0"), ("sum", "1"), ("both", "2"), ("product", "3")}
        model, profile = self.workload(self.fresh("contexts"), "tasks=20", "kind=ffts", f"types={TASK_TIME | METRICS:#x}")
        counts = self.assert_readable(profile)["devices"]["0"]
        self.assertEqual((20, 20, 20), (model[0]["submitted"], counts["starts"], counts["ends"]))
        self.assertEqual((80, 80, 80, 80), (model[0]["kernels"], counts["sub_starts"], counts["sub_ends"], counts["context_pmu"]))
        with open(os.path.join(profile.path, "host/data/aging.compact.task_track.slice_0"), "rb") as f:
            self.assertEqual([fused] * 20, [kind for kind, in struct.iter_unpack("<32xQ24x", f.read())])
        exported = profile.export()
        self.assertEqual(([], 0), (exported["losses"], exported["broken_records"]))
        table = rows(exported["output"], "op_summary")
        self.assertEqual(dict.fromkeys(contexts, 20), dict(Counter((r["Op Name"], r["Context ID"]) for r in table)))
        self.assertEqual({"product": "AI_CORE", "sum": "AI_VECTOR_CORE", "both": "MIX_AIC"},
                         {r["Op Name"]: r["Task Type"] for r in table})
        for core in ("aic", "aiv"):
            self.assertEqual(model[0][core + "_cycles"], sum(float(r[core + "_total_cycles"]) for r in table))
        # One after the other, each within the task that it is a part of.
        order = sorted((float(r["Task Start Time(us)"]), int(r["Task ID"]), int(r["Context ID"])) for r in table)
        self.assertEqual([(task, context) for task in range(20) for context in range(4)], [o[1:] for o in order])
        # Without operators a task is shown as a whole.
        model, profile = self.workload(self.fresh("whole"), "tasks=20", "kind=ffts", f"types={TASK_TIME_L0:#x}")
        self.assertEqual(["FFTS_PLUS"] * 20, [r["kernel_type"] for r in rows(profile.export()["output"], "task_time")])

    def test_a_captured_graph_replayed_many_times(self):
        for kind, core in (("aic", "AI_CORE"), ("mix", "MIX_AIC")):
            with self.subTest(kind):
                model, profile = self.workload(self.fresh(kind), "tasks=25", "replay=40", f"kind={kind}",
                                               f"types={TASK_TIME | METRICS:#x}")
                self.assertEqual(1000, model[0]["kernels"])
                counts = self.assert_readable(profile)
                self.assertEqual(1000, counts["devices"]["0"]["context_pmu"])
                exported = profile.export()
                table = [r for r in rows(exported["output"], "op_summary") if r["Op Name"] == "work"]
                self.assertEqual(1000, len(table))
                self.assertEqual({core}, {r["Task Type"] for r in table})
                self.assertEqual(1, len({r["Model ID"] for r in table}))
                self.assertEqual(model[0]["aic_cycles"], sum(float(r["aic_total_cycles"]) for r in table))
                self.assertEqual([], exported["losses"])
