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
                     MODELS, SOURCE, TRAINING_TRACE, ClientTest, rows)

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


class Page(ClientTest):
    """docs/data-types.md tells the truth."""

    serial = True
    timeout = 400

    # Other work than this: see the tests that the page names.
    ELSEWHERE = {"HCCL_TRACE": {"hccl_op_info", "hccl_info"}, "MSPROFTX": {"msproftx", "ts_track"}}
    BITS = {"ACL_API": ACL_API, "TASK_TIME_L0": TASK_TIME_L0, "TASK_TIME": TASK_TIME, "TASK_TIME_L2": TASK_TIME_L2,
            "TASK_TIME_L3": TASK_TIME_L3, "OP_ATTR": OP_ATTR, "AICORE_METRICS": METRICS, "AICPU": AICPU, "L2CACHE": L2CACHE,
            "HCCL_TRACE": HCCL, "TRAINING_TRACE": TRAINING_TRACE, "MSPROFTX": MSPROFTX, "RUNTIME_API": RUNTIME_API,
            "GE_API_L0": GE_API_L0, "GE_API_L1": GE_API_L1, "TASK_MEMORY": TASK_MEMORY,
            "AICORE_SHAPE": AICORE_SHAPE | TASK_TIME_L0, "API_STATS": API_STATS}
    SETTINGS = {"SYS_HARDWARE_MEM_FREQ": ["3:100"], "LLC_MODE": ["3:100", "4:write"], "SYS_IO_FREQ": ["5:100"],
                "SYS_INTERCONNECTION_FREQ": ["6:50"], "DVPP_FREQ": ["7:100"], "HOST_SYS": ["8:cpu,mem,disk,network"],
                "HOST_SYS_USAGE": ["9:cpu,mem"], "HOST_SYS_USAGE_FREQ": ["10:50"], "SYS_MEM_SERVICEFLOW": ["12:host"],
                "STORAGE_LIMIT": ["1:200MB"], "PATH": []}

    def table(self, section):
        """Name of a row -> set of files."""
        with open(os.path.join(SOURCE, "docs", "data-types.md"), encoding="utf-8") as f:
            lines = f.read().split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
        found, name = {}, None
        for cells in (re.split(r" *\| *", line.strip("|")) for line in lines if line.startswith("|")):
            if first := re.fullmatch(r"`(\w+)`", cells[0].strip()):
                name = first[1]
            elif cells[0].strip():
                continue  # heading, or not by a bit alone
            files = set(re.findall(r"`(\w+)`", cells[2]))
            for other in re.findall(r"those of `(\w+)`", cells[2]):
                files = files - {other} | found[other]
            found[name] = found.get(name, set()) | files
        return found

    def names(self, directory):
        profile = self.profile_in(directory)
        found = set()
        for part in ("host", "device_0"):
            found |= kept(os.path.join(profile.path, part)) if os.path.exists(os.path.join(profile.path, part)) else set()
        return {re.sub(r"^(un)?aging\.(compact\.|additional\.)?|\.data$", "", name) for name in found - NAMES}

    def test_the_page_names_the_files_of_each_data_type(self):
        told = self.table("Data types")
        self.assertEqual(set(self.BITS), set(told))
        for name, types in self.BITS.items():
            with self.subTest(name):
                if name in self.ELSEWHERE:
                    self.assertEqual(self.ELSEWHERE[name], told[name])
                    continue
                found = set()
                for i, work in enumerate((*("model=" + os.path.join(MODELS, m) for m in ("bert_base_s128.json", "gpt2_decode.json")),
                                          "kind=mix")):
                    directory = self.fresh(f"{name}{i}")
                    self.workload(directory, "tasks=2", "units=1", f"types={types:#x}", work)
                    found |= self.names(directory)
                directory = self.fresh(name + "attributes")
                self.run_client("attributes", directory, f"{types:#x}")
                self.assertEqual(told[name], found | self.names(directory))

    def test_the_page_names_the_files_of_each_setting(self):
        told = self.table("Settings")
        self.assertEqual(set(self.SETTINGS), set(told))

        def files(name, settings):
            directory = self.fresh(name)
            self.workload(directory, "tasks=2", "units=2", "devices=2", f"types={TASK_TIME_L0:#x}",
                          *(f"set={s}" for s in settings), NPUPROF_CONTAINER="no")
            return self.names(directory)

        without = files("without", [])
        memory = files("memory", ["3:100"])
        for name, settings in self.SETTINGS.items():
            with self.subTest(name):
                found = files(name, settings)
                self.assertLessEqual(without, found)
                # The direction of the cache has no file of its own.
                self.assertEqual(told[name], found - without if name != "LLC_MODE" else {"llc"} & found)
                self.assertTrue(name != "LLC_MODE" or found == memory)


class CounterGroups(ClientTest):
    """Counters of tasks, and of time: the same events, and the same sums."""

    timeout = 400

    PIPE = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"
    # Group -> events of cube cores, of vector cores.
    EVENTS = {
        0: ("0x49,0x4a,0x4b,0x4c,0x4d,0x4e,0x4f",) * 2,
        1: ("0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55", PIPE),
        2: ("0x15,0x16,0x31,0x32,0xf,0x10,0x12,0x13",) * 2,
        3: ("0x1b,0x1c,0x21,0x22,0x27,0x28,0x29,0x2a",) * 2,
        4: ("0x64,0x65,0x66",) * 2,
        5: ("0x10,0x13,0x37,0x38,0x3d,0x3e,0x43,0x44",) * 2,
        6: ("0x500,0x502,0x504,0x506,0x508,0x50a",) * 2,
        8: ("0x32,0x3d,0x3e,0x206,0x20c,0x50c,0x50d,0x50e",) * 2,
    }

    def sums_of_tasks(self, profile, kind):
        total = [0] * 9
        for path in glob.glob(os.path.join(profile.path, "device_0/data/ffts_profile.data.0.slice_*[0-9]")):
            with open(path, "rb") as f:
                for ffts, cycles, *counters in struct.iter_unpack("<20xH10xQ8x8Q16x", f.read()):
                    self.assertEqual(("aic", "aiv").index(kind), ffts >> 13)
                    total = [a + b for a, b in zip(total, [cycles, *counters])]
        return total

    def assert_events(self, profile, group, mode):
        sample = profile.metadata("device_0/sample.json")
        self.assertEqual((*self.EVENTS[group], mode, mode),
                         tuple(sample[k] for k in ("ai_core_profiling_events", "aiv_profiling_events",
                                                   "ai_core_profiling_mode", "aiv_profiling_mode")))

    def test_each_group_by_task_and_by_time(self):
        for group, kind in itertools.product(self.EVENTS, ("aic", "aiv")):
            with self.subTest(group=group, kind=kind):
                work = ("tasks=20", "blocks=30", "cycles=900000", f"kind={kind}", f"metrics={group}", f"types={METRICS:#x}")
                by_task = self.workload(self.fresh(f"task{group}{kind}"), *work)[1]
                self.assert_readable(by_task)
                self.assert_events(by_task, group, "task-based")
                model, by_time = self.workload(self.fresh(f"time{group}{kind}"), *work, NPUPROF_CORE_SAMPLE_HZ=100)
                counts = self.assert_readable(by_time)["devices"]["0"]
                self.assert_ring_sums(by_time)
                self.assertEqual(0, by_time.lost())
                self.assert_events(by_time, group, "sample-based")
                self.assertEqual({"ffts_profile"}, kept(os.path.join(by_time.path, "device_0")))
                self.assertEqual(sum(r["records"] for r in by_time.rings("core_sample")), counts["core_samples"])
                self.assertEqual((0, 72), (counts["core_samples"] % 72, len(by_time.rings("core_sample"))))
                other = "aiv" if kind == "aic" else "aic"
                self.assertEqual((model[0][kind + "_cycles"], 0),
                                 (counts[kind + "_sampled_cycles"], counts.get(other + "_sampled_cycles", 0)))
                expected = self.sums_of_tasks(by_task, kind)
                self.assertEqual(expected, [counts[kind + "_sampled_cycles"],
                                            *(counts.get(f"{kind}_sampled_{i}", 0) for i in range(8))])

    def test_samples_are_taken_while_tasks_are_told_and_the_export_says_what_it_leaves_out(self):
        model, profile = self.workload(self.fresh("both"), "tasks=50", "cycles=1800000", f"types={METRICS | TASK_TIME:#x}",
                                       NPUPROF_CORE_SAMPLE_HZ=50)
        counts = self.assert_readable(profile)["devices"]["0"]
        self.assertEqual((model[0]["submitted"], model[0]["aic_cycles"]), (counts["starts"], counts["aic_sampled_cycles"]))
        for ring in profile.rings("core_sample"):
            self.assertEqual(20_000_000, ring["sampling"]["period_ns"])
        self.assertEqual(20, profile.metadata("device_0/sample.json")["aicore_sampling_interval"])
        exported = profile.export()
        self.assertEqual(50, exported["rows"]["op_summary"])
        self.assertEqual(0, exported["broken_records"])
        self.assertIn("device_0/data/ffts_profile.data.0", " ".join(exported["not_exported"]))

    def test_the_bit_without_a_group_and_the_group_without_the_bit(self):
        for name, types, group, counted in (("bit", METRICS | TASK_TIME, 255, False), ("group", TASK_TIME, 1, False),
                                            ("both", METRICS | TASK_TIME, 1, True)):
            with self.subTest(name):
                _, profile = self.workload(self.fresh(name), "tasks=5", f"types={types:#x}", f"metrics={group}")
                counts = self.assert_readable(profile)["devices"]["0"]
                self.assertEqual((5, 5 if counted else 0), (counts["starts"], counts.get("context_pmu", 0)))


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


class DynamicShapes(ClientTest):
    def test_scheduling_of_dynamic_shapes(self):
        model = os.path.join(MODELS, "gpt2_decode.json")
        with open(model, encoding="utf-8") as f:
            dynamic = sum(op["state"] == "dynamic" for op in json.load(f)["ops"])
        self.assertGreater(dynamic, 100)
        for types, steps in ((GE_API_L0, ("ScheduleOperator",)), (GE_API_L1, ("InferShape", "ScheduleOperator", "Tiling")),
                             (TASK_TIME | GE_API_L0, ("ScheduleOperator",)), (TASK_TIME, ())):
            with self.subTest(f"{types:#x}"):
                _, profile = self.workload(self.fresh(f"{types:#x}"), "tasks=3", f"types={types:#x}", "model=" + model)
                self.assert_readable(profile)
                told = {r["API Name"]: (r["Level"], int(r["Count"]))
                        for r in rows(profile.export()["output"], "api_statistic")
                        if r["API Name"] in ("InferShape", "ScheduleOperator", "Tiling") or types & TASK_TIME == 0}
                self.assertEqual({step: ("node", 3 * dynamic) for step in steps}, told)
        _, static = self.workload(self.fresh("static"), "tasks=3", f"types={GE_API_L0 | GE_API_L1:#x}",
                                  "model=" + os.path.join(MODELS, "bert_base_s128.json"))
        self.assertEqual(NAMES, kept(os.path.join(static.path, "host")), "shapes that are known need none of it")


class Attributes(ClientTest):
    def test_operators_tell_their_attributes_if_asked_and_from_the_second_level_on(self):
        for types, wanted in ((OP_ATTR, True), (TASK_TIME_L2, True), (TASK_TIME_L3, True), (TASK_TIME, False),
                              (TASK_TIME_L0 | AICORE_SHAPE, False)):
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
    timeout = 400

    DEVICES = (1, 2, 4)
    TYPES = (TASK_TIME | ACL_API, TASK_TIME_L0 | L2CACHE | AICPU, TASK_TIME | METRICS | RUNTIME_API,
             TASK_TIME_L3 | METRICS | L2CACHE | AICPU | HCCL | MSPROFTX | OP_ATTR | TASK_MEMORY)
    SETTINGS = ((), ("3:100", "4:write"), ("5:100", "6:50", "7:100"), ("1:200MB", "8:cpu,mem,disk,network", "9:cpu,mem",
                                                                     "10:50", "12:cores,host"))

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
                self.assert_exported(profile, model, types)

    def assert_exported(self, profile, model, types):
        """The tables agree with the model's totals to the last record, and with the records of the device to a tick."""
        output = profile.export()["output"]
        shown, operators = rows(output, "task_time"), rows(output, "op_summary")
        self.assertEqual(sum(d["submitted"] for d in model), len(shown))
        for device in model:
            mine = [r for r in shown if r["Device_id"] == str(device["id"])]
            spans = self.spans(profile, device["id"])
            self.assertEqual(device["submitted"], len(spans))
            times = sorted((Decimal(r["task_start(us)"]), Decimal(r["task_stop(us)"])) for r in mine)
            for (start, stop), (begin, end) in zip(times, spans):
                self.assertLessEqual(abs((stop - start) * 50 - (end - begin)), 1)
                self.assertLessEqual(abs((start - times[0][0]) * 50 - (begin - spans[0][0])), 1)
            if not types & METRICS:
                continue
            counted = [r for r in operators if r["Device_id"] == str(device["id"])]
            for core in ("aic", "aiv"):
                self.assertEqual(device[core + "_cycles"],
                                 sum(int(Decimal(r[core + "_total_cycles"])) for r in counted
                                     if r.get(core + "_total_cycles", "N/A") != "N/A"))

    def spans(self, profile, device):
        """Begin and end of each task of the device in ticks, read by the published layout."""
        begun, found = {}, []
        paths = glob.glob(os.path.join(profile.path, f"device_{device}/data/stars_soc.data.{device}.slice_*[0-9]"))
        for path in sorted(paths, key=lambda p: int(p.rsplit("_", 1)[1])):
            with open(path, "rb") as f:
                for head, stream, task, clock in struct.iter_unpack("<H2xHHQ48x", f.read()):
                    if head & 63 == 0:
                        begun[stream, task] = clock
                    elif head & 63 == 1:
                        found.append((begun.pop((stream, task)), clock))
        self.assertEqual({}, begun)
        return sorted(found)

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
        # Times of the host lie on a line through two readings of both clocks; each reading tells how exact it is.
        first, *_, last = profile.manifest["devices"][0]["clock"]
        slant = (first["width_ns"] + last["width_ns"]) / (last["host_ns"] - first["host_ns"])
        for row in table:
            self.assertAlmostEqual(cycles / 1800, float(row["Task Duration(us)"]), delta=0.0201 + cycles / 1800 * slant)
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

    @staticmethod
    def clocks(profile):
        """The device clock at the beginning and at the end of the session."""
        device = profile.manifest["devices"][0]
        return [(device["clock"][i]["device"] + device["clock_base"]) % 2**64 for i in (0, -1)]

    def assert_passed(self, profile, bits, before):
        """The device clock passed the range of so many bits within the session, `before` ticks after power came."""
        first, last = self.clocks(profile)
        self.assertLess(2**bits - before, first)
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
                # Again with more time if a busy machine began with the session only after that moment.
                for more in (1, 4, 16):
                    before = more * self.TICKS_BEFORE
                    profile = self.assert_whole_and_in_order(f"pass{bits}x{more}", tasks=40 * more, cycles=45_000_000,
                                                             NPUSIM_CLOCK_START=2**bits - before)
                    if 2**bits - before < self.clocks(profile)[0] < 2**bits:
                        break
                self.assert_passed(profile, bits, before)

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
        for more in (1, 4, 16):  # as above
            before = more * self.TICKS_BEFORE
            model, profile = self.workload(self.fresh(f"samples{more}"), f"tasks={40 * more}", "cycles=45000000", "units=2",
                                           "types=0x81a", "set=3:100", "set=5:100", "set=6:50", "set=7:100",
                                           NPUSIM_CLOCK_START=2**64 - before, NPUPROF_CONTAINER="no")
            if 2**64 - before < self.clocks(profile)[0] < 2**64:
                break
        self.assert_passed(profile, 64, before)
        raw = self.assert_readable(profile)["devices"]["0"]
        self.assertGreater(profile.manifest["devices"][0]["clock_base"], 2**63)
        self.assertEqual((model[0]["nic_sent"], model[0]["pcie_received"], model[0]["media_frames"], model[0]["aicpu"]),
                         (raw["totals"]["nic.data.sent"], raw["totals"]["pcie_transfer.received"],
                          raw["totals"]["media_frames"], raw["aicpu_nodes"]))
        for channel in ("hbm", "nic", "link", "dvpp"):
            self.assertLessEqual(profile.rings(channel)[0]["sampling"]["worst_error_ns"], 20)
