# SPDX-License-Identifier: Apache-2.0
"""What the suites of one boot printed, as a list of tests."""

import os
import re

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Test:
    def __init__(self, config, suite, name, result, seconds=0.0, text=""):
        self.config = config
        self.suite = suite
        self.name = name
        self.result = result
        self.seconds = seconds
        self.text = text    # why it failed or was skipped


GTEST = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/.-]+)(?:, where .*?)?(?: \((\d+) ms\))?$")
# `ok NAME`, `not ok NAME` and `skip NAME: why`, with an optional time `(12 ms)` after the name.
PLAIN = re.compile(r"(ok|not ok|skip) ([\w/.-]+)(?: \((\d+) ms\))?(?:: (.*))?$")


def parse(config, suite, text):
    """Tests in the order they ran. One that began and never ended counts as failed. Both GoogleTest's output and
    plain lines are understood."""
    tests, running, said = [], None, []
    for line in text.splitlines():
        hit = GTEST.search(line)
        plain = PLAIN.match(line)
        if hit and hit.group(1) == "RUN":
            running, said = hit.group(2), []
        elif hit and running == hit.group(2):
            result = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}[hit.group(1)]
            why = "" if result == PASSED else "\n".join(said).strip()
            tests.append(Test(config, suite, running, result, int(hit.group(3) or 0) / 1000, why))
            running = None
        elif plain:
            result = {"ok": PASSED, "not ok": FAILED, "skip": SKIPPED}[plain.group(1)]
            why = "\n".join(said + [plain.group(4) or ""]).strip()
            tests.append(Test(config, suite, plain.group(2), result, int(plain.group(3) or 0) / 1000,
                              "" if result == PASSED else why))
            said = []
        else:
            said.append(line)
    if running:
        tests.append(Test(config, suite, running, FAILED, 0, "it began and did not end\n" + "\n".join(said[-20:])))
    return tests


def of_suite(config, suite, directory):
    """Tests of one suite from its log and exit code in `directory`."""
    log, code_file = os.path.join(directory, suite + ".log"), os.path.join(directory, suite + ".rc")
    text = ""
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
    tests = parse(config, suite, text)
    if not os.path.exists(code_file):
        why = "the guest died while it ran" if os.path.exists(log) else "it did not run: the guest ended before it"
        return tests + [Test(config, suite, "suite", FAILED, 0, why)]
    with open(code_file, encoding="utf-8") as f:
        code, milliseconds = (int(word) for word in f.read().split())
    tail = "\n".join(text.splitlines()[-15:])
    if code in (124, 137):
        tests.append(Test(config, suite, "suite", FAILED, milliseconds / 1000, f"it did not end in time\n{tail}"))
    elif code != 0 and not any(t.result == FAILED for t in tests):
        tests.append(Test(config, suite, "suite", FAILED, milliseconds / 1000, f"exit code {code}\n{tail}"))
    elif not tests:
        tests.append(Test(config, suite, "suite", FAILED, milliseconds / 1000, f"it ran no test\n{tail}"))
    return tests
