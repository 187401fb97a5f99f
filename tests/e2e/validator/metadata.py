# SPDX-License-Identifier: Apache-2.0
"""Rules for info.json, sample.json, start_info, end_info and the clock logs."""
import json
import os
import re

from . import layout

_MISSING = object()
_SLACK_NS = 10_000_000_000  # by which records may lie outside the collection
_ALWAYS = float("-inf"), float("inf")


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return 0.0


def _is_int(v):
    return isinstance(v, int) and not isinstance(v, bool)


def _is_digits(v):
    return isinstance(v, str) and v.isdigit()


def _is_mhz(v):
    return isinstance(v, str) and _number(v) > 0


def _is_whole_mhz(v):
    return _is_digits(v) and int(v) > 0


def _is_cards(v):
    return isinstance(v, list) and all(
        isinstance(c, dict) and isinstance(c.get("netCardName"), str) and _is_int(c.get("speed")) for c in v)


_INFO_TYPES = {
    "platform_version": (lambda v: v in layout.PLATFORMS, "one of the known platform numbers, as a string"),
    "devices": (_is_digits, "a string of digits"),
    "pid": (lambda v: v == "NA" or _is_digits(v), "a string of digits or NA"),
    "pid_name": (lambda v: isinstance(v, str), "a string"),
    "drvVersion": (_is_int, "an integer"),
    "hostname": (lambda v: isinstance(v, str), "a string"),
    "memoryTotal": (lambda v: _is_int(v) and v > 0, "kilobytes as a positive integer"),
    "netCard": (_is_cards, "an array of {netCardName: string, speed: integer}"),
    "cpuNums": (lambda v: _is_int(v) and v > 0, "a positive integer"),
    "sysClockFreq": (lambda v: _is_int(v) and v > 0, "ticks per second as a positive integer"),
    "version": (lambda v: v == "1.0", 'the collection version "1.0"'),
    "cannVersion": (lambda v: isinstance(v, str) and re.match(r"^\d+\.\d+", v), '"major.minor..." as a string'),
    "rank_id": (lambda v: _is_int(v) and v >= -1, "an integer from -1 up"),
}
_DEVICE_INFO_TYPES = {
    "hwts_frequency": (_is_mhz, "MHz as a string"),
    "aic_frequency": (_is_whole_mhz, "whole MHz as a string"),
    "aiv_frequency": (_is_whole_mhz, "whole MHz as a string"),
    "ai_core_num": (lambda v: _is_int(v) and v > 0, "a positive integer"),
    "aiv_num": (lambda v: _is_int(v) and v > 0, "a positive integer"),
    "ctrl_cpu": (lambda v: isinstance(v, str), "a string of comma separated numbers"),
    "ai_cpu": (lambda v: isinstance(v, str), "a string of comma separated numbers"),
}
_SAMPLE_DEVICE_KEYS = {
    "ai_core_profiling": (lambda v: v in ("on", "off"), '"on" or "off"'),
    "aiv_profiling": (lambda v: v in ("on", "off"), '"on" or "off"'),
    "ai_core_profiling_mode": (lambda v: v in ("task-based", "sample-based"), '"task-based" or "sample-based"'),
    "aiv_profiling_mode": (lambda v: v in ("task-based", "sample-based"), '"task-based" or "sample-based"'),
    "ai_core_metrics": (lambda v: isinstance(v, str), "a string"),
    "aiv_metrics": (lambda v: isinstance(v, str), "a string"),
    "ai_core_profiling_events": (lambda v: isinstance(v, str), "a string"),
    "aiv_profiling_events": (lambda v: isinstance(v, str), "a string"),
    "aicore_sampling_interval": (_is_int, "milliseconds as an integer"),
    "aiv_sampling_interval": (_is_int, "milliseconds as an integer"),
}


class PartMetadata:
    """Metadata of one directory, as far as it could be read."""

    def __init__(self):
        self.info, self.sample, self.start, self.end = {}, {}, {}, {}
        self.host_log, self.device_log = {}, {}

    def merged(self):
        """What the export gate looks at."""
        return {**self.info, **self.sample, **self.start}

    def host_mhz(self):
        cpus = self.info.get("CPU")
        cpu = cpus[0] if isinstance(cpus, list) and cpus and isinstance(cpus[0], dict) else {}
        return _number(cpu.get("Frequency"))

    def device_info(self):
        devices = self.info.get("DeviceInfo")
        if isinstance(devices, list) and len(devices) == 1 and isinstance(devices[0], dict):
            return devices[0]
        return {}

    def host_window(self):
        """First and last counter value of the host that lie inside the collection, as far as metadata tell."""
        mhz, log = self.host_mhz(), self.host_log
        if mhz <= 0 or not {"cntvct", "clock_monotonic_raw"} <= log.keys():
            return _ALWAYS
        return self._window(mhz, log["cntvct"], log["clock_monotonic_raw"])

    def device_window(self):
        """The same for the clock of the device."""
        log, base = self.device_log, self.host_log.get("clock_monotonic_raw")
        try:
            mhz = float(self.device_info().get("hwts_frequency", 0))
        except ValueError:
            return _ALWAYS
        if mhz <= 0 or base is None or "cntvct" not in log:
            return _ALWAYS
        return self._window(mhz, log["cntvct"], base)

    def _window(self, mhz, counter, ns):
        begin, end = (str(m.get("clockMonotonicRaw", "")) for m in (self.start, self.end))
        if not begin.isdigit():
            return _ALWAYS
        first = counter + (int(begin) - _SLACK_NS - ns) * mhz / 1000
        return first, counter + (int(end) + _SLACK_NS - ns) * mhz / 1000 if end.isdigit() else float("inf")

    def mode(self):
        return self.sample.get("ai_core_profiling_mode")


def _one_file(part, prefix, report, required=True):
    """Path of the one file that answers to a prefix; readers count by prefix and refuse two."""
    hits = [e for e in part.entries if e.startswith(prefix) and not e.endswith(".done")]
    wanted = prefix + ("" if prefix == "sample.json" else part.suffix)
    where = f"{part.name}/{wanted}"
    if not hits:
        if required:
            report.add("metadata-file", where, "is missing")
        return None
    if len(hits) > 1:
        report.add("metadata-file", where, f"shares its prefix with {', '.join(h for h in hits if h != wanted)}")
    if wanted not in hits:
        report.add("metadata-file", where, f"is missing; {hits[0]} stands in its place")
        return None
    return os.path.join(part.path, wanted)


def _json(part, prefix, report, required=True):
    path = _one_file(part, prefix, report, required)
    if path is None:
        return {}
    where = f"{part.name}/{os.path.basename(path)}"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    first, _, rest = text.partition("\n")
    if rest.strip():
        report.add("metadata-line", where, "holds more than one line; readers parse the first only")
    try:
        value = json.loads(first)
    except ValueError as e:
        report.add("metadata-line", where, f"first line is no JSON: {e}")
        return {}
    if not isinstance(value, dict):
        report.add("metadata-line", where, "is no JSON object")
        return {}
    return value


def _log(part, prefix, section, keys, report):
    path = _one_file(part, prefix, report)
    if path is None:
        return {}
    where = f"{part.name}/{os.path.basename(path)}"
    with open(path, encoding="utf-8") as f:
        lines = [line.strip() for line in f.read().splitlines() if line.strip()]
    if section and (not lines or lines[0] != section):
        report.add("start-log", where, f"first line must be {section}")
    if not section and any(line.startswith("[") for line in lines):
        report.add("start-log", where, "has a section line, but must not")
    values = {}
    for key in keys:
        m = next((m for m in (re.match(rf"^{key}:\s*(-?\d+)$", line) for line in lines) if m), None)
        if m:
            values[key] = int(m[1])
        else:
            report.add("start-log", where, f"lacks {key}: <whole number>")
    return values


def _check_keys(rule, where, values, table, report):
    for key, (good, wanted) in table.items():
        value = values.get(key, _MISSING)
        if value is _MISSING:
            report.add(rule, where, f"lacks {key}")
        elif not good(value):
            report.add("metadata-type", where, f"{key} is {json.dumps(value)}, must be {wanted}")


def _export_gate(part, meta, report):
    where = part.name
    merged = meta.merged()
    for key in ("platform_version", "collectionTimeBegin", "clockMonotonicRaw", "pid", "CPU", "DeviceInfo",
                "llc_profiling", "ai_core_profiling_mode", "hostname", "memoryTotal", "netCard"):
        if key not in merged:
            report.add("export-gate", where, f"lacks {key}")
    cpus = merged.get("CPU")
    if "CPU" in merged and (not isinstance(cpus, list) or not cpus or not isinstance(cpus[-1], dict)
                            or not _is_mhz(cpus[-1].get("Frequency"))):
        report.add("export-gate", where, "CPU must be an array whose last element has Frequency, MHz as a string")
    devices = merged.get("DeviceInfo")
    if part.is_host and "DeviceInfo" in merged and devices != []:
        report.add("export-gate", where, "DeviceInfo must be an empty array: that marks a host directory")
    if not part.is_host and "DeviceInfo" in merged:
        if not isinstance(devices, list) or len(devices) != 1 or not isinstance(devices[0], dict):
            report.add("export-gate", where, "DeviceInfo must hold exactly one object")
        elif not devices[0].get("hwts_frequency"):
            report.add("export-gate", where, "DeviceInfo[0] lacks a hwts_frequency")
    for key in ("collectionTimeBegin", "clockMonotonicRaw"):
        if key in merged and not _is_digits(merged[key]):
            report.add("metadata-type", where, f"{key} is {json.dumps(merged[key])}, must be a string of digits")


def _device_gate(part, meta, report):
    if part.is_host:
        return
    _check_keys("device-gate", f"{part.name}/sample.json", meta.sample, _SAMPLE_DEVICE_KEYS, report)
    where = f"{part.name}/info.json{part.suffix}"
    for key in ("platform_version", "devices", "CPU"):
        if key not in meta.info:
            report.add("device-gate", where, f"lacks {key}")
    if meta.device_info():
        _check_keys("device-gate", where, meta.device_info(), _DEVICE_INFO_TYPES, report)


def _events(text):
    try:
        return [int(e, 16) for e in text.split(",")] if text else []
    except ValueError:
        return None


def _pmu_gate(part, meta, report):
    """Only a directory with task based counter records has to pass."""
    if part.is_host or meta.mode() == "sample-based":
        return
    if not any(os.path.getsize(p) for f in part.kind("ffts_profile.data") for _, p in f.slices):
        return
    where = f"{part.name}/sample.json"
    for metrics, events in (("ai_core_metrics", "ai_core_profiling_events"),
                            ("aiv_metrics", "aiv_profiling_events")):
        group, text = meta.sample.get(metrics), meta.sample.get(events)
        if not isinstance(group, str) or not isinstance(text, str):
            continue  # the device gate tells
        if group not in layout.METRIC_GROUPS:
            report.add("pmu-gate", where, f"{metrics} is '{group}', must be one of "
                       + ", ".join(layout.METRIC_GROUPS))
            continue
        numbers = _events(text)
        if numbers is None:
            report.add("pmu-gate", where, f"{events} is '{text}', must be a comma list of hexadecimal numbers")
            continue
        missing = sorted(layout.METRIC_GROUPS[group] - set(numbers))
        if missing:
            report.add("pmu-gate", where, f"{events} lacks {', '.join(map(hex, missing))}, needed by {group}")
        if not 1 <= len(numbers) <= layout.COUNTERS:
            report.add("pmu-gate", where, f"{events} has {len(numbers)} events, must have 1 to {layout.COUNTERS}")
        if len(set(numbers)) != len(numbers):
            report.add("pmu-gate", where, f"{events} names an event twice")


def _agreement(tree, metas, report):
    pids = {}
    for part in tree.parts:
        meta = metas[part.name]
        wanted = "64" if part.is_host else str(part.device)
        for name, values in (("info.json", meta.info), ("sample.json", meta.sample)):
            if "devices" in values and values["devices"] != wanted:
                report.add("metadata-agreement", f"{part.name}/{name}",
                           f"devices is {json.dumps(values['devices'])}, must be \"{wanted}\"")
        if "devices" not in meta.sample:
            report.add("metadata-agreement", f"{part.name}/sample.json", "lacks devices")
        device_id = meta.device_info().get("id")
        if not part.is_host and meta.device_info() and device_id != part.device:
            report.add("metadata-agreement", f"{part.name}/info.json", f"DeviceInfo[0].id is {device_id}")
        pids.setdefault(meta.info.get("pid"), part.name)
        driver = meta.info.get("drvVersion", 0)
        if _is_int(driver) and driver < layout.MIN_DRIVER:
            report.add("driver-version", f"{part.name}/info.json",
                       f"drvVersion is {driver}, must be at least {layout.MIN_DRIVER}")
    if len(pids) > 1:
        report.add("metadata-agreement", "info.json", f"pid differs: {', '.join(map(str, pids))}")


def check(tree, report):
    """Reads and checks the metadata of every directory. Returns {directory name: PartMetadata}."""
    metas = {}
    for part in tree.parts:
        meta = metas[part.name] = PartMetadata()
        meta.info = _json(part, "info.json", report)
        meta.sample = _json(part, "sample.json", report)
        meta.start = _json(part, "start_info", report)
        meta.end = _json(part, "end_info", report, required=False)
        section = "[Host]" if part.is_host else f"[Device{part.device}]"
        meta.host_log = _log(part, "host_start.log", section,
                             ("clock_monotonic_raw", "cntvct", "cntvct_diff"), report)
        if not part.is_host:
            meta.device_log = _log(part, "dev_start.log", None, ("clock_monotonic_raw", "cntvct"), report)
        where = f"{part.name}/info.json{part.suffix}"
        _check_keys("metadata-type", where, meta.info, _INFO_TYPES, report)
        _export_gate(part, meta, report)
        _device_gate(part, meta, report)
        _pmu_gate(part, meta, report)
    _agreement(tree, metas, report)
    return metas
