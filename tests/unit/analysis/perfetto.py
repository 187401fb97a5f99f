# SPDX-License-Identifier: Apache-2.0
"""Reads as much of Perfetto's trace format as npuprof writes, from the published field numbers alone."""
import struct
from collections import namedtuple

Slice = namedtuple("Slice", "process label thread name category begin end args")
Count = namedtuple("Count", "process label series time value")
Flow = namedtuple("Flow", "process thread begin id end")


def fields(data):
    """Number and value of every field: an integer, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            yield number, data[at:at + 8]
            at += 8
        elif kind == 2:
            size = varint()
            if at + size > len(data):
                raise ValueError(f"field {number} ends {at + size - len(data)} bytes beyond its message")
            yield number, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind} of field {number}")


def double(data):
    return struct.unpack("<d", data)[0]


class Trace:
    """Slices, counters and flows with the names of their tracks; times are wall clock in ns."""

    def __init__(self, path):
        self.slices, self.counters, self.flows = [], [], []
        self._tracks, self._interned, self._open, self._clocks, self._default = {}, {}, {}, {}, None
        with open(path, "rb") as f:
            packets = [list(fields(packet)) for number, packet in fields(f.read()) if number == 1]
        events = []
        for order, packet in enumerate(packets):
            event = self._packet(dict(packet))
            if event:
                events.append((event[0], order, event[1]))
        for time, _, event in sorted(events, key=lambda e: e[:2]):
            self._event(time, event)
        if any(self._open.values()):
            raise ValueError("slices without an end")

    def _packet(self, packet):
        if packet.get(13, 0) & 1:
            self._interned, self._default = {}, None
        if 6 in packet:
            clocks = {}
            for number, entry in fields(packet[6]):
                if number == 1:
                    entry = dict(fields(entry))
                    clocks[entry[1]] = entry.get(2, 0)
            self._clocks = {clock: clocks[6] - time for clock, time in clocks.items()}
        if 59 in packet:
            self._default = dict(fields(packet[59]))[58]
        if 60 in packet:
            self._descriptor(list(fields(packet[60])))
        for number, entry in fields(packet.get(12, b"")):
            entry = dict(fields(entry))
            if (number, entry[1]) in self._interned:
                raise ValueError(f"entry {entry[1]} of interned field {number} is sent twice")
            self._interned[number, entry[1]] = entry[2].decode()
        if 11 not in packet:
            return None
        # Numbers of interned texts hold where the packet stands, not where its time puts it.
        event = [(n, self._resolve(n, v)) for n, v in fields(packet[11])]
        return packet[8] + self._clocks[packet.get(58, self._default)], event

    def _resolve(self, number, value):
        if number == 23:
            return value.decode()
        if number == 10:
            return self._interned[2, value]
        if number == 3:
            return self._interned[1, value]
        if number == 4:
            arg = dict(fields(value))
            kinds = {3: lambda v: v, 5: double, 6: bytes.decode, 17: lambda v: self._interned[29, v]}
            return self._interned[3, arg.pop(1)], next(kinds[n](v) for n, v in arg.items())
        return value

    def _descriptor(self, descriptor):
        track = dict(descriptor)
        if track[1] in self._tracks:
            raise ValueError(f"track {track[1]} is described twice")
        if 3 in track:
            process = dict(fields(track[3]))
            self._tracks[track[1]] = (None, process[6].decode(), process[8].decode())
        else:
            self._tracks[track[1]] = (track[5], track[2].decode(), None)

    def _place(self, track):
        """Names of process and thread, and the label of the process; a track below a thread belongs to it."""
        names = []
        while track is not None:
            track, name, label = self._tracks[track]
            names.append(name)
        return names[-1], names[-2], label

    def _event(self, time, event):
        single = dict(event)
        track = single[11]
        if single[9] == 1:
            self._open.setdefault(track, []).append((time, event))
        elif single[9] == 2:
            begin, started = self._open[track].pop()
            process, thread, label = self._place(track)
            single = dict(started)
            args = {key: value for number, (key, value) in ((n, v) for n, v in started if n == 4)}
            name = single[23] if 23 in single else single[10]
            self.slices.append(Slice(process, label, thread, name, single.get(3), begin, time, args))
            for number, end in ((47, "s"), (48, "f")):
                if number in single:
                    flow = struct.unpack("<Q", single[number])[0]
                    self.flows.append(Flow(process, thread, begin, flow, end))
        elif single[9] == 4:
            process, series, label = self._place(track)
            self.counters.append(Count(process, label, series, time, double(single[44])))
        else:
            raise ValueError(f"event of type {single[9]}")
