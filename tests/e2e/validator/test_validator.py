# SPDX-License-Identifier: Apache-2.0
"""The validator passes what the public analysis accepted, and each of its rules can fail.

Run: python3 -m unittest validator.test_validator   (in tests/e2e)
"""
import contextlib
import glob
import io
import json
import os
import shutil
import struct
import tempfile
import unittest
from unittest import mock

from . import __main__ as command
from . import layout, validate
from .intervals import Intervals
from .report import RULES

_GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "data", "golden")
_broken = set()  # rules that some test has seen fail


def golden(name):
    found = glob.glob(os.path.join(_GOLDEN, name, "PROF_*"))
    if len(found) != 1:
        raise AssertionError(f"tests/data/golden/{name} must hold one PROF directory, holds {len(found)}")
    return found[0]


class Copy:
    """A golden directory that may be damaged."""

    def __init__(self, test, name):
        root = tempfile.mkdtemp(prefix="npuprof-validator-")
        test.addCleanup(shutil.rmtree, root)
        self.path = os.path.join(root, os.path.basename(golden(name)))
        shutil.copytree(golden(name), self.path)

    def __call__(self, *parts):
        return os.path.join(self.path, *parts)

    def read(self, name):
        with open(self(name), "rb") as f:
            return f.read()

    def write(self, name, data):
        """Replaces a file, and its note with it."""
        with open(self(name), "wb") as f:
            f.write(data)
        with open(self(name) + ".done", "w", encoding="utf-8") as f:
            f.write(f"filesize:{len(data)}\n")

    def patch(self, name, offset, form, *values):
        data = bytearray(self.read(name))
        struct.pack_into(form, data, offset, *values)
        self.write(name, bytes(data))

    def json(self, name, **changes):
        """Sets keys of a metadata file; a value of ... removes the key."""
        value = json.loads(self.read(name))
        for key, new in changes.items():
            if new is ...:
                del value[key]
            else:
                value[key] = new
        self.write(name, json.dumps(value).encode())

    def device_info(self, **changes):
        info = json.loads(self.read("device_0/info.json.0"))["DeviceInfo"][0]
        for key, new in changes.items():
            if new is ...:
                del info[key]
            else:
                info[key] = new
        self.json("device_0/info.json.0", DeviceInfo=[info])


API = "host/data/aging.api_event.data.slice_0"
NODE = "host/data/aging.compact.node_basic_info.slice_0"
TENSOR = "host/data/aging.additional.tensor_info.slice_0"
CONTEXT = "host/data/aging.additional.context_id_info.slice_0"
TRACK = "host/data/aging.compact.task_track.slice_0"
MEMCPY = "host/data/aging.compact.memcpy_info.slice_0"
HASHES = "host/data/unaging.additional.hash_dic.slice_0"
TYPES = "host/data/unaging.additional.type_info_dic.slice_0"
SOC = "device_0/data/stars_soc.data.0.slice_0"
PMU = "device_0/data/ffts_profile.data.0.slice_0"
TS = "device_0/data/ts_track.data.0.slice_0"
SAMPLE = "device_0/sample.json"
INFO = "device_0/info.json.0"
TIME = 16  # offset of the time in every host record


class RuleTest(unittest.TestCase):
    """Base: damages a copy and looks which rules say so."""

    def damage(self, name="min"):
        return Copy(self, name)

    def breaks(self, copy, *rules):
        """The copy breaks exactly these rules."""
        report = validate(copy.path)
        self.assertEqual(sorted(rules), sorted(report.rules()), "\n".join(report.lines()))
        self.assertTrue(all(f["message"] and f["path"] for f in report.findings))
        _broken.update(rules)


class Golden(unittest.TestCase):
    def test_directories_that_the_public_analysis_read_break_no_rule(self):
        for name in ("min", "full", "multi", "wrap"):
            with self.subTest(name):
                self.assertEqual([], list(validate(golden(name)).lines()))

    def test_counts_tell_what_the_directories_hold(self):
        counts = validate(golden("min")).counts
        self.assertEqual(40, counts["host"]["task_track"])
        self.assertEqual(30, counts["host"]["launches"])
        self.assertEqual((40, 40, 40), tuple(counts["devices"]["0"][k] for k in ("starts", "ends", "tasks")))
        self.assertEqual(0, counts["devices"]["0"]["tasks_without_track"])
        self.assertEqual(4, validate(golden("wrap")).counts["devices"]["0"]["flips"])
        self.assertEqual(135, validate(golden("wrap")).counts["devices"]["0"]["context_pmu"])
        self.assertEqual({"0", "1"}, set(validate(golden("multi")).counts["devices"]))

    def test_each_part_alone_is_a_directory(self):
        for part in ("host", "device_0"):
            copy = Copy(self, "min")
            shutil.rmtree(copy("device_0" if part == "host" else "host"))
            rules = validate(copy.path).rules()
            # Without its device directory a track names a device that is not there.
            self.assertLessEqual(rules, {"ids"} if part == "host" else set())

    def test_no_prof_directory_is_refused_in_one_sentence(self):
        with tempfile.TemporaryDirectory() as d:
            with self.assertRaisesRegex(ValueError, "is no PROF directory"):
                validate(d)
        with self.assertRaisesRegex(ValueError, "is no directory"):
            validate("/no/such/directory")


class Files(RuleTest):
    def test_name_of_the_directory(self):
        copy = self.damage()
        renamed = os.path.join(os.path.dirname(copy.path), "PROF_1_2_3")
        os.rename(copy.path, renamed)
        copy.path = renamed
        self.breaks(copy, "layout")

    def test_stray_file(self):
        copy = self.damage()
        copy.write("device_0/data/secret.data.0.slice_0", b"x")
        self.breaks(copy, "layout")

    def test_link(self):
        copy = self.damage()
        os.rename(copy(SOC), copy("..", "elsewhere"))
        os.symlink(copy("..", "elsewhere"), copy(SOC))
        self.breaks(copy, "path-characters")

    def test_character_in_the_path(self):
        copy = self.damage()
        folder = os.path.join(os.path.dirname(copy.path), "a;b")
        os.mkdir(folder)
        copy.path = shutil.move(copy.path, folder)
        self.breaks(copy, "path-characters")

    def test_file_without_note(self):
        copy = self.damage()
        os.remove(copy(SOC + ".done"))
        self.breaks(copy, "done")

    def test_note_with_wrong_size(self):
        copy = self.damage()
        with open(copy("host/info.json.done"), "w", encoding="utf-8") as f:
            f.write("filesize:3\n")
        self.breaks(copy, "done")

    def test_missing_slice(self):
        copy = self.damage()
        data = copy.read(SOC)
        copy.write(SOC, data[:640])
        copy.write(SOC.replace("slice_0", "slice_2"), data[640:])
        self.breaks(copy, "slice-numbers")

    def test_slices_are_read_in_the_order_of_their_numbers(self):
        copy = self.damage()
        data = copy.read(SOC)
        for i in range(11):  # slice_10 comes after slice_9, not after slice_1
            copy.write(SOC.replace("slice_0", f"slice_{i}"), data[i * 512:(i + 1) * 512 if i < 10 else None])
        self.breaks(copy)

    def test_slice_that_ends_in_the_middle_of_a_record(self):
        for name, size in ((API, 40), (NODE, 64), (TENSOR, 256), (SOC, 64), (PMU, 128), (TS, 40)):
            with self.subTest(name):
                copy = self.damage()
                copy.write(name, copy.read(name) + bytes(size - 1))
                self.breaks(copy, "slice-records")

    def test_device_file_of_another_device(self):
        copy = self.damage()
        copy.write(SOC.replace(".data.0.", ".data.1."), copy.read(SOC))
        os.remove(copy(SOC))
        os.remove(copy(SOC + ".done"))
        self.breaks(copy, "ids")


class Metadata(RuleTest):
    def test_missing_file(self):
        for name in ("host/info.json", "host/sample.json", "host/start_info", "host/host_start.log", INFO, SAMPLE,
                     "device_0/start_info.0", "device_0/host_start.log.0", "device_0/dev_start.log.0"):
            with self.subTest(name):
                copy = self.damage()
                os.remove(copy(name))
                os.remove(copy(name + ".done"))
                report = validate(copy.path)
                self.assertIn("metadata-file", report.rules())
                _broken.add("metadata-file")

    def test_end_info_may_be_missing(self):
        copy = self.damage()
        for name in ("host/end_info", "device_0/end_info.0"):
            os.remove(copy(name))
            os.remove(copy(name + ".done"))
        self.breaks(copy)

    def test_two_files_with_one_prefix(self):
        copy = self.damage()
        copy.write("device_0/info.json.0.bak", copy.read(INFO))
        self.breaks(copy, "metadata-file", "layout")

    def test_more_than_one_line(self):
        copy = self.damage()
        copy.write(SAMPLE, json.dumps(json.loads(copy.read(SAMPLE)), indent=1).encode())
        self.assertIn("metadata-line", validate(copy.path).rules())
        copy = self.damage()
        copy.write(SAMPLE, copy.read(SAMPLE).rstrip(b"\n") + b"\n{}\n")
        self.breaks(copy, "metadata-line")

    def test_each_key_of_the_export_gate(self):
        keys = {"info": ("platform_version", "pid", "CPU", "DeviceInfo", "hostname", "memoryTotal", "netCard"),
                "sample": ("llc_profiling", "ai_core_profiling_mode"),
                "start": ("collectionTimeBegin", "clockMonotonicRaw")}
        for part in ("host", "device_0"):
            suffix = "" if part == "host" else ".0"
            files = {"info": f"{part}/info.json{suffix}", "sample": f"{part}/sample.json",
                     "start": f"{part}/start_info{suffix}"}
            for which, names in keys.items():
                for key in names:
                    with self.subTest(part=part, key=key):
                        copy = self.damage()
                        copy.json(files[which], **{key: ...})
                        report = validate(copy.path)
                        self.assertIn("export-gate", report.rules())
                        self.assertTrue(any(key in f["message"] for f in report.findings))
                        _broken.add("export-gate")

    def test_cpu_without_frequency_and_device_without_clock(self):
        copy = self.damage()
        copy.json("host/info.json", CPU=[{"Id": 0}])
        self.breaks(copy, "export-gate")
        copy = self.damage()
        copy.device_info(hwts_frequency="")
        self.breaks(copy, "export-gate", "metadata-type")
        copy = self.damage()
        copy.json("host/info.json", DeviceInfo=[{}])
        self.breaks(copy, "export-gate")

    def test_each_key_of_the_device_gate(self):
        sample = ("ai_core_profiling", "ai_core_metrics", "ai_core_profiling_events", "ai_core_profiling_mode",
                  "aicore_sampling_interval", "aiv_profiling", "aiv_metrics", "aiv_profiling_events",
                  "aiv_profiling_mode", "aiv_sampling_interval")
        for key in sample:
            with self.subTest(key):
                copy = self.damage()
                copy.json(SAMPLE, **{key: ...})
                self.assertIn("device-gate", validate(copy.path).rules())
        for key in ("ai_core_num", "aiv_num", "aic_frequency", "aiv_frequency"):
            with self.subTest(key):
                copy = self.damage()
                copy.device_info(**{key: ...})
                self.breaks(copy, "device-gate")

    def test_types_of_values(self):
        for key, value in (("platform_version", 5), ("platform_version", "6"), ("pid", 12345), ("memoryTotal", "1"),
                           ("netCard", [{"netCardName": "eth0"}]), ("cpuNums", "8"), ("version", "3.0"),
                           ("cannVersion", "nine"), ("rank_id", -2), ("drvVersion", "467473")):
            with self.subTest(key=key, value=value):
                copy = self.damage()
                copy.json(INFO, **{key: value})
                self.assertIn("metadata-type", validate(copy.path).rules())
        for key, value in (("ai_core_num", "24"), ("aic_frequency", 1800), ("aiv_frequency", "1800.5"),
                           ("hwts_frequency", 50)):
            with self.subTest(key=key, value=value):
                copy = self.damage()
                copy.device_info(**{key: value})
                self.breaks(copy, "metadata-type")
        copy = self.damage()
        copy.json(SAMPLE, aicore_sampling_interval="10")
        self.breaks(copy, "metadata-type")

    def test_old_driver(self):
        copy = self.damage()
        copy.json(INFO, drvVersion=467472)
        self.breaks(copy, "driver-version")

    def test_disagreement(self):
        copy = self.damage()
        copy.json(INFO, devices="1")
        self.breaks(copy, "metadata-agreement")
        copy = self.damage()
        copy.json(INFO, pid="1")
        self.breaks(copy, "metadata-agreement")
        copy = self.damage()
        copy.json("host/sample.json", devices="0")
        self.breaks(copy, "metadata-agreement")
        copy = self.damage()
        copy.device_info(id=3)
        self.breaks(copy, "metadata-agreement")

    def test_clock_logs(self):
        for name, old, new in (("host/host_start.log", b"[Host]", b"[Device0]"),
                               ("device_0/host_start.log.0", b"[Device0]\n", b""),
                               ("device_0/dev_start.log.0", b"cntvct", b"[Device0]\ncntvct"),
                               ("host/host_start.log", b"cntvct_diff: 0\n", b""),
                               ("device_0/host_start.log.0", b"cntvct_diff", b"cntvct_dif")):
            with self.subTest(name=name, new=new):
                copy = self.damage()
                copy.write(name, copy.read(name).replace(old, new))
                self.breaks(copy, "start-log")

    def test_pmu_gate(self):
        for change in ({"ai_core_metrics": "Nonsense"}, {"aiv_metrics": ""}, {"aiv_metrics": "Custom:0x8"},
                       {"ai_core_profiling_events": "0x8,0xa"}, {"aiv_profiling_events": ""},
                       {"aiv_profiling_events": "eight"},
                       {"ai_core_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55,0x56"},
                       {"ai_core_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55,0x55"}):
            with self.subTest(change):
                copy = self.damage()
                copy.json(SAMPLE, **change)
                self.breaks(copy, "pmu-gate")

    def test_pmu_gate_is_open_without_counter_records(self):
        copy = self.damage()
        os.remove(copy(PMU))
        os.remove(copy(PMU + ".done"))
        copy.json(SAMPLE, ai_core_metrics="", aiv_metrics="", ai_core_profiling_events="", aiv_profiling_events="",
                  ai_core_profiling="off", aiv_profiling="off")
        self.breaks(copy)

    def test_short_groups_of_the_format_pass(self):
        copy = self.damage()
        copy.json(SAMPLE, ai_core_metrics="ResourceConflictRatio", ai_core_profiling_events="0x64,0x65,0x66")
        self.breaks(copy)


class HostRecords(RuleTest):
    def test_magic(self):
        for name in (API, NODE, TENSOR, TRACK, MEMCPY):
            with self.subTest(name):
                copy = self.damage()
                copy.patch(name, 0, "<H", 0x5A5B)
                self.assertIn("host-magic", validate(copy.path).rules())
                _broken.add("host-magic")

    def test_unknown_level(self):
        for name in (NODE, TENSOR, CONTEXT):
            with self.subTest(name):
                copy = self.damage()
                copy.patch(name, 2, "<H", 4500)
                self.breaks(copy, "host-level")

    def test_level_that_does_not_belong_into_the_file(self):
        copy = self.damage()
        copy.patch(NODE, 2, "<H", layout.RUNTIME)
        self.breaks(copy, "host-level", "type-name")

    def test_payload_that_is_too_long(self):
        copy = self.damage()
        copy.patch(NODE, 12, "<I", 41)
        self.breaks(copy, "host-payload")
        copy = self.damage()
        copy.patch(TENSOR, 32, "<I", 6)
        self.breaks(copy, "host-payload")
        copy = self.damage()
        copy.patch(CONTEXT, 32, "<I", 56)
        self.breaks(copy, "host-payload")

    def test_dictionary_line(self):
        copy = self.damage()
        copy.write(HASHES, copy.read(HASHES) + b"0x12:name\n")
        self.breaks(copy, "dictionary")
        copy = self.damage()
        copy.write(TYPES, copy.read(TYPES) + b"4500_1:name\n")
        self.breaks(copy, "dictionary")

    def test_type_without_name(self):
        for line in (b"10000_5:launch", b"5000_66:KERNEL_AIVEC", b"10000_1:tensor_info", b"5000_1010:"):
            with self.subTest(line):
                copy = self.damage()
                copy.write(TYPES, b"".join(x for x in copy.read(TYPES).splitlines(True) if not x.startswith(line)))
                self.assertIn("type-name", validate(copy.path).rules())
                _broken.add("type-name")

    def test_type_named_unlike_its_file(self):
        copy = self.damage()
        copy.write(TYPES, copy.read(TYPES).replace(b"tensor_info", b"tensor_data"))
        self.breaks(copy, "type-name")

    def test_name_without_string(self):
        for text in (b"MatMulV2", b"te_matmulv2_0"):
            with self.subTest(text):
                copy = self.damage()
                lines = [x for x in copy.read(HASHES).splitlines(True) if not x.endswith(b":" + text + b"\n")]
                copy.write(HASHES, b"".join(lines))
                self.breaks(copy, "hash-name")

    def _call(self, copy, level, number):
        """Offset of the first call of this kind."""
        data = copy.read(API)
        return next(i for i in range(0, len(data), 40) if struct.unpack_from("<HI", data, i + 2) == (level, number))

    def test_call_that_ends_as_it_begins(self):
        copy = self.damage()
        at = self._call(copy, 20000, 327681)
        begin = struct.unpack_from("<Q", copy.read(API), at + 16)[0]
        copy.patch(API, at + 24, "<Q", begin)
        self.breaks(copy, "api-interval")
        copy.patch(API, at + 24, "<Q", begin - 1)
        self.breaks(copy, "api-interval")

    def test_call_without_begin(self):
        copy = self.damage()
        copy.patch(API, self._call(copy, 20000, 327681) + 16, "<Q", 0)
        self.breaks(copy, "api-interval", "clock-range")

    def _event(self, when, request=7, thread=12399):
        return struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, thread, request, when, layout.EVENT_FLAG, 0)

    def test_event_halves(self):
        copy = self.damage()
        copy.write(API, copy.read(API) + self._event(100000900000, thread=1) + self._event(100000900100, thread=1))
        self.breaks(copy)
        copy.write(API, copy.read(API) + self._event(100000900200, thread=1))
        self.breaks(copy, "api-interval")

    def test_calls_that_partly_overlap(self):
        copy = self.damage()
        at = self._call(copy, 20000, 327681)
        begin, end = struct.unpack_from("<QQ", copy.read(API), at + 16)
        late = struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, 12399, 0, end - 1, end + 1, 0)
        copy.write(API, copy.read(API) + late)
        self.breaks(copy, "api-nesting")
        copy = self.damage()  # one inside the other is fine
        inner = struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, 12399, 0, begin + 1, end - 1, 0)
        copy.write(API, copy.read(API) + inner)
        self.breaks(copy)

    def test_information_outside_its_launch(self):
        for name in (NODE, TENSOR, CONTEXT):
            with self.subTest(name):
                copy = self.damage()
                when = struct.unpack_from("<Q", copy.read(name), TIME)[0]
                copy.patch(name, TIME, "<Q", when + 5_000_000)
                self.breaks(copy, "node-inside-launch")

    def test_information_at_the_edges_of_its_launch(self):
        copy = self.damage()
        begin, end = struct.unpack_from("<QQ", copy.read(API), self._call(copy, layout.NODE, 5) + 16)
        copy.patch(NODE, TIME, "<Q", end)
        self.breaks(copy)
        copy.patch(NODE, TIME, "<Q", begin)  # the begin itself is outside
        self.breaks(copy, "node-inside-launch")

    def test_information_of_another_thread(self):
        copy = self.damage()
        copy.patch(NODE, 8, "<I", 4)
        self.breaks(copy, "node-inside-launch")

    def test_track_outside_its_call(self):
        copy = self.damage()
        copy.patch(TRACK, TIME, "<Q", 100000900000)
        self.assertIn("track-inside-api", validate(copy.path).rules())
        copy = self.damage()
        copy.patch(TRACK, 8, "<I", 4)
        self.breaks(copy, "track-inside-api")

    def test_copy_without_its_track(self):
        copy = self.damage()
        when = struct.unpack_from("<Q", copy.read(MEMCPY), TIME)[0]
        copy.patch(MEMCPY, TIME, "<Q", when + 1)
        self.breaks(copy, "memcpy-track")

    def test_track_of_unknown_device(self):
        copy = self.damage()
        copy.patch(TRACK, 24, "<H", 5)
        self.breaks(copy, "ids")

    def test_flip_missing_on_the_host(self):
        copy = self.damage("wrap")
        data = copy.read(TRACK)
        at = next(i for i in range(0, len(data), 64) if struct.unpack_from("<Q", data, i + 32)[0] == layout.TASK_FLIP)
        copy.write(TRACK, data[:at] + data[at + 64:])
        self.breaks(copy, "flips")

    def test_flip_with_a_number_that_does_not_follow(self):
        copy = self.damage("wrap")
        data = copy.read(TRACK)
        flips = [i for i in range(0, len(data), 64)
                 if struct.unpack_from("<Q", data, i + 32)[0] == layout.TASK_FLIP
                 and struct.unpack_from("<H", data, i + 26)[0] == 8]
        copy.patch(TRACK, flips[1] + 30, "<H", 9)
        self.breaks(copy, "flips")

    def test_values_of_two_to_the_53(self):
        copy = self.damage()
        copy.patch(MEMCPY, 24, "<Q", 1 << 53)
        self.breaks(copy, "precision")
        copy.patch(MEMCPY, 24, "<Q", (1 << 53) - 1)
        self.breaks(copy)
        copy = self.damage()
        copy.patch(API, self._call(copy, 20000, 327681) + 24, "<Q", 1 << 53)
        self.assertIn("precision", validate(copy.path).rules())

    def test_host_time_far_from_the_collection(self):
        copy = self.damage("full")
        copy.patch("host/data/aging.additional.msproftx.slice_0", TIME, "<Q", 1)
        self.breaks(copy, "clock-range")

    def test_host_samples(self):
        for name, line in (("host_mem.data", b"12 34\n"), ("host_cpu.data", b"nothing\n")):
            with self.subTest(name):
                copy = self.damage("full")
                path = f"host/data/{name}.slice_0"
                copy.write(path, copy.read(path) + line)
                self.breaks(copy, "host-sample")


class DeviceRecords(RuleTest):
    def test_magic(self):
        copy = self.damage()
        copy.patch(SOC, 2, "<H", 0)
        report = validate(copy.path)
        self.assertEqual({"stars-record", "task-pairs", "pmu-inside-task"}, report.rules())

    def test_unknown_function_and_task_type(self):
        copy = self.damage()
        copy.patch(SOC, 0, "<H", 21 << 10)
        self.breaks(copy, "stars-record")
        copy = self.damage()
        copy.patch(PMU, 0, "<H", 0x2A)
        self.breaks(copy, "stars-record")

    def test_running_counter(self):
        copy = self.damage()
        copy.patch(SOC, 64, "<H", 1 | 5 << 6)
        self.breaks(copy, "running-counter")
        copy = self.damage()
        copy.patch(PMU, 0, "<H", 0x28 | 9 << 6)
        self.breaks(copy, "running-counter")

    def test_start_without_end_and_end_without_start(self):
        copy = self.damage()
        copy.write(SOC, copy.read(SOC)[:-64])
        self.breaks(copy, "task-pairs")
        copy = self.damage()
        copy.write(SOC, copy.read(SOC)[64:])
        report = validate(copy.path)
        self.assertLessEqual({"task-pairs", "pmu-inside-task"}, report.rules())
        _broken.update(("task-pairs", "pmu-inside-task"))

    def test_counters_outside_their_task(self):
        copy = self.damage()
        end = struct.unpack_from("<Q", copy.read(PMU), 120)[0]
        copy.patch(PMU, 120, "<Q", end + 1_000_000)
        self.breaks(copy, "pmu-inside-task")
        copy = self.damage()
        copy.patch(PMU, 6, "<H", 999)
        self.breaks(copy, "pmu-inside-task")

    def test_big_counter(self):
        copy = self.damage()
        copy.patch(PMU, 48, "<Q", 1 << 53)
        self.breaks(copy, "precision")

    def test_track_tag(self):
        copy = self.damage()
        copy.patch(TS, 1, "<B", 77)
        self.breaks(copy, "ts-track-record")

    def test_flip_missing_on_the_device(self):
        copy = self.damage("wrap")
        copy.write(TS, copy.read(TS)[40:])
        self.breaks(copy, "flips")

    def test_flip_told_differently(self):
        copy = self.damage("wrap")
        copy.patch(TS, 18, "<H", 5)
        self.breaks(copy, "flips")

    def test_time_far_from_the_collection(self):
        copy = self.damage()
        copy.patch(TS, 8, "<Q", 1)
        self.breaks(copy, "clock-range")

    def test_other_kinds(self):
        copy = self.damage("full")
        copy.patch("device_0/data/stars_soc_profile.data.0.slice_0", 2, "<H", 0)
        self.assertIn("stars-record", validate(copy.path).rules())
        copy = self.damage("full")
        copy.patch("device_0/data/lpmFreqConv.data.0.slice_0", 0, "<I", 56)
        self.breaks(copy, "host-payload")
        copy = self.damage("multi")
        copy.patch("device_0/data/aicpu.data.0.slice_0", 0, "<H", 0)
        self.breaks(copy, "host-magic")
        copy = self.damage("multi")
        copy.patch("device_0/data/aicpu.data.0.slice_0", 2, "<H", 5000)
        self.breaks(copy, "host-level")

    def test_ids_ride_in_each_others_high_bits(self):
        self.assertEqual((3, 70), layout.resolve_ids(3, 70))
        self.assertEqual((3, 0x2046), layout.resolve_ids(0x3003, 0x46))
        self.assertEqual((5, 0xF123), layout.resolve_ids(0x2123, 0xF005))
        self.assertEqual((0x1234, 9), layout.resolve_expanded_ids(0x1234, 9, 0))
        self.assertEqual((9, 0x1234), layout.resolve_expanded_ids(0x9234, 9, 0))
        self.assertEqual((0x1234, 9), layout.resolve_expanded_ids(0x9234, 9, 4))


class Time(unittest.TestCase):
    def test_intervals_are_asked_at_their_edges(self):
        spans = Intervals()
        for pair in ((10, 20), (12, 14), (30, 40)):
            spans.add(*pair)
        self.assertEqual([False, True, True, False], [spans.after_begin(t) for t in (10, 11, 20, 21)])
        self.assertEqual([True, True, False, True], [spans.holds(t) for t in (10, 20, 29, 30)])
        self.assertEqual([True, False, True], [spans.hold(*p) for p in ((13, 18), (18, 31), (30, 40))])
        self.assertEqual([], list(spans.partly_overlapping()))


class Command(unittest.TestCase):
    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch("sys.argv", ["validator", *arguments]), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = command.main()
        return status, out.getvalue(), err.getvalue()

    def test_good_bad_and_no_directory(self):
        self.assertEqual(0, self.run_command(golden("min"))[0])
        copy = Copy(self, "min")
        os.remove(copy(SOC + ".done"))
        status, out, _ = self.run_command(copy.path)
        self.assertEqual(1, status)
        self.assertIn("done: " + SOC, out)
        self.assertEqual(0, self.run_command("--allow", "done", copy.path)[0])
        self.assertEqual(2, self.run_command("/no/such/directory")[0])

    def test_counts_as_json(self):
        status, out, _ = self.run_command("--json", golden("min"))
        self.assertEqual(0, status)
        self.assertEqual((0, 40), (json.loads(out)["findings"], json.loads(out)["counts"]["devices"]["0"]["tasks"]))


class ZEveryRule(unittest.TestCase):
    """Runs last: unittest sorts by name."""

    def test_every_rule_has_failed_once(self):
        self.assertEqual(set(), set(RULES) - _broken)


if __name__ == "__main__":
    unittest.main()
