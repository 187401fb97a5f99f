# SPDX-License-Identifier: Apache-2.0
"""Rules for device_<N>/data: scheduler records, counter records, track records."""
import struct
from collections import Counter, defaultdict

from . import layout
from .intervals import Intervals
from .units import UnitCheck

_SOC = struct.Struct("<HHHHQHHHH40x")
_PMU = struct.Struct("<HHHH8xHHHH8xQ8x8QQQ")
_TS = struct.Struct("<xBHIQHHHH16x")
_SAMPLE = struct.Struct("<B7x8QQQBB6x")


class DeviceCheck:
    """Reads one device_<N>/data and checks it, together with the task tracks of the host."""

    def __init__(self, tree, part, meta, track, report):
        self.tree, self.part, self.meta, self.track, self.report = tree, part, meta, track, report
        self.device = part.device
        self.count = Counter()
        self.window = meta.device_window()
        self.tasks = defaultdict(Intervals)      # (stream, task) -> times of the task
        self.starts = defaultdict(list)          # stream -> [(clock, task)]
        self.core_times = {}                     # core -> time of its last sample

    def run(self):
        self._flips_told = self._ts_track()
        self._soc()
        self._order()
        self._pmu()
        self._profile()
        self._others()
        UnitCheck(self, self.meta.sample).run()
        self._tracked()
        self.report.counts["devices"][str(self.device)] = dict(self.count)

    def blobs(self, kind, size):
        """Slices of a kind of file as (path, whole records)."""
        for f in self.part.kind(kind):
            for path, blob in f.blobs():
                yield self.tree.relative(path), blob[:len(blob) - len(blob) % size]

    def _ids(self, stream, task, sqe):
        if self.track and self.track.expanded:
            return layout.resolve_expanded_ids(stream, task, sqe)
        return layout.resolve_ids(stream, task)

    def _clock(self, where, clock):
        if clock >= layout.EXACT:
            self.report.add("precision", where, f"clock {clock} is not below 2^53")
        first, last = self.window
        if not first <= clock <= last:
            self.report.add("clock-range", where, f"clock {clock} is outside the collection, {first:.0f} to {last:.0f}")

    def _counter(self, where, head, last):
        """The four-bit counter of a file counts its records. Returns the new value."""
        value = (head >> 6) & 15
        if last is not None and value != (last + 1) % 16:
            self.report.add("running-counter", where, f"counter {value} follows {last}")
        return value

    # Scheduler log.

    def _soc(self):
        open_, last = defaultdict(list), None
        where = f"{self.part.name}/data/stars_soc"
        for where, blob in self.blobs("stars_soc.data", _SOC.size):
            for head, magic, stream, task, clock, _, context, _, _ in _SOC.iter_unpack(blob):
                self.count["stars_soc"] += 1
                if magic != layout.STARS_MAGIC:
                    self.report.add("stars-record", where, f"a record has magic {magic:#06x}, must be 0x6bd3")
                    continue
                last = self._counter(where, head, last)
                function, sqe = head & 63, head >> 10
                if function not in layout.SOC_FUNCTIONS:
                    self.report.add("stars-record", where, f"a record has the unknown function {function:#04x}")
                    continue
                if sqe > layout.MAX_SQE_TYPE:
                    self.report.add("stars-record", where, f"a record has task type {sqe}, at most "
                                    f"{layout.MAX_SQE_TYPE} is known")
                self._clock(where, clock)
                stream, task = self._ids(stream, task, sqe)
                self._pair(where, open_, function, (stream, task, context), clock)
        for key, times in open_.items():
            for clock in times:
                self.report.add("task-pairs", where, f"{_name(key)} started at {clock} and has no end")
        self.count["tasks"] = sum(len(i.pairs()) for i in self.tasks.values())

    def _pair(self, where, open_, function, key, clock):
        stream, task, context = key
        whole = function in (layout.TASK_START, layout.TASK_END)
        key = ("task", stream, task) if whole else ("context", stream, task, context)
        if function in (layout.TASK_START, layout.SUB_START):
            self.count["starts" if whole else "sub_starts"] += 1
            open_[key].append(clock)
            if whole:
                self.starts[stream].append((clock, task))
        elif function in (layout.TASK_END, layout.SUB_END):
            self.count["ends" if whole else "sub_ends"] += 1
            if not open_[key]:
                self.report.add("task-pairs", where, f"{_name(key)} ended at {clock} without a start")
                return
            begin = open_[key].pop(0)
            if clock < begin:
                self.report.add("task-pairs", where, f"{_name(key)} runs from {begin} to {clock}")
            if whole:
                self.tasks[stream, task].add(begin, clock)

    # Task ids and flips.

    def _ts_track(self):
        flips = defaultdict(list)
        for where, blob in self.blobs("ts_track.data", _TS.size):
            for tag, _, _, clock, stream, number, _, task in _TS.iter_unpack(blob):
                self.count["ts_track"] += 1
                if tag not in layout.TS_TAGS:
                    self.report.add("ts-track-record", where, f"a record has the unknown tag {tag}")
                    continue
                self._clock(where, clock)
                if tag == layout.TS_FLIP:
                    self.count["flips"] += 1
                    flips[stream % 2048].append((clock, number, task))
        if self.track is not None:
            told = Counter((s, n, t) for s, found in flips.items() for _, n, t in found)
            host = self.track.flips[self.device]
            for stream, number, task in (told - host) + (host - told):
                side = "device" if told[stream, number, task] > host[stream, number, task] else "host"
                self.report.add("flips", f"{self.part.name}/data/ts_track", f"flip {number} of stream {stream} to "
                                f"task {task} is told by the {side} alone")
        return flips

    def _order(self):
        free = set()
        if self.track is not None:
            free = self.track.captured[self.device] | self.track.aicpu_streams[self.device]
        for stream, starts in self.starts.items():
            if stream in free:
                continue
            flips = sorted((clock, 0, task) for clock, _, task in self._flips_told.get(stream, []))
            last = -1
            for clock, is_task, task in sorted(flips + [(clock, 1, task) for clock, task in starts]):
                if not is_task:
                    last = task - 1
                    continue
                if task <= last:
                    self.report.add("flips", f"{self.part.name}/data/stars_soc", f"task {task} of stream {stream} "
                                    f"started at {clock} after task {last} without a flip")
                last = task

    # Counters.

    def _pmu(self):
        if self.meta.mode() == "sample-based":
            for where, blob in self.blobs("ffts_profile.data", _SAMPLE.size):
                for record in _SAMPLE.iter_unpack(blob):
                    self._core_sample(where, record)
            return
        values, where = Counter(), f"{self.part.name}/data/ffts_profile"
        for where, blob in self.blobs("ffts_profile.data", _PMU.size):
            for record in _PMU.iter_unpack(blob):
                head, stream, task, begin, end = record[0], record[2], record[3], record[-2], record[-1]
                function = head & 63
                values[(head >> 6) & 15] += 1
                if function not in (layout.CONTEXT_PMU, layout.BLOCK_PMU):
                    self.report.add("stars-record", where, f"a counter record has the function {function:#04x}")
                    continue
                whole = function == layout.CONTEXT_PMU
                self.count["context_pmu" if whole else "block_pmu"] += 1
                stream, task = self._ids(stream, task, 0)
                big = next((v for v in record[8:17] if v >= layout.EXACT), None)
                if big is not None:
                    self.report.add("precision", where, f"counter {big} is not below 2^53")
                self._clock(where, end)
                spans = self.tasks.get((stream, task))
                if begin > end or spans is None or not spans.hold(begin, end):
                    self.report.add("pmu-inside-task", where, f"counters of task {stream}/{task} from {begin} to "
                                    f"{end} lie inside no such task")
        # Readers do not rely on the order of this file, so its counter is judged by how often each value comes. Where the
        # first slices were deleted for space it begins with any value.
        total = sum(values.values())
        aged = any(f.slices[0][0] > 0 for f in self.part.kind("ffts_profile.data"))
        begins = range(16 if aged else 1)
        if not any(all(values[(begin + i) % 16] == (total + 15 - i) // 16 for i in range(16)) for begin in begins):
            self.report.add("running-counter", where, f"{total} records do not count on from 0 to 15 and over")

    def _core_sample(self, where, record):
        mode, *counters, cycles, time, valid, core = record
        self.count["core_samples"] += 1
        if mode == 0:
            self.report.add("stars-record", where, "a sample has mode 0, which ends the file")
        if not 1 <= valid <= 8 or any(counters[valid:]):
            self.report.add("stars-record", where, f"a sample of core {core} has {valid} counters: {counters}")
        if time <= self.core_times.get(core, -1):
            self.report.add("unit-sample", where, f"a sample of core {core} at {time} ns follows {self.core_times[core]}")
        self.core_times[core] = time
        kind = "aic" if core <= layout.LAST_CUBE_CORE else "aiv"
        self.count[kind + "_sampled_cycles"] += cycles
        for i, value in enumerate(counters[:valid]):
            self.count[f"{kind}_sampled_{i}"] += value

    # Other kinds.

    def _profile(self):
        last = None
        for where, blob in self.blobs("stars_soc_profile.data", 64):
            for head, magic, clock in struct.iter_unpack("<HH4xQ48x", blob):
                self.count["stars_soc_profile"] += 1
                if magic != layout.STARS_MAGIC:
                    self.report.add("stars-record", where, f"a record has magic {magic:#06x}, must be 0x6bd3")
                    continue
                if head & 63 not in layout.PROFILE_FUNCTIONS:
                    self.report.add("stars-record", where, f"a record has the unknown function {head & 63:#04x}")
                last = self._counter(where, head, last)
                self._clock(where, clock)

    def _others(self):
        for where, blob in self.blobs("aicpu.data", 256):
            for magic, level in struct.iter_unpack("<HH252x", blob):
                self.count["aicpu"] += 1
                if magic != layout.HOST_MAGIC:
                    self.report.add("host-magic", where, f"a record begins with {magic:#06x}, must be 0x5a5a")
                elif level != 6000:
                    self.report.add("host-level", where, f"a record has level {level}, must be 6000")
        for where, blob in self.blobs("lpmFreqConv.data", 888):
            for count, kind in struct.iter_unpack("<II880x", blob):
                self.count["lpm"] += 1
                if count > 55:
                    self.report.add("host-payload", where, f"a record tells of {count} frequencies, at most 55 fit")
                if kind != 0:
                    self.report.add("stars-record", where, f"a record has type {kind}, must be 0 (frequency)")
        for kind in ("npu_mem.data", "npu_mem.app", "npu_module_mem.data", "qos.data"):
            size = layout.DEVICE_RECORDS[kind]
            records = sum(len(blob) // size for _, blob in self.blobs(kind, size))
            if records:
                self.count[kind] = records

    def _tracked(self):
        """How many tasks of the device the host told of; without its track a task is shown nowhere."""
        if self.track is None:
            return
        told = self.track.tasks[self.device]
        ran = Counter((stream, task) for stream, starts in self.starts.items() for _, task in starts)
        self.count["tracks"] = sum(told.values())
        self.count["tasks_without_track"] = sum((ran - told).values())
        self.count["tracks_without_task"] = sum((told - ran).values())


def _name(key):
    if key[0] == "task":
        return f"task {key[1]}/{key[2]}"
    return f"sub-task {key[3]} of task {key[1]}/{key[2]}"
