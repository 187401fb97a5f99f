# SPDX-License-Identifier: Apache-2.0
"""What the validator's own tests share: golden directories, and copies of them that may be damaged."""
import glob
import json
import os
import shutil
import struct
import tempfile
import unittest

from . import validate

_GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "data", "golden")
broken = set()  # rules that some test has seen fail


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
        broken.update(rules)
