# SPDX-License-Identifier: Apache-2.0
"""What a validation found: findings by rule, and counts of what the directory holds."""
import json

# Every rule that can be broken, with what a reader loses when it is. The tests break each of them once.
RULES = {
    "layout": "the directory is named and laid out as readers expect",
    "path-characters": "paths hold no character and no link that readers refuse",
    "metadata-file": "exactly one file answers to each metadata prefix",
    "metadata-line": "metadata is one line of JSON",
    "export-gate": "keys without which nothing at all is exported",
    "device-gate": "keys without which all data of a device are dropped",
    "pmu-gate": "metric group and event list without which all rows of a device are dropped",
    "metadata-type": "metadata values have the published types",
    "metadata-agreement": "ids and processes named in metadata agree with each other and with directory names",
    "driver-version": "driver version high enough for export of everything at once",
    "start-log": "clock logs hold all their keys under the right section",
    "done": "each finished file has a .done note with its true size",
    "slice-numbers": "slices of one file are numbered without holes",
    "slice-records": "each slice holds whole records",
    "host-magic": "host records begin with the magic number",
    "host-level": "host records carry a known level that fits their file",
    "host-payload": "host records fill no more than their payload",
    "dictionary": "dictionary lines have the published form",
    "type-name": "types used in records are named in the dictionary, and named like their file",
    "hash-name": "names used in records are in the dictionary",
    "api-interval": "calls begin before they end, and event halves come in pairs",
    "api-nesting": "calls of one thread and level do not partly overlap",
    "node-inside-launch": "operator information lies inside a launch of its thread",
    "track-inside-api": "task tracks lie inside a runtime call of their thread",
    "memcpy-track": "copies carry the time of their task track",
    "stars-record": "scheduler records have magic, function and type that readers know",
    "running-counter": "the four-bit counter of device records runs on without a gap",
    "task-pairs": "each task start has its end",
    "pmu-inside-task": "counter records lie inside a task of the same stream and id",
    "ts-track-record": "scheduler track records have a known tag",
    "flips": "task ids fall back only at flip records, which host and device tell alike",
    "ids": "device ids in records name a device of the directory",
    "precision": "values stay below 2^53",
    "clock-range": "record times lie inside the collection",
    "unit-sample": "samples of shared units have the published form, and what runs on never falls",
    "unit-gate": "settings without which samples of shared units are dropped",
    "host-sample": "host sample lines have the published form",
}

_KEPT = 5  # findings told in full per rule and path


class Report:
    """Findings and counts of one directory. Not thread-safe."""

    def __init__(self):
        self.findings = []
        self._seen = {}
        self.counts = {"host": {}, "devices": {}}

    def add(self, rule, path, message):
        """Notes that `path` breaks `rule`; from the sixth per rule and path on only the number is kept."""
        assert rule in RULES, rule
        key = (rule, path)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] <= _KEPT:
            self.findings.append({"rule": rule, "path": path, "message": message})

    def rules(self):
        """Names of the rules that were broken."""
        return {rule for rule, _ in self._seen}

    def without(self, allowed):
        """Drops findings of the rules in `allowed`."""
        self.findings = [f for f in self.findings if f["rule"] not in allowed]
        self._seen = {k: n for k, n in self._seen.items() if k[0] not in allowed}

    def total(self):
        """Number of findings, those not told in full included."""
        return sum(self._seen.values())

    def lines(self):
        """Findings as text, one a line."""
        for f in self.findings:
            yield f"{f['rule']}: {f['path']}: {f['message']}"
        for (rule, path), n in self._seen.items():
            if n > _KEPT:
                yield f"{rule}: {path}: and {n - _KEPT} more"

    def to_json(self):
        """Counts and findings as one JSON document."""
        document = {"findings": self.total(), "broken_rules": sorted(self.rules()),
                    "details": self.findings, "counts": self.counts}
        return json.dumps(document, indent=2, sort_keys=True)
