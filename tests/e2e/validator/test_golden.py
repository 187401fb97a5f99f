# SPDX-License-Identifier: Apache-2.0
"""The validator passes what the public analysis accepted, counts it, and says so as a command."""
import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
from unittest import mock

from . import __main__ as command
from . import validate
from .damage import Copy, SOC, golden
from .intervals import Intervals


class Golden(unittest.TestCase):
    def test_directories_that_the_public_analysis_read_break_no_rule(self):
        for name in ("min", "full", "multi", "wrap"):
            with self.subTest(name):
                self.assertEqual([], list(validate(golden(name)).lines()))

    def test_counts_tell_what_the_directories_hold(self):
        counts = validate(golden("min")).counts
        self.assertEqual(40, counts["host"]["task_track"])
        self.assertEqual(30, counts["host"]["launches"])
        self.assertEqual((40, 40, 40), tuple(counts["devices"]["0"][k] for k in ("starts", "ends", "tasks")))
        self.assertEqual(0, counts["devices"]["0"]["tasks_without_track"])
        self.assertEqual(4, validate(golden("wrap")).counts["devices"]["0"]["flips"])
        self.assertEqual(135, validate(golden("wrap")).counts["devices"]["0"]["context_pmu"])
        self.assertEqual({"0", "1"}, set(validate(golden("multi")).counts["devices"]))

    def test_each_part_alone_is_a_directory(self):
        for part in ("host", "device_0"):
            copy = Copy(self, "min")
            shutil.rmtree(copy("device_0" if part == "host" else "host"))
            rules = validate(copy.path).rules()
            # Without its device directory a track names a device that is not there.
            self.assertLessEqual(rules, {"ids"} if part == "host" else set())

    def test_no_prof_directory_is_refused_in_one_sentence(self):
        with tempfile.TemporaryDirectory() as d:
            with self.assertRaisesRegex(ValueError, "is no PROF directory"):
                validate(d)
        with self.assertRaisesRegex(ValueError, "is no directory"):
            validate("/no/such/directory")


class Time(unittest.TestCase):
    def test_intervals_are_asked_at_their_edges(self):
        spans = Intervals()
        for pair in ((10, 20), (12, 14), (30, 40)):
            spans.add(*pair)
        self.assertEqual([False, True, True, False], [spans.after_begin(t) for t in (10, 11, 20, 21)])
        self.assertEqual([True, True, False, True], [spans.holds(t) for t in (10, 20, 29, 30)])
        self.assertEqual([True, False, True], [spans.hold(*p) for p in ((13, 18), (18, 31), (30, 40))])
        self.assertEqual([], list(spans.partly_overlapping()))


class Command(unittest.TestCase):
    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch("sys.argv", ["validator", *arguments]), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = command.main()
        return status, out.getvalue(), err.getvalue()

    def test_good_bad_and_no_directory(self):
        self.assertEqual(0, self.run_command(golden("min"))[0])
        copy = Copy(self, "min")
        os.remove(copy(SOC + ".done"))
        status, out, _ = self.run_command(copy.path)
        self.assertEqual(1, status)
        self.assertIn("done: " + SOC, out)
        self.assertEqual(0, self.run_command("--allow", "done", copy.path)[0])
        self.assertEqual(2, self.run_command("/no/such/directory")[0])

    def test_counts_as_json(self):
        status, out, _ = self.run_command("--json", golden("min"))
        self.assertEqual(0, status)
        self.assertEqual((0, 40), (json.loads(out)["findings"], json.loads(out)["counts"]["devices"]["0"]["tasks"]))
