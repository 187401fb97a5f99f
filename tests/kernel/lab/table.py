# SPDX-License-Identifier: Apache-2.0
"""The table of conformance tests and backends: the same binary on the simulated device of its own process, here on
the host, and on the kernel module, in the guest."""

import os
import re
import subprocess

from results import FAILED, SKIPPED, Test, parse

BINARY = "npuprof_conformance"


def on_host(config, build, seconds=600):
    """Runs the suite on the simulated device; returns its tests."""
    command = os.path.join(build, "tests", BINARY)
    env = dict(os.environ, NPUPROF_DEVICE="sim")
    for name in ("GTEST_FILTER", "NPUSIM_PORT"):
        env.pop(name, None)
    try:
        done = subprocess.run([command], capture_output=True, text=True, env=env, timeout=seconds, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Test(config, "sim", "suite", FAILED, 0, str(error))]
    tests = parse(config, "sim", done.stdout)
    if done.returncode != 0 and not any(t.result == FAILED for t in tests):
        tests.append(Test(config, "sim", "suite", FAILED, 0, f"exit code {done.returncode}\n{done.stderr[-1000:]}"))
    return tests


def cell(test, notes):
    if test is None:
        return "-"
    if test.result != SKIPPED:
        return test.result
    why = re.search(r"not applicable on \w+: (.*)", test.text)
    reason = why.group(1).strip() if why else " ".join(test.text.splitlines()[1:])
    if reason not in notes:
        notes.append(reason)
    return f"{'not applicable' if why else 'skipped'} ({notes.index(reason) + 1})"


def lines(sim, kernel, version):
    """One line per test in the order of the kernel's run; "-" means that it did not run there."""
    by_name = [{t.name: t for t in tests} for tests in (sim, kernel)]
    names = list(dict.fromkeys([t.name for t in kernel] + [t.name for t in sim]))
    width = max([len(n) for n in names] + [4])
    notes = []
    out = [f"{'test':<{width}}  {'sim':<20}  kernel {version}"]
    for name in names:
        a, b = (cell(tests.get(name), notes) for tests in by_name)
        out.append(f"{name:<{width}}  {a:<20}  {b}")
    return out + [f"({n}) {note}" for n, note in enumerate(notes, 1)]


def write(path, sim, kernel, version):
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines(sim, kernel, version)) + "\n")
