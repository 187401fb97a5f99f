#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel tests in a virtual machine.

usage: lab.py [--build DIR] [--filter TEXT] [--verbose] [--list] [--check] [--show-since FILE] [CONFIG...]

Fetches Debian's kernel, builds the module and the NPU for QEMU, boots each configuration and runs its suites.
Without CONFIG the usual ones. --check looks at the command line alone, --show-since sums up the reports newer than FILE.
Leaves a report in build/lab/CONFIG: report.txt, report.json, report.xml.
Exit code: 0 all passed, 1 something failed, 77 nothing failed but whole configurations could not run here.
"""

import argparse
from concurrent import futures
import os
import re
import shutil
import signal
import sys
import time

import arm64
import boot
import build
import kernels
import offline
import report
import table
import udev
import verdict
from apt import Lock
from configs import BUILDS, CONFIGS, DEFAULT, On
from results import FAILED, PASSED, SKIPPED, Test, of_suite
from suites import SUITES

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, "..", "..", ".."))


def choose(boots, wanted):
    """The boots that suites named in `wanted` are in, with these alone, or None if it names no suite."""
    named = [name for group in boots for name in group if name in wanted.split(",")]
    if not named:
        return None
    chosen = [On.some(group, lambda name: name == "load" or name in named) for group in boots]
    return [group for group in chosen if group not in ([], ["load"])] or [["load"]]


def choose_tests(boots, wanted, names_of):
    """The boots and suites that have tests whose name contains one of `wanted`, and these tests by suite.
    `names_of(suite)`: the names of a suite's tests, none if it cannot run some of them alone."""
    tests = {name: [test for test in names_of(name) if any(part in test for part in wanted.split(","))]
             for name in dict.fromkeys(name for group in boots for name in group)}
    chosen = [On.some(group, lambda name: name == "load" or tests[name]) for group in boots]
    return [group for group in chosen if group not in ([], ["load"])], tests


def plan(config, group, places, tests=None):
    """Lines for the guest. `tests`: by suite, those to run alone."""
    lines = []
    for name in group:
        suite = SUITES[name]
        effort = config.get("efforts", {}).get(name, config.get("effort", 100))
        settings = {"EFFORT": effort, "PATIENCE": config.get("patience", 1),
                    "STRETCH": config.get("stretch", 1), "MODULE": places["module"]}
        exports = " ".join(f"NPUPROF_LAB_{name}={value}" for name, value in settings.items())
        command = f"export {exports}; {suite.command.format(**places)}"
        if tests and tests[name]:
            command = re.sub("--gtest_filter=[^ ]*", "", command) + f" --gtest_filter='{':'.join(tests[name])}'"
        lines.append(f"{name}\t{suite.seconds * config.get('patience', 1)}\t{command}\n")
    return "".join(lines)


def select(boots, wanted, build):
    """The boots for --filter, none if nothing fits, and which tests of their suites."""
    if not wanted:
        return boots, None
    chosen = choose(boots, wanted)
    if chosen:
        return chosen, None
    return choose_tests(boots, wanted, lambda name: SUITES[name].tests(build))


def judge(name, group, outcome, directory, append=()):
    """Tests of one boot: those of its suites, and what only the host can see. `append`: of the kernel's command line."""
    results = os.path.join(directory, "results")
    tests = []
    died = verdict.died_in(outcome.console)
    for suite in group:
        tests += of_suite(name, suite, results)
    for complaint in verdict.complaints(outcome.console):
        tests.append(Test(name, complaint.suite or "boot", "kernel-log", FAILED, 0, "\n".join(complaint.lines)))
    own = verdict.has_own(outcome.console)
    for sign, wrong in verdict.health(outcome.console):
        if sign == "lockdep" and wrong and own:
            tests.append(Test(name, "boot", sign, SKIPPED, 0, "lockdep ended with a report about the kernel's own leak detector, "
                              "which asks for memory under a raw lock; of what came later no lock was watched"))
            continue
        tests.append(Test(name, "boot", sign, FAILED if wrong else PASSED, 0, wrong or ""))
    leaks = os.path.join(results, "kmemleak")
    if os.path.exists(leaks):
        with open(leaks, encoding="utf-8", errors="replace") as f:
            text = f.read()
        tests.append(Test(name, "boot", "kmemleak", FAILED if text else PASSED, 0, text[:4000]))
    elif "kmemleak=off" in append:
        tests.append(Test(name, "boot", "kmemleak", SKIPPED, 0, f"leaks of {', '.join(group)} are not looked for: a look takes "
                          "most of a minute, and things die at bad moments in other boots"))
    if outcome.ended:
        last = "\n".join(outcome.console.splitlines()[-40:])
        tests.append(Test(name, died or "boot", "ends", FAILED, outcome.seconds, f"{outcome.ended}\n{last}"))
    else:
        tests.append(Test(name, "boot", "ends", PASSED, outcome.seconds))
    return tests


def left_out(name, config):
    """What a configuration does not run although others do, each with the reason."""
    return [Test(name, what, "suite", SKIPPED, 0, why) for what, why in config.get("left_out", {}).items()]


def all_boots(at_a_time, run, boots):
    """Tests of all (number, boot); run() returns those of one."""
    tests = []
    pool = futures.ThreadPoolExecutor(at_a_time)
    try:
        running = [pool.submit(run, number, group) for number, group in boots]
        for one in running:
            # Python hears of a signal that comes right before it waits only when it has waited.
            while not futures.wait([one], 0.5).done:
                pass
            tests += one.result()
    finally:
        # Also when the lab itself is told to end: no further boot begins, and those in progress end.
        pool.shutdown(wait=False, cancel_futures=True)
        boot.end_all()
    return tests


def run_boots(name, config, kernel, work, places, args):
    boots, chosen = select(config["boots"], args.filter, args.build)
    device = None
    if not config.get("bare"):
        device = build.qemu_device(TREE, work, kernel.arch)
    places = dict(places, module=build.module(TREE, work, kernel, config.get("options", ())))
    if kernel.arch == "aarch64":
        root = arm64.system(work, TREE)
        places["build"] = arm64.programs(work, TREE, root, args.build)
        config = dict(config, root=root, busybox=f"{root}/bin/busybox")
    tests = []
    if not kernel.warns():
        tests.append(Test(name, "boot", "warnings-of-the-kernel", SKIPPED, 0,
                          "this kernel has no CONFIG_BUG, so its own WARN_ON() is silent; the module's own speak, and what "
                          "the kernel counts is looked at (tests/kernel/build-debug-kernel.sh builds one that warns)"))
    if any("udev" in group for group in boots):
        places["udev"] = "/" if kernel.arch == "aarch64" else udev.place(work)

    def run(number, group):
        machine = {**config, **getattr(group, "machine", {})}
        directory = os.path.join(work, name, f"boot{number}")
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(os.path.join(directory, "results"))
        apart = machine.get("offline") or any(SUITES[suite].offline for suite in group)
        text = plan(machine, group, {**places, "module": offline.MODULE} if apart else places, chosen)
        with open(os.path.join(directory, "results", "plan"), "w", encoding="utf-8") as f:
            f.write(text)
        files = offline.files(text, places["module"], config.get("root")) if apart else None
        outcome = boot.boot(kernel, directory, TREE, machine, device, machine["limit"], files)
        if files:
            offline.unpack(outcome.console, os.path.join(directory, "results"))
        return judge(name, group, outcome, directory, machine.get("append", ()))

    tests += all_boots(config.get("side_by_side", 1), run, list(enumerate(boots)))
    if chosen is None and not args.filter:
        tests += left_out(name, config)
    kernel_tests = [t for t in tests if t.suite == "conformance"]
    if config.get("table") and kernel_tests and chosen is None:
        sim = table.on_host(name, args.build)
        table.write(os.path.join(work, "conformance.txt"), sim, kernel_tests, kernel.version)
        tests += sim
    return tests


def run_config(name, args, work):
    """Runs one configuration, writes its report and returns its tests."""
    begin = time.monotonic()
    config = CONFIGS.get(name) or BUILDS[name]
    facts = {"about": config["about"], "kernel": None}
    places = {"build": args.build, "here": os.path.dirname(HERE), "tree": TREE}
    try:
        with Lock(work):
            kernel = kernels.get(config["kernel"], work, TREE)
            facts["kernel"] = kernel.version
            if name in BUILDS:
                build.module(TREE, work, kernel)
                tests = [Test(name, "build", "npuprof.ko", PASSED, time.monotonic() - begin)]
            else:
                tests = run_boots(name, config, kernel, work, places, args)
    except kernels.Unavailable as why:
        tests = [Test(name, "lab", "available", SKIPPED, 0, str(why))]
    except build.BuildError as why:
        tests = [Test(name, "build", "builds", FAILED, 0, str(why))]
    facts["seconds"] = time.monotonic() - begin
    directory = os.path.join(work, name)
    os.makedirs(directory, exist_ok=True)
    report.write(directory, name, tests, facts)
    print("\n".join(report.lines(tests) if args.verbose else report.brief(tests)))
    print(f"== {report.summary(name, tests, facts)}\n", flush=True)
    return tests


def main():
    parser = argparse.ArgumentParser(prog="./dev lab", description="kernel tests in a virtual machine",
                                     allow_abbrev=False)
    parser.add_argument("configs", nargs="*", metavar="CONFIG",
                        help=f"{', '.join([*CONFIGS, *BUILDS])} (default: {', '.join(DEFAULT)})")
    # Of no use through ./dev, which sets it.
    parser.add_argument("--build", default=os.path.join(TREE, "build", "release"), help=argparse.SUPPRESS)
    parser.add_argument("--filter",
                        help="only these suites, or only tests whose name contains this; several joined by commas")
    parser.add_argument("--verbose", action="store_true",
                        help="print a line per test; without it they are in build/lab/CONFIG/report.txt")
    parser.add_argument("--list", action="store_true", help="say what the configurations are")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--show-since", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    work = os.path.join(TREE, "build", "lab")
    if args.show_since:
        report.show(work, os.stat(args.show_since).st_mtime)
        return 0
    if args.list:
        for name, config in {**CONFIGS, **BUILDS}.items():
            print(f"{'*' if name in DEFAULT else ' '} {name:<10} {config['about']}")
        print("* is run if none is named")
        return 0
    for name in args.configs:
        if name not in CONFIGS and name not in BUILDS:
            parser.error(f"there is no configuration '{name}'; there are {', '.join([*CONFIGS, *BUILDS])}")
    if args.check:
        return 0
    # So that boots in progress end with the lab.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.makedirs(work, exist_ok=True)
    names = args.configs or DEFAULT
    if args.filter:
        names = [name for name in names
                 if name in CONFIGS and select(CONFIGS[name]["boots"], args.filter, args.build)[0]]
        if not names:
            parser.error(f"no suite is called, and no test's name contains, '{args.filter}'; suites are {', '.join(SUITES)}")
    tests, unavailable = [], False
    for name in names:
        got = run_config(name, args, work)
        unavailable |= all(t.result == SKIPPED for t in got)
        tests += got
    if any(t.result == FAILED for t in tests):
        return 1
    return 77 if unavailable else 0


if __name__ == "__main__":
    sys.exit(main())
