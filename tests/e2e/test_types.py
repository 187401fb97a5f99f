# SPDX-License-Identifier: Apache-2.0
"""Fresh directories of every kind of configuration satisfy the format."""
import os

from harness import ACL_API, HCCL, METRICS, OP_ATTR, RUNTIME_API, TASK_TIME, TASK_TIME_L0, ClientTest

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
        _, profile = self.workload(self.fresh("host"), "tasks=200", "cycles=1800000", "set=8:cpu,mem,disk,network",
                                   "set=9:cpu,mem", "set=10:50")
        counts = self.assert_readable(profile)["host"]
        told = {k["kind"]: k for k in profile.manifest["host"]["kinds"]}
        for kind in ("host_cpu", "host_mem", "host_disk", "host_network", "host_sys_cpu", "host_sys_mem"):
            sampling = told[kind]["sampling"]
            self.assertEqual(20_000_000, sampling["period_ns"])
            self.assertGreaterEqual(sampling["samples"], 4)
            # The first sample of the disk only tells when it was taken.
            self.assertEqual(sampling["samples"] - (kind == "host_disk"), counts[kind + ".data"])
            if sampling["samples"] > 4:
                self.assertGreater(sampling["mean_ns"], 0)

    def test_host_samples_agree_with_the_machine(self):
        _, profile = self.workload(self.fresh("values"), "tasks=200", "cycles=1800000", "set=8:cpu,mem,network",
                                   "set=9:cpu,mem")

        def lines(kind):
            with open(os.path.join(profile.path, "host", "data", f"{kind}.data.slice_0"), encoding="utf-8") as f:
                return f.read().splitlines()

        with open("/proc/meminfo", encoding="utf-8") as f:
            total = f.readline().split()
        self.assertIn(total, [line.split() for line in lines("host_sys_mem")])
        resident = [int(line.split()[2]) for line in lines("host_mem")]
        self.assertTrue(all(0 < pages * 4 < int(total[1]) for pages in resident), resident)
        # Whatever is counted since the boot never falls.
        for kind, column in (("host_sys_cpu", 1), ("host_network", 1)):
            last = {}
            for name, *values in (line.replace(":", " ").split() for line in lines(kind) if line.strip()):
                if len(values) < 7:
                    continue
                self.assertGreaterEqual(int(values[column - 1]), last.get(name, 0), (kind, name))
                last[name] = int(values[column - 1])
            self.assertTrue(last, kind)

    def test_identity_of_job_and_machine(self):
        _, profile = self.workload(self.fresh("rank"), "tasks=1", RANK_ID="7", NPUPROF_JOB="night run")
        for name in ("host/info.json", "device_0/info.json.0"):
            info = profile.metadata(name)
            self.assertEqual((7, "night run", os.uname().nodename), (info["rank_id"], info["jobInfo"], info["hostname"]))
            self.assertRegex(info["hostUid"], r"^[0-9a-f-]{32,36}$")
            self.assertTrue(0 < info["cpuNums"] <= os.cpu_count())
        self.assertEqual(-1, self.workload(self.fresh("alone"), "tasks=1")[1].metadata("host/info.json")["rank_id"])

    def test_what_no_table_shows_is_named(self):
        directory = self.fresh("named")
        self.run_client("attributes", directory, f"{OP_ATTR:#x}")
        profile = self.profile_in(directory)
        unseen = ["host/data/aging.compact.node_attr_info"]
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
