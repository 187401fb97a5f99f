#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: aer.py MODULE: errors on the bus (AER) in mid-run, as the kernel's aer_inject makes them up.

Needs an NPU below a root port, /dev/npuprof1.
"""

import os
import re
import struct
import sys

import npu
from events import Trace
from npu import Port, Session, pci, read, wait_for

TIMEOUT = 1 << 14                       # in the uncorrectable error status; not fatal unless a device says so
LINK = 1 << 4                           # data link protocol error; fatal
DEVICE = 1
RESET = 5                               # NPUPROF_LOSS_RESET
port = None


def inject(status):
    bus = re.fullmatch(r"0000:(..):(..)\.(.)", os.path.basename(pci(DEVICE)))
    where = [int(part, 16) for part in bus.groups()]
    with open("/dev/aer_inject", "wb", buffering=0) as f:
        f.write(struct.pack("<3Bx7I", *where, status, 0, 0, 0, 0, 0, 0))


def epoch():
    return int(read(f"/sys/class/npuprof/npuprof{DEVICE}/epoch"))


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
    npu.write(f"{pci(DEVICE)}/power/control", "auto")
    wait_for(lambda: read(f"{pci(DEVICE)}/power/runtime_status").strip() == "suspended", "the device to sleep")
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


if __name__ == "__main__":
    npu.load(sys.argv[1])
    port = Port()
    npu.main(globals())
