# SPDX-License-Identifier: Apache-2.0
"""For suites that run whole programs: they are called with MODULE BUILD TREE. Every count of a profile is compared with
what the model on the other side of the port counted itself, by the demonstration's own checks."""

import glob
import os
import shutil
import subprocess
import sys

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


def counted(totals):
    return [(d["kernels"], d["submitted"]) for d in check.load(totals)["devices"]]
