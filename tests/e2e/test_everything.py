# SPDX-License-Identifier: Apache-2.0
"""One window with something for everything, under each data type alone and under every pair of conditions."""
import glob
import itertools
import json
import os
import random
import re
import struct
from collections import Counter, defaultdict
from decimal import Decimal

from harness import (ACL_API, AICORE_SHAPE, AICPU, API_STATS, DRAIN_PATHS, GE_API_L0, GE_API_L1, HCCL, L2CACHE, METRICS,
                     MODELS, MSPROFTX, OP_ATTR, RUNTIME_API, TASK_MEMORY, TASK_TIME, TASK_TIME_L0, TASK_TIME_L2,
                     TASK_TIME_L3, TRAINING_TRACE, ClientTest, rows)

MODEL = os.path.join(MODELS, "gpt2_decode.json")  # all of its operators are of dynamic shapes
HZ = 50_000_000

LEVELS = {20000: "acl", 15000: "model", 10000: "node", 5500: "communication", 5000: "runtime"}
CALLS = {f"api_event of {level}" for level in ("model", "node", "communication", "runtime")}
# A collective tells of its operator whenever its tasks are told.
COLLECTIVES = {"hccl_op_info", "hccl_info", "node_basic_info"}
STEPS = {"ts_track 10/0", "ts_track 10/1", "ts_track 10/4"}
TIMES = CALLS | COLLECTIVES | STEPS | {"task_track", "memcpy_info", "graph_id_map", "stars_soc 0x0", "stars_soc 0x1",
                                       "stars_soc 0x22", "stars_soc 0x23"}
OPERATORS = TIMES | {"tensor_info", "context_id_info"}
ATTRIBUTES = OPERATORS | {"node_attr_info"}

# What each data type turns on, alone.
ALONE = {
    ACL_API: {"api_event of acl"},
    TASK_TIME_L0: TIMES,
    TASK_TIME: OPERATORS,
    TASK_TIME_L2: ATTRIBUTES,
    TASK_TIME_L3: ATTRIBUTES,
    OP_ATTR: ATTRIBUTES,
    METRICS: {"stars_soc 0x0", "stars_soc 0x1", "stars_soc 0x22", "stars_soc 0x23", "ffts_profile 0x28", "ffts_profile 0x29"},
    AICPU: {"aicpu 0"},
    L2CACHE: {"socpmu 1"},
    HCCL: COLLECTIVES | {"api_event of node", "api_event of communication"},
    TRAINING_TRACE: STEPS,
    MSPROFTX: {"msproftx", "ts_track 10/11"},
    RUNTIME_API: {"api_event of runtime"},
    GE_API_L0: {"api_event of node"},
    GE_API_L1: {"api_event of node"},
    TASK_MEMORY: {"task_memory_info"},
    AICORE_SHAPE: set(),
    AICORE_SHAPE | TASK_TIME_L0: OPERATORS,
    API_STATS: {"api_event of acl"},
}


# What each setting adds, by its number, whatever the data types. The others shape what there is.
SETTING_KINDS = {
    1: set(),
    3: {"hbm", "llc", "npu_module_mem", "stars_soc_profile 0x1a", "stars_soc_profile 0x1c"},
    4: set(),
    5: {"nic", "roce"},
    6: {"hccs", "pcie", "stars_soc_profile 0x1b"},
    7: {"dvpp"},
    8: {"host_cpu", "host_disk", "host_mem", "host_network"},
    9: {"host_sys_cpu", "host_sys_mem"},
    10: set(),
    12: {"qos"},
    16: set(),
}


def records(profile, part, kind, layout):
    """Records of a file by the published layout, slice by slice."""
    paths = glob.glob(os.path.join(profile.path, part, "data", kind + ".slice_*[0-9]"))
    for path in sorted(paths, key=lambda p: int(p.rsplit("_", 1)[1])):
        with open(path, "rb") as f:
            yield from struct.iter_unpack(layout, f.read())


def kinds(profile):
    """Every kind of record in the files of the host and of device 0, dictionaries aside."""
    found = set()
    for part in ("host", "device_0"):
        for name in {n.rsplit(".slice_", 1)[0] for n in os.listdir(os.path.join(profile.path, part, "data"))
                     if not n.endswith(".done")}:
            kind = re.sub(r"^(un)?aging\.(compact\.|additional\.)?|\.data(\.\d+)?$", "", name)
            if kind in ("hash_dic", "type_info_dic"):
                continue
            if kind == "api_event":
                found |= {f"{kind} of {LEVELS[level]}" for level, in records(profile, part, name, "<2xH36x")}
            elif kind in ("stars_soc", "ffts_profile", "stars_soc_profile"):
                size = 128 if kind == "ffts_profile" else 64
                found |= {f"{kind} {head & 63:#x}" for head, in records(profile, part, name, f"<H{size - 2}x")}
            elif kind == "ts_track":
                found |= {f"{kind} {tag}/{what}" for tag, what in records(profile, part, name, "<xB34xH2x")}
            elif kind == "aicpu":
                found |= {f"{kind} {what}" for what, in records(profile, part, name, "<4xI248x")}
            elif kind == "socpmu":
                found |= {f"{kind} {what}" for what, in records(profile, part, name, "<14xH64x")}
            else:
                found.add(kind)
    return found


def completed(types):
    """Data types with those that they bring along, as published."""
    if types & API_STATS:
        return API_STATS | ACL_API
    if types & TASK_TIME_L3:
        types |= TASK_TIME_L2
    if types & (TASK_TIME_L2 | OP_ATTR):
        types |= TASK_TIME
    if types & TASK_TIME:
        types |= TASK_TIME_L0
    return types | (TRAINING_TRACE if types & TASK_TIME_L0 else 0)


def expected_kinds(types, settings):
    """What is in the files of a window with something for everything."""
    types = completed(types)
    found = [kinds for bits, kinds in ALONE.items() if types & bits == bits]
    return set().union(*found, *(SETTING_KINDS[s] for s in settings))


class Everything(ClientTest):
    serial = True
    timeout = 400

    def everything(self, name, types, *arguments, devices=1, path=None, **env):
        """Returns what the client says of its run, the profile, and the counts of the validator."""
        directory = self.fresh(name)
        done = self.run_client("everything", directory, f"types={types:#x}", f"devices={devices}", f"model={MODEL}",
                               *arguments, NPUSIM_DEVICES=4, NPUPROF_CONTAINER="no", **env)
        profile = self.profile_in(path or directory)
        self.assert_ring_sums(profile)
        self.assertEqual((0, True), (profile.lost(), profile.manifest["complete"]))
        return json.loads(done.stdout), profile, self.assert_readable(profile)


class Alone(Everything):
    def test_each_data_type_turns_on_its_files_and_records_and_no_others(self):
        for types, expected in ALONE.items():
            with self.subTest(f"{types:#x}"):
                self.assertEqual(expected, kinds(self.everything(f"{types:#x}", types)[1]))


def pairwise(*lists, tries=20):
    """Few rows, one value of each list, in which each value of a list meets each value of every other list."""
    chance = random.Random(4)  # the same rows each time
    wanted = {(i, a, j, b) for (i, one), (j, other) in itertools.combinations(enumerate(lists), 2)
              for a in range(len(one)) for b in range(len(other))}

    def met(row):
        return {(i, row[i], j, row[j]) for i, j in itertools.combinations(sorted(row), 2)} & wanted

    def attempt(open_pairs):
        i, a, j, b = chance.choice(open_pairs)
        row = {i: a, j: b}
        for at in chance.sample(range(len(lists)), len(lists)):
            if at not in row:
                values = chance.sample(range(len(lists[at])), len(lists[at]))
                row[at] = max(values, key=lambda value, at=at: sum(
                    ((at, value, k, v) if at < k else (k, v, at, value)) in wanted for k, v in row.items()))
        return row

    chosen = []
    while wanted:
        open_pairs = sorted(wanted)
        row = max((attempt(open_pairs) for _ in range(tries)), key=lambda row: len(met(row)))
        wanted -= met(row)
        chosen.append([one[row[k]] for k, one in enumerate(lists)])
    return chosen


class Combinations(Everything):
    DEVICES = (1, 2, 4)
    TYPES = (ACL_API, TASK_TIME, METRICS, AICPU, L2CACHE, HCCL, TRAINING_TRACE, MSPROFTX, RUNTIME_API, GE_API_L0, GE_API_L1,
             TASK_TIME_L0, TASK_MEMORY, TASK_TIME_L2, OP_ATTR, TASK_TIME_L3, AICORE_SHAPE)
    FLOWS = ("peers", "cores", "host", "network", "copies")
    NUMBERS = {"STORAGE_LIMIT": 1, "SYS_HARDWARE_MEM_FREQ": 3, "LLC_MODE": 4, "SYS_IO_FREQ": 5, "SYS_INTERCONNECTION_FREQ": 6,
               "DVPP_FREQ": 7, "HOST_SYS": 8, "HOST_SYS_USAGE": 9, "HOST_SYS_USAGE_FREQ": 10, "SYS_MEM_SERVICEFLOW": 12, "PATH": 16}
    LIMIT, MEMORY, MODE, IO, LINKS, MEDIA, HOST, USAGE, USAGE_HZ, SERVICE, PATH = NUMBERS.values()
    SETTINGS = {LIMIT: "200MB", MEMORY: "100", MODE: "write", IO: "100", LINKS: "50", MEDIA: "100",
                HOST: "cpu,mem,disk,network", USAGE: "cpu,mem", USAGE_HZ: "50", SERVICE: ",".join(FLOWS), PATH: "elsewhere"}
    # Each data type and each setting is a condition of its own, which holds or does not.
    LISTS = (DEVICES, DRAIN_PATHS, *((0, bit) for bit in TYPES), *((None, setting) for setting in SETTINGS))

    def conditions(self):
        """(number of devices, way to disk, data types, settings) of each run."""
        for devices, path, *rest in pairwise(*self.LISTS):
            yield devices, path, sum(rest[:len(self.TYPES)]), {s for s in rest[len(self.TYPES):] if s is not None}
        # These switch all other data types off, so that they are no condition like the others.
        yield 1, "pwritev", API_STATS | METRICS, set()
        yield 2, "uring", API_STATS | TASK_TIME_L3, set(self.SETTINGS)
        yield 4, "direct", API_STATS, set(self.SETTINGS) - {self.PATH}

    def test_each_pair_of_conditions_happens(self):
        chosen = pairwise(*self.LISTS)
        for (i, one), (j, other) in itertools.combinations(enumerate(self.LISTS), 2):
            self.assertEqual(set(itertools.product(one, other)), {(c[i], c[j]) for c in chosen})
        self.assertLess(len(chosen), 24)
        self.assertTrue(all(types for _, _, types, _ in self.conditions()), "a run without a data type is none")

    def test_devices_types_settings_and_drain_paths(self):
        for n, (devices, path, types, settings) in enumerate(self.conditions()):
            with self.subTest(devices=devices, types=f"{types:#x}", settings=sorted(settings), path=path):
                elsewhere = os.path.join(self.dir, f"elsewhere{n}")
                texts = {**self.SETTINGS, self.PATH: elsewhere}
                told, profile, counts = self.everything(
                    str(n), types, *(f"set={s}:{texts[s]}" for s in sorted(settings)), devices=devices,
                    path=elsewhere if self.PATH in settings else None, **self.drain(path))
                self.assertEqual(expected_kinds(types, settings), kinds(profile))
                types = completed(types)
                output = profile.export()["output"]
                self.assert_host(profile, told, counts["host"], types, settings, output)
                for device in told["devices"]:
                    raw = counts["devices"][str(device["id"])]
                    self.assert_tasks(profile, device, raw, types)
                    self.assert_units(device, raw, settings, devices)
                if types & TASK_TIME_L0:
                    self.assert_exported(profile, told["devices"], types, output)

    def assert_host(self, profile, told, host, types, settings, output):
        devices = len(told["devices"])
        with open(MODEL, encoding="utf-8") as f:
            operators = len(json.load(f)["ops"])
        times = types & TASK_TIME_L0
        detail = types & TASK_TIME or (times and types & AICORE_SHAPE)
        for kind, count, wanted in (("task_memory_info", 2 * operators, types & TASK_MEMORY),
                                    ("node_attr_info", 2, types & (OP_ATTR | TASK_TIME_L2)),
                                    ("msproftx", 2, types & MSPROFTX), ("hccl_op_info", 2, types & HCCL or times)):
            self.assertEqual(devices * count if wanted else 0, host.get(kind, 0), kind)
        self.assertEqual(bool(detail), "tensor_info" in host)
        shown = rows(output, "api_statistic")
        names = {level: {r["API Name"]: int(r["Count"]) for r in shown if r["Level"] == level} for level in LEVELS.values()}
        calls = {name: n for name, n in told["calls"].items() if re.match("acl(rt|mdl|nn)|Hccl", name)}
        self.assertEqual(calls if types & ACL_API else {}, names["acl"])
        scheduled = devices * operators
        for name, wanted in (("ScheduleOperator", types & (GE_API_L0 | GE_API_L1)), ("InferShape", types & GE_API_L1),
                             ("Tiling", types & GE_API_L1)):
            self.assertEqual(scheduled if wanted else 0, names["node"].get(name, 0), name)
        self.assertEqual(told["calls"]["aclrtMemcpy"] if types & RUNTIME_API or times else 0,
                         names["runtime"].get("MemCopySync", 0))
        self.assertEqual(told["calls"]["aclrtSetDevice"] if types & RUNTIME_API else 0, names["runtime"].get("SetDevice", 0))
        for setting, sampled in ((self.HOST, ("host_cpu", "host_mem", "host_disk", "host_network")),
                                 (self.USAGE, ("host_sys_cpu", "host_sys_mem"))):
            for kind in sampled:
                self.assertEqual(setting in settings, host.get(kind + ".data", 0) > 0, kind)
        self.assertEqual(200_000_000 if self.LIMIT in settings else 0, profile.manifest["storage"]["limit_bytes"])

    def assert_tasks(self, profile, device, raw, types):
        told = types & (TASK_TIME_L0 | METRICS)
        self.assertEqual([device["submitted"] if told else 0] * 2, [raw.get("starts", 0), raw.get("ends", 0)])
        self.assertEqual(device["kernels"] if types & METRICS else 0, raw.get("context_pmu", 0))
        self.assertEqual(device["aicpu"] if types & AICPU else 0, raw.get("aicpu_nodes", 0))
        self.assertEqual(device["kernels"] if types & L2CACHE else 0, raw.get("socpmu.data", 0))
        lines = raw["totals"].get("l2_0x90", 0) + raw["totals"].get("l2_0x91", 0), raw["totals"].get("l2_0xbf", 0)
        self.assertEqual((device["l2_hits"], device["l2_misses"]) if types & L2CACHE else (0, 0), lines)
        marks = Counter(tag for kind, tag in records(profile, f"device_{device['id']}", f"ts_track.data.{device['id']}",
                                                     "<xB34xH2x") if kind == 10)
        self.assertEqual({**({0: 1, 1: 1, 4: 1} if types & TRAINING_TRACE else {}), **({11: 2} if types & MSPROFTX else {})},
                         dict(marks))
        if told:
            self.assertEqual(device["busy_ticks"], sum(end - begin for begin, end in self.spans(profile, device["id"])[0]))

    def assert_units(self, device, raw, settings, devices):
        totals, on = raw["totals"], Counter()
        for side, name in (("bytes_read", "hbm_read"), ("bytes_written", "hbm_written")):
            expected = device[side] if self.MEMORY in settings else 0
            self.assertTrue(0 <= expected - totals.get(name, 0) < 4 * 32, (name, expected, totals.get(name)))
        for setting, name, side in ((self.IO, "nic", "nic"), (self.IO, "roce", "nic"), (self.LINKS, "link_transfer", "link"),
                                    (self.LINKS, "link", "link"), (self.LINKS, "pcie_transfer", "pcie")):
            for way in ("received", "sent"):
                file = name + (f".data.{way}" if side == "nic" else f"_{way}" if name == "link" else f".{way}")
                self.assertEqual(device[f"{side}_{way}"] if setting in settings else 0, totals.get(file, 0), file)
                on[setting] += totals.get(file, 0)
        self.assertEqual(device["media_frames"] if self.MEDIA in settings else 0, totals.get("media_frames", 0))
        for engine, name in ((1, "pcie"), (2, "link"), (3, "nic")):
            for side, way in (("received", "written"), ("sent", "read")):
                self.assertEqual(device[f"{name}_{side}"] if self.MEMORY in settings else 0,
                                 totals.get(f"accelerator_{engine}.{way}", 0))
        # Events 0 and 1 of either mode are parts of 4, its requests.
        requests = totals.get("llc_0", 0) + totals.get("llc_1", 0)
        self.assertEqual(requests, totals.get("llc_4", 0))
        self.assertEqual(self.MEMORY in settings, requests > 0)
        self.assertEqual(self.MEMORY in settings, raw.get("module_33", 0) > 0)
        self.assertEqual(self.MEMORY in settings, raw.get("level_samples", 0) > 0)
        moved = sum(totals.get(f"qos_{name}_ticks", 0) for name in self.FLOWS) * 2**20 // HZ
        expected = device["bytes_read"] + device["bytes_written"] if self.SERVICE in settings else 0
        step = len(self.FLOWS) * 2**20 // 50  # the least that samples of 20 ms can tell
        self.assertTrue(0 <= expected - moved <= step, (expected, moved))
        self.assertTrue(devices == 1 or self.LINKS not in settings or on[self.LINKS] > 0, "nothing went over a link")

    def spans(self, profile, device):
        """(begin, end) of each task in ticks, and of its contexts by stream and task, by the published layout."""
        begun, tasks, contexts = {}, defaultdict(list), defaultdict(list)
        for head, stream, task, clock, context in records(profile, f"device_{device}", f"stars_soc.data.{device}",
                                                          "<H2xHHQ2xH44x"):
            function = head & 63
            key = (function > 1, stream, task, context if function > 1 else 0)
            if function in (0x00, 0x22):
                self.assertNotIn(key, begun)
                begun[key] = clock
            else:
                (contexts if key[0] else tasks)[stream, task].append((begun.pop(key), clock))
        self.assertEqual({}, begun)
        return [span for found in tasks.values() for span in found], tasks, contexts

    def assert_exported(self, profile, model, types, output):
        """The tables agree with the model's totals to the last record, and with the records of the device to a tick."""
        shown, operators = rows(output, "task_time"), rows(output, "op_summary")
        # Where operators name their contexts, these stand for the task that they are parts of.
        detail = types & (TASK_TIME | AICORE_SHAPE)
        for device in model:
            _, tasks, contexts = self.spans(profile, device["id"])
            spans = sorted(span for key, found in tasks.items() for span in (detail and contexts.get(key) or found))
            mine = [r for r in shown if r["Device_id"] == str(device["id"])]
            times = sorted((Decimal(r["task_start(us)"]), Decimal(r["task_stop(us)"])) for r in mine)
            self.assertEqual(len(spans), len(times))
            for (start, stop), (begin, end) in zip(times, spans):
                self.assertLessEqual(abs((stop - start) * 50 - (end - begin)), 1)
                self.assertLessEqual(abs((start - times[0][0]) * 50 - (begin - spans[0][0])), 1)
            if not types & METRICS or not detail:
                continue
            counted = [r for r in operators if r["Device_id"] == str(device["id"])]
            for core in ("aic", "aiv"):
                self.assertEqual(device[core + "_cycles"],
                                 sum(int(Decimal(r[core + "_total_cycles"])) for r in counted
                                     if r.get(core + "_total_cycles", "N/A") != "N/A"))
