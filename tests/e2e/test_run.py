# SPDX-License-Identifier: Apache-2.0
"""The runner of cases tells passed, failed and skipped apart."""
import os
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")
CASES = '''
import unittest
class Some(unittest.TestCase):
    timeout = 7
    def test_good(self):
        pass
    def test_bad(self):
        self.fail("so be it")
    def test_unfit(self):
        self.skipTest("no such device here")
    def test_partly_unfit(self):
        for part in (1, 2):
            with self.subTest(part):
                if part == 2:
                    self.skipTest("no second part")
    def test_unfit_and_bad(self):
        with self.subTest(1):
            self.skipTest("unfit")
        self.fail("and bad")
class Unset(unittest.TestCase):
    serial = True
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("nothing of this works here")
    def test_any(self):
        pass
'''


class Run(unittest.TestCase):
    def run_py(self, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "some_cases.py"), "w", encoding="utf-8") as f:
                f.write(CASES)
            return subprocess.run([sys.executable, "-B", RUN, *arguments], capture_output=True, text=True, cwd=directory,
                                  check=False)

    def test_each_outcome_has_a_status(self):
        for case, status in (("Some.test_good", 0), ("Some.test_bad", 1), ("Some.test_unfit", 77),
                             ("Some.test_partly_unfit", 77), ("Some.test_unfit_and_bad", 1), ("Some.test_none", 1),
                             ("Unset.test_any", 77)):
            with self.subTest(case):
                self.assertEqual(status, self.run_py(f"some_cases.{case}").returncode)

    def test_reason_of_a_skip_is_told_last(self):
        for case, why in (("test_unfit", "no such device here"), ("test_partly_unfit", "no second part")):
            last = self.run_py(f"some_cases.Some.{case}").stdout.strip().splitlines()[-1]
            self.assertTrue(last.startswith("skipped: "), last)
            self.assertIn(why, last)

    def test_list_names_each_case_with_its_limits(self):
        lines = self.run_py("--list", "some_cases").stdout.split("\n")
        self.assertIn("some_cases.Some.test_good 7 0", lines)
        self.assertIn("some_cases.Unset.test_any 120 1", lines)
        self.assertEqual(6, len(lines) - 1)

    def test_module_that_cannot_be_read_is_an_error(self):
        self.assertNotEqual(0, self.run_py("--list", "no_such_cases").returncode)
