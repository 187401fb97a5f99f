# SPDX-License-Identifier: Apache-2.0
"""The reference NPU on the bus, without any driver: registers, memory writes, MSI-X, power states, reset, removal.

Needs a machine with NPU 0 anywhere and NPU 1 in a hot-plug slot, and no module loaded. Registers are those of
kmod/refnpu_regs.h.
"""

import ctypes
import glob
import mmap
import os
import struct
import time

import npu

ID, VERSION, CORES, CLOCK_HZ, EPOCH = 0x0, 0x4, 0x8, 0x10, 0x34
INT_STATUS, INT_ENABLE, CLOCK = 0x100, 0x104, 0x200
TRACE_ENABLE, TRACE_WINDOW, TRACE_STARTED = 0x300, 0x304, 0x328
FIFO_CTRL, FIFO_COUNT, FIFO_WATERMARK, FIFO_POP = 0x400, 0x404, 0x408, 0x40c
QUEUE = 0x40000
ID_VALUE, ONES = 0x55504e52, 0xffffffff
COMMAND, BAR0 = 0x04, 0x10
MASTER = 4
PAGE = 4096


class Function:
    """A PCI function as configuration space and mapped BARs."""

    def __init__(self, directory):
        self.directory = directory
        npu.write(directory + "/enable", "1")
        self.config = os.open(directory + "/config", os.O_RDWR)
        self.bars = {}
        self.saved = os.pread(self.config, 64, 0)

    def bar(self, number):
        if number not in self.bars:
            fd = os.open(f"{self.directory}/resource{number}", os.O_RDWR | os.O_SYNC)
            self.bars[number] = mmap.mmap(fd, os.fstat(fd).st_size)
            os.close(fd)
        return self.bars[number]

    def cell(self, offset, kind=ctypes.c_uint32, bar=0):
        return kind.from_buffer(self.bar(bar), offset)

    def r32(self, offset):
        return self.cell(offset).value

    def r64(self, offset):
        return self.cell(offset, ctypes.c_uint64).value

    def w32(self, offset, value, bar=0):
        self.cell(offset, bar=bar).value = value

    def w64(self, offset, value):
        self.cell(offset, ctypes.c_uint64).value = value

    def c16(self, offset):
        return struct.unpack("<H", os.pread(self.config, 2, offset))[0]

    def set16(self, offset, value):
        os.pwrite(self.config, struct.pack("<H", value), offset)

    def capability(self, wanted):
        at = os.pread(self.config, 1, 0x34)[0]
        while at:
            name, following = os.pread(self.config, 2, at)
            if name == wanted:
                return at
            at = following
        raise AssertionError(f"no capability {wanted:#x}")

    def master(self, on):
        command = self.c16(COMMAND)
        self.set16(COMMAND, command | MASTER if on else command & ~MASTER)

    def restore(self):
        """What an operating system does after the function lost its configuration space."""
        os.pwrite(self.config, self.saved[BAR0:BAR0 + 24], BAR0)
        self.set16(COMMAND, struct.unpack_from("<H", self.saved, COMMAND)[0] | 2)


class Memory:
    """One page whose address on the bus is known (no IOMMU in this machine)."""

    def __init__(self):
        self.map = mmap.mmap(-1, PAGE)
        self.map[0] = 1
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        assert ctypes.CDLL(None, use_errno=True).mlock(ctypes.c_void_p(address), ctypes.c_size_t(PAGE)) == 0
        with open("/proc/self/pagemap", "rb") as f:
            f.seek(address // PAGE * 8)
            entry = struct.unpack("<Q", f.read(8))[0]
        assert entry >> 63, "the page is not in memory"
        self.bus = (entry & ((1 << 55) - 1)) * PAGE
        self.map[0] = 0

    def u64(self, offset):
        return struct.unpack_from("<Q", self.map, offset)[0]

    def u32(self, offset):
        return struct.unpack_from("<I", self.map, offset)[0]


def below_a_port(directory):
    """Is the function's parent another function, and not the root bus?"""
    parent = os.path.basename(os.path.dirname(os.path.realpath(directory)))
    return not parent.startswith("pci")


def find(in_slot):
    return [d for d in glob.glob("/sys/bus/pci/devices/*")
            if npu.read(d + "/device").strip() == "0x4e50" and below_a_port(d) == in_slot]


PORT = npu.Port()
FIRST = Function(find(False)[0])


def stats(device):
    status, body = PORT.ask(PORT.STATS, device)
    assert status == 0, status
    names = "interrupts dropped held dma_writes dma_bytes dma_blocked resets sleeps".split()
    return dict(zip(names, struct.unpack("<8Q", body)))


def trace_into_fifo(f):
    f.w32(FIFO_CTRL, 2)
    f.w32(FIFO_WATERMARK, 1)
    f.w32(FIFO_CTRL, 1)
    f.w32(TRACE_ENABLE, 1)
    f.w32(TRACE_WINDOW, 1)


def trace_into_memory(f, memory):
    """Queue 0: task log records from the page's start on, their number at its end."""
    f.w32(QUEUE, 0)
    f.w32(QUEUE + 0x04, npu.TASK_LOG | 0xffff0000)
    f.w64(QUEUE + 0x08, memory.bus)
    f.w32(QUEUE + 0x10, 32)
    f.w64(QUEUE + 0x28, memory.bus + PAGE - 8)
    f.w64(QUEUE + 0x30, 32)
    f.w32(QUEUE, 1)
    assert f.r32(QUEUE) == 1
    f.w32(TRACE_ENABLE, 1)
    f.w32(TRACE_WINDOW, 1)


def stop(f):
    f.w32(0x40, 1)


def test_identity():
    assert npu.read(FIRST.directory + "/class").strip() == "0x120000"
    assert len(FIRST.bar(0)) == 0x80000
    assert FIRST.r32(ID) == ID_VALUE and FIRST.r32(VERSION) == 0x10001
    assert FIRST.r32(CORES) == 24 | 48 << 16
    assert FIRST.r64(CLOCK_HZ) == 50_000_000
    assert FIRST.r32(0x7fffc) == 0
    assert FIRST.c16(FIRST.capability(0x11) + 2) & 0x7ff == 4       # five vectors


def test_the_clock_runs_with_the_machines():
    def bracket():
        while True:
            begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            ticks = FIRST.r64(CLOCK)
            end = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            if end - begin < 5_000_000:
                return (begin + end) // 2, ticks
    first, first_ticks = bracket()
    time.sleep(1)
    second, ticks = bracket()
    rate = (ticks - first_ticks) * 20 / (second - first)
    assert 0.9 < rate < 1.1, rate
    low = FIRST.r32(CLOCK)
    assert abs((FIRST.r32(CLOCK + 4) << 32 | low) - FIRST.r64(CLOCK)) < 50_000_000


def test_memory_writes_need_bus_mastering():
    memory = Memory()
    for master in (False, True):
        memory.map[:] = bytes(PAGE)
        before = stats(0)
        FIRST.master(master)
        trace_into_memory(FIRST, memory)
        PORT.submit(0, npu.CUBE, cycles=1800, count=5)
        PORT.wait(0)
        after = stats(0)
        stop(FIRST)
        assert memory.u64(PAGE - 8) == (10 if master else 0)
        assert (memory.u64(0) != 0) == master
        assert (after["dma_writes"] > before["dma_writes"]) == master
        assert (after["dma_blocked"] > before["dma_blocked"]) != master


def test_interrupts_are_messages():
    memory = Memory()
    at = FIRST.capability(0x11)
    FIRST.set16(at + 2, 0xc000)                                     # enabled, all masked
    for vector in range(5):
        FIRST.w32(16 * vector, (memory.bus + 4 * vector) & 0xffffffff, bar=4)
        FIRST.w32(16 * vector + 4, memory.bus >> 32, bar=4)
        FIRST.w32(16 * vector + 8, 0x40 + vector, bar=4)
        FIRST.w32(16 * vector + 12, 0, bar=4)
    FIRST.set16(at + 2, 0x8000)
    FIRST.master(True)
    FIRST.w32(INT_ENABLE, 1)
    trace_into_fifo(FIRST)
    PORT.submit(0, npu.CUBE, cycles=1800)
    PORT.wait(0)
    assert memory.u32(0) == 0x40 and memory.u32(4) == 0
    assert FIRST.r32(INT_STATUS) == 1 and FIRST.r32(FIFO_COUNT) == 2
    # Not again before it is acknowledged; then again.
    memory.map[0:4] = bytes(4)
    PORT.submit(0, npu.CUBE, cycles=1800)
    PORT.wait(0)
    assert memory.u32(0) == 0
    FIRST.w32(INT_STATUS, 1)
    FIRST.w32(FIFO_POP, 4)
    PORT.submit(0, npu.CUBE, cycles=1800)
    PORT.wait(0)
    assert memory.u32(0) == 0x40
    # The window closes: vector 4.
    FIRST.w32(INT_ENABLE, 0x10)
    FIRST.w32(TRACE_WINDOW, 0)
    assert memory.u32(16) == 0x44
    stop(FIRST)
    FIRST.set16(at + 2, 0)


def test_d3hot_loses_registers_and_not_tasks():
    power = FIRST.capability(0x01) + 4
    before, epoch = stats(0), FIRST.r32(EPOCH)
    trace_into_fifo(FIRST)
    FIRST.w32(INT_ENABLE, 1)
    ended = PORT.totals(0)["ended"]
    PORT.submit(0, npu.CUBE, cycles=1800 * 1000, count=20)
    FIRST.set16(power, 3)
    assert FIRST.c16(power) & 3 == 3
    assert FIRST.r32(ID) == ONES and FIRST.r64(CLOCK) == (1 << 64) - 1
    FIRST.w32(TRACE_ENABLE, 1)
    assert PORT.wait(0)["ended"] == ended + 20
    FIRST.set16(power, 0)
    assert FIRST.c16(COMMAND) & 7 == 0
    assert os.pread(FIRST.config, 4, BAR0 + 4) == bytes(4)
    assert os.pread(FIRST.config, 4, BAR0)[1:] == bytes(3)
    FIRST.restore()
    assert FIRST.r32(ID) == ID_VALUE
    for register in (TRACE_ENABLE, TRACE_WINDOW, INT_ENABLE, INT_STATUS, FIFO_CTRL, FIFO_COUNT):
        assert FIRST.r32(register) == 0, hex(register)
    assert FIRST.r32(EPOCH) == epoch
    assert stats(0)["sleeps"] == before["sleeps"] + 1 and stats(0)["resets"] == before["resets"]


def test_d1_and_d2_are_not_offered():
    power = FIRST.capability(0x01) + 4
    for state in (1, 2):
        FIRST.set16(power, state)
        assert FIRST.c16(power) & 3 == 0
        assert FIRST.r32(ID) == ID_VALUE


def test_function_level_reset():
    assert "flr" in npu.read(FIRST.directory + "/reset_method").split()
    epoch, totals = FIRST.r32(EPOCH), PORT.totals(0)
    FIRST.w32(TRACE_ENABLE, 1)
    PORT.submit(0, npu.CUBE, cycles=9_000_000_000)
    npu.wait_for(lambda: PORT.totals(0)["started"] == totals["started"] + 1, "the task to start")
    npu.write(FIRST.directory + "/reset", "1")                      # the kernel puts configuration space back
    assert FIRST.r32(ID) == ID_VALUE and FIRST.r32(EPOCH) == epoch + 1
    assert FIRST.r32(TRACE_ENABLE) == 0
    assert PORT.totals(0)["aborted"] == totals["aborted"] + 1
    PORT.submit(0, npu.CUBE, cycles=1800)
    assert PORT.wait(0)["ended"] == totals["ended"] + 1


def test_reset_through_the_port():
    epoch = FIRST.r32(EPOCH)
    status, _ = PORT.ask(PORT.RESET, 0)
    assert status == 0
    FIRST.restore()
    assert FIRST.r32(EPOCH) == epoch + 1


def test_card_is_pulled_out_and_put_back():
    directory = find(True)[0]
    card = Function(directory)
    assert card.r32(ID) == ID_VALUE
    # A port that sleeps wakes up by a power management event, which QEMU's cannot send.
    npu.write(os.path.dirname(os.path.realpath(directory)) + "/power/control", "on")
    PORT.submit(1, npu.CUBE, cycles=9_000_000_000)
    status, _ = PORT.ask(PORT.REMOVE, 1)
    assert status == 0
    # All ones, until the kernel switches the slot off: then nobody is there to answer, and QEMU reads zero.
    assert card.r32(ID) in (ONES, 0)
    npu.wait_for(lambda: not os.path.exists(directory), "the kernel to notice that the card is gone")
    assert PORT.totals(1)["aborted"] == 1
    assert PORT.ask(PORT.REMOVE, 1)[0] == -19                       # ENODEV
    time.sleep(2)                                                   # the kernel lets a slot's power settle for one
    status, _ = PORT.ask(PORT.INSERT, 1)
    assert status == 0
    npu.wait_for(lambda: find(True), "the kernel to notice that a card is there")
    again = Function(find(True)[0])
    assert again.r32(ID) == ID_VALUE and PORT.totals(1)["aborted"] == 0
    assert FIRST.r32(ID) == ID_VALUE


def test_removal_outside_a_slot():
    # Last: this device does not come back for the kernel.
    status, _ = PORT.ask(PORT.REMOVE, 0)
    assert status == 0
    assert FIRST.r32(ID) == ONES and FIRST.c16(0) == 0xffff
    FIRST.w32(TRACE_ENABLE, 1)
    assert FIRST.r32(TRACE_ENABLE) == ONES
    assert PORT.ask(PORT.INSERT, 0)[0] == 0
    FIRST.restore()
    assert FIRST.r32(ID) == ID_VALUE and FIRST.r32(TRACE_ENABLE) == 0


if __name__ == "__main__":
    npu.main(dict(globals()))
