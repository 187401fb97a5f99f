#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: unplug.py MODULE: a card is pulled out of its slot while the module drives it. The kernel hears of that from the slot
(pciehp) and takes the device from the driver by itself, in a thread of its own and without asking anybody.

Needs /dev/npuprof1 in a hot-plug slot.
"""

import errno
import os
import struct
import sys
from concurrent import futures

import npu
from npu import Port, Session, pci, read, refused, wait_for, write
from perf_event import Event

DEVICE = 1
GONE, REMOVED = 4, 6                    # NPUPROF_RING_GONE, NPUPROF_LOSS_REMOVED
EXPRESS, SLOT_CONTROL = 0x10, 0x18      # capability of PCI Express, and the slot's register in it
port = None


class Slot:
    """The one of the NPU, and what was in it when this object was made."""

    def __init__(self):
        self.card = pci(DEVICE)
        self.port = os.path.dirname(self.card)
        assert not os.path.basename(self.port).startswith("pci"), f"{self.card} is in no slot"
        # A port that sleeps wakes up by a power management event, which QEMU's cannot send.
        write(f"{self.port}/power/control", "on")

    def is_off(self):
        """Has the kernel switched it off, the power indicator last?"""
        with open(f"{self.port}/config", "rb") as f:
            config = f.read()
        at = config[0x34]
        while config[at] != EXPRESS:
            at = config[at + 1]
            assert at, "the port has no capability of PCI Express"
        return struct.unpack_from("<H", config, at + SLOT_CONTROL)[0] >> 8 & 3 == 3

    def pull(self):
        assert port.ask(Port.REMOVE, DEVICE)[0] == 0

    def wait_empty(self):
        wait_for(lambda: not os.path.exists(f"/dev/npuprof{DEVICE}"), "the node to go")
        wait_for(lambda: not os.path.exists(self.card), "the bus to let the card go")

    def fill(self):
        # A card that comes while the kernel lets the power settle is not seen.
        wait_for(self.is_off, "the slot to be switched off")
        assert port.ask(Port.INSERT, DEVICE)[0] == 0
        wait_for(lambda: os.path.exists(f"/dev/npuprof{DEVICE}"), "the node of a new card")
        check_a_new_session()


def check_a_new_session():
    with Session(DEVICE) as session:
        session.add(npu.TASK_LOG)
        session.start()
        port.submit(DEVICE, npu.CUBE, cycles=2000, count=3)
        port.wait(DEVICE)
        session.stop(timeout_ns=10**10)
        assert session.ring_entries()[1][:2] == (6, 0), session.ring_entries()


def begin(session, path):
    """A session with a task under way, which it has the start of; eleven of them in all."""
    before = port.totals(DEVICE)["started"]
    session.add(npu.TASK_LOG, slots=4096, flags=path)
    session.add(npu.CORE_SAMPLE, core=0, kind=npu.CORE_CUBE, period_ns=20_000_000, events=(0x416,), flags=path)
    session.start()
    port.submit(DEVICE, npu.CUBE, cycles=2000, count=10)
    port.wait(DEVICE)
    port.submit(DEVICE, npu.CUBE, cycles=9_000_000_000)
    wait_for(lambda: port.totals(DEVICE)["started"] == before + 11, "the long task to start")
    wait_for(lambda: session.stats()["tasks_started"] == 11 and session.stats()["tasks_ended"] == 10, "it to be read")
    wait_for(lambda: session.ring_entries()[2][0] > 0, "a sample")


def check_left(session):
    """What whoever still has the file is left with."""
    assert session.states() == [GONE] * session.rings, session.states()
    told = [event for event in session.events() if event["kind"] == npu.EVENT_EPOCH]
    assert [event["cause"] for event in told] == [REMOVED], told
    for call in (session.start, session.stop, session.freeze, session.query):
        assert refused(call) == errno.ENODEV, call
    session.stats()


def test_a_card_is_pulled_out_in_mid_run():
    for path in (npu.REGISTER_PATH, npu.DEVICE_PATH):
        slot = Slot()
        with Session(DEVICE) as session:
            begin(session, path)
            slot.pull()
            # Nobody asks the device anything.
            wait_for(session.hung_up, "whoever waits to be told")
            slot.wait_empty()
            check_left(session)
            # Ten tasks and the start of the long one, whose end nobody saw.
            head, lost, _ = session.ring_entries()[1]
            assert (head, lost) == (21, 0), (head, lost)
            assert session.stats()["tasks_started"] == 11 and session.stats()["tasks_ended"] == 10, session.stats()
            slot.fill()
            check_still_gone(session)


def check_still_gone(session):
    """A new card in the slot is nothing to a session of the one before."""
    assert session.states() == [GONE] * session.rings and refused(session.start) == errno.ENODEV
    assert session.hung_up() and session.events() == []


def test_a_card_is_pulled_out_while_stop_waits():
    slot = Slot()
    with Session(DEVICE) as session:
        begin(session, npu.DEVICE_PATH)
        with futures.ThreadPoolExecutor() as pool:
            stopping = pool.submit(refused, session.stop, 300 * 10**9)
            wait_for(lambda: refused(session.freeze) == errno.EBUSY, "the session to be stopping")
            slot.pull()
            assert stopping.result() == errno.ENODEV
        slot.wait_empty()
        check_left(session)
        slot.fill()


def test_a_card_is_pulled_out_while_it_sleeps():
    slot = Slot()
    write(f"{slot.card}/power/control", "auto")
    with Session(DEVICE) as session:
        session.add(npu.TASK_LOG)
        wait_for(lambda: read(f"{slot.card}/power/runtime_status").strip() == "suspended", "the device to sleep")
        slot.pull()
        wait_for(session.hung_up, "whoever waits to be told")
        slot.wait_empty()
        check_left(session)
        slot.fill()
        check_still_gone(session)


def test_a_card_is_pulled_out_while_nobody_looks():
    slot = Slot()
    slot.pull()
    slot.wait_empty()
    slot.fill()


# perf's object of a device outlives it until the last event has gone.
def test_a_card_is_pulled_out_under_perf():
    slot = Slot()
    with Event("aic_cycles", device=DEVICE) as event:
        port.submit(DEVICE, npu.CUBE, cycles=1000, blocks=24)
        port.wait(DEVICE)
        assert event.count() == 24_000, event.read()
        slot.pull()
        slot.wait_empty()
        assert event.count() == 24_000, event.read()
        slot.fill()
        assert event.count() == 24_000, event.read()


if __name__ == "__main__":
    npu.load(sys.argv[1])
    port = Port()
    npu.main(globals())
