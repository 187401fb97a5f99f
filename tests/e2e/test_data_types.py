# SPDX-License-Identifier: Apache-2.0
"""Each data type turns on what its row says and nothing else; values agree under every combination of conditions."""
import glob
import itertools
import json
import os
import re
import struct
from decimal import Decimal

from harness import (ACL_API, AICORE_SHAPE, AICPU, API_STATS, DRAIN_PATHS, GE_API_L0, GE_API_L1, HCCL, L2CACHE, METRICS,
                     MSPROFTX, OP_ATTR, RUNTIME_API, TASK_MEMORY, TASK_TIME, TASK_TIME_L0, TASK_TIME_L2, TASK_TIME_L3,
                     TRAINING_TRACE, ClientTest, rows)

NAMES = {"unaging.additional.hash_dic", "unaging.additional.type_info_dic"}
CALLS = {"aging.api_event.data"}
TASKS = CALLS | {"aging.compact.task_track", "aging.compact.memcpy_info"}
OPERATORS = TASKS | {"aging.compact.node_basic_info"}

# Data type -> (files of the host, beside names; files of the device; levels of calls).
ROWS = {
    ACL_API: (CALLS, set(), {"acl"}),
    TASK_TIME_L0: (TASKS, {"stars_soc"}, {"node", "runtime"}),
    TASK_TIME: (OPERATORS, {"stars_soc"}, {"node", "runtime"}),
    TASK_TIME_L2: (OPERATORS, {"stars_soc"}, {"node", "runtime"}),
    TASK_TIME_L3: (OPERATORS, {"stars_soc"}, {"node", "runtime"}),
    OP_ATTR: (OPERATORS, {"stars_soc"}, {"node", "runtime"}),
    METRICS: (set(), {"stars_soc", "ffts_profile"}, set()),
    AICPU: (set(), {"aicpu"}, set()),
    L2CACHE: (set(), {"socpmu"}, set()),
    HCCL: (set(), set(), set()),            # nothing is communicated
    TRAINING_TRACE: (set(), set(), set()),  # no step is marked
    MSPROFTX: (set(), set(), set()),        # nothing is marked
    RUNTIME_API: (CALLS, set(), {"runtime"}),
    GE_API_L0: (set(), set(), set()),
    GE_API_L1: (set(), set(), set()),
    TASK_MEMORY: (set(), set(), set()),     # single operators have no memory of a model
    AICORE_SHAPE: (set(), set(), set()),    # has no effect alone
    API_STATS: (CALLS, set(), {"acl"}),
    TASK_TIME_L0 | AICORE_SHAPE: (OPERATORS, {"stars_soc"}, {"node", "runtime"}),
}


def kept(path):
    """Names of the data files below a directory, without device and slice."""
    return {re.sub(r"(\.data\.\d+)?\.slice_\d+$", "", name) for name in os.listdir(os.path.join(path, "data"))
            if not name.endswith(".done")}


class DataTypes(ClientTest):
    serial = True

    def test_each_data_type_turns_on_its_files_and_no_others(self):
        for types, (host, device, levels) in ROWS.items():
            with self.subTest(f"{types:#x}"):
                model, profile = self.workload(self.fresh(f"{types:#x}"), "tasks=20", "single=1", "units=1",
                                               f"types={types:#x}")
                counts = self.assert_readable(profile)
                self.assertEqual(0, profile.lost())
                self.assertEqual(host, kept(os.path.join(profile.path, "host")) - NAMES)
                self.assertEqual(device, kept(os.path.join(profile.path, "device_0")))
                raw = counts["devices"]["0"]
                self.assertEqual(model[0]["submitted"] if "stars_soc" in device else 0, raw.get("starts", 0))
                self.assertEqual(model[0]["kernels"] if types & METRICS else 0, raw.get("context_pmu", 0))
                self.assertEqual(model[0]["aicpu"] if types & AICPU else 0, raw.get("aicpu_nodes", 0))
                self.assertEqual(model[0]["kernels"] if types & L2CACHE else 0, raw.get("socpmu.data", 0))
                self.assertEqual(levels, {r["Level"] for r in rows(profile.export()["output"], "api_statistic")})


class Copies(ClientTest):
    def test_each_copy_has_its_row_and_with_task_times_size_and_bandwidth(self):
        _, profile = self.workload(self.fresh("copies"), "tasks=0", "units=1", f"types={ACL_API | TASK_TIME:#x}")
        output = profile.export()["output"]
        calls = {r["API Name"]: int(r["Count"]) for r in rows(output, "api_statistic") if r["Level"] == "acl"}
        self.assertEqual(2, calls["aclrtMemcpyAsync"])
        with open(glob.glob(os.path.join(output, "msprof_*.json"))[0], encoding="utf-8") as f:
            copies = [e for e in json.load(f) if e.get("name") == "MEMCPY_ASYNC" and e["ph"] == "X"]
        self.assertEqual([8 << 20, 4 << 20], [e["args"]["size(B)"] for e in copies])
        self.assertEqual(["host to device", "device to host"], [e["args"]["operation"] for e in copies])
        for copy in copies:
            self.assertAlmostEqual(copy["args"]["size(B)"] / (float(copy["dur"]) * 1000), copy["args"]["bandwidth(GB/s)"],
                                   delta=0.001 * copy["args"]["bandwidth(GB/s)"])
        alone = self.workload(self.fresh("alone"), "tasks=0", "units=1", f"types={ACL_API:#x}")[1]
        self.assertNotIn("memcpy_info", self.assert_readable(alone)["host"])


class Attributes(ClientTest):
    def test_operators_tell_their_attributes_if_asked(self):
        for types, wanted in ((OP_ATTR, True), (TASK_TIME_L2, False), (TASK_TIME_L0 | AICORE_SHAPE, False)):
            with self.subTest(f"{types:#x}"):
                directory = self.fresh(f"{types:#x}")
                self.run_client("attributes", directory, f"{types:#x}")
                profile = self.profile_in(directory)
                counts = self.assert_readable(profile)["host"]
                self.assertEqual((9, 9), (counts["node_basic_info"], counts["tensor_info"]))
                self.assertEqual(6 if wanted else 0, counts.get("node_attr_info", 0))
                if not wanted:
                    continue
                data = os.path.join(profile.path, "host", "data")
                with open(os.path.join(data, "unaging.additional.hash_dic.slice_0"), encoding="utf-8") as f:
                    names = dict(line.rstrip("\n").split(":", 1) for line in f)
                with open(os.path.join(data, "aging.compact.node_attr_info.slice_0"), "rb") as f:
                    told = [(names[str(name)], kind, names[str(text)])
                            for name, kind, text in struct.iter_unpack("<24xQIQ20x", f.read())]
                self.assertEqual([("aclnnSoftmax_SoftmaxAiCore_SoftmaxV2", 0, "dim:-1"),
                                  ("aclnnMatmul_MatMulCommon_MatMulV2", 0, "cubeMathType:1")] * 3, told)


def pairwise(*lists):
    """Few combinations in which each value of a list meets each value of every other list."""
    wanted = {(i, a, j, b) for (i, one), (j, other) in itertools.combinations(enumerate(lists), 2)
              for a in range(len(one)) for b in range(len(other))}
    chosen = []
    while wanted:
        best = max(itertools.product(*(range(len(one)) for one in lists)),
                   key=lambda c: sum((i, c[i], j, c[j]) in wanted for i, j in itertools.combinations(range(len(c)), 2)))
        wanted -= {(i, best[i], j, best[j]) for i, j in itertools.combinations(range(len(best)), 2)}
        chosen.append([one[k] for one, k in zip(lists, best)])
    return chosen


class Combinations(ClientTest):
    serial = True

    DEVICES = (1, 2, 4)
    TYPES = (TASK_TIME | ACL_API, TASK_TIME_L0 | L2CACHE | AICPU, TASK_TIME | METRICS | RUNTIME_API,
             TASK_TIME_L3 | METRICS | L2CACHE | AICPU | HCCL | MSPROFTX | OP_ATTR | TASK_MEMORY)
    SETTINGS = ((), ("3:100", "4:write"), ("5:100", "6:50", "7:100"), ("1:200MB", "8:cpu,mem,disk,network", "9:cpu,mem",
                                                                     "10:50", "12:flow"))

    def test_each_pair_of_them_happens(self):
        lists = (self.DEVICES, self.TYPES, self.SETTINGS, DRAIN_PATHS)
        chosen = pairwise(*lists)
        for (i, one), (j, other) in itertools.combinations(enumerate(lists), 2):
            self.assertEqual(set(itertools.product(one, other)), {(c[i], c[j]) for c in chosen})
        self.assertLess(len(chosen), 24)

    def test_devices_types_settings_and_drain_paths(self):
        for n, (devices, types, settings, path) in enumerate(pairwise(self.DEVICES, self.TYPES, self.SETTINGS, DRAIN_PATHS)):
            with self.subTest(devices=devices, types=f"{types:#x}", settings=settings, path=path):
                model, profile = self.workload(self.fresh(str(n)), "tasks=60", "streams=2", "units=1", f"devices={devices}",
                                               f"types={types:#x}", *(f"set={s}" for s in settings),
                                               NPUSIM_DEVICES=4, NPUPROF_CONTAINER="no", **self.drain(path))
                counts = self.assert_readable(profile)
                self.assert_ring_sums(profile)
                self.assertEqual(0, profile.lost())
                self.assertTrue(profile.manifest["complete"])
                for device in model:
                    self.assert_values(device, counts["devices"][str(device["id"])], types, settings)
                shown = rows(profile.export()["output"], "task_time")
                self.assertEqual(sum(d["submitted"] for d in model), len(shown))

    def assert_values(self, model, raw, types, settings):
        totals = raw["totals"]
        self.assertEqual(model["submitted"], raw["starts"])
        self.assertEqual(model["submitted"], raw["ends"])
        self.assertEqual(model["kernels"] if types & METRICS else 0, raw.get("context_pmu", 0))
        self.assertEqual(model["aicpu"] if types & AICPU else 0, raw.get("aicpu_nodes", 0))
        self.assertEqual(model["l2_hits"] if types & L2CACHE else 0,
                         totals.get("l2_0x90", 0) + totals.get("l2_0x91", 0))
        self.assertEqual(model["nic_sent"] if "5:100" in settings else 0, totals.get("nic.data.sent", 0))
        self.assertEqual(model["pcie_received"] if "6:50" in settings else 0,
                         totals.get("pcie_transfer.received", 0))
        self.assertEqual(model["media_frames"] if "7:100" in settings else 0, totals.get("media_frames", 0))
        self.assertEqual(model["bytes_written"] // 128 if "3:100" in settings else 0,
                         totals.get("hbm_written", 0) // 128)


class Clocks(ClientTest):
    """Clocks and counters at the ends of their range, and far from the host's."""
    serial = True

    HOUR, YEAR = 3600 * 10**9, 365 * 86400 * 10**9

    def assert_whole_and_in_order(self, name, tasks=200, cycles=18000, **env):
        """Durations are exact to a tick, tasks run one after the other and none begins before its launch."""
        model, profile = self.workload(self.fresh(name), f"tasks={tasks}", "single=1", f"cycles={cycles}", **env)
        exported = self.assert_whole(model, profile)
        table = rows(exported["output"], "op_summary")
        starts = [Decimal(r["Task Start Time(us)"]) for r in table]
        self.assertEqual(tasks, len(starts))
        self.assertEqual(sorted(starts), starts)
        for row in table:
            self.assertAlmostEqual(cycles / 1800, float(row["Task Duration(us)"]), delta=0.0201)
        # An arrow of the timeline goes from the launch on the host to the task on the device.
        ends = {"s": {}, "f": {}}
        with open(glob.glob(os.path.join(exported["output"], "msprof_*.json"))[0], encoding="utf-8") as f:
            for event in json.load(f):
                if event.get("cat") == "HostToDevice":
                    ends[event["ph"]][event["id"]] = Decimal(event["ts"])
        self.assertEqual(ends["s"].keys(), ends["f"].keys())
        self.assertGreaterEqual(len(ends["s"]), tasks)
        # A float of microseconds since 1970 would be off by a quarter of one.
        early = [(i, launched - ends["f"][i]) for i, launched in ends["s"].items() if launched > ends["f"][i]]
        self.assertEqual([], early, "tasks that began before their launch")
        return profile

    TICKS_BEFORE = 30_000_000  # 600 ms of the device, which powers on some time before the session

    def assert_passed(self, profile, bits):
        """The device clock passed the range of so many bits within the session."""
        device = profile.manifest["devices"][0]
        first, last = ((device["clock"][i]["device"] + device["clock_base"]) % 2**64 for i in (0, -1))
        self.assertLess(2**bits - self.TICKS_BEFORE, first)
        self.assertLess(first, 2**bits)
        self.assertLess(0, (last - 2**bits) % 2**64)
        self.assertLess((last - 2**bits) % 2**64, 2**32)

    def test_clocks_far_from_the_hosts(self):
        for name, env in (("hour", {"NPUSIM_CLOCK_OFFSET_NS": self.HOUR}),
                          ("year", {"NPUSIM_CLOCK_OFFSET_NS": self.YEAR}),
                          ("fast", {"NPUSIM_CLOCK_PPM": 100}), ("slow", {"NPUSIM_CLOCK_PPM": -100}),
                          ("both", {"NPUSIM_CLOCK_OFFSET_NS": self.YEAR, "NPUSIM_CLOCK_PPM": 100})):
            with self.subTest(name):
                self.assert_whole_and_in_order(name, **env)

    def test_counters_that_pass_their_range(self):
        for bits in (32, 48, 52, 53, 63, 64):
            with self.subTest(bits):
                profile = self.assert_whole_and_in_order(f"pass{bits}", tasks=40, cycles=45_000_000,
                                                         NPUSIM_CLOCK_START=2**bits - self.TICKS_BEFORE)
                self.assert_passed(profile, bits)

    def test_counts_of_tasks_beyond_the_width_of_counters(self):
        # Hurried: counters of cores are 32 bits wide, their cycles 48, but those of tasks are not.
        for bits, blocks, cycles in ((32, 24, 9_000_000_000), (48, 60_000, 9_000_000_000)):
            with self.subTest(bits):
                model, profile = self.workload(self.fresh(f"wide{bits}"), "tasks=5", f"blocks={blocks}", f"cycles={cycles}",
                                               f"types={TASK_TIME | METRICS:#x}", NPUSIM_TIME_SCALE=0.000001)
                self.assertGreater(blocks * cycles, 2**bits)
                table = rows(profile.export()["output"], "op_summary")
                self.assert_readable(profile)
                counted = [int(Decimal(r["aic_total_cycles"])) for r in table]
                self.assertEqual([blocks * cycles] * 5, counted)
                self.assertEqual(model[0]["aic_cycles"], sum(counted))
                for row in table:
                    self.assertAlmostEqual(0.5, float(row["aic_mac_ratio_extra"]), delta=0.001)

    def test_samples_of_a_clock_that_wraps(self):
        model, profile = self.workload(self.fresh("samples"), "tasks=40", "cycles=45000000", "units=2", "types=0x81a", "set=3:100", "set=5:100",
                                       "set=6:50", "set=7:100", NPUSIM_CLOCK_START=2**64 - self.TICKS_BEFORE,
                                       NPUPROF_CONTAINER="no")
        self.assert_passed(profile, 64)
        raw = self.assert_readable(profile)["devices"]["0"]
        self.assertGreater(profile.manifest["devices"][0]["clock_base"], 2**63)
        self.assertEqual((model[0]["nic_sent"], model[0]["pcie_received"], model[0]["media_frames"], model[0]["aicpu"]),
                         (raw["totals"]["nic.data.sent"], raw["totals"]["pcie_transfer.received"],
                          raw["totals"]["media_frames"], raw["aicpu_nodes"]))
        for channel in ("hbm", "nic", "link", "dvpp"):
            self.assertLessEqual(profile.rings(channel)[0]["sampling"]["worst_error_ns"], 20)
