# SPDX-License-Identifier: Apache-2.0
"""The lab's report: one line per test as text, the same as JSON and as JUnit's XML."""

import json
import os
from xml.sax.saxutils import escape, quoteattr

from results import FAILED, PASSED, SKIPPED, Test


# Lines of a failure's text in a summary; report.txt has them all.
SHOWN = 30


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
    """Prints the last line of each report written after `since`, what failed, and why tests were skipped."""
    for config in sorted(os.listdir(work) if os.path.isdir(work) else []):
        path = os.path.join(work, config, "report.json")
        if not os.path.exists(path) or os.stat(path).st_mtime < since:
            continue
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        tests = [Test(**t) for t in data["tests"]]
        print(f"lab {summary(config, tests, data)}")
        for t in tests:
            if t.result == FAILED:
                print(f"    FAILED {t.suite}/{t.name}")
                # What ends a boot carries the last of the console: its end says more than its beginning.
                print("\n".join(f"        {line}" for line in t.text.splitlines()[-SHOWN:]))
            if t.result == SKIPPED:
                print(f"    skipped {t.suite}/{t.name}: {t.text.splitlines()[0] if t.text else ''}")
