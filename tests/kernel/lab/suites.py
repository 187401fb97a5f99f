# SPDX-License-Identifier: Apache-2.0
"""What runs in the guest. A suite is a command; it prints GoogleTest's lines or `ok NAME` / `not ok NAME` /
`skip NAME: why`. {build} is the build tree, {here} tests/kernel, {module} the module, {udev} Debian's udev, or why there
is none."""


import os
import re
import subprocess


class Suite:
    def __init__(self, command, seconds=60, about="", offline=False):
        self.command = command
        self.seconds = seconds
        self.about = about
        self.offline = offline    # only without the host's files, as do those beside it: they are programs of the tree alone

    def tests(self, build):
        """Names of its tests as the program in `build`, for this machine, tells them; none if it is not GoogleTest's."""
        program = re.search(r"\{build\}/tests/(npuprof_\w+)(?: (--gtest_filter=)'([^']*)')?", self.command)
        if not program:
            return []
        listed = subprocess.run([os.path.join(build, "tests", program.group(1)), "--gtest_list_tests",
                                 f"--gtest_filter={program.group(3) or '*'}"],
                                capture_output=True, text=True, check=True).stdout
        names, group = [], ""
        for line in listed.splitlines():
            name = line.split("#")[0].strip()
            if line.startswith(" "):
                names.append(group + name)
            elif name.endswith("."):
                group = name
        return names


SELFTEST = "NPUPROF_DEVICE=kernel {build}/tests/npuprof_selftest --gtest_filter="

SUITES = {
    "device": Suite("python3 -B {here}/suites/device.py", 60, "the NPU on the bus, without a driver"),
    "port": Suite("{build}/tests/npusim_port_guest", 60, "the simulated runtime's way to the NPUs"),
    "load": Suite("{here}/suites/load.sh {module}", 30, "the module loads, goes and comes back"),
    "kunit": Suite("{here}/suites/kunit.sh {tree}", 30, "the portable half of the module in the kernel"),
    "conformance": Suite("NPUPROF_DEVICE=kernel {build}/tests/npuprof_conformance", 400,
                         "the contract on /dev/npuprof<N>"),
    "observe": Suite("python3 -B {here}/suites/observe.py {module} {build}", 120, "sysfs, debugfs, tracepoints"),
    "udev": Suite("python3 -B {here}/suites/udev.py {module} {tree} '{udev}'", 120,
                  "who may open the nodes once udev has seen them"),
    "perf": Suite("python3 -B {here}/suites/perf.py {module} {tree}", 180, "perf stat -e npuprof_<N>/.../"),
    "hotplug": Suite("LAB_FILTER=while_cpus_do python3 -B {here}/suites/perf.py {module} {tree}", 60,
                     "the module comes and goes while CPUs do"),
    "aer": Suite("python3 -B {here}/suites/aer.py {module}", 240, "errors on the bus in mid-run"),
    "unplug": Suite("python3 -B {here}/suites/unplug.py {module}", 240, "a card leaves its hot-plug slot in mid-run"),
    "demo": Suite("python3 -B {here}/suites/demo.py {module} {build} {tree}", 400,
                  "the demonstration, from launch to export"),
    "record": Suite("python3 -B {here}/suites/record.py {module} {build} {tree}", 300,
                    "a program under npuprof record, from launch to export"),
    "rules": Suite(SELFTEST + "'Rule.*'", 200, "rules for ioctl interfaces"),
    "gates": Suite(SELFTEST + "'Gate.*'", 120, "who may profile"),
    "life": Suite(SELFTEST + "'*Death*:Fork.*:Close.*'", 400, "processes that die, fork and close"),
    "storms": Suite(SELFTEST + "'*Storm*'", 600, "ten thousand starts and stops, everything at once"),
    "random": Suite(SELFTEST + "'*Random*'", 300, "every request with random arguments"),
    "removal": Suite(SELFTEST + "'*Removal*:Reset.*:*Cut.*'", 300, "unbind, surprise removal and reset in mid-run"),
    "power": Suite(SELFTEST + "'*Power.*'", 120, "runtime power management: who wakes a device, who lets it sleep"),
    "faults": Suite(SELFTEST + "'*Faults.*'", 300, "memory that is short in every place, one after the other"),
    "suspend": Suite(SELFTEST + "'*Suspend*'", 300, "suspend and resume in mid-run", offline=True),
    "rates": Suite(SELFTEST + "'Rates.*:Cost.*:Slots.*:*Reopen.*'", 120, "rates, losses and bus cost in simulated time"),
}
