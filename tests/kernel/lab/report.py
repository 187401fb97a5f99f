# SPDX-License-Identifier: Apache-2.0
"""The lab's report: one line per test as text, the same as JSON and as JUnit's XML."""

import json
import os
import re
from xml.sax.saxutils import escape, quoteattr

from results import FAILED, PASSED, SKIPPED, Test


# Lines of a failure's text that are shown outside report.txt, and what is shown of one in the last lines.
SHOWN = 30
WIDTH = 160


def counts(tests):
    return {result: sum(t.result == result for t in tests) for result in (PASSED, FAILED, SKIPPED)}


def summary(config, tests, facts):
    n = counts(tests)
    return (f"{config}: {n[PASSED]} passed, {n[FAILED]} failed, {n[SKIPPED]} skipped in {facts['seconds']:.0f} s "
            f"(kernel {facts['kernel']}, {facts['about']})")


def lines(tests):
    """One line per test; what failed or was skipped says why beneath it."""
    out = []
    for t in tests:
        out.append(f"{t.config:<9} {t.suite:<14} {t.result:<8} {t.seconds:7.2f} s  {t.name}")
        if t.text and t.result != PASSED:
            out += [f"    {line}" for line in t.text.splitlines()]
    return out


def brief(tests):
    """What a log can hold that others fold: a line per suite, why tests were skipped, and at the end what failed and why."""
    out = []
    suites = {}
    for t in tests:
        suites.setdefault((t.config, t.suite), []).append(t)
    for (config, suite), own in suites.items():
        told = ", ".join(f"{n} {result}" for result, n in counts(own).items() if n)
        out.append(f"{config:<9} {suite:<14} {told} in {sum(t.seconds for t in own):.0f} s")
        reasons = {}
        for t in own:
            if t.result == SKIPPED:
                reasons.setdefault(t.text.splitlines()[0] if t.text else "no reason given", []).append(t.name)
        out += [f"    skipped {', '.join(names)}: {why}" for why, names in reasons.items()]
    return out + failures(tests)


def failures(tests):
    """What failed, with the end of what was said (what ends a boot carries the console), then a line each."""
    failed = [t for t in tests if t.result == FAILED]
    out = []
    for t in failed:
        out.append(f"{t.config} {t.suite}/{t.name} failed:")
        out += [f"    {line}" for line in t.text.splitlines()[-SHOWN:]]
    return out + [f"FAILED {t.config} {t.suite}/{t.name}: {telling(t.text)}"[:WIDTH] for t in failed]


def telling(text):
    """The line of a failure's text that says most: one that tells of an error, else the first."""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in said if re.search(r"Failure|Error\b|error:", line)), said[0] if said else "nothing was said")


def write(directory, config, tests, facts):
    """Writes report.{txt,json,xml}; `facts` (kernel, seconds of each boot ...) go into the JSON."""
    with open(os.path.join(directory, "report.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines(tests) + [summary(config, tests, facts)]) + "\n")
    with open(os.path.join(directory, "report.json"), "w", encoding="utf-8") as f:
        json.dump({"config": config, **facts, "tests": [vars(t) for t in tests]}, f, indent=1)
    n = counts(tests)
    with open(os.path.join(directory, "report.xml"), "w", encoding="utf-8") as f:
        f.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name={quoteattr("lab." + config)} '
                f'tests="{len(tests)}" failures="{n[FAILED]}" skipped="{n[SKIPPED]}">\n')
        for t in tests:
            inner = {FAILED: f"<failure>{escape(t.text)}</failure>", SKIPPED: f"<skipped>{escape(t.text)}</skipped>",
                     PASSED: ""}[t.result]
            f.write(f' <testcase classname={quoteattr(f"{t.config}.{t.suite}")} name={quoteattr(t.name)} '
                    f'time="{t.seconds:.3f}">{inner}</testcase>\n')
        f.write("</testsuite>\n")


def show(work, since):
    """Prints, of all reports written after `since`: the last line, why tests were skipped, and behind all of them what failed."""
    failed, seconds = [], {}
    for config in sorted(os.listdir(work) if os.path.isdir(work) else []):
        path = os.path.join(work, config, "report.json")
        if not os.path.exists(path) or os.stat(path).st_mtime < since:
            continue
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        tests = [Test(**t) for t in data["tests"]]
        seconds[config] = data["seconds"]
        failed += [t for t in tests if t.result == FAILED]
        print(f"lab {summary(config, tests, data)}")
        for t in tests:
            if t.result == SKIPPED:
                print(f"    skipped {t.suite}/{t.name}: {t.text.splitlines()[0] if t.text else ''}")
    if len(seconds) > 1:
        print(f"lab: {len(seconds)} configurations in {sum(seconds.values()):.0f} s")
    if "debian" in seconds and "debug" in seconds:
        print(f"lab: Debian's kernel and the debug kernel together in {seconds['debian'] + seconds['debug']:.0f} s")
    if failed:
        print("\n".join(failures(failed)))
