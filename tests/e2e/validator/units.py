# SPDX-License-Identifier: Apache-2.0
"""Rules for what is sampled of shared units of a device, and for what each task did in them."""
import re
import struct
from collections import Counter

from . import layout

_PORT_COLUMNS = ("timestamp bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped txPacket/s txByte/s "
                 "txPackets txBytes txErrors txDropped funcId").split()
_MEDIA_COLUMNS = ("time dvpp_id engine_type engine_id all_time all_frame all_utilization proc_time proc_frame "
                  "proc_utilization last_time last_frame").split()
_MEDIA_LINE = re.compile(r"^\d+:\d{6} \d+ \d+ \d+ \d+ \d+ \d+% \d+ \d+ \d+% \d+ \d+$")
_PCIE = struct.Struct("<QI21I")
_BANDWIDTH = struct.Struct("<QQII")
_SOC_PMU = struct.Struct("<8xHHHH8Q")
_TRANSFER = struct.Struct("<HH4xQHH12xQQ16x")
_AICPU = struct.Struct("<HHI8xQHH4x7Q4xI4Q")
_HBM_UNIT = 32
_ACCELERATOR = struct.Struct("<HH4xQHH12xQQQQ")
_LEVELS = struct.Struct("<HH4xQ16xH30x")
_QOS = struct.Struct("<16xQ10I")
_MODULE = struct.Struct("<IIQQ")
_TRANSFER_FUNCTION, _LINK, _PCIE_TYPE = 0x1B, 0x3F, 0x22
_ACCELERATOR_FUNCTION, _LEVEL_FUNCTION = 0x1A, 0x1C


class UnitCheck:
    """Reads the files of one device that are not about the order of its tasks; `device` is its DeviceCheck."""

    def __init__(self, device, sample):
        self.device, self.sample, self.report = device, sample, device.report
        self.totals = Counter()

    def run(self):
        self._bandwidth("hbm.data", ("hbm_read", "hbm_written"), _HBM_UNIT)
        self._llc()
        for kind in ("nic.data", "roce.data"):
            self._ports(kind)
        self._media()
        self._link()
        self._pcie()
        self._profile()
        self._flows()
        self._modules()
        self._soc_pmu()
        self._aicpu()
        self.device.count["totals"] = dict(self.totals)

    def _texts(self, kind):
        for f in self.device.part.kind(kind):
            for path, blob in f.blobs():
                yield self.device.tree.relative(path), blob.decode("utf-8", "replace").splitlines()

    def _bad(self, where, message):
        self.report.add("unit-sample", where, message)

    def _rises(self, where, last, key, values):
        """Sums that run on never fall, and time goes forward."""
        before = last.get(key)
        if before is not None and any(new < old for new, old in zip(values, before)):
            self._bad(where, f"{key}: {values} follows {before}")
        last[key] = values

    def _bandwidth(self, kind, names, unit):
        last = {}
        for where, blob in self.device.blobs(kind, _BANDWIDTH.size):
            for time, count, event, number in _BANDWIDTH.iter_unpack(blob):
                self.device.count[kind] += 1
                self._rises(where, last, (event, number), (time,))
                if event >= len(names):
                    self._bad(where, f"event {event}, at most {len(names) - 1} is known")
                    continue
                self.totals[names[event]] += count * unit

    def _llc(self):
        names = tuple(f"llc_{event}" for event in range(8))
        self._bandwidth("llc.data", names, 1)
        if self.device.count["llc.data"] and self.sample.get("llc_profiling") not in ("read", "write"):
            self.report.add("unit-gate", f"{self.device.part.name}/sample.json",
                            f"llc_profiling is {self.sample.get('llc_profiling')!r}, must be read or write")

    def _ports(self, kind):
        last = {}
        for where, lines in self._texts(kind):
            for line in lines:
                words = line.split()
                if words == _PORT_COLUMNS:
                    continue
                values = [int(w.rstrip(":")) if w.rstrip(":").isdigit() else None for w in words]
                if len(values) != len(_PORT_COLUMNS) or None in values:
                    self._bad(where, f"cannot read '{line[:80]}'")
                    continue
                row = dict(zip(_PORT_COLUMNS, values))
                self.device.count[kind] += 1
                self._rises(where, last, row["funcId"],
                            tuple(row[c] for c in ("timestamp", "rxPackets", "rxBytes", "txPackets", "txBytes")))
                # The first column is megabits, the others bytes.
                if max(row["rxByte/s"], row["txByte/s"]) * 8 > row["bandwidth"] * 1_000_000 * 1.01:
                    self._bad(where, f"faster than its port: '{line[:80]}'")
        for values in last.values():
            self.totals[kind + ".received"] += values[2]
            self.totals[kind + ".sent"] += values[4]

    def _media(self):
        last = {}
        for where, lines in self._texts("dvpp.data"):
            for line in lines:
                if line.split() == _MEDIA_COLUMNS:
                    continue
                if not _MEDIA_LINE.match(line):
                    self._bad(where, f"cannot read '{line[:80]}'")
                    continue
                row = line.split()
                self.device.count["dvpp.data"] += 1
                if int(row[6].rstrip("%")) > 100:
                    self._bad(where, f"an engine was busy for more than all of the time: '{line}'")
                self._rises(where, last, (row[1], row[2], row[3]),
                            (float(row[0].replace(":", ".")), int(row[4]), int(row[5])))
        for _, busy_us, frames in last.values():
            self.totals["media_us"] += busy_us
            self.totals["media_frames"] += frames

    def _link(self):
        last = {}
        for where, lines in self._texts("hccs.data"):
            if lines and lines[0].split() != ["time", "tx", "rx"]:
                self._bad(where, "the first line is no heading, but readers skip it")
            for line in lines[1:]:
                m = re.match(r"^(\d+): (\d+) (\d+)$", line)
                if not m:
                    self._bad(where, f"cannot read '{line[:80]}'")
                    continue
                self.device.count["hccs.data"] += 1
                self._rises(where, last, "hccs", tuple(int(g) for g in m.groups()))
        if last:
            self.totals["link_sent"], self.totals["link_received"] = last["hccs"][1:]

    def _pcie(self):
        last = {}
        for where, blob in self.device.blobs("pcie.data", _PCIE.size):
            for time, device, *rates in _PCIE.iter_unpack(blob):
                self.device.count["pcie.data"] += 1
                self._rises(where, last, "pcie", (time,))
                if device != self.device.device:
                    self.report.add("ids", where, f"a record is of device {device}")
                for least, most in zip(rates[0::3], rates[1::3]):
                    if least > most:
                        self._bad(where, f"of least {least} and most {most} bytes per second")

    def _profile(self):
        last, levels = {}, []
        for where, blob in self.device.blobs("stars_soc_profile.data", _TRANSFER.size):
            for offset in range(0, len(blob), _TRANSFER.size):
                head, _, clock, _, number, *values = _ACCELERATOR.unpack_from(blob, offset)
                function = head & 63
                if function == _TRANSFER_FUNCTION:
                    self._transfer(head >> 10, values)
                elif function == _ACCELERATOR_FUNCTION:
                    self.device.count["accelerator_samples"] += 1
                    self._rises(where, last, ("accelerator", number), (clock,))
                    for name, value in zip(("written", "read"), values):
                        self.totals[f"accelerator_{number}.{name}"] += value
                elif function == _LEVEL_FUNCTION:
                    self._rises(where, last, "levels", (clock,))
                    levels.append((clock, _LEVELS.unpack_from(blob, offset)[-1]))
        self.device.count["level_samples"] += len(levels)
        for name, shift, mask in (("memory_level_ticks", 0, 7), ("buffer_level_ticks", 3, 255)):
            self.totals[name] += _over_time([(clock, (value >> shift) & mask) for clock, value in levels])
            self.totals[name + ".most"] = max([(value >> shift) & mask for _, value in levels], default=0)

    def _transfer(self, kind, values):
        name = {_LINK: "link_transfer", _PCIE_TYPE: "pcie_transfer"}.get(kind)
        if name is not None:
            self.totals[name + ".received"] += values[0]
            self.totals[name + ".sent"] += values[1]

    def _flows(self):
        names = [n for n in self.sample.get("qosEvents", "").split(",") if n]
        last, told = {}, []
        for where, blob in self.device.blobs("qos.data", _QOS.size):
            for clock, *bandwidth in _QOS.iter_unpack(blob):
                self._rises(where, last, "qos", (clock,))
                told.append((clock, bandwidth))
        if told and not 1 <= len(names) <= 10:
            self.report.add("unit-gate", f"{self.device.part.name}/sample.json", f"qosEvents are {names}")
        for i, name in enumerate(names):
            self.totals[f"qos_{name}_ticks"] += _over_time([(clock, bandwidth[i]) for clock, bandwidth in told])

    def _modules(self):
        """Memory by module, the one kind of the device whose times are the host's."""
        kind, last = "npu_module_mem.data", {}
        first, end = self.device.meta.host_window()
        for where, blob in self.device.blobs(kind, _MODULE.size):
            for module, reserved, cycles, held in _MODULE.iter_unpack(blob):
                self.device.count[f"module_{module}"] += 1
                self._rises(where, last, module, (cycles,))
                if not first <= cycles <= end:
                    self.report.add("clock-range", where, f"counter {cycles} is outside the collection, {first:.0f} to {end:.0f}")
                if reserved or module not in layout.MODULES:
                    self._bad(where, f"a record is of module {module}, with {reserved} in its reserved word")
                if held >= layout.EXACT:
                    self.report.add("precision", where, f"{held} bytes are not below 2^53")
                name = f"module_{module}"
                self.totals[name + ".most"] = max(self.totals[name + ".most"], held)
                self.totals[name + ".last"] = held

    def _soc_pmu(self):
        events = [e for e in self.sample.get("l2CacheTaskProfilingEvents", "").split(",") if e]
        for where, blob in self.device.blobs("socpmu.data", _SOC_PMU.size):
            for _, stream, task, kind, *counters in _SOC_PMU.iter_unpack(blob):
                self.device.count["socpmu.data"] += 1
                if kind not in (1, 2, 4):
                    self._bad(where, f"a record has data type {kind}; known are 1, 2 and 4")
                if self.device.tasks and (stream, task) not in self.device.tasks:
                    self._bad(where, f"a record is of task {stream}/{task}, which did not run")
                if kind != 1:
                    continue
                for event, count in zip(events, counters):
                    self.totals["l2_" + event] += count
        if self.device.count["socpmu.data"]:
            self._soc_pmu_gate(events)

    def _soc_pmu_gate(self, events):
        where = f"{self.device.part.name}/sample.json"
        if not 1 <= len(events) <= 8 or any(not re.fullmatch(r"0x[0-9a-f]+", e) for e in events):
            self.report.add("unit-gate", where, f"l2CacheTaskProfilingEvents are {events}")
        if not re.match(r"^HA:", self.sample.get("npuEvents", "")):
            self.report.add("unit-gate", where, "npuEvents do not begin with HA:")

    def _aicpu(self):
        for where, blob in self.device.blobs("aicpu.data", 256):
            for offset in range(0, len(blob), 256):
                (_, _, kind, _, stream, task, _, begin, compute, copy, copied, _, end, device, submit, schedule,
                 before, after) = _AICPU.unpack_from(blob, offset)
                if kind != 0:
                    continue
                self.device.count["aicpu_nodes"] += 1
                if not submit <= schedule <= before <= after or not compute <= copy <= copied or begin > end:
                    self._bad(where, f"AI CPU task {stream}/{task} has its steps in no order")
                if device != self.device.device:
                    self.report.add("ids", where, f"a record is of device {device}")
                spans = self.device.tasks.get((stream, task))
                if self.device.tasks and (spans is None or not spans.hold(begin, end)):
                    self._bad(where, f"AI CPU task {stream}/{task} from {begin} to {end} is no task of the device")
                self.totals["aicpu_ticks"] += end - begin


def _over_time(samples):
    """Values times the ticks of the device that they are of. The first is of as long a time as the second."""
    if len(samples) < 2:
        return 0
    before = 2 * samples[0][0] - samples[1][0]
    total = 0
    for clock, value in samples:
        total += value * (clock - before)
        before = clock
    return total
