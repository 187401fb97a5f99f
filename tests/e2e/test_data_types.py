# SPDX-License-Identifier: Apache-2.0
"""Values of each data type, and clocks and counters at the ends of their range; see test_everything.py, too."""
import glob
import itertools
import json
import os
import re
import statistics
import struct
from decimal import Decimal

from harness import (ACL_API, AICORE_SHAPE, API_STATS, GE_API_L0, GE_API_L1, METRICS,
                     OP_ATTR, RUNTIME_API, TASK_TIME, TASK_TIME_L0, TASK_TIME_L2, TASK_TIME_L3,
                     MODELS, SOURCE, ClientTest, rows)
from data_matrix import NUMBERS, PARSED, TYPES, page
from test_everything import ALONE, SETTING_KINDS, records

FLIP = 98  # the kind of track that is no task
NAMES = {"unaging.additional.hash_dic", "unaging.additional.type_info_dic"}


def kept(path):
    """Names of the data files below a directory, without device and slice."""
    return {re.sub(r"(\.data\.\d+)?\.slice_\d+$", "", name) for name in os.listdir(os.path.join(path, "data"))
            if not name.endswith(".done")}


class Page(ClientTest):
    """docs/data-types.md tells the truth."""

    serial = True
    timeout = 400

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
        self.assertEqual(set(TYPES), set(told))
        for name, types in TYPES.items():
            with self.subTest(name):
                self.assertEqual(told[name], {kind.split()[0] for kind in ALONE[types]})

    def test_the_matrix_is_what_the_tests_know_and_do(self):
        with open(os.path.join(SOURCE, "docs", "data-matrix.md"), encoding="utf-8") as f:
            shown = f.read()
        self.assertEqual(page(), shown, "python3 tests/e2e/data_matrix.py makes docs/data-matrix.md anew")
        pairs = [line.split("|")[-3:-1] for line in shown.splitlines() if line.startswith("| `")]
        self.assertEqual(len(TYPES) * len(SETTING_KINDS), len(pairs))
        self.assertEqual({"yes"}, {parsed.strip() for parsed, _ in pairs})
        self.assertEqual([], [runs for _, runs in pairs if not re.fullmatch(r" \d+(, \d+)* ", runs)], "pairs that no run compares")
        self.assertEqual(self.table("Settings").keys(), NUMBERS.keys())
        for name, setting in NUMBERS.items():
            if name != "LLC_MODE":
                self.assertEqual(self.table("Settings")[name], {kind.split()[0] for kind in SETTING_KINDS[setting]})

    def test_what_is_called_parsed_is_known_to_the_validator(self):
        with open(os.path.join(SOURCE, "docs", "data-types.md"), encoding="utf-8") as f:
            lines = [re.split(r" *\| *", line.strip("|")) for line in f if re.match(r"\| *(`|\|)", line)]
        self.assertGreater(len(lines), 25)
        for _, _, files, parsed, *_ in lines:
            named = {name for name in re.findall(r"`(\w+)`", files) if name.islower()}
            with self.subTest(files):
                self.assertEqual("yes" if files.strip() else "", parsed.strip())
                self.assertLessEqual(named, PARSED)

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

    def test_sampled_counters_that_pass_their_width(self):
        # At ten billion cycles a second counters of 32 bits go round within the run. Told task by task they are wider.
        work = ("tasks=2", "blocks=1", "cycles=10000000000", f"types={METRICS:#x}")
        env = {"NPUSIM_AIC": 1, "NPUSIM_AIC_MHZ": 10000}
        by_task = self.workload(self.fresh("narrow.tasks"), *work, NPUSIM_TIME_SCALE=0.000001, **env)[1]
        expected = self.sums_of_tasks(by_task, "aic")
        self.assertGreater(max(expected[1:]), 2**33)
        model, by_time = self.workload(self.fresh("narrow"), *work, NPUPROF_CORE_SAMPLE_HZ=100, **env)
        counts = self.assert_readable(by_time)["devices"]["0"]
        self.assertEqual(expected, [counts["aic_sampled_cycles"], *(counts.get(f"aic_sampled_{i}", 0) for i in range(8))])
        # Hurried, 48 bits of cycles go round twice in a third of a second.
        model, by_time = self.workload(self.fresh("wide"), "tasks=1", "blocks=60000", "cycles=10000000000",
                                       f"types={METRICS:#x}", NPUSIM_AIC=1, NPUSIM_TIME_SCALE=0.000001,
                                       NPUPROF_CORE_SAMPLE_HZ=100)
        counts = self.assert_readable(by_time)["devices"]["0"]
        self.assertGreater(model[0]["aic_cycles"], 2**49)
        self.assertEqual(model[0]["aic_cycles"], counts["aic_sampled_cycles"])

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


class Calls(ClientTest):
    WORK = ("tasks=30", "single=1", "sync=7", "streams=2", "copies=3", "units=1")

    # What the runtime does for a call of the program, beside tasks; a copy that is waited for waits for its stream.
    RUNTIME = {"SetDevice": ("aclrtSetDevice",), "DeviceReset": ("aclrtResetDevice",),
               "DeviceSynchronize": ("aclrtSynchronizeDevice",), "DevMalloc": ("aclrtMalloc",), "DevFree": ("aclrtFree",),
               "MemCopyAsync": ("aclrtMemcpyAsync",), "MemCopySync": ("aclrtMemcpy",),
               "StreamSynchronize": ("aclrtSynchronizeStream", "aclrtMemcpy"),
               "KernelLaunchWithHandle": ("npusimLaunch", "npusimMedia", "npusimNetwork"),
               "CpuKernelLaunchExWithArgs": ("npusimLaunch of AI CPUs",)}

    def assert_sums(self, profile, table):
        """Sums, shortest and longest of the table are those of the records, one by one."""
        data = os.path.join(profile.path, "host", "data")
        with open(os.path.join(data, "unaging.additional.type_info_dic.slice_0"), encoding="utf-8") as f:
            names = dict(line.rstrip("\n").split(":", 1) for line in f)
        mhz = float(profile.metadata("host/info.json")["CPU"][0]["Frequency"])
        taken = {}
        for level, kind, begin, end in records(profile, "host", "aging.api_event.data", "<2xHI8xQQ8x"):
            taken.setdefault(names[f"{level}_{kind}"], []).append((end - begin) / mhz)
        self.assertEqual(sorted(taken), sorted(r["API Name"] for r in table))
        for row in table:
            of = taken[row["API Name"]]
            self.assertEqual(len(of), int(row["Count"]))
            for column, value in (("Time(us)", sum(of)), ("Avg(us)", sum(of) / len(of)), ("Min(us)", min(of)), ("Max(us)", max(of)),
                                  ("Variance", statistics.pvariance(of))):
                self.assertAlmostEqual(value, float(row[column]), delta=0.001 * len(of) + value * 1e-5, msg=(column, row))

    def told(self, name, types):
        """(calls by level and name as exported, calls as the client counted them)"""
        directory = self.fresh(name)
        done = self.run_client("workload", directory, *self.WORK, f"types={types:#x}")
        profile = self.profile_in(directory)
        self.assert_readable(profile)
        table = rows(profile.export()["output"], "api_statistic")
        self.assert_sums(profile, table)
        return ({level: {r["API Name"]: int(r["Count"]) for r in table if r["Level"] == level}
                 for level in {r["Level"] for r in table}}, json.loads(done.stdout)["calls"])

    def test_each_call_of_the_program_is_counted_once(self):
        for types in (ACL_API, API_STATS):
            with self.subTest(f"{types:#x}"):
                told, made = self.told(f"{types:#x}", types)
                self.assertEqual({"acl": {name: n for name, n in made.items() if name.startswith("acl")}}, told)
                self.assertEqual((3, 5), (told["acl"]["aclrtMemcpy"], told["acl"]["aclrtMemcpyAsync"]))

    def test_each_call_of_the_runtime_is_counted_once(self):
        told, made = self.told("runtime", RUNTIME_API)
        self.assertEqual({"runtime": {name: sum(made[call] for call in calls) for name, calls in self.RUNTIME.items()}}, told)


class Levels(ClientTest):
    def test_the_lowest_level_of_task_times_costs_the_least(self):
        """Bytes on disk and records of the host for each task of a network, level by level."""
        cost = {}
        for types in (TASK_TIME_L0, TASK_TIME):
            model, profile = self.workload(self.fresh(f"{types:#x}"), "tasks=5", f"types={types:#x}",
                                           "model=" + os.path.join(MODELS, "resnet50_b1.json"))
            self.assertEqual(0, profile.lost())
            files = [f for f in profile.manifest["files"] if f["path"].startswith("host/") and "_dic" not in f["path"]]
            cost[types] = [sum(f[what] for f in files) / model[0]["submitted"] for what in ("bytes", "records")]
        # A launch, a call of the runtime and a track with the lowest, and a description and tensors of each operator above.
        self.assertLess(cost[TASK_TIME_L0][0], cost[TASK_TIME][0] / 2)
        self.assertLess(cost[TASK_TIME_L0][1], cost[TASK_TIME][1] - 1.5)


class Copies(ClientTest):
    def test_each_copy_has_its_row_and_with_task_times_size_and_bandwidth(self):
        _, profile = self.workload(self.fresh("copies"), "tasks=0", "copies=1", f"types={ACL_API | TASK_TIME:#x}")
        output = profile.export()["output"]
        calls = {r["API Name"]: int(r["Count"]) for r in rows(output, "api_statistic") if r["Level"] == "acl"}
        self.assertEqual((1, 1), (calls["aclrtMemcpy"], calls["aclrtMemcpyAsync"]))
        with open(glob.glob(os.path.join(output, "msprof_[0-9]*.json"))[0], encoding="utf-8") as f:
            copies = [e for e in json.load(f) if e.get("name") == "MEMCPY_ASYNC" and e["ph"] == "X"]
        self.assertEqual([8 << 20, 4 << 20], [e["args"]["size(B)"] for e in copies])
        self.assertEqual(["host to device", "device to host"], [e["args"]["operation"] for e in copies])
        # One row each of what the program called, too.
        self.assertEqual(2, sum(r["kernel_type"] == "MEMCPY_ASYNC" for r in rows(output, "task_time")))
        for copy in copies:
            self.assertAlmostEqual(copy["args"]["size(B)"] / (float(copy["dur"]) * 1000), copy["args"]["bandwidth(GB/s)"],
                                   delta=0.001 * copy["args"]["bandwidth(GB/s)"])
        alone = self.workload(self.fresh("alone"), "tasks=0", "copies=1", f"types={ACL_API:#x}")[1]
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


def disorder(launched, ran):
    """What of tasks (id, begin, end) of one stream contradicts the order in which they were put there."""
    if launched != [task for task, _, _ in ran]:
        yield f"launched {launched}, ran {[task for task, _, _ in ran]}"
    end = 0
    for task, begin, stop in ran:
        if begin < end:
            yield f"task {task} begins at {begin}, the one before ends at {end}"
        if stop < begin:
            yield f"task {task} runs from {begin} to {stop}"
        end = stop


class Clocks(ClientTest):
    """Clocks and counters at the ends of their range, and far from the host's."""
    serial = True

    HOUR, YEAR = 3600 * 10**9, 365 * 86400 * 10**9

    def assert_whole_and_in_order(self, name, tasks=200, cycles=18000, **env):
        """Durations are exact to a tick, tasks run one after the other and none begins before its launch."""
        model, profile = self.workload(self.fresh(name), f"tasks={tasks}", "single=1", f"cycles={cycles}", **env)
        exported = self.assert_whole(model, profile)
        table = rows(exported["output"], "op_summary")
        launched, ran = self.launched(profile), self.ran(profile)
        self.assertEqual(tasks, len(launched))
        self.assertEqual([], list(disorder(launched, ran)))
        self.assertEqual(launched, [int(r["Task ID"]) for r in table])
        # Times of the host lie on a line through two readings of both clocks; each reading tells how exact it is.
        first, *_, last = profile.manifest["devices"][0]["clock"]
        slant = (first["width_ns"] + last["width_ns"]) / (last["host_ns"] - first["host_ns"])
        for row in table:
            self.assertAlmostEqual(cycles / 1800, float(row["Task Duration(us)"]), delta=0.0201 + cycles / 1800 * slant)
        # An arrow of the timeline goes from the launch on the host to the task on the device.
        ends = {"s": {}, "f": {}}
        with open(glob.glob(os.path.join(exported["output"], "msprof_[0-9]*.json"))[0], encoding="utf-8") as f:
            for event in json.load(f):
                if event.get("cat") == "HostToDevice":
                    ends[event["ph"]][event["id"]] = Decimal(event["ts"])
        self.assertEqual(ends["s"].keys(), ends["f"].keys())
        self.assertGreaterEqual(len(ends["s"]), tasks)
        # A float of microseconds since 1970 would be off by a quarter of one.
        early = [(i, launched - ends["f"][i]) for i, launched in ends["s"].items() if launched > ends["f"][i]]
        self.assertEqual([], early, "tasks that began before their launch")
        return profile

    def records(self, profile, part, kind, layout):
        paths = glob.glob(os.path.join(profile.path, part, "data", kind + ".slice_*[0-9]"))
        for path in sorted(paths, key=lambda p: int(p.rsplit("_", 1)[1])):
            with open(path, "rb") as f:
                yield from struct.iter_unpack(layout, f.read())

    def launched(self, profile):
        """Ids of the tasks of the only stream, in the order in which the host put them there."""
        tracks = [(time, task) for time, task, kind in
                  self.records(profile, "host", "aging.compact.task_track", "<16xQ4xH2xQ24x") if kind != FLIP]
        return [task for _, task in sorted(tracks)]

    def ran(self, profile):
        """(task, begin, end) in the order in which the device told of the begins, in its own ticks."""
        told, begun = [], {}
        for head, task, clock in self.records(profile, "device_0", "stars_soc.data.0", "<H4xHQ48x"):
            if head & 63 == 0:
                begun[task] = len(told)
                told.append((task, clock, None))
            else:
                at = begun.pop(task)
                told[at] = (*told[at][:2], clock)
        self.assertEqual({}, begun)
        return told

    def test_tasks_out_of_order_are_noticed(self):
        whole = [(1, 100, 200), (2, 200, 300), (3, 310, 400)]
        self.assertEqual([], list(disorder([1, 2, 3], whole)))
        for launched, ran in (([1, 3, 2], whole), ([1, 2], whole), ([1, 2, 3], [*whole[:2], (3, 299, 400)]),
                              ([1, 2, 3], [(1, 100, 200), (2, 90, 95), (3, 310, 400)]),
                              ([1, 2, 3], [*whole[:2], (3, 310, 309)])):
            self.assertNotEqual([], list(disorder(launched, ran)), (launched, ran))

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
                profile = self.assert_whole_and_in_order(name, **env)
                first, last = self.clocks(profile)
                ppm = env.get("NPUSIM_CLOCK_PPM", 0)
                ahead = env.get("NPUSIM_CLOCK_OFFSET_NS", 0) * (10**6 + ppm) // 10**6 // 20  # ticks of 50 MHz, which drift too
                self.assertGreaterEqual(first, ahead)
                self.assertLess(first, ahead + 600 * 50_000_000, "ten minutes after power came")
                begin, *_, end = profile.manifest["devices"][0]["clock"]
                passed = end["host_ns"] - begin["host_ns"]
                self.assertAlmostEqual(ppm / 1e6, (last - first) * 20 / passed - 1,
                                       delta=(begin["width_ns"] + end["width_ns"] + 40) / passed)

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
