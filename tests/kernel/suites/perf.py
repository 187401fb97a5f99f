#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: perf.py MODULE TREE: the PMUs npuprof_<N>. What is counted is compared with what the model counted itself."""

import ctypes
import errno
import json
import mmap
import os
import subprocess
import sys
import threading
import time

import npu
from events import Trace
from npu import CUBE, VECTOR, Port, Session, keep, read, refused, wait_for, write
from perf_event import (DISABLED, EXCLUDE_KERNEL, EXCLUDE_USER, PMU, Event, Stat, core_event)

CUBE_WORK = {"macs_fp16": 10**8, "read_bytes": 10**6, "write_bytes": 5 * 10**5, "l2_hit_ppm": 300_000}
VECTOR_WORK = {"vec_fp32": 10**6, "read_bytes": 10**6, "write_bytes": 10**6}
ALL_CYCLES = 0x0e     # an event that counts every cycle in a block
port = None
tree = None


def work():
    """Some of everything; returns the totals once it is done."""
    port.submit(0, CUBE, blocks=37, count=5, **CUBE_WORK)
    port.submit(0, VECTOR, blocks=96, count=5, stream=2, **VECTOR_WORK)
    return port.wait(0)


def claims():
    return read("/sys/kernel/debug/npuprof/0/claims")


def test_events_are_those_of_the_metric_groups():
    table = json.loads(read(f"{tree}/libprof/metrics/a2.json"))
    wanted = {}
    for kind, short, number in (("cube", "aic", 1), ("vector", "aiv", 2)):
        wanted[f"{short}_cycles"] = (0, number)
        for event in {e for group in table["groups"] for e in group[kind]["events"]}:
            wanted[f"{short}_{table['events'][event]}"] = (int(event, 16), number)
    found = {}
    for name in os.listdir(f"{PMU.format(0)}/events"):
        terms = dict(term.split("=") for term in read(f"{PMU.format(0)}/events/{name}").strip().split(","))
        if "kind" in terms:
            found[name] = (int(terms["event"], 0), int(terms["kind"], 0))
    assert found == wanted, set(found.items()) ^ set(wanted.items())


def test_sysfs_tells_tools_what_they_need():
    pmu = PMU.format(0)
    assert read(f"{pmu}/identifier") == "npuprof-5-simulated\n"
    assert read(f"{pmu}/cpumask") == "0\n"
    assert read(f"{pmu}/format/event") == "config:0-15\n" and read(f"{pmu}/format/core_mask") == "config1:0-63\n"


def test_the_identifier_is_there_as_soon_as_the_pmu_is():
    path = f"{PMU.format(0)}/identifier"
    seen = set()
    for _ in range(npu.rounds(10, 2)):
        subprocess.run(["rmmod", "npuprof"], check=True)
        loader = threading.Thread(target=npu.load, args=(sys.argv[1],))
        loader.start()
        while True:
            try:
                with open(path, encoding="utf-8") as f:
                    seen.add(f.read())
            except OSError:
                continue
            if not loader.is_alive():
                break
        loader.join()
    assert seen == {"npuprof-5-simulated\n"}, seen


def test_a_device_that_takes_over_a_pmu_brings_its_own_events():
    address = os.path.basename(npu.pci(0))
    events = sorted(os.listdir(f"{PMU.format(0)}/events"))
    for verb in ("unbind", "bind"):
        write(f"/sys/bus/pci/drivers/npuprof_refnpu/{verb}", address)
    wait_for(lambda: os.path.exists("/dev/npuprof0"), "the device to come back")
    assert sorted(os.listdir(f"{PMU.format(0)}/events")) == events and "aic_cycles" in events
    assert read(f"{PMU.format(0)}/identifier") == "npuprof-5-simulated\n"
    with Event("aic_cycles") as event:
        port.submit(0, CUBE, cycles=1000, blocks=24)
        port.wait(0)
        assert event.count() == 24_000


def test_perf_stat_counts_what_the_model_counts():
    names = ["aic_cycles", "aic_cube_fp16_instr", "aic_mte2_busy_cycles", "aiv_cycles", "aiv_vec_busy_cycles",
             "aiv_vec_fp32_instr", "hbm_read_bytes", "hbm_write_bytes"]
    events = {"aic_cube_fp16_instr": (0, 0x49), "aic_mte2_busy_cycles": (0, 0xc), "aiv_vec_busy_cycles": (1, 0x8),
              "aiv_vec_fp32_instr": (1, 0x4b)}
    totals, before = port.totals(0), {n: port.event_total(0, *e) for n, e in events.items()}
    with Stat(*names) as stat:
        after = work()
    expected = {n: port.event_total(0, *e) - before[n] for n, e in events.items()}
    for name, field in (("aic_cycles", "cycles0"), ("aiv_cycles", "cycles1"), ("hbm_read_bytes", "hbm_read"),
                        ("hbm_write_bytes", "hbm_written")):
        expected[name] = after[field] - totals[field]
    assert all(expected.values()), expected
    assert {n: c[0] for n, c in stat.counts.items()} == expected, (stat.said, expected)
    assert all(c[1] == 100 for c in stat.counts.values()), stat.said
    print(stat.said)
    assert claims() == "window session=0\n", claims()


def test_cores_add_up_to_the_device():
    cores = int(read("/sys/class/npuprof/npuprof0/vector_cores"))
    with Event("aiv_vec_busy_cycles") as device:
        single = [Event("aiv_vec_busy_cycles", mask=1 << core) for core in range(cores)]
        with Event("aiv_vec_busy_cycles", mask=0b1010) as pair:
            work()
            counts = [event.count() for event in single]
            assert device.count() == sum(counts) > 0
            assert pair.count() == counts[1] + counts[3] > 0
        for event in single:
            event.close()


def test_totals_of_units():
    before = port.totals(0)
    names = ["nic_transmit_bytes", "nic_receive_bytes", "l2_hits", "l2_misses", "llc_read_requests", "llc_read_hits"]
    events = {name: Event(name) for name in names}
    work()
    port.submit(0, npu.SDMA, copy=5, copy_bytes=123_456, count=3)
    after = port.wait(0)
    counts = {name: event.count() for name, event in events.items()}
    assert counts["nic_transmit_bytes"] == after["nic_sent"] - before["nic_sent"] == 3 * 123_456, counts
    assert counts["nic_receive_bytes"] == 0
    assert counts["l2_hits"] > 0 and counts["l2_misses"] > 0, counts
    assert 0 < counts["llc_read_hits"] < counts["llc_read_requests"], counts
    for event in events.values():
        event.close()


def test_reads_and_writes_of_the_cache_take_turns():
    with Event("llc_read_requests") as reads, Event("llc_write_requests") as writes:
        wait_for(lambda: reads.read()[2] and writes.read()[2], "both to have had a turn")
        for event in (reads, writes):
            _, enabled, running = event.read()
            assert running < enabled
        with Session(0) as session:
            assert refused(session.add, npu.LLC, 0xffff, 0, 64, 10**7) == errno.EBUSY
    with Session(0) as session:
        session.add(npu.LLC, period_ns=10**7)
        with Event("llc_read_requests") as event:
            time.sleep(0.3)
            assert event.read()[2] == 0, event.read()


class Registers:
    """Those of a device that a driver uses. The kernel of this machine has to allow that (iomem=relaxed)."""

    CORE, OVERFLOW, EVENT, LATCH, COUNTER = 0x20000, 0xc, 0x10, 0x30, 0x40

    def __init__(self, device):
        fd = os.open(f"{npu.pci(device)}/resource0", os.O_RDWR | os.O_SYNC)
        try:
            self.map = mmap.mmap(fd, os.fstat(fd).st_size)
        except OSError as why:
            raise npu.Skip(f"this kernel maps no registers that a driver uses ({why})") from why
        finally:
            os.close(fd)

    def cell(self, offset):
        return ctypes.c_uint32.from_buffer(self.map, self.CORE + offset)


def test_an_overflow_that_nobody_read_is_not_the_next_events():
    registers = Registers(0)
    with Event("aic_cycles", mask=1):      # keeps core 0 in use
        with Event(core_event(1, ALL_CYCLES), mask=1):
            pass
        # The counter passes its range after it was read for the last time.
        registers.cell(Registers.EVENT).value = ALL_CYCLES
        registers.cell(Registers.COUNTER).value = 2**32 - 10
        port.submit(0, CUBE, cycles=1000)
        port.wait(0)
        registers.cell(Registers.EVENT).value = 0
        registers.cell(Registers.LATCH).value = 1
        assert registers.cell(Registers.OVERFLOW).value & 1, "the flag is not there"
        with Event(core_event(1, ALL_CYCLES), mask=1) as event:
            port.submit(0, CUBE, cycles=1000)
            port.wait(0)
            assert event.count() == 1000, event.count()


def test_more_events_than_counters_take_turns():
    names = [n for n in sorted(os.listdir(f"{PMU.format(0)}/events")) if n.startswith("aic_") and n != "aic_cycles"][:20]
    events = [Event(name) for name in names]
    wait_for(lambda: all(event.read()[2] for event in events), "every event to have had a turn")
    for event in events:
        _, enabled, running = event.read()
        assert 0 < running < enabled
        event.close()
    assert claims() == "window session=0\n", claims()


def test_a_session_and_perf_share_cores_without_evicting_each_other():
    with Session(0) as session:
        session.add(npu.CORE_SAMPLE, core=0, kind=npu.CORE_CUBE, period_ns=10**8, events=[0x9])
        session.start()
        with Event("aic_cycles", mask=~1 & (1 << 24) - 1) as others:
            port.submit(0, CUBE, cycles=100_000, blocks=24)
            port.wait(0)
            assert others.count() == 23 * 100_000, others.read()
        with Event("aic_cycles") as blocked:
            time.sleep(0.2)
            assert blocked.read()[0] == 0 and blocked.read()[1] > 0 and blocked.read()[2] == 0, blocked.read()
            # The session is left alone, and what it samples is right.
            session.stop()
            assert session.ring_entries()[1][0] > 0
            session.close()
            session.fd = os.open("/dev/null", os.O_RDONLY)
            wait_for(lambda: blocked.read()[2] > 0, "perf to come in when the session is gone")
    with Event("aic_cycles", mask=0b100) as event:
        with Session(0) as session:
            assert "core 2 session=0 perf=1\n" in claims(), claims()
            assert refused(session.add, npu.CORE_SAMPLE, 2, npu.CORE_CUBE, 64, 10**8, [0x9]) == errno.EBUSY
            session.add(npu.CORE_SAMPLE, core=1, kind=npu.CORE_CUBE, period_ns=10**8, events=[0x9])
            session.start()
            port.submit(0, CUBE, cycles=100_000, blocks=24)
            port.wait(0)
            assert event.count() == 100_000
    with Session(0) as session:
        session.add(npu.CORE_SAMPLE, core=2, kind=npu.CORE_CUBE, period_ns=10**8, events=[0x9])


def test_who_may_count_is_perfs_rule():
    knob = "/proc/sys/kernel/perf_event_paranoid"
    before = read(knob)

    def as_nobody():
        """errno of an event on the whole device, asked for by somebody without privileges."""
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os._exit(refused(Event, "aic_cycles"))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    try:
        for paranoid, answer in (("2", errno.EACCES), ("1", errno.EACCES), ("0", 0)):
            write(knob, paranoid)
            assert as_nobody() == answer, (paranoid, as_nobody())
    finally:
        write(knob, before)


def test_what_cannot_be_counted_is_refused():
    cores = int(read("/sys/class/npuprof/npuprof0/cube_cores"))
    known = core_event(1, 0x9)
    for why, code, arguments in (
            ("sampling", errno.EOPNOTSUPP, {"what": known, "period": 1000}),
            ("a task", errno.EOPNOTSUPP, {"what": known, "pid": os.getpid()}),
            ("a mode of the CPU", errno.EINVAL, {"what": known, "flags": EXCLUDE_USER}),
            ("a mode of the CPU", errno.EINVAL, {"what": known, "flags": EXCLUDE_KERNEL}),
            ("an unknown event", errno.EINVAL, {"what": core_event(1, 0x7ff)}),
            ("a kind that is not", errno.EINVAL, {"what": core_event(3, 0x9)}),
            ("no kind", errno.EINVAL, {"what": 0x9}),
            ("kind and unit", errno.EINVAL, {"what": known | 6 << 20}),
            ("a unit that is none", errno.EINVAL, {"what": 1 << 20}),
            ("an event that the unit has not", errno.EINVAL, {"what": 6 << 20 | 2}),
            ("cores of a unit", errno.EINVAL, {"what": 6 << 20, "mask": 1}),
            ("a core that is not", errno.EINVAL, {"what": known, "mask": 1 << cores}),
            ("a core far out", errno.EINVAL, {"what": known, "mask": 1 << 127}),
            ("a bit without meaning", errno.EINVAL, {"what": known | 1 << 24})):
        assert refused(lambda arguments=arguments: Event(**arguments).close()) == code, why
    # What can be counted one by one need not fit together.
    with Event(known, flags=DISABLED) as leader:
        members = [Event(known, group=leader.fd) for _ in range(7)]
        assert refused(lambda: Event(known, group=leader.fd).close()) == errno.EINVAL
        members.append(Event("aic_cycles", group=leader.fd))
        members.append(Event(core_event(2, 0x9), group=leader.fd))
        for member in members:
            member.close()


def overflow():
    cycles = 6_000_000_000
    with Event(core_event(1, ALL_CYCLES), mask=1) as event, Event("aic_cycles", mask=1) as plain:
        port.submit(0, CUBE, cycles=cycles)
        port.wait(0, 120)
        assert event.count() == cycles == plain.count(), (event.count(), plain.count())


def test_counters_of_32_bits_count_beyond_them():
    interrupts = int(read("/sys/kernel/debug/npuprof/0/account").split("interrupts=")[1].split()[0])
    overflow()
    now = int(read("/sys/kernel/debug/npuprof/0/account").split("interrupts=")[1].split()[0])
    # From half the range on: passed at 2^31 and again 2^32 later.
    assert now - interrupts == 1 + (6_000_000_000 - 2**31) // 2**32, (interrupts, now)


def test_overflows_are_traced_with_the_counters_that_passed_their_range():
    with Trace() as trace:
        # Two counters of core 0 count, one of them beyond its range.
        with Event(core_event(1, ALL_CYCLES), mask=1), Event("aic_mte2_busy_cycles", mask=1):
            port.submit(0, CUBE, cycles=2_400_000_000)
            port.wait(0, 120)
    told = [(e["core"], e["counters"]) for e in trace.of("overflow", device=0)]
    assert len(told) == 1 and told[0][0] == 0 and told[0][1] in (1, 2), trace.events


def test_counters_of_32_bits_count_without_interrupts():
    hold = lambda value: port.ask(Port.FAULT, 0, npu.struct.pack("<IIQ", 2, 0, value))
    assert hold(1)[0] == 0
    try:
        overflow()
    finally:
        hold(0)


def test_a_reset_takes_no_counts_away():
    with Event("aic_cycles") as cycles, Event("aic_mte2_busy_cycles") as busy, Event("hbm_read_bytes") as bytes_read:
        before = port.totals(0), port.event_total(0, 0, 0xc)
        work()
        counts = cycles.count(), busy.count(), bytes_read.count()
        middle = port.totals(0), port.event_total(0, 0, 0xc)
        write(f"{npu.pci(0)}/reset", "1")
        assert (cycles.count(), busy.count(), bytes_read.count()) == counts
        after = work()
        assert cycles.count() == after["cycles0"] - before[0]["cycles0"] > counts[0]
        assert busy.count() == port.event_total(0, 0, 0xc) - before[1] > counts[1]
        assert bytes_read.count() - counts[2] == after["hbm_read"] - middle[0]["hbm_read"] > 0


def test_events_move_with_the_cpus():
    online = "/sys/devices/system/cpu/cpu0/online"
    if not os.path.exists(online) and "cpu0_hotplug" not in read("/proc/cmdline"):
        raise npu.Skip("this machine was not booted to take its CPU 0 off line")
    with Event("aic_cycles") as event:
        write(online, "0")
        try:
            assert read(f"{PMU.format(0)}/cpumask") == "1\n"
            port.submit(0, CUBE, cycles=1000, blocks=24)
            port.wait(0)
            assert event.count() == 24_000
            with Event("aic_cycles") as other:
                assert other.count() == 0
        finally:
            write(online, "1")
        port.submit(0, CUBE, cycles=1000, blocks=24)
        port.wait(0)
        assert event.count() == 48_000


def test_the_module_comes_and_goes_while_cpus_do():
    cpu = "/sys/devices/system/cpu/cpu1/online"
    if not os.path.exists(cpu):
        raise npu.Skip("CPU 1 of this machine cannot go off line")
    done, toggled = threading.Event(), [0]

    def toggle():
        while not done.is_set():
            for state in ("0", "1"):
                # The kernel keeps its CPUs while it probes a device.
                toggled[0] += refused(write, cpu, state) == 0

    thread = threading.Thread(target=toggle)
    thread.start()
    try:
        for _ in range(npu.rounds(12, 2)):
            subprocess.run(["rmmod", "npuprof"], check=True)
            npu.load(sys.argv[1])
            with Event("aic_cycles") as event:
                port.submit(0, CUBE, cycles=1000, blocks=24)
                port.wait(0)
                assert event.count() == 24_000, event.read()
    finally:
        done.set()
        thread.join()
        if read(cpu) == "0\n":
            write(cpu, "1")
    assert toggled[0] > 2, toggled


def unbind(bus):
    write("/sys/bus/pci/drivers/npuprof_refnpu/unbind", bus)


def test_unbinding_under_perf_stat_keeps_what_was_counted():
    bus = os.path.basename(npu.pci(0))
    before = port.totals(0)
    with Stat("aic_cycles", "aiv_vec_busy_cycles", "hbm_read_bytes") as stat:
        after = work()
        unbind(bus)
        assert refused(lambda: Event(core_event(1, 0)).close()) == errno.ENODEV
        assert subprocess.run(["rmmod", "npuprof"], capture_output=True, check=False).returncode != 0
        write("/sys/bus/pci/drivers/npuprof_refnpu/bind", bus)
        wait_for(lambda: os.path.exists("/dev/npuprof0"), "the device to come back")
        # The new device counts for new events, the old ones have done with counting.
        with Event("aic_cycles") as event:
            work()
            assert event.count() > 0
    assert stat.counts["aic_cycles"][0] == after["cycles0"] - before["cycles0"], stat.said
    assert stat.counts["hbm_read_bytes"][0] == after["hbm_read"] - before["hbm_read"], stat.said
    assert stat.counts["aiv_vec_busy_cycles"][0] > 0, stat.said
    with Stat("aic_cycles", "aiv_cycles", "hbm_read_bytes", "hbm_write_bytes", plain=True) as stat:
        before, after = port.totals(0), work()
    assert stat.counts == {"aic_cycles": (after["cycles0"] - before["cycles0"], 100),
                           "aiv_cycles": (after["cycles1"] - before["cycles1"], 100),
                           "hbm_read_bytes": (after["hbm_read"] - before["hbm_read"], 100),
                           "hbm_write_bytes": (after["hbm_written"] - before["hbm_written"], 100)}, stat.said
    keep("perf-stat.txt", stat.said)


def test_the_device_vanishes_under_perf_stat():
    with Event("aic_cycles") as event:
        with Stat("aic_cycles", "hbm_read_bytes", device=0):
            port.submit(0, CUBE, cycles=1000, blocks=24)
            port.wait(0)
            assert event.count() == 24_000
            assert port.ask(Port.REMOVE, 0)[0] == 0
            count = event.count()
            # Not a word of all ones has become a count.
            assert count == 24_000, count
            time.sleep(0.2)
            assert event.count() == 24_000
        bus = os.path.basename(npu.pci(0))
        unbind(bus)
        assert event.count() == 24_000
    assert port.ask(Port.INSERT, 0)[0] == 0


def test_the_module_goes_when_the_last_event_has():
    with Event("aic_cycles", device=1):
        assert subprocess.run(["rmmod", "npuprof"], capture_output=True, check=False).returncode != 0
    subprocess.run(["rmmod", "npuprof"], check=True)
    assert not os.path.exists(PMU.format(0)) and not os.path.exists(PMU.format(1))


if __name__ == "__main__":
    npu.load(sys.argv[1])
    tree = sys.argv[2]
    port = Port()
    npu.main(globals())
