# SPDX-License-Identifier: Apache-2.0
"""What a directory takes on disk: the limit holds all the time, the oldest goes first, readers are told."""
import json
import os
import subprocess
import threading
import time

from harness import CLIENTS, NPUPROF, ClientTest, environment, rows


def blocks_below(path, names=None):
    """Bytes of the disk that everything below a directory takes, itself included. `names` gets the entries."""
    total = 0
    try:
        total += os.lstat(path).st_blocks * 512
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    total += (blocks_below(entry.path, names) if entry.is_dir(follow_symlinks=False)
                              else entry.stat(follow_symlinks=False).st_blocks * 512)
                    if names is not None:
                        names.add(entry.path)
                except FileNotFoundError:
                    pass
    except (FileNotFoundError, NotADirectoryError):
        pass
    return total


def names_below(path):
    return {os.path.join(directory, name) for directory, below, files in os.walk(path) for name in below + files}


class Watcher(threading.Thread):
    """Looks at the PROF directories below a directory all the time.

    A walk takes time: what was removed after it was seen and what came after that were never there together. So a walk
    counts only if a second look finds the same names; files that are there only grow.
    """

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.most, self.looks, self.ended = directory, 0, 0, threading.Event()

    def run(self):
        while not self.ended.is_set():
            for name in os.listdir(self.directory):
                if name.startswith("PROF_"):
                    path, seen = os.path.join(self.directory, name), set()
                    taken = blocks_below(path, seen)
                    if seen == names_below(path):
                        self.most = max(self.most, taken)
                        self.looks += 1
            time.sleep(0.0005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


class StorageLimit(ClientTest):
    serial = True
    timeout = 300
    LIMIT = 20_000_000
    TASKS = 100_000

    def test_limit_holds_and_the_export_says_where_collection_starts(self):
        directory = self.fresh("limited")
        with Watcher(directory) as watcher:
            model, profile = self.workload(directory, f"tasks={self.TASKS}", "cycles=10000", "single=1", "sync=20",
                                           NPUPROF_STORAGE_MB=self.LIMIT // 1_000_000)
        self.assertGreater(watcher.looks, 50)
        self.assertLessEqual(watcher.most, self.LIMIT)
        self.assertGreater(watcher.most, self.LIMIT // 2)
        storage = profile.manifest["storage"]
        self.assertEqual(self.LIMIT, storage["limit_bytes"])
        self.assertLessEqual(storage["used_bytes"], self.LIMIT)
        self.assertTrue(profile.manifest["complete"])
        aged = storage["aged"]
        self.assertGreater(aged["slices"], 0)
        # Rings tell what reached the files; what is there and what was removed adds up to it.
        files = {os.path.basename(f["path"]): f for f in profile.manifest["files"]}
        stars = files["stars_soc.data.0.slice_0"]
        self.assertEqual(2 * model[0]["started"], sum(r["records"] for r in profile.rings("task_log")))
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_log")), stars["records"] + stars["aged_records"])
        self.assertEqual(aged["records"], sum(f.get("aged_records", 0) for f in profile.manifest["files"]))
        self.assertEqual(aged["slices"], sum(f.get("aged_slices", 0) for f in profile.manifest["files"]))
        # At the front, partners may have gone with what was removed; all else is as the format wants it.
        counts = self.assert_readable(profile, ("task-pairs", "pmu-inside-task", "track-inside-api",
                                                "node-inside-launch", "flips"))
        self.assertEqual(stars["records"], counts["devices"]["0"]["stars_soc"])

        exported = profile.export()
        started = exported["aged"]["collection_starts_us"]
        begin = profile.manifest["window"]["begin_realtime_us"]
        self.assertEqual(aged["records"], exported["aged"]["records"])
        self.assertEqual(begin + (aged["complete_from_monotonic_raw_ns"] -
                                  profile.manifest["window"]["begin_monotonic_raw_ns"]) // 1000, started)
        # From that moment on every task has its name, which the host gave it.
        tasks = rows(exported["output"], "task_time")
        later = [t for t in tasks if float(t["task_start(us)"]) > started]
        self.assertGreater(len(later), self.TASKS // 100)
        self.assertEqual(set(), {t["kernel_name"] for t in later} - {"work"})
        with open(os.path.join(exported["output"], "README.txt"), encoding="utf-8") as f:
            self.assertIn("collection starts at ", f.read())
        shown = subprocess.run([NPUPROF, "export", profile.path, "--output", os.path.join(self.dir, "again")],
                               capture_output=True, text=True, env=environment(), check=True).stdout
        self.assertIn("collection starts at ", shown)
        self.assertIn(f"{aged['records']} older records were removed to keep the storage limit of 20 MB", shown)
        info = subprocess.run([NPUPROF, "info", "--json", profile.path], capture_output=True, text=True,
                              env=environment(), check=True).stdout
        self.assertEqual(exported["aged"], json.loads(info)["aged"])

    def test_two_gigabytes_at_full_rate_under_a_limit_of_two_hundred_megabytes(self):
        limit, produced = 200_000_000, 2_000_000_000
        directory = self.fresh("full-rate")
        with Watcher(directory) as watcher:
            model, profile = self.workload(directory, "tasks=4600000", "cycles=1000", "single=1", "set=1:200MB")
        self.assertGreater(watcher.looks, 100)
        self.assertLessEqual(watcher.most, limit)
        self.assertGreater(watcher.most, limit * 3 // 4)
        manifest = profile.manifest
        storage, aged = manifest["storage"], manifest["storage"]["aged"]
        self.assertTrue(manifest["complete"])
        self.assertEqual(limit, storage["limit_bytes"])
        # Written in the end or removed again; and what was not accepted is counted.
        there = sum(f["bytes"] for f in manifest["files"])
        self.assertGreater(there + aged["bytes"], produced)
        self.assert_ring_sums(profile)
        log = profile.rings("task_log")
        self.assertEqual(2 * model[0]["started"], sum(r["records"] for r in log))
        files = {os.path.basename(f["path"]).split(".slice_")[0]: f for f in manifest["files"]}
        stars = files["stars_soc.data.0"]
        self.assertEqual(sum(r["kept"] for r in log), stars["records"] + stars["aged_records"])
        # The newest is there: both halves of the last tasks.
        self.assertGreater(stars["records"], 2 * model[0]["started"] // 20)
        self.assertGreater(files["aging.compact.task_track"]["records"], model[0]["started"] // 20)
        verified = subprocess.run([NPUPROF, "verify", "--json", profile.path], capture_output=True, text=True,
                                  env=environment(), check=False)
        self.assertEqual(3, verified.returncode, verified.stderr)
        found = json.loads(verified.stdout)
        self.assertIn(found["state"], ("aged", "lossy"))
        self.assertEqual([], [s for f in found["files"] for s in f["slices"] if "problem" in s])
        print(f"shown: {there + aged['bytes']} bytes written under a limit of {limit}; at most {watcher.most} were taken in "
              f"{watcher.looks} looks; {profile.lost()} of {sum(r['records'] for r in profile.rings())} records of the device "
              f"and those of the host found no room")

    def test_limit_of_the_interface_reaches_the_writer(self):
        for setting, limit in (("1:200MB", 200_000_000), ("1:", 0)):
            with self.subTest(setting):
                _, profile = self.workload(self.fresh("set" + str(limit)), "tasks=10", "set=" + setting)
                self.assertEqual(limit, profile.manifest["storage"]["limit_bytes"])
                self.assertNotIn("aged", profile.manifest["storage"])
                self.assertAlmostEqual(blocks_below(profile.path), profile.manifest["storage"]["used_bytes"],
                                       delta=100_000)
