# SPDX-License-Identifier: Apache-2.0
"""The files of a PROF_* directory, found and named but not interpreted."""
import os
import re

_SLICE = re.compile(r"^(?P<name>.+)\.slice_(?P<number>\d+)$")
_DEVICE_FILE = re.compile(r"^(?P<kind>.+)\.(?P<device>\d+)$")
_HOST_FILE = re.compile(r"^(?P<age>aging|unaging)\.(?P<frame>compact|additional|variable)\.(?P<tag>\w+)$")


class DataFile:
    """One logical file: its slices in order. `kind` is the name without age, frame, device and slice."""

    def __init__(self, name, kind, frame, aging, device):
        self.name, self.kind, self.frame, self.aging, self.device = name, kind, frame, aging, device
        self.slices = []  # (number, path)

    def blobs(self):
        """Contents, slice by slice, as (path, bytes)."""
        for _, path in self.slices:
            with open(path, "rb") as f:
                yield path, f.read()


def _host_file(name):
    if name.endswith(".api_event.data") and name.split(".", 1)[0] in ("aging", "unaging"):
        return DataFile(name, "api_event", "api", name.startswith("aging"), None)
    m = _HOST_FILE.match(name)
    if m:
        return DataFile(name, m["tag"], m["frame"], m["age"] == "aging", None)
    return DataFile(name, re.sub(r"^\d+-", "", name), "text", False, None)


def _device_file(name):
    m = _DEVICE_FILE.match(name)
    if not m:
        return DataFile(name, name, "device", False, None)
    return DataFile(name, re.sub(r"^\d+-", "", m["kind"]), "device", False, int(m["device"]))


class Part:
    """host or device_<N>: its metadata files and its data files."""

    def __init__(self, root, name):
        self.name = name
        self.path = os.path.join(root, name)
        self.is_host = name == "host"
        self.device = None if self.is_host else int(name.split("_", 1)[1])
        self.suffix = "" if self.is_host else f".{self.device}"
        self.entries = sorted(os.listdir(self.path))
        self.files = {}
        self.odd = []  # names under data/ that are no slice
        data = os.path.join(self.path, "data")
        for entry in sorted(os.listdir(data)) if os.path.isdir(data) else []:
            if entry.endswith((".done", ".complete", ".zip")):
                continue
            m = _SLICE.match(entry)
            if not m:
                self.odd.append(entry)
                continue
            name = m["name"]
            if name not in self.files:
                self.files[name] = _host_file(name) if self.is_host else _device_file(name)
            self.files[name].slices.append((int(m["number"]), os.path.join(data, entry)))
        for f in self.files.values():
            f.slices.sort()

    def kind(self, kind):
        """Files of a kind (aging and unaging are two files)."""
        return [f for f in self.files.values() if f.kind == kind]


class Tree:
    """A PROF_* directory. Raises ValueError if `path` holds neither host nor device data."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        if not os.path.isdir(self.path):
            raise ValueError(f"'{path}' is no directory")
        names = sorted(os.listdir(self.path))
        parts = [n for n in names if n == "host" or re.fullmatch(r"device_\d+", n)]
        if not parts:
            raise ValueError(f"'{path}' is no PROF directory: it holds neither host nor device_<N>")
        self.entries = names
        self.parts = [Part(self.path, n) for n in parts]
        self.host = next((p for p in self.parts if p.is_host), None)
        self.devices = [p for p in self.parts if not p.is_host]

    def relative(self, path):
        """Path inside the directory, for messages."""
        return os.path.relpath(path, self.path)
