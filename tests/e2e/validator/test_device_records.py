# SPDX-License-Identifier: Apache-2.0
"""Rules about records of a device can fail."""
import os
import struct

from . import layout, validate
from .damage import PMU, RuleTest, SOC, TS, broken


class DeviceRecords(RuleTest):
    def test_magic(self):
        copy = self.damage()
        copy.patch(SOC, 2, "<H", 0)
        report = validate(copy.path)
        self.assertEqual({"stars-record", "task-pairs", "pmu-inside-task"}, report.rules())

    def test_unknown_function_and_task_type(self):
        copy = self.damage()
        copy.patch(SOC, 0, "<H", 21 << 10)
        self.breaks(copy, "stars-record")
        copy = self.damage()
        copy.patch(PMU, 0, "<H", 0x2A)
        self.breaks(copy, "stars-record")

    def test_running_counter(self):
        copy = self.damage()
        copy.patch(SOC, 64, "<H", 1 | 5 << 6)
        self.breaks(copy, "running-counter")
        copy = self.damage()
        copy.patch(PMU, 0, "<H", 0x28 | 9 << 6)
        self.breaks(copy, "running-counter")

    def test_running_counter_of_a_file_whose_first_slices_were_deleted(self):
        copy = self.damage()
        os.rename(copy(PMU), copy(PMU.replace("slice_0", "slice_3")))
        os.rename(copy(PMU + ".done"), copy(PMU.replace("slice_0", "slice_3") + ".done"))
        late = PMU.replace("slice_0", "slice_3")
        copy.write(late, copy.read(late)[128:])
        self.assertNotIn("running-counter", validate(copy.path).rules())
        copy.write(late, copy.read(late)[:256] + copy.read(late)[384:])
        self.breaks(copy, "running-counter")

    def test_start_without_end_and_end_without_start(self):
        copy = self.damage()
        copy.write(SOC, copy.read(SOC)[:-64])
        self.breaks(copy, "task-pairs")
        copy = self.damage()
        copy.write(SOC, copy.read(SOC)[64:])
        report = validate(copy.path)
        self.assertLessEqual({"task-pairs", "pmu-inside-task"}, report.rules())
        broken.update(("task-pairs", "pmu-inside-task"))

    def test_counters_outside_their_task(self):
        copy = self.damage()
        end = struct.unpack_from("<Q", copy.read(PMU), 120)[0]
        copy.patch(PMU, 120, "<Q", end + 1_000_000)
        self.breaks(copy, "pmu-inside-task")
        copy = self.damage()
        copy.patch(PMU, 6, "<H", 999)
        self.breaks(copy, "pmu-inside-task")

    def test_big_counter(self):
        copy = self.damage()
        copy.patch(PMU, 48, "<Q", 1 << 53)
        self.breaks(copy, "precision")

    def test_track_tag(self):
        copy = self.damage()
        copy.patch(TS, 1, "<B", 77)
        self.breaks(copy, "ts-track-record")

    def test_flip_missing_on_the_device(self):
        copy = self.damage("wrap")
        copy.write(TS, copy.read(TS)[40:])
        self.breaks(copy, "flips")

    def test_flip_told_differently(self):
        copy = self.damage("wrap")
        copy.patch(TS, 18, "<H", 5)
        self.breaks(copy, "flips")

    def test_time_far_from_the_collection(self):
        copy = self.damage()
        copy.patch(TS, 8, "<Q", 1)
        self.breaks(copy, "clock-range")

    def test_other_kinds(self):
        copy = self.damage("full")
        copy.patch("device_0/data/stars_soc_profile.data.0.slice_0", 2, "<H", 0)
        self.assertIn("stars-record", validate(copy.path).rules())
        copy = self.damage("full")
        copy.patch("device_0/data/lpmFreqConv.data.0.slice_0", 0, "<I", 56)
        self.breaks(copy, "host-payload")
        copy = self.damage("multi")
        copy.patch("device_0/data/aicpu.data.0.slice_0", 0, "<H", 0)
        self.breaks(copy, "host-magic")
        copy = self.damage("multi")
        copy.patch("device_0/data/aicpu.data.0.slice_0", 2, "<H", 5000)
        self.breaks(copy, "host-level")

    def test_ids_ride_in_each_others_high_bits(self):
        self.assertEqual((3, 70), layout.resolve_ids(3, 70))
        self.assertEqual((3, 0x2046), layout.resolve_ids(0x3003, 0x46))
        self.assertEqual((5, 0xF123), layout.resolve_ids(0x2123, 0xF005))
        self.assertEqual((0x1234, 9), layout.resolve_expanded_ids(0x1234, 9, 0))
        self.assertEqual((9, 0x1234), layout.resolve_expanded_ids(0x9234, 9, 0))
        self.assertEqual((0x1234, 9), layout.resolve_expanded_ids(0x9234, 9, 4))
