# SPDX-License-Identifier: Apache-2.0
"""What a report costs the program in instructions, which do not depend on the machine's load.

usage: report_cost_test.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
COUNT = 20_000

# Instructions of one report, the loop around it included. Off is a load, a test and the way there and back through
# the library's table; on copies the record besides, and takes a new piece of memory once in hundreds of records.
MOST_OFF = 20
MOST_ON = 200


def instructions(mode, count):
    """Instructions per report, and how many were refused."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        arguments = [PROGRAM, mode, str(count)] + ([os.path.join(directory, "prof")] if mode == "on" else [])
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=Counted" if mode != "mark" else "--toggle-collect=CountedMarks",
                               *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "NPUPROF_DRAIN": "pwritev"})
        if done.returncode != 0:
            raise AssertionError(f"{mode}: ended with {done.returncode}: {done.stderr}")
        with open(out, encoding="utf-8") as f:
            total = int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M).group(1))
        return total / count, int(done.stdout)


class ReportCost(unittest.TestCase):
    def test_nobody_collects(self):
        each, refused = instructions("off", COUNT)
        print(f"off: {each:.1f} instructions a report")
        self.assertEqual(0, refused)
        self.assertGreater(each, 3, "something was counted")
        self.assertLessEqual(each, MOST_OFF)

    def test_nobody_listens_to_marks(self):
        each, _ = instructions("mark", COUNT)
        print(f"mark, off: {each:.1f} instructions")
        self.assertGreater(each, 3, "something was counted")
        self.assertLessEqual(each, MOST_OFF)

    def test_a_session_runs(self):
        each, refused = instructions("on", COUNT)
        print(f"on: {each:.1f} instructions a report")
        self.assertEqual(0, refused, "a report that is dropped costs otherwise")
        self.assertGreater(each, MOST_OFF, "records were copied")
        self.assertLessEqual(each, MOST_ON)


if __name__ == "__main__":
    unittest.main()
