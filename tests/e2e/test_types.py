# SPDX-License-Identifier: Apache-2.0
"""Fresh directories of every kind of configuration satisfy the format."""
import os

from harness import ACL_API, HCCL, METRICS, RUNTIME_API, TASK_TIME, TASK_TIME_L0, ClientTest

GROUPS = {0: "ArithmeticUtilization", 1: "PipeUtilizationExct", 2: "Memory", 3: "MemoryL0",
          4: "ResourceConflictRatio", 5: "MemoryUB", 6: "L2Cache", 8: "MemoryAccess"}


class DataTypes(ClientTest):
    serial = True

    def test_combinations_of_data_types(self):
        for types in (ACL_API, TASK_TIME_L0, TASK_TIME, TASK_TIME | ACL_API, TASK_TIME | METRICS,
                      TASK_TIME_L0 | METRICS, RUNTIME_API, TASK_TIME | RUNTIME_API,
                      ACL_API | TASK_TIME | METRICS | HCCL | RUNTIME_API):
            with self.subTest(f"{types:#x}"):
                model, profile = self.workload(self.fresh(f"{types:#x}"), "tasks=40", "single=1", "devices=2",
                                               f"types={types:#x}")
                counts = self.assert_readable(profile)
                self.assertEqual(0, profile.lost())
                for device in model:
                    raw = counts["devices"][str(device["id"])]
                    timed = types & (TASK_TIME | TASK_TIME_L0)
                    self.assertEqual(device["submitted"] if timed else 0, raw.get("starts", 0))
                    self.assertEqual(device["kernels"] if types & METRICS else 0, raw.get("context_pmu", 0))

    def test_every_group_of_counters(self):
        for number, name in GROUPS.items():
            with self.subTest(name):
                model, profile = self.workload(self.fresh(name), "tasks=10", f"metrics={number}")
                self.assert_whole(model, profile)
                sample = profile.metadata("device_0/sample.json")
                # Cube cores count the extended list of pipes, and only they know it.
                self.assertEqual((name, name.removesuffix("Exct")), (sample["ai_core_metrics"], sample["aiv_metrics"]))

    def test_host_samples(self):
        _, profile = self.workload(self.fresh("host"), "tasks=200", "cycles=1800000", "set=8:cpu,mem")
        counts = self.assert_readable(profile)["host"]
        self.assertGreaterEqual(counts["host_cpu.data"], 2)
        self.assertGreaterEqual(counts["host_mem.data"], 2)

    def test_what_no_table_shows_is_named(self):
        _, profile = self.workload(self.fresh("named"), "tasks=200", "set=8:cpu,mem")
        unseen = ["host/data/host_cpu.data", "host/data/host_mem.data"]
        self.assertEqual(profile.export()["not_exported"], unseen)
        with open(os.path.join(os.path.dirname(profile.path), "tables", "README.txt"), encoding="utf-8") as f:
            self.assertIn(f"Recorded, and in none of these files: {', '.join(unseen)}.", f.read())
        # A part of the export says nothing about the rest.
        self.assertEqual(profile.export("--format", "csv")["not_exported"], [])

    def test_clock_settings_of_the_device(self):
        for name, env in (("late", {"NPUSIM_CLOCK_START": 10**12}), ("fast", {"NPUSIM_CLOCK_PPM": 900}),
                          ("odd", {"NPUSIM_CLOCK_MHZ": 48, "NPUSIM_CLOCK_OFFSET_NS": 123456789})):
            with self.subTest(name):
                model, profile = self.workload(self.fresh(name), "tasks=100", **env)
                self.assert_whole(model, profile)
