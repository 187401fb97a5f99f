# SPDX-License-Identifier: Apache-2.0
"""For suites in the guest: the NPUs as those see them who submit work (a virtio-serial port), and as a profiler does
(/dev/npuprof<N>). The port tells what the model counted itself; that is what profiles are compared with."""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import select
import struct
import sys
import time
import traceback

CUBE, VECTOR, SDMA = 0, 1, 5            # enum npusim_task_kind
EVENTS, TASK_LOG, CORE_SAMPLE, HBM, LLC = 0, 1, 5, 6, 7     # enum npuprof_channel
REGISTER_PATH = 2                       # NPUPROF_RING_REGISTER_PATH
DEVICE_PATH = 4                         # NPUPROF_RING_DEVICE_PATH
CORE_CUBE, CORE_VECTOR = 1, 2           # enum npuprof_core_kind
RUNNING, STOPPED = 1, 3                 # NPUPROF_RING_*
EVENT_EPOCH = 2                         # NPUPROF_EVENT_EPOCH
MMAP_TAILS, MMAP_DATA = 1 << 32, 2 << 32


FINIT_MODULE = {"x86_64": 313, "aarch64": 273}[os.uname().machine]


class Port:
    """The stream to the simulated NPUs; see tools/npusim/model/npusim_port.h."""

    VERSION = 2
    HEADER = struct.Struct("<IHHIi")
    TASK = struct.Struct("<HH4BIIIHHI4xQQQQQQ14QII")
    TOTALS = ("submitted started ended aborted kernels_ended aicpu_ended marks blocks0 blocks1 cycles0 cycles1 task_cycles "
              "macs vector_ops hbm_read hbm_written nic_received nic_sent link_received link_sent "
              "pcie_received pcie_sent l2_hits l2_misses dvpp_frames recorded_started recorded_ended straddled_open "
              "fifo0 fifo1 fifo2 fifo3 fifo4 fifo_lost0 fifo_lost1 fifo_lost2 fifo_lost3 fifo_lost4 queue_written queue_dropped "
              "reg_reads reg_writes busy_ticks").split()
    HELLO, INFO, TIME, SUBMIT, GET_TOTALS, EVENT_TOTAL, STATS, RESET, REMOVE, INSERT, FAULT = range(1, 12)

    def __init__(self):
        self.fd = os.open(self._path(), os.O_RDWR)
        self.sequence = 0
        status, body = self.ask(self.HELLO, 0, struct.pack("<II", self.VERSION, 0))
        theirs, self.devices = struct.unpack("<II", body)
        assert status == 0, f"the port speaks version {theirs} of its protocol, this file version {self.VERSION}"

    @staticmethod
    def _path():
        for name in glob.glob("/sys/class/virtio-ports/*/name"):
            with open(name, encoding="utf-8") as f:
                if f.read().strip() == "npusim":
                    return "/dev/" + name.split("/")[-2]
        raise FileNotFoundError("no virtio-serial port is called npusim")

    def _read(self, size):
        data = b""
        while len(data) < size:
            data += os.read(self.fd, size - len(data))
        return data

    def _send(self, kind, device, body):
        self.sequence += 1
        os.write(self.fd, self.HEADER.pack(self.HEADER.size + len(body), kind, device, self.sequence, 0) + body)
        return self.sequence

    def ask(self, kind, device, body=b""):
        """Sends a request; returns status and body of its reply."""
        sequence = self._send(kind, device, body)
        while True:
            size, got, _, number, status = self.HEADER.unpack(self._read(self.HEADER.size))
            rest = self._read(size - self.HEADER.size)
            if got == kind | 0x8000 and number == sequence:
                return status, rest

    def submit(self, device, kind, cycles=0, blocks=1, count=1, stream=1, copy=0, **work):
        """Queues `count` equal tasks."""
        names = ("macs_fp16 macs_int8 vec_fp32 vec_fp16 vec_int32 vec_misc scalar read_bytes write_bytes l1_read_bytes "
                 "l0c_to_l1_bytes ub_read_bytes ub_write_bytes copy_bytes l2_hit_ppm frames").split()
        amounts = [work.pop(name, 0) for name in names]
        assert not work, work
        for number in range(count):
            task = self.TASK.pack(stream, number & 0xffff, kind, 0, copy, 0, blocks, 0, 0xffffffff, 0, 0, 0, 0, 0, cycles,
                                  0, 0, 0, *amounts)
            self._send(self.SUBMIT, device, struct.pack("<II", 0, 0) + task)

    def totals(self, device):
        status, body = self.ask(self.GET_TOTALS, device)
        assert status == 0, status
        return dict(zip(self.TOTALS, struct.unpack(f"<{len(self.TOTALS)}Q", body)))

    def event_total(self, device, kind, event):
        status, body = self.ask(self.EVENT_TOTAL, device, struct.pack("<IIQ", kind, event, 0))
        assert status == 0, status
        return struct.unpack("<IIQ", body)[2]

    def wait(self, device, seconds=120):
        """Until all that was submitted has ended; returns the totals."""
        end = time.monotonic() + seconds
        while True:
            totals = self.totals(device)
            if totals["submitted"] == totals["ended"] + totals["aborted"]:
                return totals
            assert time.monotonic() < end, f"tasks did not end: {totals}"
            time.sleep(0.01)


class Session:
    """One open /dev/npuprof<N>."""

    ADD = struct.Struct("<IIIHHIIQQ8H8HBBHIIIQ4Q")
    CONTROL = struct.Struct("<IIQQQII2Q")
    STATS = struct.Struct("<II8Q4Q")
    QUERY = struct.Struct("<IIHHIIIHHHBBQQQQQIHHQII32s4Q")
    CONTROL_ENTRY = struct.Struct("<QQQIIIIQIHHQ8Q")
    CLOCK = struct.Struct("<II5Q")
    EVENT = struct.Struct("<4I6Q")

    def __init__(self, device):
        self.fd = os.open(f"/dev/npuprof{device}", os.O_RDWR | os.O_CLOEXEC)
        self.rings = 1
        self.tail = 0

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ioctl(self, number, layout, *values):
        """Returns the fields after the call. @raise OSError"""
        data = bytearray(layout.pack(layout.size, *values))
        fcntl.ioctl(self.fd, 0xC0000000 | layout.size << 16 | ord("N") << 8 | number, data, True)
        return layout.unpack(data)

    def query(self):
        names = ("size flags abi_major abi_minor device_id chip device_flags cube_cores vector_cores counters counter_bits "
                 "cycle_bits clock_hz core_hz channels min_period_ns max_period_ns sample_cost_ns hbm_channels llc_channels "
                 "max_data_bytes record_formats aicpu_cores name").split()
        values = self.ioctl(0xc0, self.QUERY, *[0] * 22, b"", *[0] * 4)
        return dict(zip(names, values))

    def add(self, channel, core=0xffff, kind=0, slots=64, period_ns=0, events=(), flags=0, options=0,
            watermark=0, latency_ns=0):
        lists = {k: (list(events) if k == kind else []) for k in (CORE_CUBE, CORE_VECTOR)}
        padded = [v for k in lists for v in lists[k] + [0] * (8 - len(lists[k]))]
        self.ioctl(0xc1, self.ADD, flags, channel, core, kind, slots, watermark, latency_ns, period_ns, *padded,
                   len(lists[CORE_CUBE]), len(lists[CORE_VECTOR]), 0, options, 0, 0, 0, *[0] * 4)
        self.rings += 1

    def start(self):
        return self.ioctl(0xc2, self.CONTROL, *[0] * 8)

    def stop(self, timeout_ns=0):
        return self.ioctl(0xc3, self.CONTROL, 1 if timeout_ns else 0, timeout_ns, *[0] * 6)

    def freeze(self):
        return self.ioctl(0xc4, self.CONTROL, *[0] * 8)

    def clock(self):
        return self.ioctl(0xc7, self.CLOCK, *[0] * 6)

    def stats(self):
        names = "interrupts reads writes records lost_records busy_ns tasks_started tasks_ended".split()
        return dict(zip(names, self.ioctl(0xc6, self.STATS, *[0] * 13)[2:]))

    def control(self):
        """The control area, an entry per ring."""
        with mmap.mmap(self.fd, self.rings * self.CONTROL_ENTRY.size, mmap.MAP_SHARED, mmap.PROT_READ) as area:
            return [self.CONTROL_ENTRY.unpack_from(area, i * self.CONTROL_ENTRY.size) for i in range(self.rings)]

    def ring_entries(self):
        """(head, lost records, lost by cause) of every ring."""
        return [(e[0], e[1], e[-8:]) for e in self.control()]

    def states(self):
        """NPUPROF_RING_* of every ring."""
        return [e[4] for e in self.control()]

    def events(self):
        """Takes what the event ring has."""
        head, slots = self.control()[0][0], self.control()[0][6]
        with mmap.mmap(self.fd, slots * self.EVENT.size, mmap.MAP_SHARED, mmap.PROT_READ, offset=MMAP_DATA) as area:
            records = [self.EVENT.unpack_from(area, k % slots * self.EVENT.size) for k in range(self.tail, head)]
        with mmap.mmap(self.fd, mmap.PAGESIZE, mmap.MAP_SHARED, offset=MMAP_TAILS) as area:
            struct.pack_into("<Q", area, 0, head)
        self.tail = head
        return [dict(zip("kind ring cause epoch position count first last".split(), record)) for record in records]

    def _polled(self, mask):
        poll = select.poll()
        poll.register(self.fd, mask)
        return dict(poll.poll(0)).get(self.fd, 0)

    def readable(self):
        return bool(self._polled(select.POLLIN))

    def hung_up(self):
        """Whether its device is gone; a session that stopped hangs up without an error."""
        return self._polled(0) & (select.POLLHUP | select.POLLERR) == select.POLLHUP | select.POLLERR


def refused(call, *arguments):
    """The errno with which a call fails, 0 if it does not."""
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def keep(name, text):
    """Leaves a file beside the suite's log, where the lab keeps results, for people to read."""
    if os.path.isdir("/dev/lab"):
        write(f"/dev/lab/{name}", text)


def pci(device):
    """Directory of the PCI device behind /dev/npuprof<N>."""
    return os.path.realpath(f"/sys/class/npuprof/npuprof{device}/device")


def load(module):
    """Loads the module unless it is there."""
    if not os.path.exists("/sys/module/npuprof"):
        with open(module, "rb") as f:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syscall(FINIT_MODULE, f.fileno(), b"", 0) != 0:
                raise OSError(ctypes.get_errno(), f"{module} cannot be loaded")
    wait_for(lambda: os.path.exists("/dev/npuprof0"), "/dev/npuprof0")


# How many times as long as others this kernel may take.
PATIENCE = int(os.environ.get("NPUPROF_LAB_PATIENCE", "1"))


def rounds(usual, least=1):
    """How often to do what is usually done `usual` times."""
    return max(least, usual * int(os.environ.get("NPUPROF_LAB_EFFORT", "100")) // 100)


def wait_for(condition, what, seconds=40):
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


class Skip(Exception):
    """Why a test cannot run here."""


def main(tests, skip=None):
    """Runs functions named test_*; LAB_FILTER chooses. Prints a line per test and exits. `skip`: why none can run."""
    failed = 0
    for name, function in list(tests.items()):
        if not name.startswith("test_") or os.environ.get("LAB_FILTER", "") not in name:
            continue
        begin = time.monotonic()
        try:
            if skip:
                raise Skip(skip)
            function()
            result = "ok"
        except Skip as why:
            print(f"skip {name[5:]}: {why}", flush=True)
            continue
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
            result, failed = "not ok", failed + 1
        print(f"{result} {name[5:]} ({int((time.monotonic() - begin) * 1000)} ms)", flush=True)
    sys.exit(1 if failed else 0)


__all__ = [name for name in dir() if not name.startswith("_")] + ["errno"]
