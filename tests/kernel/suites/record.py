#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: record.py MODULE BUILD TREE: `npuprof info --device`, and a program under `npuprof record`, on /dev/npuprof<N>."""

import glob
import json
import os
import re
import signal
import subprocess
import time

import npu
from programs import Run, check, clients, command, counted, environment, module, run

TASKS = str(npu.rounds(3000, 600))


def test_info_shows_the_devices():
    devices = json.loads(run(command, "info", "--device", "--json").stdout)["devices"]
    nodes = [f"/dev/npuprof{number}" for number in range(len(os.listdir("/sys/class/npuprof")))]
    assert len(nodes) >= 2 and [(d["backend"], d["node"]) for d in devices] == [("kernel", node) for node in nodes], devices
    text = run(command, "info", "--device").stdout
    for node in nodes:
        assert node in text


def test_recorded_program_loses_nothing():
    result = Run("record")
    run(command, "record", "-o", result.dir, "--", f"{clients}/plain", TASKS, "2", result.totals)
    assert result.backends() == {"kernel"}, result.backends()
    assert counted(result.totals) == [(int(TASKS), int(TASKS))] * 2, counted(result.totals)
    result.sound()


def stopped_children(parent):
    """Children of a process that are stopped. Not every kernel lists children (CONFIG_PROC_CHILDREN)."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, of = npu.read(path).rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if (state, of) == ("T", str(parent)):
            found.append(int(path.split("/")[2]))
    return found


def test_stopped_program_loses_what_its_rings_cannot_hold_to_the_last_record():
    result = Run("stopped")
    with open(f"{result.dir}/log", "w+", encoding="utf-8") as log, subprocess.Popen(
            [command, "record", "-o", result.dir, "--", f"{clients}/plain", "3000", "2", result.totals, "stop"],
            stdout=log, stderr=subprocess.STDOUT, env=environment(NPUPROF_RING_RECORDS="256")) as recorder:
        try:
            npu.wait_for(lambda: recorder.poll() is not None or stopped_children(recorder.pid), "the program to stop", 60)
            assert recorder.returncode is None, f"`npuprof record` ended with {recorder.returncode} before its program stopped"
        except BaseException:
            recorder.kill()
            raise
        stopped, = stopped_children(recorder.pid)
        # 3000 tasks of 100 us; the NPUs go on alone with those that they have.
        time.sleep(1)
        os.kill(stopped, signal.SIGCONT)
        code = recorder.wait()
        log.seek(0)
        text = log.read()
    print(text)
    assert code == 0, code
    assert result.backends() == {"kernel"}, result.backends()
    assert check.stalled(result.prof(), result.totals)
    lost = sum(r["lost"] for r in check.rings(result.manifest(), None))
    assert re.search(rf"\b{lost}\b", text.replace(",", "")), f"`npuprof record` does not tell of {lost} lost records"


if __name__ == "__main__":
    npu.load(module)
    npu.main(globals())
