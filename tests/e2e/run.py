# SPDX-License-Identifier: Apache-2.0
"""Runs one test case in a way that ctest can tell passed, failed and skipped apart.

usage: run.py --list MODULE...        one line per case: MODULE.CLASS.METHOD TIMEOUT SERIAL(0|1)
       run.py MODULE.CLASS.METHOD     status 0 passed, 77 skipped (wholly or in part; the reason is the last line), 1 failed
A class sets `timeout` (seconds) and `serial` (not beside other tests) where the defaults do not do.
"""
import os
import sys
import unittest

SKIPPED = 77


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def load(names):
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(names)
    if loader.errors:
        sys.exit(loader.errors[0])
    return suite


def main():
    sys.path.insert(0, os.getcwd())
    if len(sys.argv) > 2 and sys.argv[1] == "--list":
        for case in cases(load(sys.argv[2:])):
            print(case.id(), getattr(case, "timeout", 120), int(getattr(case, "serial", False)))
        return 0
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(load(sys.argv[1:]))
    if not result.wasSuccessful() or (result.testsRun == 0 and not result.skipped):
        return 1
    for case, why in result.skipped:
        print(f"skipped: {case.id()}: {why}")
    return SKIPPED if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
