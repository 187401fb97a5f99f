# SPDX-License-Identifier: Apache-2.0
"""A long window goes on in directories that each stand alone, and the oldest are removed."""
import glob
import json
import os
import re
import signal
import subprocess
import time

from harness import CLIENTS, NPUPROF, ClientTest, Profile, environment, rows

# The work of one moment may lie on both sides of a border.
BORDER = ("task-pairs", "pmu-inside-task", "track-inside-api", "node-inside-launch", "flips", "task-track")


class Rotation(ClientTest):
    serial = True

    def rotated(self, name, *arguments, **env):
        directory = self.fresh(name)
        done = self.run_client("workload", directory, "single=1", "sync=20", "cycles=90000", *arguments, **env)
        profiles = [Profile(path) for path in sorted(glob.glob(os.path.join(directory, "PROF_*")))]
        return json.loads(done.stdout)["devices"], profiles

    def assert_each_stands_alone(self, profiles):
        kept = 0
        for i, profile in enumerate(profiles):
            verified = subprocess.run([NPUPROF, "verify", profile.path, "--json"], capture_output=True, text=True,
                                      env=environment(), check=False)
            self.assertEqual(0, verified.returncode, verified.stdout)
            self.assert_readable(profile, BORDER)
            self.assertTrue(profile.manifest["complete"])
            output = self.fresh(f"{os.path.basename(profile.path)}.tables")
            exported = json.loads(subprocess.run([NPUPROF, "export", profile.path, "--output", output, "--json"],
                                                 capture_output=True, text=True, env=environment(), check=True).stdout)
            tasks = rows(output, "task_time")
            self.assertEqual(exported["devices"][0]["tasks"], len(tasks))
            # Names come from the directory's own dictionaries.
            self.assertLessEqual({t["kernel_name"] for t in tasks}, {"work", "N/A"})
            unnamed = sum(t["kernel_name"] == "N/A" for t in tasks)
            self.assertLess(unnamed, 100, f"of {len(tasks)} in directory {i}")
            kept += len(tasks)
        return kept

    def assert_chained(self, profiles):
        gaps = []
        for earlier, later in zip(profiles, profiles[1:]):
            said = [m["text"] for m in later.manifest["messages"] if m["text"].startswith("goes on from")]
            self.assertEqual(1, len(said))
            m = re.fullmatch(r"goes on from (PROF_\w+); in between nothing was recorded for ([0-9.]+) ms", said[0])
            self.assertEqual(os.path.basename(earlier.path), m[1])
            gaps.append(float(m[2]))
            told = later.manifest["continues"]
            self.assertEqual((os.path.basename(earlier.path), m[2]), (told["directory"], f"{told['gap_ns'] / 1e6:.3f}"))
            # The gap is all that lies between the windows.
            between = later.manifest["window"]["begin_monotonic_raw_ns"] - earlier.manifest["window"]["end_monotonic_raw_ns"]
            self.assertGreaterEqual(told["gap_ns"], between)
            # And no more: from the moment when the devices of the one stopped to that when those of the other record.
            self.assertLess(told["gap_ns"], sum(self.seconds(p) for p in (earlier, later)) * 1e9 + between)
            self.assertLessEqual(earlier.manifest["window"]["end_monotonic_raw_ns"],
                                 later.manifest["window"]["begin_monotonic_raw_ns"])
        return gaps

    def seconds(self, profile):
        window = profile.manifest["window"]
        return (window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"]) / 1e9

    def test_by_time(self):
        model, profiles = self.rotated("time", "tasks=45000", NPUPROF_ROTATE_SECONDS=1)
        self.assertGreaterEqual(len(profiles), 2)
        gaps = self.assert_chained(profiles)
        self.assertLess(sum(gaps) / 1000, sum(map(self.seconds, profiles)) / 2, "hardly more was recorded than left out")
        self.assertNotIn("continues", profiles[0].manifest)
        kept = self.assert_each_stands_alone(profiles)
        told = sum(d["tasks"]["started"] for p in profiles for d in p.manifest["devices"])
        self.assertEqual(told, kept)
        # What was not recorded fell between two windows, and is no more than the program does in that time. While nothing
        # is recorded it is faster.
        missing = model[0]["started"] - told
        self.assertGreaterEqual(missing, 0)
        rate = max(d["tasks"]["started"] / self.seconds(p) for p in profiles for d in p.manifest["devices"])
        self.assertLessEqual(missing, 3 * rate * sum(gaps) / 1000 + 40 * len(gaps))

    def test_a_task_that_runs_long_does_not_hold_up_the_next_directory(self):
        # One of three and a half seconds at 1.8 GHz, and a new directory each second.
        directory = self.fresh("long")
        self.run_client("workload", directory, "single=1", "tasks=1", "cycles=6300000000",
                        NPUPROF_ROTATE_SECONDS=1)
        profiles = [Profile(path) for path in sorted(glob.glob(os.path.join(directory, "PROF_*")))]
        self.assertGreaterEqual(len(profiles), 3)
        self.assert_chained(profiles)
        first, *later = [p.manifest["devices"][0]["tasks"] for p in profiles]
        self.assertEqual((1, 0, 1), (first["started"], first["ended"], first["straddling_stop"]))
        self.assertEqual({0}, {tasks["started"] for tasks in later})

    def test_a_disk_that_stalls_does_not_leave_a_gap_as_long_as_the_stall(self):
        # The second directory is due while the disk does not answer.
        stall = 4
        directory = self.fresh("stalled")
        self.run_client("workload", directory, "single=1", "tasks=5", "cycles=2520000000", NPUPROF_ROTATE_SECONDS=1,
                        NPUPROF_DISK_FAULT=f"stall=500:{stall}000")
        profiles = [Profile(path) for path in sorted(glob.glob(os.path.join(directory, "PROF_*")))]
        self.assertGreaterEqual(len(profiles), 2)
        gaps = self.assert_chained(profiles)
        self.assertLess(sum(gaps) / 1000, stall / 2)
        self.assertGreater(self.seconds(profiles[0]), stall)
        said = [m["text"] for m in profiles[0].manifest["messages"] if "did not answer when the next directory" in m["text"]]
        self.assertEqual(1, len(said))
        for profile in profiles:
            self.assertTrue(profile.manifest["complete"])

    def test_by_size_with_a_file_and_a_count(self):
        config = os.path.join(self.dir, "npuprof.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write("rotate_mb = 2\nkeep_count = 3\n")
        _, profiles = self.rotated("size", "tasks=36000", NPUPROF_CONFIG=config)
        self.assertLessEqual(len(profiles), 4, "a directory may have been begun after the last look")
        self.assertGreaterEqual(len(profiles), 2)
        index = [int(os.path.basename(p.path).split("_")[1]) for p in profiles]
        self.assertEqual(list(range(index[0], index[0] + len(index))), index)
        self.assertGreater(index[-1], 3, "too few directories to show that old ones go")
        self.assertGreater(index[0], 1, "none was removed")
        self.assert_chained(profiles)
        self.assert_each_stands_alone(profiles)

    def blocks(self, directory):
        return sum(os.lstat(os.path.join(root, name)).st_blocks * 512
                   for root, dirs, files in os.walk(directory) for name in dirs + files)

    def test_by_size_up_to_a_size(self):
        _, profiles = self.rotated("bytes", "tasks=60000", NPUPROF_ROTATE_MB=2, NPUPROF_KEEP_MB=9)
        index = [int(os.path.basename(p.path).split("_")[1]) for p in profiles]
        self.assertEqual(list(range(index[0], index[0] + len(index))), index, "the oldest go first")
        self.assertGreater(index[0], 1, "none was removed")
        self.assertGreater(len(index), 1, "more was removed than had to be")
        # Behind each turn the others are looked at, but the program may have ended behind the last one: those before the last two
        # had room for certain, and none was removed that could have stayed.
        sizes = [self.blocks(p.path) for p in profiles]
        self.assertLessEqual(sum(sizes[:-2]), 9e6)
        self.assertLessEqual(sum(sizes[:-1]), 9e6 + sizes[-2])
        self.assertGreater(sum(sizes[:-1]), 9e6 - 2 * max(sizes) - 1e6)
        self.assert_chained(profiles)

    def test_by_time_up_to_an_age(self):
        _, profiles = self.rotated("age", "tasks=120000", NPUPROF_ROTATE_SECONDS=1, NPUPROF_KEEP_SECONDS=2)
        index = [int(os.path.basename(p.path).split("_")[1]) for p in profiles]
        self.assertEqual(list(range(index[0], index[0] + len(index))), index)
        self.assertGreater(index[0], 1, "none was removed")
        # What stayed had been written within two seconds of the last look, for certain the one behind the last turn but one; times of
        # files count whole seconds.
        begun = profiles[max(0, len(profiles) - 2)].manifest["window"]["begin_monotonic_raw_ns"]
        for profile in profiles[:-2]:
            self.assertLess(begun - profile.manifest["window"]["end_monotonic_raw_ns"], 4.5e9)
        self.assert_chained(profiles)

    def test_what_another_process_writes_stays(self):
        directory = self.fresh("shared")
        with subprocess.Popen([os.path.join(CLIENTS, "forever"), directory, "50", "3000"], stdout=subprocess.PIPE,
                              text=True, env=environment()) as other:
            other.stdout.readline()
            written = glob.glob(os.path.join(directory, "PROF_*"))
            time.sleep(0.1)
            self.run_client("workload", directory, "tasks=60000", "single=1", "sync=20", NPUPROF_ROTATE_MB=2,
                            NPUPROF_KEEP_COUNT=1)
            self.assertEqual(1, len(written))
            mine = set(glob.glob(os.path.join(directory, "PROF_*"))) - set(written)
            self.assertGreater(max(int(os.path.basename(path).split("_")[1]) for path in mine), 2, "nothing was rotated")
            self.assertLessEqual(len(mine), 2, "nothing was removed")
            self.assertTrue(os.path.exists(os.path.join(written[0], "npuprof", "manifest.json")))
            other.send_signal(signal.SIGKILL)
