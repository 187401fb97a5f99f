# SPDX-License-Identifier: Apache-2.0
"""A full disk is told in one sentence, and harms neither the program nor what was written before."""
import errno
import hashlib
import os
import re
import resource
import shutil
import subprocess

from harness import CLIENTS, NPUPROF, ClientTest, environment


class SmallDisk(ClientTest):
    """Base: a disk of one megabyte."""

    def setUp(self):
        super().setUp()
        self.disk = self.fresh("disk")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.disk], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount a small disk: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)


class Profiling(SmallDisk):
    def test_full_disk_is_told_and_harms_neither_program_nor_what_was_written(self):
        done = subprocess.run([os.path.join(CLIENTS, "workload"), self.disk, "tasks=50000", "cycles=500"],
                              capture_output=True, text=True, env=environment(), timeout=300, cwd=self.dir, check=False)
        self.assertGreaterEqual(done.returncode, 0, "died by a signal")
        self.assertIn("aclprofStop returned 500005", done.stderr)
        self.assertIn("No space left on device", done.stderr)
        profile = self.profile_in(self.disk)
        # What is there is whole; what is not there is counted.
        report = profile.validate()
        self.assertNotIn("slice-records", report.rules())
        self.assertNotIn("host-magic", report.rules())
        self.assertGreater(profile.lost(), 0)
        stored = sum(d.get("stars_soc", 0) for d in report.counts["devices"].values())
        log = profile.rings("task_log")
        self.assertEqual(100_000, sum(r["records"] for r in log))
        self.assertEqual(sum(r["kept"] for r in log), stored)


    def test_a_start_on_a_full_disk_is_told_by_the_runtime_as_such(self):
        with open(os.path.join(self.disk, "everything"), "wb", buffering=0) as f:
            try:
                while f.write(bytes(4096)):
                    pass
            except OSError as e:
                self.assertEqual(errno.ENOSPC, e.errno)
        done = self.run_client("refusals", "path-by-the-runtime", self.disk)
        self.assertIn("100003 EK0204: ", done.stdout)
        self.assertIn("No space left on device", done.stdout)
        self.assertEqual(["everything"], os.listdir(self.disk), "a failed start leaves nothing")


def contents(directory):
    """Every file below a directory with the hash of what it holds, and every directory."""
    found = {}
    for path, folders, files in os.walk(directory):
        found.update({os.path.join(path, name): None for name in folders})
        for name in files:
            with open(os.path.join(path, name), "rb") as f:
                found[os.path.join(path, name)] = hashlib.sha256(f.read()).hexdigest()
    return found


class Exporting:
    """The tables of five thousand tasks need about five megabytes."""

    def setUp(self):
        super().setUp()
        _, self.profile = self.workload(self.fresh("profile"), "tasks=5000")
        self.before = contents(self.profile.path)

    def failing(self, output, why, preexec=None, options=()):
        done = subprocess.run([NPUPROF, "export", self.profile.path, *(("--output", output) if output else ()), *options],
                              capture_output=True, text=True, env=environment(), preexec_fn=preexec,
                              timeout=120, check=False)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertEqual("", done.stdout)
        self.assertEqual(1, len(done.stderr.strip().splitlines()), done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual(self.before, contents(self.profile.path))
        return done.stderr

    def works_after_all(self):
        """What failed for want of room works where there is room, so room was all that was wanting."""
        self.assertEqual(5000, self.profile.export()["rows"]["op_summary"])


class ExportToAFullDisk(Exporting, SmallDisk):
    def test_nothing_is_left_in_a_directory_that_was_made_for_it(self):
        output = os.path.join(self.disk, "deep", "tables")
        self.assertIn(output, self.failing(output, "No space left on device"))
        self.assertEqual({}, contents(self.disk))
        self.works_after_all()

    def test_no_room_for_temporary_files_is_told_before_tables_are_written(self):
        # Of so many tasks more is kept than a megabyte.
        _, self.profile = self.workload(self.fresh("larger"), "tasks=20000")
        self.before = contents(self.profile.path)
        output = os.path.join(self.disk, "tables")
        self.assertIn(f"{output} has no room for", self.failing(output, "No space left on device",
                                                                options=("--memory", "1")))
        self.assertEqual({}, contents(self.disk))

    def test_what_lay_there_before_stays(self):
        with open(os.path.join(self.disk, "op_summary_20200101000000.csv"), "w", encoding="utf-8") as f:
            f.write("of an earlier export")
        before = contents(self.disk)
        self.failing(self.disk, "No space left on device")
        self.assertEqual(before, contents(self.disk))

    def test_a_disk_that_fills_up_late_keeps_no_tables_without_a_timeline(self):
        # Room for all tables but not for the timeline, which is written last.
        sizes = {os.path.basename(path): os.path.getsize(path) for path in self.profile.export()["files"]}
        tables = sum(size for name, size in sizes.items() if name.endswith(".csv"))
        timeline = next(size for name, size in sizes.items() if name.endswith(".json"))
        self.assertLess(tables, timeline)
        subprocess.run(["mount", "-o", f"remount,size={(tables + timeline // 2) // 1024}k", self.disk], check=True)
        self.assertIn("msprof_", self.failing(self.disk, "No space left on device"))
        self.assertEqual({}, contents(self.disk))

    def test_a_profile_on_the_full_disk_itself_is_left_as_it_was(self):
        subprocess.run(["mount", "-o", "remount,size=64m", self.disk], check=True)
        shutil.move(self.profile.path, self.disk)
        self.profile.path = os.path.join(self.disk, os.path.basename(self.profile.path))
        self.before = contents(self.profile.path)
        used = sum(os.path.getsize(path) for path, value in self.before.items() if value)
        subprocess.run(["mount", "-o", f"remount,size={used // 1024 + 1500}k", self.disk], check=True)
        self.failing(None, "No space left on device")


class ExportWithALimitOnFileSizes(Exporting, ClientTest):
    LIMIT = 100_000

    def test_only_what_is_longer_is_missing(self):
        whole = self.by_table(self.profile.export()["files"])
        output = os.path.join(self.dir, "tables")
        done = subprocess.run([NPUPROF, "export", self.profile.path, "--output", output], capture_output=True, text=True,
                              env=environment(), timeout=120, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (self.LIMIT, self.LIMIT)))
        self.assertEqual(1, done.returncode, done.stderr)
        fit = {name: text for name, text in whole.items() if len(text) <= self.LIMIT}
        self.assertTrue(0 < len(fit) < len(whole), {name: len(text) for name, text in whole.items()})
        self.assertEqual(fit, self.by_table(os.path.join(output, name) for name in os.listdir(output)))
        for name in set(whole) - set(fit):
            told = [line for line in (done.stdout + done.stderr).splitlines() if f"/{name}_" in line]
            self.assertTrue(told and all("File too large" in line for line in told), (name, told))
        self.works_after_all()

    @staticmethod
    def by_table(paths):
        """What files hold that are named after the time of the export, by the rest of their names."""
        found = {}
        for path in paths:
            table = re.fullmatch(r"(\w+)_\d{14}\.\w+", os.path.basename(path))
            if table:
                with open(path, "rb") as f:
                    found[table[1]] = f.read()
        return found
