# SPDX-License-Identifier: Apache-2.0
"""Tests of the validator by subject, and that together they have broken every rule.

Run: python3 -m unittest validator.test_validator   (in tests/e2e)
"""
import unittest

from . import test_device_records, test_files, test_golden, test_host_records, test_metadata, test_units
from .damage import broken
from .report import RULES


class EveryRule(unittest.TestCase):
    def test_every_rule_has_failed_once(self):
        self.assertEqual(set(), set(RULES) - broken)


def load_tests(loader, _tests, _pattern):
    """All subjects, and then what only holds after them."""
    suite = unittest.TestSuite()
    for module in (test_golden, test_files, test_metadata, test_host_records, test_device_records, test_units):
        suite.addTests(loader.loadTestsFromModule(module))
    suite.addTests(loader.loadTestsFromTestCase(EveryRule))
    return suite
