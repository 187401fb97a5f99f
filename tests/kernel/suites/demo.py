#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: demo.py MODULE BUILD TREE: the demonstration on /dev/npuprof<N>."""

import npu
from npu import rounds
from programs import Run, build, clients, counted, model, module, run


def demo(name, **changes):
    result = Run(name)
    run(f"{clients}/demo", result.dir, model, f"{build}/tests/clients/scenes", result.totals, str(rounds(20, 2)), **changes)
    return result


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


if __name__ == "__main__":
    npu.load(module)
    npu.main(globals())
