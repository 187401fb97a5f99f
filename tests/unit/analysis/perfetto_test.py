# SPDX-License-Identifier: Apache-2.0
"""The Perfetto trace says what the JSON timeline says, in a fraction of the size.

usage: perfetto_test.py NPUPROF GOLDEN_DIRECTORY
"""
import collections
import decimal
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

import make_profile
import perfetto

NPUPROF, GOLDEN = sys.argv[1:3]
del sys.argv[1:3]
NONE = (2**32 - 1, 2**64 - 1)  # what the JSON writes where there is nothing
TRACK = {"Thread Id": "Thread {}", "Physic Stream Id": "Stream {}"}  # what the name of the track says
SMALLER = 3.5


def nanoseconds(text):
    return int(decimal.Decimal(text) * 1000)


class Json:
    """The same collections as perfetto.Trace, out of the JSON timeline."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            events = json.load(f, parse_float=decimal.Decimal)
        process, label, thread = {}, {}, {}
        for e in events:
            if e["name"] == "process_name":
                process[e["pid"]] = e["args"]["name"]
            elif e["name"] == "process_labels":
                label[e["pid"]] = e["args"]["labels"]
            elif e["name"] == "thread_name":
                thread[e["pid"], e["tid"]] = e["args"]["name"]
        self.slices, self.counters, self.flows = [], [], []
        for e in events:
            if e["ph"] == "X":
                begin = nanoseconds(e["ts"])
                args = {k: v for k, v in e["args"].items() if v not in NONE}
                for key in TRACK.keys() & args.keys():
                    if TRACK[key].format(args.pop(key)) != thread[e["pid"], e["tid"]]:
                        raise AssertionError(f"{key} of {e} is not that of its track")
                self.slices.append(perfetto.Slice(process[e["pid"]], label[e["pid"]], thread[e["pid"], e["tid"]],
                                                  e["name"], e.get("cat"), begin, begin + nanoseconds(e["dur"]), args))
            elif e["ph"] == "C":
                for key, value in e["args"].items():
                    self.counters.append(perfetto.Count(process[e["pid"]], label[e["pid"]], f"{e['name']} {key}",
                                                        nanoseconds(e["ts"]), float(value)))
            elif e["ph"] in "sf":
                self.flows.append(perfetto.Flow(process[e["pid"]], thread[e["pid"], e["tid"]], nanoseconds(e["ts"]),
                                                int(e["id"]), e["ph"]))


def plain(slices):
    """Slices in a form that can be counted."""
    return collections.Counter(
        s._replace(args=tuple(sorted((k, float(v) if isinstance(v, decimal.Decimal) else v) for k, v in s.args.items())))
        for s in slices)


class Perfetto(unittest.TestCase):
    def export(self, directory):
        out = tempfile.TemporaryDirectory()
        self.addCleanup(out.cleanup)
        subprocess.run([NPUPROF, "export", directory, "--output", out.name, "--format", "json,perfetto"], check=True,
                       capture_output=True)
        return (glob.glob(os.path.join(out.name, f"msprof_[0-9]*.{end}"))[0] for end in ("json", "pftrace"))

    def compare(self, directory):
        text, trace = self.export(directory)
        expected, actual = Json(text), perfetto.Trace(trace)
        self.assertGreater(len(expected.slices), 0)
        self.assertEqual(plain(actual.slices), plain(expected.slices))
        for kind in ("counters", "flows"):
            self.assertEqual(collections.Counter(getattr(actual, kind)), collections.Counter(getattr(expected, kind)))
        return expected

    def test_golden_directories_give_the_same_slices_counters_and_flows(self):
        seen = collections.Counter()
        for name in sorted(os.listdir(GOLDEN)):
            for directory in glob.glob(os.path.join(GOLDEN, name, "PROF_*")):
                with self.subTest(name):
                    expected = self.compare(directory)
                    seen.update(slices=len(expected.slices), counters=len(expected.counters), flows=len(expected.flows))
        for kind in ("slices", "counters", "flows"):
            self.assertGreater(seen[kind], 10, f"nothing to compare: {kind}")

    def test_a_larger_run_gives_the_same_several_times_smaller(self):
        with tempfile.TemporaryDirectory() as directory:
            root = make_profile.write(directory, 2000)
            self.compare(root)
            text, trace = self.export(root)
            sizes = os.path.getsize(text), os.path.getsize(trace)
        self.assertGreater(sizes[0], SMALLER * sizes[1], sizes)

    def test_a_simulated_device_says_so(self):
        with tempfile.TemporaryDirectory() as directory:
            root = make_profile.write(directory, 20)
            os.makedirs(os.path.join(root, "npuprof"))
            with open(os.path.join(root, "npuprof", "manifest.json"), "w", encoding="utf-8") as f:
                json.dump({"format": 1, "simulated": True, "complete": True,
                           "devices": [{"id": 0, "backend": "sim", "simulated": True}]}, f)
            _, trace = self.export(root)
            labels = {s.label for s in perfetto.Trace(trace).slices if s.process == "Ascend Hardware"}
        self.assertEqual(labels, {"NPU (simulated) 0"})


if __name__ == "__main__":
    unittest.main()
