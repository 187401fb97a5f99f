#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: observe.py MODULE BUILD: what the module tells beside its records: sysfs, debugfs, tracepoints."""

import json
import os
import re
import subprocess
import sys
import time

import npu
from events import TRACING, Trace
from npu import Port, Session, read, write

DEBUG = "/sys/kernel/debug/npuprof/0"
DRIVER = "/sys/bus/pci/drivers/npuprof_refnpu"
port = None
command = None


def owner_number(pid=None):
    """Number of the session that this process has, from debugfs."""
    hit = re.search(rf"^session (\d+) owner={pid or os.getpid()} ", read(f"{DEBUG}/sessions"), re.M)
    return int(hit.group(1))


def test_sysfs_says_what_query_says():
    with Session(0) as session:
        query = session.query()
    path = "/sys/class/npuprof/npuprof0"
    for name in ("cube_cores vector_cores aicpu_cores counters counter_bits cycle_bits clock_hz core_hz chip").split():
        assert int(read(f"{path}/{name}")) == query[name] > 0, name
    assert read(f"{path}/abi") == f"{query['abi_major']}.{query['abi_minor']}\n"
    assert read(f"{path}/model").encode().strip() == query["name"].rstrip(b"\0")
    assert read(f"{path}/simulated") == "1\n"
    for name in os.listdir(path):
        if os.path.isfile(f"{path}/{name}") and name not in ("uevent", "dev"):
            assert os.stat(f"{path}/{name}").st_mode & 0o222 == 0, f"{name} can be written"


def info(*arguments, user=None):
    return subprocess.run([command, "info", "--device", *arguments], env={**os.environ, "NPUPROF_DEVICE": "kernel"},
                          user=user, capture_output=True, text=True, check=False)


def test_info_shows_what_query_and_sysfs_say():
    run = info("--json")
    assert run.returncode == 0, run
    devices = json.loads(run.stdout)["devices"]
    nodes = [f"/dev/npuprof{number}" for number in range(port.devices)]
    assert len(nodes) >= 2 and [d["node"] for d in devices] == nodes, run
    first = devices[0]
    assert first["bus"] == os.path.basename(npu.pci(0)), first
    assert first["driver"] == f"npuprof.ko {read('/sys/module/npuprof/version').strip()}", first
    for name in ("cube_cores", "vector_cores", "counters", "clock_hz", "chip"):
        assert str(first[name]) == first["sysfs"][name], name
    text = info().stdout
    assert f"/dev/npuprof0, bus {first['bus']}, {first['driver']}, interface {first['abi']}, epoch " in text, text
    assert text.count("simulated") >= 2, text


def test_info_says_who_may_open_a_node():
    os.chmod("/dev/npuprof0", 0o600)
    os.chmod("/dev/npuprof1", 0o666)
    run = info(user=65534)
    assert run.returncode == 1, run
    assert "/dev/npuprof0 may not be opened by this user; join the group" in run.stdout, run
    assert "device 1: reference NPU" in run.stdout, "one that refuses hides no other\n" + run.stdout
    os.chmod("/dev/npuprof1", 0o600)


def test_debugfs_shows_sessions_and_their_rings():
    assert "session" not in read(f"{DEBUG}/sessions")
    with Session(0) as session:
        session.add(npu.TASK_LOG, slots=64, flags=npu.REGISTER_PATH)
        session.add(npu.CORE_SAMPLE, core=3, kind=npu.CORE_VECTOR, slots=32, period_ns=10**9, events=[0x8])
        text = read(f"{DEBUG}/sessions")
        assert re.search(rf"^session \d+ owner={os.getpid()} state=idle ", text, re.M), text
        session.start()
        port.submit(0, npu.VECTOR, cycles=2000, count=20)
        port.wait(0)
        claims = read(f"{DEBUG}/claims")
        number = owner_number()
        assert f"window session={number}\n" in claims, claims
        assert f"core {int(read('/sys/class/npuprof/npuprof0/cube_cores')) + 3} session={number} perf=0\n" in claims, claims
        session.stop(10**9)
        # The last interrupt may come after the end of the window.
        first = session.stats()
        text = read(f"{DEBUG}/sessions")
        last = session.stats()
        assert "state=stopped" in text and "started=20 ended=20" in text, text
        assert re.search(r"ring 1 channel=1 path=driver slots=64 head=40 pending=40 lost=0\n", text), text
        assert re.search(r"ring 2 channel=5 core=3 kind=2 period_ns=1000000000 path=driver slots=32 head=\d+", text), text
        account = re.search(r"account interrupts=(\d+) reads=(\d+) writes=(\d+) busy_ns=(\d+)", text).groups()
        for name, value in zip(("interrupts", "reads", "writes", "busy_ns"), account):
            assert first[name] <= int(value) <= last[name], (name, first, account, last)
            assert int(value) > 0, (name, account)
        assert f"session {number} " in read(f"{DEBUG}/account")
    assert "session" not in read(f"{DEBUG}/sessions")
    assert "=0\n" in read(f"{DEBUG}/claims")


def test_the_longest_callback_is_that_of_all_accounts_and_outlives_sessions():
    def longest():
        return int(re.match(r"longest callback_ns=(\d+)\n", read(f"{DEBUG}/account")).group(1))
    with Session(0) as session:
        session.add(npu.TASK_LOG, slots=64, flags=npu.REGISTER_PATH)
        session.start()
        port.submit(0, npu.VECTOR, cycles=2000, count=20)
        port.wait(0)
        session.stop(10**9)
        most = max(int(ns) for ns in re.findall(r" max_callback_ns=(\d+)", read(f"{DEBUG}/account")))
        assert 0 < most <= longest(), (most, longest())
    assert longest() >= most


def sampling_cpus(times):
    """On which CPUs the timers that sample ran when they did so many times."""
    def ran():
        return re.findall(r"\[(\d+)\] .*function=npuprof_sample_timer", read(f"{TRACING}/trace"))
    enable = f"{TRACING}/events/timer/hrtimer_expire_entry/enable"
    write(f"{TRACING}/trace", "")
    write(f"{TRACING}/options/record-cmd", "0")
    write(enable, "1")
    try:
        npu.wait_for(lambda: len(ran()) >= times, "the timers that sample")
        return {int(cpu) for cpu in ran()}
    finally:
        write(enable, "0")


def test_sampling_timers_stay_on_the_cpu_that_started_them_and_survive_its_end():
    online = "/sys/devices/system/cpu/cpu1/online"
    if not os.path.exists(online):
        raise npu.Skip("this machine has no second CPU that can go")
    all_cpus = os.sched_getaffinity(0)
    with Session(0) as session:
        for core, period in enumerate((20 * 10**6, 40 * 10**6)):
            session.add(npu.CORE_SAMPLE, core=core, kind=npu.CORE_CUBE, slots=4096, period_ns=period, events=[0x8],
                        flags=npu.REGISTER_PATH)
        os.sched_setaffinity(0, {1})
        try:
            session.start()
        finally:
            os.sched_setaffinity(0, all_cpus)
        assert sampling_cpus(20) == {1}
        write(online, "0")
        try:
            assert sampling_cpus(20) == {0}, "they moved to the CPU that is left"
        finally:
            write(online, "1")
        assert sampling_cpus(20) == {0}, "they stay there"
        session.stop()
        assert all(entry[0] > 10 for entry in session.ring_entries()[1:]), session.ring_entries()


def test_debugfs_shows_no_addresses_and_only_to_root():
    with Session(0) as session:
        session.add(npu.TASK_LOG)
        session.start()
        for name in os.listdir(DEBUG):
            text = read(f"{DEBUG}/{name}")
            assert not re.search(r"\b(0x)?[0-9a-f]{12,16}\b", re.sub(r"=\d+", "", text)), text
            assert os.stat(f"{DEBUG}/{name}").st_mode & 0o777 == 0o400
        session.stop()


def test_tracepoints_follow_a_session_and_its_losses():
    with Trace() as trace:
        session = Session(0)
        number = owner_number()
        session.add(npu.TASK_LOG, slots=16, flags=npu.REGISTER_PATH)
        session.start()
        port.submit(0, npu.CUBE, cycles=2000, count=100)
        port.wait(0)
        session.stop(10**9)
        heads = session.ring_entries()
        session.close()
    mine = {"device": 0, "session": number}
    assert [e["owner"] for e in trace.of("open", **mine)] == [os.getpid()], trace.events
    assert [e["rings"] for e in trace.of("start", **mine)] == [2], trace.events
    stop, = trace.of("stop", **mine)
    assert (stop["started"], stop["ended"], stop["straddling"]) == (100, 100, 0), stop
    start, = trace.of("start", **mine)
    assert start["clock"] < stop["clock"]
    assert len(trace.of("close", **mine)) == 1
    # 200 records for 16 slots that nobody empties: one gap, told once.
    assert heads[1][:2] == (16, 184), heads
    losses = trace.of("loss", **mine)
    assert len(losses) == 1, losses
    assert (losses[0]["count"], losses[0]["position"], losses[0]["cause"]) == (184, 16, "ring_full"), losses
    assert (losses[0]["ring"], losses[0]["channel"]) == (1, npu.TASK_LOG), losses
    # Nothing fires per record.
    assert len(trace.events) == 5, trace.events


def test_a_session_that_ends_without_stop_is_traced_as_stopped():
    def run(end):
        with Trace() as trace:
            end()
        return trace

    def begin():
        session = Session(0)
        session.add(npu.TASK_LOG, slots=64, flags=npu.REGISTER_PATH)
        session.start()
        port.submit(0, npu.CUBE, cycles=2000, count=3)
        port.wait(0)
        return session

    def killed():
        child = os.fork()
        if child == 0:
            begin()
            os.kill(os.getpid(), 9)
        os.waitpid(child, 0)

    def given_up():
        session = begin()
        refuse = lambda value: port.ask(Port.FAULT, 0, npu.struct.pack("<IIQ", 3, 0, value))
        assert refuse(1)[0] == 0
        write(f"{npu.pci(0)}/reset", "1")
        refuse(0)
        session.close()

    def unbound():
        address = os.path.basename(npu.pci(0))
        session = begin()
        write(f"{DRIVER}/unbind", address)
        session.close()
        write(f"{DRIVER}/bind", address)
        npu.wait_for(lambda: os.path.exists("/dev/npuprof0"), "the device to come back")

    for how in (lambda: begin().close(), killed, given_up, unbound):
        trace = run(how)
        stops = trace.of("stop", device=0)
        assert [(e["started"], e["ended"], e["rings"]) for e in stops] == [(3, 3, 2)], trace.events
        assert stops[0]["clock"] > trace.of("start", device=0)[0]["clock"], trace.events


def test_a_counter_that_passes_its_range_is_traced_and_not_lost():
    cycles = 2_400_000_000
    with Trace() as trace:
        with Session(0) as session:
            session.add(npu.CORE_SAMPLE, core=0, kind=npu.CORE_CUBE, slots=32, period_ns=10**10, events=[0x0e],
                        flags=npu.REGISTER_PATH)
            session.start()
            port.submit(0, npu.CUBE, cycles=cycles)
            port.wait(0, 120)
            session.stop()
            heads = session.ring_entries()
    assert [(e["core"], e["counters"]) for e in trace.of("overflow", device=0)] == [(0, 1)], trace.events
    assert heads[1][0] >= 1, heads


def test_a_reset_begins_a_new_epoch():
    before = int(read("/sys/class/npuprof/npuprof0/epoch"))
    with Trace() as trace:
        with Session(0) as session:
            number = owner_number()
            session.add(npu.TASK_LOG, flags=npu.REGISTER_PATH)
            session.start()
            write(f"{npu.pci(0)}/reset", "1")
            time.sleep(0.1)
            session.stop()
    assert int(read("/sys/class/npuprof/npuprof0/epoch")) == before + 1
    assert [(e["epoch"], e["cause"]) for e in trace.of("epoch", session=number)] == [(1, "reset")], trace.events


def test_what_a_reset_makes_too_much_is_throttled_traced_and_counted():
    """72 cores that the device sampled a thousand times a second are more than registers can afford."""
    with Session(0) as session:
        query = session.query()
        number = owner_number()
        for kind, cores in ((npu.CORE_CUBE, query["cube_cores"]), (npu.CORE_VECTOR, query["vector_cores"])):
            for core in range(cores):
                session.add(npu.CORE_SAMPLE, core=core, kind=kind, slots=4096, period_ns=10**6, events=[0x8],
                            flags=npu.DEVICE_PATH)
        session.start()
        with Trace() as trace:
            write(f"{npu.pci(0)}/reset", "1")
            time.sleep(2)
            session.stop()
        heads = session.ring_entries()
        text = read(f"{DEBUG}/sessions")
    events = trace.of("throttle", device=0, session=number)
    assert events and {e["period_ns"] for e in events} == {10**6}, trace.events
    left_out = sum(e["rounds"] for e in events)
    assert left_out > 0
    rings = re.findall(r"^  ring (\d+) channel=5 .* path=driver .* lost=(\d+) .*throttled=(\d+)", text, re.M)
    assert len(rings) == query["cube_cores"] + query["vector_cores"], text
    for ring, _, throttled in rings:
        assert int(throttled) == left_out, (ring, throttled, left_out)
    assert heads[1][0] > 0


if __name__ == "__main__":
    npu.load(sys.argv[1])
    command = f"{sys.argv[2]}/bin/npuprof"
    port = Port()
    npu.main(globals())
