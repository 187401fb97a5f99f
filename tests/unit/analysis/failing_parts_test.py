# SPDX-License-Identifier: Apache-2.0
"""Every command says by name and by its exit code that a part, a slice or a stretch of slices could not be used.

usage: failing_parts_test.py NPUPROF MSPROF GOLDEN_DIRECTORY
"""
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

NPUPROF, MSPROF, GOLDEN = sys.argv[1:4]
del sys.argv[1:4]
TASK_LOG = "device_1/data/stars_soc.data.1"


class FailingParts(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        prof = glob.glob(os.path.join(GOLDEN, "multi", "PROF_*"))[0]
        self.prof = os.path.join(self.work.name, os.path.basename(prof))
        shutil.copytree(prof, self.prof)
        for directory, _, files in os.walk(self.prof):
            os.chmod(directory, 0o755)
            for name in files:
                os.chmod(os.path.join(directory, name), 0o644)

    def path(self, *parts):
        return os.path.join(self.prof, *parts)

    def run_all(self):
        """Exit code and what was said, by command."""
        out = {}
        output = os.path.join(self.work.name, "out")
        for words in (["export", "--format", "csv", "--output", output], ["export", "--format", "json", "--output", output],
                      ["export", "--format", "perfetto", "--output", output],
                      ["export", "--format", "db", "--output", output],
                      ["export", "--format", "communication", "--output", output],
                      ["export", "--json", "--output", output], ["report"], ["report", "--json"]):
            ran = subprocess.run([NPUPROF, words[0], self.prof, *words[1:]], capture_output=True, text=True, check=False)
            out[" ".join(words)] = ran.returncode, ran.stdout + ran.stderr
            shutil.rmtree(output, ignore_errors=True)
        for words in (["--export=on"], ["--analyze=on"]):
            ran = subprocess.run([MSPROF, *words, f"--output={self.prof}"], capture_output=True, text=True, check=False)
            out[" ".join(words)] = ran.returncode, ran.stdout + ran.stderr
        return out

    def expect_failure(self, *texts):
        for command, (returned, said) in self.run_all().items():
            with self.subTest(command):
                self.assertEqual(returned, 255 if command.startswith("--") else 1, said)
                for text in texts:
                    self.assertIn(text, said)

    def test_a_whole_directory_is_no_failure(self):
        for command, (returned, said) in self.run_all().items():
            with self.subTest(command):
                self.assertEqual(returned, 0, said)

    def test_a_device_without_its_description(self):
        os.remove(self.path("device_1", "info.json.1"))
        self.expect_failure("device_1", "info.json.1")

    def test_a_host_without_its_clock(self):
        os.remove(self.path("host", "host_start.log"))
        self.expect_failure("host_start.log")

    def test_a_slice_of_noise(self):
        size = os.path.getsize(self.path(TASK_LOG + ".slice_0"))
        with open(self.path(TASK_LOG + ".slice_0"), "wb") as f:
            f.write(bytes((i * 7919 >> 3) & 255 for i in range(size)))
        self.expect_failure(TASK_LOG + ".slice_0", "most of its records cannot be read")

    def test_slices_missing_between_others(self):
        with open(self.path(TASK_LOG + ".slice_0"), "rb") as f:
            log = f.read()
        for number, part in ((0, log[:640]), (3, log[1280:])):
            with open(self.path(f"{TASK_LOG}.slice_{number}"), "wb") as f:
                f.write(part)
        self.expect_failure(TASK_LOG, "slices 1 to 2 are missing")

    def test_a_file_that_may_not_grow_costs_itself_alone(self):
        output = os.path.join(self.work.name, "out")
        words = [NPUPROF, "export", self.prof, "--output", output, "--json"]
        made = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["files"]
        sizes = {os.path.basename(path): os.path.getsize(path) for path in made}
        timeline = next(size for name, size in sizes.items() if name.endswith(".json"))
        tables = [size for name, size in sizes.items() if name.endswith(".csv")]
        limit = (max(tables) + timeline) // 2
        self.assertLess(max(tables), limit)
        shutil.rmtree(output)
        ran = subprocess.run(words, capture_output=True, check=False,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        result = json.loads(ran.stdout)
        self.assertEqual([f["tables"] for f in result["failures"]], ["timeline (json)"])
        self.assertEqual(len([f for f in result["files"] if f.endswith(".csv")]), len(tables))
        self.assertEqual(sorted(os.listdir(output)), sorted(os.path.basename(f) for f in result["files"]))

    def test_a_database_that_fails_leaves_the_tables_and_tells_of_them(self):
        ran = subprocess.run([NPUPROF, "export", self.prof, "--format", "csv,db,communication", "--json"], check=False,
                             capture_output=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        result = json.loads(ran.stdout)
        self.assertIn("db", [f["tables"] for f in result["failures"]])
        self.assertTrue(any(f.endswith("communication.json") for f in result["files"]), result["files"])
        for path in result["files"]:
            self.assertTrue(os.path.exists(path), path)

    def test_directories_with_the_names_of_parts_make_no_profile(self):
        os.makedirs(os.path.join(self.work.name, "host"))
        os.makedirs(os.path.join(self.work.name, "device_0"))
        ran = subprocess.run([MSPROF, "--export=on", f"--output={self.work.name}"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertTrue(os.path.isdir(self.path("mindstudio_profiler_output")))

    def test_devices_that_share_a_process_of_the_timeline_are_named(self):
        os.rename(self.path("device_1"), self.path("device_32"))
        for directory, _, files in os.walk(self.path("device_32")):
            for name in files:
                os.rename(os.path.join(directory, name),
                          os.path.join(directory, re.sub(r"\.1(?=$|\.slice_)", ".32", name)))
        ran = subprocess.run([NPUPROF, "export", self.prof, "--format", "json"], capture_output=True, text=True, check=True)
        self.assertIn("device_32: shares its process in the timeline with device 0", ran.stdout)

    def test_the_rest_is_exported_and_failures_are_data(self):
        os.remove(self.path("device_1", "info.json.1"))
        ran = subprocess.run([NPUPROF, "export", self.prof, "--json"], stdout=subprocess.PIPE, check=False)
        result = json.loads(ran.stdout)
        self.assertEqual([f["tables"] for f in result["failures"]], ["device_1"])
        self.assertEqual([d["device"] for d in result["devices"]], [0])
        self.assertGreater(result["rows"]["op_summary"], 0)


if __name__ == "__main__":
    unittest.main()
