#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: aer.py MODULE: errors on the bus (AER) in mid-run, as the kernel's aer_inject makes them up.

Needs an NPU below a root port, /dev/npuprof1, another one beside it, and a kernel with CONFIG_PCIEAER_INJECT.
"""

import contextlib
import errno
import os
import re
import select
import struct
import sys
import time
from concurrent import futures

import npu
from events import Trace
from npu import Port, Session, pci, read, wait_for

TIMEOUT = 1 << 14                       # in the uncorrectable error status; not fatal unless a device says so
LINK = 1 << 4                           # data link protocol error; fatal
DEVICE = 1
RESET = 5                               # NPUPROF_LOSS_RESET
port = None


def inject(status, where=None):
    """An error of the NPU, or of whatever has the directory `where`."""
    bus = re.fullmatch(r"0000:(..):(..)\.(.)", os.path.basename(where or pci(DEVICE)))
    where = [int(part, 16) for part in bus.groups()]
    with open("/dev/aer_inject", "wb", buffering=0) as f:
        f.write(struct.pack("<3Bx7I", *where, status, 0, 0, 0, 0, 0, 0))


def cut_link():
    """The NPU is not to be reached any more until the kernel resets what is below the port."""
    status, _ = port.ask(npu.Port.FAULT, DEVICE, struct.pack("<IIQ", 4, 0, 1))
    assert status == 0, status


def report_cut():
    """As a port does that lost its link; of the NPU itself nothing can be asked."""
    inject(LINK, os.path.dirname(pci(DEVICE)))


def fall_asleep():
    npu.write(f"{pci(DEVICE)}/power/control", "auto")
    wait_for(lambda: read(f"{pci(DEVICE)}/power/runtime_status").strip() == "suspended", "the device to sleep")


def epoch():
    return int(read(f"/sys/class/npuprof/npuprof{DEVICE}/epoch"))


def check_a_new_session():
    """It counts tasks as on a device that never failed."""
    with Session(DEVICE) as session:
        session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
        session.start()
        port.submit(DEVICE, npu.CUBE, cycles=2000, count=3)
        port.wait(DEVICE)
        session.stop(timeout_ns=10**10)
        assert session.ring_entries()[1][:2] == (6, 0), session.ring_entries()


def over(status, path):
    """A session over an error; returns what its rings have and what the tracepoints said."""
    before = port.totals(DEVICE)
    resets = epoch()
    with Trace() as trace, Session(DEVICE) as session:
        session.add(npu.TASK_LOG, slots=4096, flags=path)
        session.start()
        port.submit(DEVICE, npu.CUBE, cycles=2000, count=10)
        port.wait(DEVICE)
        port.submit(DEVICE, npu.CUBE, cycles=9_000_000_000)
        wait_for(lambda: port.totals(DEVICE)["started"] == before["started"] + 11, "the long task to start")
        # All that was is read: of what a frozen device still has, nobody knows.
        wait_for(lambda: session.stats()["tasks_started"] == 11 and session.stats()["tasks_ended"] == 10, "it to be read")
        # These counts are the device's, which knows of tasks before the driver has their records.
        wait_for(lambda: session.ring_entries()[1][0] == 21, "their records to be read")
        inject(status)
        wait_for(lambda: epoch() == resets + 1, "the device to come back")
        session.stats()                 # waits for the lock under which the window is opened again after that
        port.submit(DEVICE, npu.CUBE, cycles=2000, count=10, stream=7)
        wait_for(lambda: port.totals(DEVICE)["started"] == before["started"] + 21, "the tasks after the error to start")
        wait_for(lambda: session.stats()["tasks_ended"] >= 20, "them to end")
        session.stop()
        _, entry = session.ring_entries()
    after = port.totals(DEVICE)
    assert [(e["epoch"], e["cause"]) for e in trace.of("epoch", device=DEVICE)] == [(1, "reset")], trace.events
    return entry, after["aborted"] - before["aborted"]


# Found by this test: the bus calls a device frozen until the very end, so one that was back was given up; and one that had
# slept since the driver saved its configuration came back without its addresses.
def test_a_fatal_error_ends_in_a_reset_and_the_session_goes_on():
    fall_asleep()
    for path in (npu.REGISTER_PATH, npu.DEVICE_PATH):
        entry, aborted = over(LINK, path)
        # The reset ended the long task, and nobody saw it end.
        assert (entry[0], entry[1]) == (41, 0), entry
        assert aborted == 1


def test_an_error_that_is_not_fatal_pauses_and_counts_what_it_cuts_off():
    for path in (npu.REGISTER_PATH, npu.DEVICE_PATH):
        entry, aborted = over(TIMEOUT, path)
        # Ten tasks, the start of the long one, ten tasks; the device was well, so it told what was cut off.
        assert (entry[0], entry[1], entry[2][RESET]) == (41, 1, 1), entry
        assert aborted == 0
        npu.write(f"{pci(DEVICE)}/reset", "1")  # of the long task


# The kernel wakes devices before it tells them of an error, and what was saved then were all ones.
def test_a_device_that_slept_when_its_link_failed_comes_back():
    fall_asleep()
    resets = epoch()
    cut_link()
    report_cut()
    wait_for(lambda: epoch() == resets + 1, "the device to come back")
    check_a_new_session()


# Whoever read before the bus spoke took the device for gone, for good.
def test_a_device_that_was_missing_before_the_bus_said_why_comes_back():
    resets = epoch()
    with Session(DEVICE) as session:
        session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
        session.start()
        cut_link()
        wait_for(lambda: npu.refused(session.freeze) == errno.ENODEV, "the device to be missed")
        report_cut()
        wait_for(lambda: epoch() == resets + 1, "the device to come back")
        session.stats()
        port.submit(DEVICE, npu.CUBE, cycles=2000, count=3)
        port.wait(DEVICE)
        session.stop(timeout_ns=10**10)
        assert session.ring_entries()[1][:2] == (6, 0), session.ring_entries()


@contextlib.contextmanager
def on_cpu(number):
    """This thread runs there, or on the last CPU if there are fewer, and timers that are started meanwhile stay there."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(every)[min(number, len(every) - 1)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


# A timer read all ones right when the bus spoke, and said that the device was gone after that had been taken back.
def test_a_device_that_timers_miss_while_the_bus_says_why_comes_back():
    for _ in range(npu.rounds(20, 4)):
        resets = epoch()
        with Session(DEVICE) as session:
            session.add(npu.CORE_SAMPLE, core=0, kind=npu.CORE_CUBE, period_ns=2 * 10**6 * npu.PATIENCE, events=[8],
                        slots=4096, flags=npu.REGISTER_PATH)
            with on_cpu(1):
                session.start()
            wait_for(lambda: session.ring_entries()[1][0] > 0, "a sample")
            with on_cpu(0):
                cut_link()
                report_cut()
            wait_for(lambda: epoch() == resets + 1, "the device to come back")
            session.clock()             # refused if somebody still has it for gone
            session.stop()
            assert session.states() == [npu.STOPPED] * 2, session.states()


# STOP, waiting for tasks, took a frozen device for one without tasks, and nobody told of the reset.
def test_a_stop_that_waits_over_a_fatal_error_says_what_happened():
    before, resets = port.totals(DEVICE)["started"], epoch()
    with Trace() as trace, Session(DEVICE) as session:
        session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
        session.start()
        port.submit(DEVICE, npu.CUBE, cycles=9_000_000_000)
        wait_for(lambda: port.totals(DEVICE)["started"] == before + 1, "the task to start")
        with futures.ThreadPoolExecutor() as pool:
            stopping = pool.submit(session.stop, 60 * 10**9)
            wait_for(lambda: npu.refused(session.freeze) == errno.EBUSY, "the session to be stopping")
            begin = time.monotonic()
            inject(LINK)
            stopping.result()
        assert time.monotonic() - begin < 30, "it waited for a task that a reset had ended"
        # STOP answers when it knows, which may be before the bus is through with it.
        wait_for(lambda: epoch() == resets + 1, "the device to come back")
        assert session.ring_entries()[1][0] == 1, session.ring_entries()
    assert [e["cause"] for e in trace.of("epoch", device=DEVICE)] == ["reset"], trace.events
    assert len(trace.of("stop", device=DEVICE)) == 1, trace.events


@contextlib.contextmanager
def neighbour_without_driver():
    """The kernel gives up on a slot if one device below the port cannot be told of the error, and tells the others nothing."""
    driver, neighbour = os.path.realpath(f"{pci(DEVICE)}/driver"), f"{os.path.basename(pci(DEVICE))[:-1]}1"
    npu.write(f"{driver}/unbind", neighbour)
    try:
        yield
    finally:
        npu.write(f"{driver}/bind", neighbour)


def bring_back():
    """After the kernel gave up nobody resets it: that is for whoever wants it back."""
    resets = epoch()
    npu.write(f"{pci(DEVICE)}/reset", "1")
    wait_for(lambda: epoch() == resets + 1, "the device to come back")
    check_a_new_session()


def woken_for_records(session, seconds):
    """Sleeps until it is woken for records that are no events. False if it is not."""
    poll = select.poll()
    poll.register(session.fd, select.POLLIN)
    end = time.monotonic() + seconds
    while poll.poll(max(0, (end - time.monotonic()) * 1000)):
        session.events()
        if session.readable():
            return True
    return False


# Readers slept on what they had not been woken for, although the timers that would have woken them had stopped.
def test_a_reader_is_woken_when_the_bus_takes_the_device_away():
    with neighbour_without_driver():
        for path in (npu.REGISTER_PATH, npu.DEVICE_PATH):
            resets = epoch()
            with Session(DEVICE) as session:
                session.add(npu.TASK_LOG, flags=path, watermark=64, latency_ns=6 * 10**10)
                session.start()
                port.submit(DEVICE, npu.CUBE, cycles=2000, count=3)
                port.wait(DEVICE)
                wait_for(lambda: session.ring_entries()[1][0] == 6, "their records")
                with futures.ThreadPoolExecutor() as pool:
                    waiting = pool.submit(woken_for_records, session, 20 * npu.PATIENCE)
                    inject(TIMEOUT)
                    assert waiting.result(), "it slept on"
                # Neither the end of its session nor the way back has woken it.
                assert session.states() == [npu.RUNNING] * 2, session.states()
                assert npu.refused(session.freeze) == errno.EAGAIN, "the device is not there"
                npu.write(f"{pci(DEVICE)}/reset", "1")
                assert epoch() == resets + 1
                session.stop(timeout_ns=10**10)
                assert session.ring_entries()[1][:2] == (6, 0), session.ring_entries()


def test_sessions_end_and_are_told_when_the_kernel_gives_up_on_the_slot():
    with neighbour_without_driver():
        with Trace() as trace, Session(DEVICE) as session:
            session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
            session.start()
            port.submit(DEVICE, npu.CUBE, cycles=2000, count=3)
            port.wait(DEVICE)
            wait_for(lambda: session.stats()["tasks_ended"] == 3, "them to be read")
            session.events()
            inject(TIMEOUT)
            wait_for(lambda: npu.refused(session.freeze) == errno.EAGAIN, "the device to be paused")
            wait_for(lambda: session.states() == [npu.STOPPED] * 2, "the session to be given up", 90)
            assert session.readable(), "whoever waits is woken"
            assert [(e["kind"], e["cause"]) for e in session.events() if e["kind"] == npu.EVENT_EPOCH] \
                == [(npu.EVENT_EPOCH, RESET)]
            assert session.ring_entries()[1][:2] == (6, 0), session.ring_entries()
        assert len(trace.of("stop", device=DEVICE)) == 1, trace.events
        bring_back()


# STOP waits for tasks, and no longer than the device is there; what the kernel decides about the slot later changes nothing.
def test_a_stop_that_waits_has_its_answer_before_the_kernel_gives_up_on_the_slot():
    before = port.totals(DEVICE)["started"]
    with neighbour_without_driver():
        with Trace() as trace, Session(DEVICE) as session, Session(DEVICE) as other:
            session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
            other.add(npu.CORE_SAMPLE, core=0, kind=npu.CORE_CUBE, period_ns=10**8, events=[8], flags=npu.REGISTER_PATH)
            session.start()
            other.start()
            port.submit(DEVICE, npu.CUBE, cycles=9_000_000_000)
            wait_for(lambda: port.totals(DEVICE)["started"] == before + 1, "the task to start")
            wait_for(lambda: session.stats()["tasks_started"] == 1, "it to be read")
            with futures.ThreadPoolExecutor() as pool:
                stopping = pool.submit(npu.refused, session.stop, 60 * 10**9)
                wait_for(lambda: npu.refused(session.freeze) == errno.EBUSY, "the session to be stopping")
                inject(TIMEOUT)
                wait_for(stopping.done, "STOP to return")
                assert stopping.result() == 0, stopping.result()
            assert session.states() == [npu.STOPPED] * 2, session.states()
            entry = session.ring_entries()[1]
            # The task's start; the device was well, so it told that the end was cut off.
            assert (entry[0], entry[1], entry[2][RESET]) == (1, 1, 1), entry
            wait_for(lambda: other.states() == [npu.STOPPED] * 2, "the other session to be given up", 90)
            assert npu.refused(session.stop) == errno.EINVAL, "it does not run any more"
            assert session.ring_entries()[1] == entry, session.ring_entries()
            for told in (session, other):
                assert [e["cause"] for e in told.events() if e["kind"] == npu.EVENT_EPOCH] == [RESET]
        assert len(trace.of("stop", device=DEVICE)) == 2, trace.events
        bring_back()


if __name__ == "__main__":
    npu.load(sys.argv[1])
    port = Port()
    npu.main(globals(), None if os.path.exists("/dev/aer_inject") else
             "this kernel cannot make up errors of the bus (CONFIG_PCIEAER_INJECT)")
