# SPDX-License-Identifier: Apache-2.0
"""Bad input is refused with the documented code and one sentence that names the value, and harms nothing."""
import glob
import json
import os
import shutil
import subprocess
import tempfile

from harness import BUILD, CLIENTS, MODELS, NPUPROF, SOURCE, ClientTest, Profile, environment, sanitizers

GOLDEN = os.path.join(SOURCE, "tests", "data", "golden", "min", "PROF_000001_20260101000000123_00012345ABCDEFGH")


def as_nobody():
    """Root may write anywhere; a test of permissions has to be somebody else."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


class Library(ClientTest):
    def refused(self, code, sentence, *arguments):
        done = self.run_client("refusals", *arguments)
        told, _, why = done.stdout.strip().partition(" ")
        self.assertEqual(code, int(told), done.stdout)
        for part in sentence:
            self.assertIn(part, why)
        self.assertEqual(1, len(done.stdout.strip().splitlines()))

    def test_unknown_device(self):
        self.refused(-1, ("99",), "unknown-device")

    def test_path_with_a_forbidden_character(self):
        self.refused(100003, (";",), "path", os.path.join(self.dir, "a;b"))

    def test_path_that_is_a_file(self):
        path = os.path.join(self.dir, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        self.refused(100003, (path,), "path", path)

    def test_path_that_cannot_be_made(self):
        self.refused(100003, ("/proc/nothing",), "path", "/proc/nothing")

    def test_no_and_unknown_data_types(self):
        self.refused(200007, ("0x40000",), "unknown-type", self.dir)
        self.refused(100000, ("77",), "unknown-metrics", self.dir)

    def test_settings(self):
        for text in ("0", "101", "fast", "0050", ""):
            with self.subTest(text):
                self.refused(100010, (text, "100"), "setting", text)

    def test_order_of_calls(self):
        self.refused(100002, (), "init-twice", self.dir)
        self.refused(100000, (), "path-length", self.dir)
        self.refused(100000, (), "destroy-null")
        self.refused(100000, (), "destroy-twice")

    def test_the_runtime_tells_the_published_family(self):
        self.refused(100002, ("EK0002: aclprofInit was called twice",), "init-twice-of-the-runtime", self.dir)

    def test_the_runtime_tells_that_memory_ran_out(self):
        if sanitizers():
            self.skipTest("a sanitizer ends a program that has no memory")
        self.refused(-1, ("EK0201: memory ran out",), "no-memory")

    def test_the_runtime_tells_that_no_thread_could_be_started(self):
        self.refused(500005, ("EK0203: ", "thread could not be started"), "no-thread", self.dir)
        self.assertEqual([], glob.glob(os.path.join(self.dir, "PROF_*")), "a failed start leaves nothing")

    def test_model_with_an_unknown_operator(self):
        with open(os.path.join(MODELS, "resnet50_b1.json"), encoding="utf-8") as f:
            model = json.load(f)
        model["ops"][3]["type"] = "Frobnicate"
        path = os.path.join(self.dir, "model.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(model, f)
        self.refused(100013, ("Frobnicate",), "model", path)


class Unaffected(ClientTest):
    """Whatever profiling meets, the program's output and exit status stay its own."""

    def outcome(self, directory, *arguments, preexec=None, **env):
        done = subprocess.run([os.path.join(CLIENTS, "unaffected"), directory, *arguments], capture_output=True,
                              text=True, env=environment(**env), preexec_fn=preexec, timeout=120, cwd=self.dir, check=False)
        return (done.returncode, done.stdout), done.stderr

    def setUp(self):
        super().setUp()
        self.good, codes = self.outcome(self.fresh("good"))
        self.assertEqual(7, self.good[0], codes)
        self.assertIn("init 0 config 1 start 0 stop 0 destroy 0 finalize 0", codes)

    def test_bad_path(self):
        same, codes = self.outcome(os.path.join(self.dir, "a|b"))
        self.assertEqual(self.good, same)
        self.assertIn("init 100003", codes)

    def test_unknown_device(self):
        same, codes = self.outcome(self.fresh("device"), "99")
        self.assertEqual(self.good, same)
        self.assertIn("config 0", codes)

    def test_read_only_directory(self):
        with tempfile.TemporaryDirectory() as outside:
            os.chmod(outside, 0o755)
            directory = os.path.join(outside, "read-only")
            os.mkdir(directory)
            os.chmod(directory, 0o555)
            same, codes = self.outcome(directory, preexec=as_nobody)
            self.assertEqual(self.good, same, codes)
            self.assertIn("start 100003", codes)
            self.assertIn(directory, codes)
            self.assertEqual([], os.listdir(directory))

    def test_faults_of_the_device(self):
        for fault in ("refuse_start", "drop_irq=3", "stall_drain"):
            with self.subTest(fault):
                same, codes = self.outcome(self.fresh(fault.split("=", maxsplit=1)[0]), NPUSIM_FAULT=fault)
                self.assertEqual(self.good, same, codes)

    def test_device_that_is_reset_or_goes_away(self):
        for fault in ("reset_at", "surprise_remove_at"):
            with self.subTest(fault):
                # The program's own tasks end with the device, so it may fail, but it must end by itself.
                directory = self.fresh(fault)
                outcome, codes = self.outcome(directory, NPUSIM_FAULT=f"{fault}=1")
                self.assertIn(outcome[0], (1, 7), codes)
                profile = self.profile_in(directory)
                self.assert_readable(profile)
                self.assert_ring_sums(profile)

    def test_manifest_tells_when_a_device_lost_its_state(self):
        for fault, cause in (("reset_at", "reset"), ("surprise_remove_at", "removed")):
            with self.subTest(fault):
                directory = self.fresh(fault)
                # It ends because its device does, or survives the moment and runs on long after it.
                done = subprocess.run([os.path.join(CLIENTS, "workload"), directory, "tasks=200000", "single=1", "sync=20",
                                       "cycles=10000"], capture_output=True, text=True, timeout=120, cwd=self.dir, check=False,
                                      env=environment(NPUSIM_FAULT=f"{fault}=50"))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                told = self.profile_in(directory).manifest["devices"][0]["interruptions"]
                self.assertEqual([(1, cause)], [(i["epoch"], i["cause"]) for i in told])


class Command(ClientTest):
    def command(self, *arguments):
        return subprocess.run([NPUPROF, *arguments], capture_output=True, text=True, env=environment(), timeout=120,
                              cwd=self.dir, check=False)

    def refused(self, sentence, *arguments):
        done = self.command(*arguments)
        self.assertNotEqual(0, done.returncode)
        self.assertGreater(done.returncode, 0, "died by a signal")
        self.assertEqual(1, len(done.stderr.strip().splitlines()), done.stderr)
        for part in sentence:
            self.assertIn(part, done.stderr)

    def test_no_prof_directory(self):
        for verb in ("export", "info"):
            with self.subTest(verb):
                self.refused((self.dir,), verb, self.dir)
                self.refused(("/no/such/directory",), verb, "/no/such/directory")
                path = os.path.join(self.dir, "file.txt")
                with open(path, "w", encoding="utf-8") as f:
                    f.write("no profile\n")
                self.refused((path,), verb, path)
                os.remove(path)

    def test_unknown_format_and_output_that_cannot_be_written(self):
        self.refused(("xml", "csv", "json"), "export", GOLDEN, "--format", "xml", "--output", self.dir)
        self.refused(("/proc/nothing",), "export", GOLDEN, "--output", "/proc/nothing")

    def test_corrupted_slice_is_named_and_the_rest_exported(self):
        copy = os.path.join(self.fresh("copy"), os.path.basename(GOLDEN))
        shutil.copytree(GOLDEN, copy)
        name = "device_0/data/stars_soc.data.0.slice_0"
        with open(os.path.join(copy, name), "r+b") as f:
            f.seek(64 * 10)
            f.write(b"\xa5" * 64)
        before = os.path.getmtime(os.path.join(copy, name))
        done = self.command("export", copy, "--output", os.path.join(self.dir, "tables"), "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(1, result["broken_records"])
        self.assertTrue(any("stars_soc.data.0" in w and "640" in w for w in result["warnings"]), result["warnings"])
        self.assertEqual(39, result["rows"]["task_time"])  # its end alone is no task
        self.assertEqual(before, os.path.getmtime(os.path.join(copy, name)))

    def test_broken_metadata_of_a_device_leaves_out_the_device_alone(self):
        copy = os.path.join(self.fresh("copy"), os.path.basename(GOLDEN))
        shutil.copytree(GOLDEN, copy)
        with open(os.path.join(copy, "device_0", "info.json.0"), "w", encoding="utf-8") as f:
            f.write("{")
        done = self.command("export", copy, "--output", os.path.join(self.dir, "some"), "--json")
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertTrue(any("info.json.0" in w for w in json.loads(done.stdout)["warnings"]), done.stdout)
        self.assertEqual(5, json.loads(done.stdout)["rows"]["api_statistic"])
        # With nothing left to export it is an error, and no file is made.
        with open(os.path.join(copy, "host", "info.json"), "w", encoding="utf-8") as f:
            f.write("{")
        output = os.path.join(self.dir, "none")
        self.refused(("info.json",), "export", copy, "--output", output)
        self.assertFalse(os.path.exists(output) and os.listdir(output))

    def test_record_passes_the_exit_status_on(self):
        directory = self.fresh("record")
        done = self.command("record", "-o", directory, "--", os.path.join(CLIENTS, "unaffected"),
                            os.path.join(self.dir, "own"), "99")
        self.assertEqual(7, done.returncode, done.stderr)
        self.assertIn("config 0", done.stderr)
        for path in self.profiles(directory):
            profile = Profile(path)
            self.assert_readable(profile)
            self.assertEqual(0, profile.lost())

    def profiles(self, directory):
        found = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        self.assertNotEqual([], found)
        return found

    def test_a_session_of_the_recorded_program_wins_and_record_says_so(self):
        directory, own = self.fresh("record"), os.path.join(self.dir, "own")
        done = self.command("record", "-o", directory, "--", os.path.join(CLIENTS, "unaffected"), own)
        self.assertEqual(7, done.returncode, done.stderr)
        self.assertIn("init 0 config 1 start 0 stop 0", done.stderr)
        path, = self.profiles(own)
        self.assertIn(f"the program profiled itself; its session is in {path}", done.stderr)
        for whole in [path, *self.profiles(directory)]:
            profile = Profile(whole)
            self.assert_readable(profile)
            self.assertEqual((0, True), (profile.lost(), profile.manifest["complete"]))
