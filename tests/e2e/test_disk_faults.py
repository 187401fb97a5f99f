# SPDX-License-Identifier: Apache-2.0
"""A disk that does not play along: nothing that was accepted before is lost, the cause is named once, all is readable."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter

from harness import (CLIENTS, DRAIN_PATHS, NPUPROF, ClientTest, Profile, direct_refused, environment, on_drain_paths,
                     on_each_drain_path, rows, uring_refused)

WORK = ("single=1", "sync=20", "cycles=10000")
# Records of the same work may lie on both sides of the moment at which collection ended.
CUT_OFF = ("task-pairs", "pmu-inside-task", "track-inside-api", "node-inside-launch", "flips", "task-track")


def verify(path):
    done = subprocess.run([NPUPROF, "verify", path, "--json"], capture_output=True, text=True, env=environment(), check=False)
    return done.returncode, json.loads(done.stdout)


class FaultTest(ClientTest):
    """Base: what is told of a failure, and what is left."""
    serial = True

    def failing(self, directory, *arguments, **env):
        """Runs a workload whose Stop tells of a failure. Returns its standard error and the profile."""
        done = subprocess.run([os.path.join(CLIENTS, "workload"), directory, *arguments], capture_output=True, text=True,
                              env=environment(**env), timeout=300, cwd=self.dir, check=False)
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertIn("aclprofStop returned 500005", done.stderr)
        return done.stderr, self.profile_in(directory)

    def assert_counted(self, profile):
        """Every record is in the files or counted; what is in the files is whole."""
        self.assert_ring_sums(profile)
        status, found = verify(profile.path)
        self.assertEqual((3, "lossy"), (status, found["state"]), found["problems"])
        self.assertEqual([], [s for f in found["files"] for s in f["slices"] if "problem" in s])
        report = profile.validate(CUT_OFF)
        self.assertEqual([], list(report.lines()))
        self.assertGreater(profile.lost(), 0)
        stored = report.counts["devices"]["0"]
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_log")), stored.get("stars_soc", 0))
        exported = profile.export()
        self.assertEqual(0, exported["broken_records"])
        self.assertEqual(profile.lost(), sum(loss["records"] for loss in exported["losses"]))
        # Dictionaries outlive the rest: what has its launch has its name.
        stored["named"] = min(stored.get("tasks", 0), report.counts["host"].get("task_track", 0)) // 2
        names = {task["kernel_name"] for task in rows(exported["output"], "task_time")[:stored["named"]]}
        self.assertLessEqual(names, {"work"})
        return stored

    def errors(self, profile):
        return [m["text"] for m in profile.manifest["messages"] if m["severity"] == "error"]


class DiskFault(FaultTest):
    @on_each_drain_path
    def test_full_disk_ends_collection_in_order(self, path):
        stderr, profile = self.failing(self.fresh("full"), "tasks=40000", *WORK, NPUPROF_DISK_FAULT="full=4000000",
                                       NPUPROF_STAGING_MB=2, **self.drain(path))
        told = self.errors(profile)
        self.assertEqual(1, len(told), told)
        self.assertIn("is full (No space left on device); collection ends here", told[0])
        self.assertEqual(1, stderr.count("No space left on device"), stderr)
        self.assertTrue(profile.manifest["stopped"])
        self.assertFalse(profile.manifest["complete"])
        stored = self.assert_counted(profile)
        self.assertGreater(stored["stars_soc"], 1000)
        self.assertGreater(stored["named"], 100)

    # Stop waits half a minute for the disk, so not on each path: FaultTest has them.
    def test_write_error_ends_a_file_and_is_named_once(self):
        stderr, profile = self.failing(self.fresh("eio"), "tasks=60000", *WORK, NPUPROF_DISK_FAULT="error=400:60000")
        self.assertEqual(1, len(self.errors(profile)), self.errors(profile))
        self.assertEqual(1, stderr.count("Input/output error"), stderr)
        self.assertGreater(self.assert_counted(profile)["stars_soc"], 100)

    @on_each_drain_path
    def test_passing_errors_and_short_writes_lose_nothing(self, path):
        for name, fault in (("short", "short=4096"), ("passing", "error=100:200")):
            with self.subTest(name):
                model, profile = self.workload(self.fresh(name), "tasks=6000", *WORK, NPUPROF_DISK_FAULT=fault,
                                               **self.drain(path))
                self.assert_whole(model, profile)
                self.assertEqual([], self.errors(profile))

    def test_a_manifest_that_is_not_replaced_is_named_once(self):
        model, profile = self.workload(self.fresh("manifest"), "tasks=6000", *WORK, NPUPROF_DISK_FAULT="error-manifest=0:600000")
        self.assert_whole(model, profile)
        told = self.errors(profile)
        self.assertEqual(1, len(told), told)
        self.assertIn("manifest.json could not be written: Input/output error", told[0])

    def test_a_device_that_is_reset_is_given_back_while_the_disk_stalls(self):
        directory, totals = self.fresh("reset"), os.path.join(self.dir, "totals.json")
        subprocess.run([NPUPROF, "record", "--output", directory, "--", os.path.join(CLIENTS, "plain"), "2000", "1", totals],
                       env=environment(NPUPROF_DISK_FAULT="stall=0:6000"), capture_output=True, timeout=120, cwd=self.dir,
                       check=True)
        profile = self.profile_in(directory)
        with open(totals, encoding="utf-8") as f:
            model = json.load(f)["devices"]
        told = [m["text"] for m in profile.manifest["messages"] if m["severity"] != "info"]
        self.assertEqual([], told, "a device that is not given back is a warning")
        self.assertEqual(model[0]["started"], profile.manifest["devices"][0]["tasks"]["started"])
        self.assertEqual((0, True), (profile.lost(), profile.manifest["complete"]))
        stored = self.assert_readable(profile)["devices"]["0"]
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_log")), stored["stars_soc"])
        self.assertEqual(2 * model[0]["started"], stored["stars_soc"])

    def test_stop_waits_for_a_disk_that_stalls_and_nothing_is_lost(self):
        model, profile = self.workload(self.fresh("stop"), "tasks=500", *WORK, NPUPROF_DISK_FAULT="stall=0:10000")
        window = profile.manifest["window"]
        self.assertLess(window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"], 10**10, "Stop came after the stall")
        self.assert_whole(model, profile)
        self.assertEqual([], self.errors(profile))

    def test_stop_comes_back_from_a_disk_that_never_answers_again(self):
        stderr, profile = self.failing(self.fresh("dead"), "tasks=500", *WORK, NPUPROF_DISK_FAULT="stall=0:86400000")
        self.assertEqual(1, stderr.count("npuprof: a write did not end before the deadline"), stderr)
        self.assertEqual(1, stderr.count("end_info, info.json and the manifest are not written"), stderr)
        self.assertEqual((False, False), (profile.manifest["stopped"], profile.manifest["complete"]), "it is that of the start")

    @on_each_drain_path
    def test_removed_directory_is_named_once_and_harms_nothing(self, path):
        directory = self.fresh("removed")
        with subprocess.Popen([os.path.join(CLIENTS, "workload"), directory, "tasks=200000", *WORK], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment(**self.drain(path))) as process:
            deadline = time.monotonic() + 30
            while not glob.glob(os.path.join(directory, "PROF_*/device_0/data/stars*")) and time.monotonic() < deadline:
                time.sleep(0.05)
            shutil.rmtree(glob.glob(os.path.join(directory, "PROF_*"))[0])
            _, stderr = process.communicate(timeout=120)
        self.assertEqual(1, process.returncode, stderr)
        self.assertEqual(1, stderr.count("No such file or directory"), stderr)
        self.assertIn("aclprofStop returned 500005", stderr)

    def test_a_removed_output_root_is_named_once_and_the_next_session_makes_it_anew(self):
        root = os.path.join(self.dir, "root")
        directory = os.path.join(root, "below")
        os.makedirs(directory)
        with subprocess.Popen([os.path.join(CLIENTS, "workload"), directory, "tasks=200000", *WORK], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment()) as process:
            while not glob.glob(os.path.join(directory, "PROF_*/device_0/data/stars*")) and process.poll() is None:
                time.sleep(0.01)
            while os.path.exists(root):
                shutil.rmtree(root, ignore_errors=True)
            _, stderr = process.communicate(timeout=120)
        self.assertEqual(1, process.returncode, stderr)
        self.assertEqual(1, stderr.count("No such file or directory"), stderr)
        self.assertIn("aclprofStop returned 500005", stderr)
        self.assertFalse(os.path.exists(root), "nobody made it again behind the back of who removed it")
        _, profile = self.workload(directory, "tasks=10")
        self.assertTrue(profile.manifest["complete"])

    def suffered(self, path, fault, seconds):
        """Lets the disk have a fault for so long and kills the process a second after. Returns what had ended before the
        disk came back, and the profile."""
        directory = self.fresh(path)
        with subprocess.Popen([os.path.join(CLIENTS, "forever"), directory, "50", "3000"], stdout=subprocess.PIPE, text=True,
                              env=environment(NPUPROF_DISK_FAULT=f"{fault}=500:{seconds}000", **self.drain(path))) as process:
            process.stdout.readline()
            # The fault counts from somewhere between the start of the process and its first line.
            recovered = time.monotonic() + seconds + 0.5
            time.sleep(recovered + 1 - time.monotonic())
            process.send_signal(signal.SIGKILL)
            lines = [line.split() for line in process.stdout.read().splitlines()]
        accepted = max(int(line[1]) for line in lines if len(line) == 2 and int(line[0]) < recovered * 1e9)
        return accepted, self.profile_in(directory)

    @on_each_drain_path
    def test_what_a_stalled_disk_held_up_is_on_it_a_second_after(self, path):
        accepted, profile = self.suffered(path, "stall", 10)
        info = json.loads(subprocess.run([NPUPROF, "info", "--json", profile.path], capture_output=True, text=True,
                                         env=environment(), check=True).stdout)
        # What is told is the rate at which records come, not that at which a disk catches up on ten seconds of them.
        told = info["stalled_disk"]
        self.assertGreater(told["bytes_per_second"], 0)
        self.assertLess(told["bytes_per_second"], sum(f["bytes"] for f in profile.manifest["files"]) / 2)
        self.assertAlmostEqual(profile.manifest["drain"]["staging_holds_bytes"] / told["bytes_per_second"],
                               told["staging_seconds"], 3)
        counts = profile.validate(CUT_OFF + ("done",)).counts
        self.assertGreaterEqual(counts["devices"]["0"]["tasks"], accepted)
        self.assertGreaterEqual(counts["host"]["task_track"], accepted)
        self.assertEqual(0, profile.lost())
        print(f"shown: {path}: ten seconds without the disk; {accepted} tasks had ended before it came back, a second later "
              f"{counts['devices']['0']['tasks']} are on it; at {told['bytes_per_second']} B/s staging holds "
              f"{told['staging_seconds']:.0f} s, {profile.manifest['drain']['staging_peak_bytes']} B were used")

    def test_what_errors_of_seconds_held_up_is_on_the_disk_a_second_after(self):
        accepted, profile = self.suffered("auto", "error", 3)
        counts = profile.validate(CUT_OFF + ("done",)).counts
        self.assertGreaterEqual(counts["devices"]["0"]["tasks"], accepted)
        self.assertGreaterEqual(counts["host"]["task_track"], accepted)
        self.assertEqual(0, profile.lost())
        self.assertEqual([], self.errors(profile))

    @on_each_drain_path
    def test_what_a_stalled_disk_leaves_no_room_for_is_counted_with_its_cause(self, path):
        model, profile = self.workload(self.fresh("small"), "tasks=60000", *WORK, NPUPROF_DISK_FAULT="stall=0:2500",
                                       NPUPROF_STAGING_MB=1, NPUPROF_HOST_RING_MB=1, NPUPROF_RING_RECORDS=4096,
                                       **self.drain(path))
        self.assertTrue(profile.manifest["complete"])
        self.assert_ring_sums(profile)
        lost = {cause for r in profile.rings("task_log") for cause, n in r["lost_by_cause"].items() if n}
        self.assertLessEqual(lost, {"ring_full", "no_credit"})
        self.assertNotEqual(set(), lost)
        self.assertEqual(2 * model[0]["started"], sum(r["records"] for r in profile.rings("task_log")))
        host = profile.manifest["host"]
        self.assertEqual(sum(k["lost"] for k in host["kinds"]), sum(host["lost_by_cause"].values()))
        counts = profile.validate().counts["devices"]["0"]
        self.assertEqual(sum(r["kept"] for r in profile.rings("task_log")), counts.get("stars_soc", 0))
        causes = Counter()
        for counted in [r["lost_by_cause"] for r in profile.rings()] + [host["lost_by_cause"]]:
            causes.update(counted)
        print(f"shown: {path}: of {sum(r['records'] for r in profile.rings()) + sum(k['records'] + k['lost'] for k in host['kinds'])}"
              f" records {profile.lost()} found no room: {dict(+causes)}")


class ClockStep(FaultTest):
    def stepped(self, step, path):
        """What the model counted and the profile of a window in which the wall clock was set."""
        # Later and longer if a busy machine came to the window only after that moment.
        for after in (700, 2800, 11200):
            model, profile = self.workload(
                self.fresh(f"step{step}after{after}"), f"tasks={12000 * after // 700}", "single=1", "sync=20", "cycles=180000",
                CLOCK_REALTIME_STEP=f"{after}:{step}", NPUPROF_DRAIN=path,
                LD_PRELOAD=os.path.join(CLIENTS, "libclock_step.so"))
            # The kernel's own clock is not set, and tells when the file was made that says when the window began.
            made = os.stat(os.path.join(profile.path, "host", "start_info")).st_mtime
            if abs(profile.manifest["window"]["begin_realtime_us"] / 1e6 - made) < abs(step) / 2:
                return after, model, profile
        return self.fail("the clock was set before each of the windows")

    def test_a_wall_clock_that_is_set_moves_nothing(self):
        for step, path in ((10, "pwritev"), (-10, "direct" if uring_refused() is direct_refused(self.dir) is None else "auto")):
            with self.subTest(step=step, path=path):
                after, model, profile = self.stepped(step, path)
                self.assert_whole(model, profile)
                window = profile.manifest["window"]
                length = (window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"]) / 1000
                self.assertGreater(length, after * 1000, "the clock was set after the run")
                begin = int(profile.metadata("host/start_info")["collectionTimeBegin"])
                self.assertEqual(window["begin_realtime_us"], begin)
                for end in ("host/end_info", "device_0/end_info.0"):
                    passed = int(profile.metadata(end)["collectionTimeEnd"]) - begin
                    self.assertLess(abs(passed - length), 1_000_000, end)


class ManyProcesses(FaultTest):
    def test_sixteen_make_one_output_path_at_once(self):
        output = os.path.join(self.dir, "not", "there", "yet")
        # Each takes one of the ways to disk, where it can.
        running = [subprocess.Popen([os.path.join(CLIENTS, "workload"), output, f"tasks={500 + i}"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    env=environment(NPUPROF_DRAIN=DRAIN_PATHS[i % len(DRAIN_PATHS)]))
                   for i in range(16)]
        results = {}
        for process in running:
            out, err = process.communicate(timeout=300)
            self.assertEqual((0, ""), (process.returncode, err))
            results[process.pid] = json.loads(out)["devices"]
        found = {p.manifest["pid"]: p for p in map(Profile, glob.glob(os.path.join(output, "PROF_*")))}
        self.assertEqual(set(results), set(found))
        self.assertEqual(16, len(os.listdir(output)), "nothing else lies there")
        for i, process in enumerate(running):
            profile = found[process.pid]
            self.assertEqual((0, "complete"), (lambda s, v: (s, v["state"]))(*verify(profile.path)))
            counts = profile.validate()
            self.assertEqual([], list(counts.lines()))
            self.assertEqual((500 + i, 500 + i), (results[process.pid][0]["started"],
                                                  counts.counts["devices"]["0"]["tasks"]))


class SmallFileSystem(FaultTest):
    @on_each_drain_path
    def test_thirty_megabytes_fill_up(self, path):
        way = self.drain(path)
        disk = self.fresh("disk")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", disk], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount a file system of 30 MB: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        if path == "direct" and direct_refused(disk):
            self.skipTest(f"no O_DIRECT on this tmpfs: {direct_refused(disk)}")
        _, profile = self.failing(disk, "tasks=150000", *WORK, NPUPROF_STAGING_MB=4, **way)
        told = self.errors(profile)
        self.assertEqual(1, len(told), told)
        self.assertIn("collection ends here", told[0])
        shutil.copytree(profile.path, os.path.join(self.fresh("copy"), os.path.basename(profile.path)))
        stored = self.assert_counted(Profile(glob.glob(os.path.join(self.dir, "copy", "PROF_*"))[0]))
        self.assertGreater(stored["stars_soc"], 20_000)
        self.assertGreater(stored["named"], 1000)
        print(f"shown: {path}: {stored['stars_soc']} records of the device and {stored['named']} tasks with their names in 30 MB, "
              f"{profile.lost()} records counted as lost")
