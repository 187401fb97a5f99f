# SPDX-License-Identifier: Apache-2.0
"""perf_event_open() and perf stat, for suites in the guest."""

import ctypes
import os
import re
import select
import signal
import struct
import subprocess

from npu import PATIENCE, read

ATTR = struct.Struct("<IIQQQQQIIQQ32x")    # PERF_ATTR_SIZE_VER5
SYSCALL = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
ENABLED_AND_RUNNING = 3                    # PERF_FORMAT_TOTAL_TIME_{ENABLED,RUNNING}
DISABLED, EXCLUDE_USER, EXCLUDE_KERNEL = 1, 1 << 4, 1 << 5
PMU = "/sys/bus/event_source/devices/npuprof_{}"


def config(name, device=0):
    """config of a file in events/."""
    values = dict(term.split("=") for term in read(f"{PMU.format(device)}/events/{name}").strip().split(","))
    shift = {"event": 0, "kind": 16, "unit": 20}
    return sum(int(value, 0) << shift[term] for term, value in values.items())


def core_event(kind, number):
    return kind << 16 | number


class Event:
    """One event on the CPU that the PMU names."""

    def __init__(self, what, device=0, mask=0, pid=-1, period=0, flags=0, group=-1, cpu=None):
        pmu = PMU.format(device)
        if isinstance(what, str):
            what = config(what, device)
        if cpu is None:
            cpu = int(read(f"{pmu}/cpumask")) if pid == -1 else -1
        attr = ATTR.pack(int(read(f"{pmu}/type")), ATTR.size, what, period, 0, ENABLED_AND_RUNNING, flags, 0, 0,
                         mask & (1 << 64) - 1, mask >> 64)
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(SYSCALL, ctypes.create_string_buffer(attr, ATTR.size), pid, cpu, group, 8)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), f"perf_event_open {what:#x}")

    def read(self):
        """(count, time enabled, time running)"""
        return struct.unpack("<QQQ", os.read(self.fd, 24))

    def count(self):
        return self.read()[0]

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Stat:
    """`perf stat -a` from entering to leaving; `counts` is a dictionary event: (count or None, percent of time). `said` is what
    it printed, for programs or, `plain`, for people."""

    def __init__(self, *events, device=0, plain=False):
        self.names = events
        self.format = [] if plain else ["-x", ";"]
        self.events = [f"npuprof_{device}/{event}/" for event in events]

    def __enter__(self):
        # It begins with its events disabled, and says so when it has enabled all of them.
        orders, order = os.pipe()
        answer, answers = os.pipe()
        try:
            self.process = subprocess.Popen(
                ["perf", "stat", *self.format, "-a", "-D", "-1", f"--control=fd:{orders},{answers}", "-e", ",".join(self.events)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=(orders, answers))
            # Its end, too, is an answer.
            os.close(answers)
            answers = -1
            os.write(order, b"enable\n")
            try:
                ready, _, _ = select.select([answer], [], [], 40 * PATIENCE)
                said = os.read(answer, 16) if ready else b""
                assert said.startswith(b"ack"), f"perf stat said {said} and does not count"
            except BaseException:
                # The tests that follow want device and module for themselves.
                self.process.kill()
                print(self.process.communicate()[1])
                raise
        finally:
            for fd in (orders, order, answer, answers):
                if fd >= 0:
                    os.close(fd)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate(timeout=60 * PATIENCE)[1]
        self.counts = {}
        for line in self.said.splitlines():
            count, event, percent = self._fields(line)
            if event in self.events:
                value = int(count) if count.isdigit() else None
                self.counts[self.names[self.events.index(event)]] = (value, float(percent.replace(",", ".") or 0))

    def _fields(self, line):
        """Count, event and percent of time in a line that has them."""
        if self.format:
            fields = line.split(";")
            return (fields[0], fields[2], fields[4]) if len(fields) > 4 else ("", "", "")
        hit = re.match(r" +([\d,]+) +(npuprof_\S+) *(?:\(([\d.]+)%\))?", line)
        # People are told of it only if it is not all of the time.
        return (hit.group(1).replace(",", ""), hit.group(2), hit.group(3) or "100") if hit else ("", "", "")
