# SPDX-License-Identifier: Apache-2.0
"""Rules about metadata can fail, each for each key that gates an export."""
import json
import os

from . import validate
from .damage import INFO, PMU, RuleTest, SAMPLE, broken


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
                broken.add("metadata-file")

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
                        broken.add("export-gate")

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
