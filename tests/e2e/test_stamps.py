# SPDX-License-Identifier: Apache-2.0
"""Stamps of old clients, and shapes that a program tells by itself: what the files hold."""
import json
import os
import struct

from harness import BUILD, ClientTest


class Stamps(ClientTest):
    def test_stamps_of_the_first_generation(self):
        directory = self.fresh("out")
        done = self.run_client("old_stamps", directory, LD_LIBRARY_PATH=os.path.join(BUILD, "lib64"))
        self.assertEqual({"report": 200006, "differ": True}, json.loads(done.stdout))
        profile = self.profile_in(directory)
        self.assert_readable(profile)
        with open(os.path.join(profile.path, "host", "data", "aging.additional.msproftx.slice_0"), "rb") as f:
            stamps = [(category, event, payload, text.split(b"\0")[0].decode()) for category, event, payload, text in
                      struct.iter_unpack("<44xIII44x156s", f.read())]
        self.assertEqual([(7, 2, 2, "batch"), (0, 0, 0, "")], stamps, "the mark while it was off is not there")
        said = str(profile.manifest["messages"])
        self.assertIn('category 7 of marks is named "loader"', said)
        self.assertIn("1 ranges of aclprofRangeStart were not stopped", said)

    def test_shapes_that_the_program_tells(self):
        directory = self.fresh("out")
        self.run_client("shapes", directory)
        profile = self.profile_in(directory)
        self.assert_readable(profile)
        with open(os.path.join(profile.path, "host", "data", "unaging.additional.hash_dic.slice_0"), encoding="utf-8") as f:
            names = dict(line.rstrip("\n").split(":", 1) for line in f)
        found, times = {}, {}
        with open(os.path.join(profile.path, "host", "data", "aging.additional.tensor_info.slice_0"), "rb") as f:
            for time, name, count, tensors in struct.iter_unpack("<16xQQI220s", f.read()):
                name = names[str(name)]
                times.setdefault(name, set()).add(time)
                self.assertTrue(1 <= count <= 5)
                found.setdefault(name, []).extend(struct.unpack_from("<11I", tensors, 44 * i) for i in range(count))
        self.assertEqual({"outer": [(i == 6, 2, 1, 16, i + 1) + (0,) * 6 for i in range(7)],
                          "inner": [(i == 1, 2, 1, 16, i + 1) + (0,) * 6 for i in range(2)]}, found)
        self.assertEqual({"outer": 1, "inner": 1}, {name: len(t) for name, t in times.items()})
