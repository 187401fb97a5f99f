# SPDX-License-Identifier: Apache-2.0
"""Children of a program that is in a window: each profiles its own life on NPUs of its own, and the window is untouched."""
import glob
import os
import struct

from harness import ClientTest, Profile, rows, sanitizers

TASKS = 30
MARK = struct.Struct("<100x156s")


class Forked(ClientTest):
    def names(self, profile):
        return [row["Op Name"] for row in rows(profile.export()["output"], "op_summary")]

    def test_children_profile_their_own_lives_and_the_parent_its_own(self):
        if "thread" in sanitizers():
            self.skipTest("ThreadSanitizer allows no new threads in a child of a process with threads")
        out = self.fresh("out")
        # A child leaves the objects of its parent's session alone, which a leak checker asks about.
        leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if sanitizers() else {}
        done = self.run_client("forked", out, TASKS, **leaks)
        counted = dict(line.split() for line in done.stdout.splitlines())
        # NPUs of each process begin with nothing: no task of another process is in any count.
        self.assertEqual({"ofchild0": str(TASKS), "ofchild1": str(TASKS), "ofparent": "1"}, counted)
        for name in ("child0", "child1"):
            child = self.profile_in(os.path.join(out, name))
            self.assert_readable(child)
            self.assertTrue(child.manifest["complete"])
            self.assertEqual(0, child.lost())
            self.assertEqual([(TASKS, TASKS)], [(d["tasks"]["started"], d["tasks"]["ended"]) for d in child.manifest["devices"]])
            self.assertEqual([f"of{name}"] * TASKS, self.names(child))
        marks, tasks = [Profile(path) for path in sorted(glob.glob(os.path.join(out, "parent", "PROF_*")))]
        for profile in (marks, tasks):
            self.assert_readable(profile)
            self.assertTrue(profile.manifest["complete"])
            self.assertEqual(0, profile.lost())
        self.assertEqual([], marks.manifest["devices"])
        with open(os.path.join(marks.path, "host", "data", "aging.additional.msproftx.slice_0"), "rb") as f:
            texts = [text.split(b"\0")[0].decode() for (text,) in MARK.iter_unpack(f.read())]
        self.assertEqual(["before a child", "before a child", "behind the children"], texts)
        self.assertEqual(["ofparent"], self.names(tasks))
