# SPDX-License-Identifier: Apache-2.0
"""Marks and ranges of a program: records of the host, and what the device noted of them."""
import json
import os
import struct

from harness import ACL_API, MSPROFTX, TASK_TIME, ClientTest

MARKER, PUSH_POP, START_END, MARKER_EX = range(4)


class Marks(ClientTest):
    def marked(self, types):
        directory = self.fresh(f"{types:#x}")
        done = self.run_client("marks", directory, f"{types:#x}")
        profile = self.profile_in(directory)
        counts = self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        return json.loads(done.stdout), profile, counts

    def records(self, profile):
        path = os.path.join(profile.path, "host", "data", "aging.additional.msproftx.slice_0")
        with open(path, "rb") as f:
            for _, level, _, thread, length, time, ex, _, magic, tag, process, teller, event, start, end, mark, text in \
                    struct.iter_unpack("<HHIIIQHH4xHHII4xI4x8xQQQ8x4x156s", f.read()):
                self.assertEqual((20500, 232, start, 0x5A5A, 120, thread), (level, length, time, magic, tag, teller))
                self.assertEqual(profile.manifest["pid"], process)
                self.assertEqual(event == MARKER_EX, ex == 1)
                yield event, text.split(b"\0")[0].decode(), thread, start, end, mark

    def test_marks_and_ranges_of_the_host(self):
        returned, profile, _ = self.marked(MSPROFTX)
        self.assertEqual({"pop": -1, "stop": -1, "long": -1, "empty": -1, "null": 100000, "dead": -1}, returned)
        found = {text: (event, thread, start, end, mark) for event, text, thread, start, end, mark in
                 self.records(profile)}
        self.assertEqual({"point": MARKER, "inner": PUSH_POP, "outer": PUSH_POP, "far": START_END, "first": MARKER_EX,
                          "second": MARKER_EX, "third": MARKER_EX}, {text: r[0] for text, r in found.items()})
        self.assertEqual(found["point"][2], found["point"][3])
        _, _, outer, outer_end, _ = found["outer"]
        _, _, inner, inner_end, _ = found["inner"]
        _, thread, far, far_end, _ = found["far"]
        self.assertTrue(far < outer < inner < inner_end < outer_end < far_end)
        self.assertNotEqual(thread, found["point"][1], "the range ended on another thread")
        self.assertEqual([1, 2, 3], [found[text][4] for text in ("first", "second", "third")])

    def test_marks_of_the_device_follow_the_stream(self):
        _, profile, counts = self.marked(MSPROFTX | TASK_TIME)
        self.assertEqual(3, counts["devices"]["0"]["ts_track"])
        data = os.path.join(profile.path, "device_0", "data")
        with open(os.path.join(data, "ts_track.data.0.slice_0"), "rb") as f:
            marks = [(index, model, tag, clock) for kind, clock, index, model, _, _, tag in
                     struct.iter_unpack("<xBxx4xQQQHHH2x", f.read()) if kind == 10]
        self.assertEqual([(1, 0xFFFFFFFF, 11), (2, 0xFFFFFFFF, 11), (3, 0xFFFFFFFF, 11)], [m[:3] for m in marks])
        with open(os.path.join(data, "stars_soc.data.0.slice_0"), "rb") as f:
            ends = sorted(clock for head, clock in struct.iter_unpack("<H6xQ48x", f.read()) if head & 63 == 1)
        self.assertEqual(3, len(ends))
        # Each comes after the kernel that it was put behind, and before the end of the next.
        for mark, end, following in zip((m[3] for m in marks), ends, ends[1:] + [2**63]):
            self.assertTrue(end <= mark < following, (marks, ends))

    def test_without_their_data_type_there_are_none(self):
        returned, _, counts = self.marked(ACL_API)
        self.assertEqual({"stamp": None, "mark": -1}, returned)
        self.assertNotIn("msproftx", counts["host"])
