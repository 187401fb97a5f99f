#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: demo.py MODULE BUILD TREE: whole programs on /dev/npuprof<N>: the demonstration, and a plain program under
`npuprof record`. Every count is compared with what the model on the other side of the port counted itself."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import npu

module, build, tree = sys.argv[1:4]
clients = f"{build}/tests/clients/bin"
command = f"{build}/bin/npuprof"
model = f"{tree}/tools/npusim/models/resnet50_b1.json"
sys.path.insert(0, f"{tree}/tests/clients/demo")
import check  # noqa: E402  pylint: disable=wrong-import-position


def environment(**changes):
    """Without settings of the profiler, so that it chooses for itself. None takes a variable away."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("NPUPROF_")}
    env.update(changes)
    return {k: v for k, v in env.items() if v is not None}


def run(*words, **changes):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(**changes))
    print(done.stdout[-3000:] + done.stderr[-3000:], flush=True)
    assert done.returncode == 0, f"{words[0]} ended with {done.returncode}"
    return done


class Run:
    """A directory with a profile and what belongs to it."""

    def __init__(self, name):
        self.dir = f"/tmp/demo/{name}"
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        self.totals, self.tables = f"{self.dir}/totals.json", f"{self.dir}/tables"

    def prof(self):
        found = glob.glob(f"{self.dir}/PROF_*")
        assert len(found) == 1, found
        return found[0]

    def manifest(self):
        return check.load(f"{self.prof()}/npuprof/manifest.json")

    def backends(self):
        return {d["backend"] for d in self.manifest()["devices"]}

    def export(self):
        run(command, "export", self.prof(), "--output", self.tables)

    def sound(self):
        """Launched = started = ended = PMU rows = exported, lost 0; the line itself goes to the log."""
        self.export()
        assert check.sound(self.prof(), self.tables, self.totals)

    def operators(self):
        """How often each operator ran, by all that describes it but its times."""
        return check.operators(self.tables), check.tasks(self.tables)


def demo(name, **changes):
    result = Run(name)
    run(f"{clients}/demo", result.dir, model, f"{build}/tests/clients/scenes", result.totals, **changes)
    return result


def counted(totals):
    return [(d["kernels"], d["submitted"]) for d in check.load(totals)["devices"]]


def test_info_shows_the_devices():
    devices = json.loads(run(command, "info", "--device", "--json").stdout)["devices"]
    assert [(d["backend"], d["node"]) for d in devices] == [("kernel", "/dev/npuprof0"), ("kernel", "/dev/npuprof1")]
    text = run(command, "info", "--device").stdout
    for node in ("/dev/npuprof0", "/dev/npuprof1"):
        assert node in text


def test_demo_through_the_kernel_loses_nothing_and_sees_what_the_process_sees():
    kernel = demo("kernel")
    assert kernel.backends() == {"kernel"}, kernel.backends()
    kernel.sound()
    # The same program with the simulated NPUs in its own process.
    inside = demo("inside", NPUSIM_PORT=None)
    assert inside.backends() == {"sim"}, inside.backends()
    inside.sound()
    assert counted(kernel.totals) == counted(inside.totals) and counted(kernel.totals)[0][0] > 0
    ours, theirs = kernel.operators(), inside.operators()
    for one, two, what in zip(ours, theirs, ("operators", "tasks")):
        print(f"{what}: kernel {one.total()} of {len(one)} kinds, process {two.total()} of {len(two)} kinds")
        assert one == two, (one - two, two - one)


def test_recorded_program_loses_nothing():
    result = Run("record")
    run(command, "record", "-o", result.dir, "--", f"{clients}/plain", "3000", "2", result.totals)
    assert result.backends() == {"kernel"}, result.backends()
    assert counted(result.totals) == [(3000, 3000)] * 2, counted(result.totals)
    result.sound()


def state(process):
    """One letter of a process's state in /proc."""
    try:
        return npu.read(f"/proc/{process}/stat").rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def test_stopped_program_loses_what_its_rings_cannot_hold_to_the_last_record():
    result = Run("stopped")
    with open(f"{result.dir}/log", "w+", encoding="utf-8") as log, subprocess.Popen(
            [command, "record", "-o", result.dir, "--", f"{clients}/plain", "3000", "2", result.totals, "stop"],
            stdout=log, stderr=subprocess.STDOUT, env=environment(NPUPROF_RING_RECORDS="256")) as recorder:
        children = f"/proc/{recorder.pid}/task/{recorder.pid}/children"
        npu.wait_for(lambda: any(state(pid) == "T" for pid in npu.read(children).split()), "the program to stop", 60)
        stopped = int(npu.read(children).split()[0])
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
