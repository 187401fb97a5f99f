# SPDX-License-Identifier: Apache-2.0
"""Rules for host/data: calls, information records, dictionaries and host samples."""
import re
import struct
from collections import Counter, defaultdict

from . import layout
from .intervals import Intervals

_API = struct.Struct("<HHIIIQQQ")
# Header, then the first 24 bytes of the payload as three words.
_COMPACT = struct.Struct("<HHIIIQQQQ16x")
_ADDITIONAL = struct.Struct("<HHIIIQQII216x")
_TRACK = struct.Struct("<HHIIIQHHHHQQ16x")
_NODE = struct.Struct("<HHIIIQQIQII12x")


class Track:
    """What the device side needs to know of the host's task tracks."""

    def __init__(self):
        self.tasks = defaultdict(Counter)   # device -> {(stream, task): number of tracks}
        self.flips = defaultdict(Counter)   # device -> {(stream, flip number, first task): number}
        self.captured = defaultdict(set)    # device -> streams of captured graphs, whose ids come again
        self.expanded = False               # stream ids use 15 bits
        self.aicpu_streams = defaultdict(set)


class HostCheck:
    """Reads host/data once and checks it."""

    def __init__(self, tree, meta, report):
        self.tree, self.part, self.meta, self.report = tree, tree.host, meta, report
        self.devices = {p.device for p in tree.devices}
        self.hashes, self.types = set(), {}
        self.launches = defaultdict(Intervals)
        self.runtime = defaultdict(Intervals)
        self.track = Track()
        self.count = Counter()
        self.window = meta.host_window()

    def run(self):
        self._dictionaries()
        self._calls()
        files = sorted(self.part.files.values(), key=lambda f: f.name)
        track_times = self._tracks(self.part.kind("task_track"))
        for f in files:
            if f.frame == "compact" and f.kind != "task_track":
                self._records(f, _COMPACT, 40, track_times)
            elif f.frame == "additional" and f.kind not in layout.DICTIONARIES:
                self._records(f, _ADDITIONAL, 232, track_times)
            elif f.frame == "text":
                self._samples(f)
        self.report.counts["host"].update(self.count)
        return self.track

    # Dictionaries.

    def _lines(self, kind, pattern):
        for f in self.part.kind(kind):
            for path, blob in f.blobs():
                for line in blob.decode("utf-8", "replace").splitlines():
                    m = re.match(pattern, line)
                    if m:
                        self.count[kind] += 1
                        yield m
                    else:
                        self.report.add("dictionary", self.tree.relative(path), f"cannot read '{line[:80]}'")

    def _dictionaries(self):
        for m in self._lines("hash_dic", r"^(\d+):(.*)$"):
            self.hashes.add(int(m[1]))
        for m in self._lines("type_info_dic", r"^(\d+)_(\d+):(.+)$"):
            level, number = int(m[1]), int(m[2])
            if level not in layout.LEVELS:
                self.report.add("dictionary", "host/data", f"'{m[0]}' names the unknown level {level}")
            self.types[level, number] = m[3]

    def _name_of(self, where, level, number):
        name = self.types.get((level, number))
        if name is None and level in layout.LEVELS:
            self.report.add("type-name", where, f"type {number} of level {level} is not in type_info_dic")
        return name

    def _known(self, where, number, what):
        if number not in self.hashes:
            self.report.add("hash-name", where, f"{what} {number} is not in hash_dic")

    # Headers.

    def _head(self, where, magic, level, when):
        """Checks what all records share. False if readers would give up the file."""
        if magic != layout.HOST_MAGIC:
            self.report.add("host-magic", where, f"a record begins with {magic:#06x}, must be 0x5a5a")
            return False
        if level not in layout.LEVELS:
            self.report.add("host-level", where, f"a record has the unknown level {level}")
            return False
        if when >= layout.EXACT:
            self.report.add("precision", where, f"time {when} is not below 2^53")
        if not self.window[0] <= when <= self.window[1]:
            self.report.add("clock-range", where, f"counter {when} is outside the collection, {self.window[0]:.0f} to "
                            f"{self.window[1]:.0f}")
        return True

    # Calls.

    def _calls(self):
        spans = defaultdict(Intervals)
        halves = {}
        seen = set()
        for f in self.part.kind("api_event"):
            where = f"host/data/{f.name}"
            for _, blob in f.blobs():
                for record in _API.iter_unpack(blob[:len(blob) - len(blob) % _API.size]):
                    magic, level, number, thread, request, begin, end, item = record
                    self.count["api_event"] += 1
                    if not self._head(where, magic, level, begin):
                        continue
                    if end == layout.EVENT_FLAG:
                        key = (level, number, thread, request, item)
                        first = halves.pop(key, None)
                        if first is None:
                            halves[key] = begin
                            continue
                        begin, end = first, begin
                    if not 0 < begin < end:
                        self.report.add("api-interval", where, f"a call of level {level} type {number} runs from "
                                        f"{begin} to {end}; it must begin after 0 and end later")
                        continue
                    if end >= layout.EXACT:
                        self.report.add("precision", where, f"time {end} is not below 2^53")
                    if (level, number) not in seen:
                        seen.add((level, number))
                        self._name_of(where, level, number)
                    if level == layout.NODE:
                        if self.types.get((level, number)) == "launch":
                            self.count["launches"] += 1
                            self.launches[thread].add(begin, end)
                            self._known(where, item, "operator")
                        continue
                    spans[level, thread].add(begin, end)
        for level, number, thread, _, _ in halves:
            self.report.add("api-interval", "host/data", f"an event of level {level} type {number} on thread "
                            f"{thread} has no second half")
        for (level, thread), found in spans.items():
            for one, other in found.partly_overlapping():
                self.report.add("api-nesting", "host/data/api_event", f"calls {one} and {other} of level {level} "
                                f"on thread {thread} partly overlap")
            if level == layout.RUNTIME:
                self.runtime[thread] = found

    # Task tracks.

    def _tracks(self, files):
        times = set()
        named = set()
        order = defaultdict(list)
        for f in files:
            where = f"host/data/{f.name}"
            for _, blob in f.blobs():
                for record in _TRACK.iter_unpack(blob[:len(blob) - len(blob) % _TRACK.size]):
                    magic, level, number, thread, used, when, device, stream, task, batch, kind, kernel = record
                    self.count["task_track"] += 1
                    if not self._head(where, magic, level, when):
                        continue
                    if level != layout.RUNTIME:
                        self.report.add("host-level", where, f"a track has level {level}, must be {layout.RUNTIME}")
                    if used > 40:
                        self.report.add("host-payload", where, f"a record uses {used} bytes of 40")
                    self._file_name(where, "task_track", level, number, named)
                    if (layout.RUNTIME, kind) not in named:
                        named.add((layout.RUNTIME, kind))
                        self._name_of(where, layout.RUNTIME, kind)
                    device &= 0xFFF
                    if device not in self.devices:
                        self.report.add("ids", where, f"a track names device {device}, which has no directory")
                    if kind == layout.TASK_MAINTENANCE:
                        continue
                    if not self.runtime[thread].holds(when):
                        self.report.add("track-inside-api", where, f"task {stream}/{task} at {when} lies in no "
                                        f"runtime call of thread {thread}")
                    order[device, stream].append((when, kind == layout.TASK_FLIP, task, batch))
                    if kind == layout.TASK_FLIP:
                        self.count["flips"] += 1
                        self.track.flips[device][stream, batch, task] += 1
                    else:
                        times.add((thread, when))
                        self.track.tasks[device][stream, task] += 1
                        if kernel:
                            self._known(where, kernel, "kernel")
        self._captured()
        for (device, stream), tracks in order.items():
            self._flip_order(device, stream, tracks)
        return times

    def _captured(self):
        for f in self.part.kind("capture_stream_info"):
            for _, blob in f.blobs():
                for i in range(0, len(blob) - 63, 64):
                    status, model_stream, _, _, device = struct.unpack_from("<5H", blob, i + 24)
                    if status == 0:
                        self.track.captured[device].add(model_stream)
        for f in self.part.kind("mc2_comm_info"):
            for _, blob in f.blobs():
                for i in range(0, len(blob) - 255, 256):
                    stream, size = struct.unpack_from("<II", blob, i + 44)
                    ids = struct.unpack_from(f"<{min(size, 40)}I", blob, i + 52)
                    for device in self.devices:
                        self.track.aicpu_streams[device].update((stream, *ids))
        for f in self.part.kind("expand_stream_spec"):
            for _, blob in f.blobs():
                self.track.expanded |= len(blob) >= 25 and blob[24] != 0

    def _flip_order(self, device, stream, tracks):
        """Task ids of a stream grow until a flip names where they begin anew; flips are numbered on."""
        if stream in self.track.captured[device]:
            return
        tracks.sort(key=lambda t: (t[0], not t[1]))
        where = "host/data/task_track"
        last, batch = -1, None
        for when, is_flip, task, number in tracks:
            if is_flip:
                if batch is not None and number != batch + 1:
                    self.report.add("flips", where, f"flip {number} of device {device} stream {stream} follows "
                                    f"flip {batch}")
                last, batch = task - 1, number
            elif task <= last:
                self.report.add("flips", where, f"task {task} of device {device} stream {stream} at {when} "
                                f"follows task {last} without a flip")
                last = task
            else:
                last = task

    # Other records.

    def _file_name(self, where, kind, level, number, named):
        if (kind, level, number) in named:
            return
        named.add((kind, level, number))
        if kind == "msproftx":  # read by its file name alone
            return
        name = self._name_of(where, level, number)
        if name is not None and name != kind:
            self.report.add("type-name", where, f"type {number} of level {level} is '{name}' in type_info_dic, "
                            f"but its file is {kind}")

    def _records(self, f, form, payload, track_times):
        where = f"host/data/{f.name}"
        levels = layout.KIND_LEVELS.get(f.kind, layout.LEVELS.keys())
        named = set()
        for _, blob in f.blobs():
            blob = blob[:len(blob) - len(blob) % form.size]
            for i, record in enumerate(form.iter_unpack(blob)):
                magic, level, number, thread, used, when, first, second = record[:8]
                self.count[f.kind] += 1
                if not self._head(where, magic, level, when):
                    continue
                if level not in levels:
                    self.report.add("host-level", where, f"a record has level {level}, must be "
                                    + " or ".join(map(str, sorted(levels))))
                if used > payload:
                    self.report.add("host-payload", where, f"a record uses {used} bytes of {payload}")
                self._file_name(where, f.kind, level, number, named)
                if f.kind in layout.INSIDE_LAUNCH and level == layout.NODE:
                    if not self.launches[thread].after_begin(when):
                        self.report.add("node-inside-launch", where, f"a record at {when} lies in no launch of "
                                        f"thread {thread}")
                if f.kind == "memcpy_info":
                    self._memcpy(where, thread, when, first, track_times)
                elif f.kind == "node_basic_info":
                    op_type = _NODE.unpack_from(blob, i * form.size)[8]
                    self._known(where, first, "operator")
                    self._known(where, op_type, "operator type")
                elif f.kind == "tensor_info":
                    self._known(where, first, "operator")
                    if second > 5:
                        self.report.add("host-payload", where, f"a record tells of {second} tensors, at most 5 fit")
                elif f.kind == "context_id_info" and second > 55:
                    self.report.add("host-payload", where, f"a record tells of {second} contexts, at most 55 fit")
                elif f.kind == "hccl_info":
                    self._known(where, first, "task")

    def _memcpy(self, where, thread, when, size, track_times):
        if (thread, when) not in track_times:
            self.report.add("memcpy-track", where, f"the copy at {when} on thread {thread} has no task track of "
                            "the same time")
        if size >= layout.EXACT:
            self.report.add("precision", where, f"size {size} is not below 2^53")

    # Samples of the host system.

    def _samples(self, f):
        forms = {"host_mem.data": [r"\d+( \d+){7}$"],
                 "host_cpu.data": [r"time \d+$", r"[\d.]+ [\d.]+$", r"\d+ \(.*\) \S( -?\d+){20,}$"],
                 "host_network.data": [r"time \d+$", r" *[^ :]+:( *\d+)( +\d+){15} *$"],
                 "host_disk.data": [r" *\d+ \S+ +\S+( +[\d.]+ K/s){2}( +[\d.]+ %){2} \S", r"start_time \d+$"],
                 "host_sys_cpu.data": [r"TimeStamp:\d+$", r"cpu\d*( +\d+){7,}$"],
                 "host_sys_mem.data": [r"TimeStamp:\d+$", r"[^:]+: +\d+( kB)?$"]}.get(f.kind)
        if forms is None:
            return
        where = f"host/data/{f.name}"
        text = b"".join(blob for _, blob in f.blobs()).decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        heads = 0
        for line in lines:
            which = next((i for i, form in enumerate(forms) if re.match(form, line)), None)
            if which is None:
                self.report.add("host-sample", where, f"cannot read '{line[:80]}'")
            heads += which == 0
        self.count[f.kind] = heads
