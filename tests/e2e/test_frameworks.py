# SPDX-License-Identifier: Apache-2.0
"""Frameworks and servers: their orders of calls, checked by what is in the directories."""
import collections
import glob
import json
import os
import shutil
import struct

from harness import BUILD, ClientTest, Profile, rows

LIBRARIES = os.path.join(BUILD, "lib64")
OLD = {"aclprof" + name for name in ("Init", "Start", "Stop", "Finalize", "CreateConfig", "DestroyConfig",
                                     "CreateStepInfo", "GetStepTimestamp", "DestroyStepInfo")}
NEW = {"aclprof" + name for name in ("SetConfig", "GetSupportedFeaturesV2", "RegisterDeviceCallback", "MarkEx")}
TRACK = struct.Struct("<BBHIQQQHHHH")  # one mark of the scheduler's track


def slices(profile, name):
    """All bytes of a file, slice after slice."""
    found = glob.glob(os.path.join(profile.path, name + ".slice_*"))
    found = [path for path in found if not path.endswith(".done")]
    data = b""
    for path in sorted(found, key=lambda path: int(path.rsplit("_", 1)[1])):
        with open(path, "rb") as f:
            data += f.read()
    return data


class Torch(ClientTest):
    def check(self, mode, level=1, **env):
        directory = self.fresh(f"out{len(os.listdir(self.dir))}")
        said = json.loads(self.run_client("torch_order", directory, LIBRARIES, mode, level, **env).stdout)
        self.assertEqual({name: 0 for name in said["codes"]}, said["codes"])
        self.assertLessEqual({"ATTR", "AICORE_SHAPE"}, set(said["features"].split()))
        profile = self.profile_in(directory)
        self.assertTrue(profile.manifest["complete"])
        self.assertEqual(0, profile.lost())
        self.assert_readable(profile)
        self.assertEqual({"ACL_PROF_HOST_SYS": "cpu,mem", "ACL_PROF_SYS_HARDWARE_MEM_FREQ": "50"},
                         profile.manifest["settings"])
        tasks = {d["id"]: (d["tasks"]["started"], d["tasks"]["ended"]) for d in profile.manifest["devices"]}
        self.assertEqual({0: (50, 50), 1: (20, 20)}, tasks)
        table = rows(profile.export()["output"], "op_summary")
        if level > 0:  # names of operators come with level 1
            self.assertEqual({"inside": 50, "second": 20}, dict(collections.Counter(r["Op Name"] for r in table)))
        self.assertEqual(level > 0, any("aic_mac_ratio" in r or "aic_mac_ratio_extra" in r for r in table))
        self.assertEqual(level > 0, profile.rings("task_pmu") != [])
        kinds = {k["kind"]: k["records"] for k in profile.manifest["host"]["kinds"]}
        self.assertEqual(2, kinds["msproftx"], "one range and one mark")
        self.assertGreater(kinds["host_cpu"] * kinds["host_mem"], 0)
        self.assertEqual({0: 0x801, 1: 0x27, 2: 0x12f}[level] | 0x80,
                         int(profile.manifest["data_types"], 16) & {0: 0x9ff, 1: 0x1ff, 2: 0x1ff}[level] & ~0x40)
        return said["from"]

    def test_torch_finds_the_old_functions_in_ascendcl_and_the_new_ones_in_msprofiler(self):
        found = self.check("cold")
        self.assertEqual({"libascendcl.so"}, {found[name] for name in OLD})
        self.assertEqual({"libmsprofiler.so"}, {found[name] for name in NEW})

    def test_torch_at_each_level(self):
        for level in (0, 2):
            for mode in ("cold", "warm"):
                with self.subTest(level=level, mode=mode):
                    self.check(mode, level)

    def test_torch_with_a_preloaded_library(self):
        found = self.check("cold", LD_PRELOAD=os.path.join(LIBRARIES, "libmsprofiler.so"))
        self.assertEqual({"preloaded"}, {found[name] for name in OLD | NEW})

    def test_torch_warms_up_before_the_window(self):
        for preload in ("", os.path.join(LIBRARIES, "libmsprofiler.so")):
            with self.subTest(preload):
                self.check("warm", LD_PRELOAD=preload)


class MindSpore(ClientTest):
    def test_mindspore_marks_its_steps(self):
        steps = 6
        directory = self.fresh("out")
        self.run_client("mindspore_order", directory, LIBRARIES, steps)
        profile = self.profile_in(directory)
        self.assertTrue(profile.manifest["complete"])
        self.assertEqual(0, profile.lost())
        self.assert_readable(profile)
        self.assertEqual({"ACL_PROF_SYS_HARDWARE_MEM_FREQ": "50", "ACL_PROF_SYS_IO_FREQ": "100",
                          "ACL_PROF_SYS_INTERCONNECTION_FREQ": "50", "ACL_PROF_HOST_SYS": "cpu,mem"},
                         profile.manifest["settings"])
        marks = []
        for record in TRACK.iter_unpack(slices(profile, "device_0/data/ts_track.data.0")):
            if record[1] == 10 and record[9] >= 60000:
                marks.append((record[5], record[9], record[4]))
        self.assertEqual([(100 + step, tag) for step in range(steps) for tag in (60000, 60001)],
                         [mark[:2] for mark in marks])
        self.assertEqual(sorted(mark[2] for mark in marks), [mark[2] for mark in marks])
        table = rows(profile.export()["output"], "op_summary")
        self.assertEqual(["conv"] * 7 * steps, [r["Op Name"] for r in table])
        self.assertIn("aic_mac_fp16_ratio", table[0])
        self.assertGreater(len(slices(profile, "device_0/data/hbm.data.0")), 0)


class Server(ClientTest):
    serial = True

    def test_a_server_is_profiled_window_by_window(self):
        threads, windows = 8, 3
        directory = self.fresh("out")
        said = json.loads(self.run_client("server", directory, threads, windows).stdout)
        found = [Profile(path) for path in sorted(glob.glob(os.path.join(directory, "PROF_*")))]
        self.assertEqual(windows, len(found))
        for profile, window in zip(found, said["windows"]):
            self.assertTrue(profile.manifest["complete"])
            self.assertEqual(0, profile.lost())
            self.assert_ring_sums(profile)
            self.assertGreaterEqual(window["inside"], threads)
            self.assertLess(window["touched"], said["requests"])
            # Whole requests are there whole; those cut by the edges of the window may be there in part.
            exported = profile.export()
            table = rows(exported["output"], "op_summary")
            shutil.rmtree(exported["output"])  # the next window's tables go there too
            self.assertGreaterEqual(len(table), 3 * window["inside"])
            self.assertLessEqual(len(table), 3 * window["touched"])
            started = sum(d["tasks"]["started"] for d in profile.manifest["devices"])
            self.assertEqual(started, sum(d["tasks"] for d in exported["devices"]))
            self.assertEqual({"0", "1"}, {r["Device_id"] for r in table})
            # A thread that Start overtakes in the middle of a launch has found reporting off: no operator, no row.
            self.assertGreaterEqual(started, len(table))
            self.assertLessEqual(started, len(table) + 3 * threads)
            texts = collections.Counter()
            data = slices(profile, "host/data/aging.additional.msproftx")
            for at in range(0, len(data), 256):
                texts[data[at + 24 + 76:at + 256].split(b"\0")[0].decode()] += 1
            self.assertEqual({f"request of thread {t}" for t in range(threads)}, set(texts))
            self.assertGreaterEqual(sum(texts.values()), window["inside"])
            self.assertLessEqual(sum(texts.values()), window["touched"])
