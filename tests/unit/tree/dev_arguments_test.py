# SPDX-License-Identifier: Apache-2.0
"""The script `dev`: what is wrong with its command line is said before anything is built.

usage: dev_arguments_test.py ROOT
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)


class Dev(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        # Enough for the script to start; whatever it would build fails, and leaves a directory named build.
        self.tree = os.path.join(self.dir.name, "tree")
        os.makedirs(os.path.join(self.tree, "packaging"))
        shutil.copy(os.path.join(ROOT, "dev"), self.tree)
        shutil.copy(os.path.join(ROOT, "packaging", "packages.txt"), os.path.join(self.tree, "packaging"))
        shutil.copytree(os.path.join(ROOT, "tests", "kernel", "lab"), os.path.join(self.tree, "tests", "kernel", "lab"))

    def dev(self, *arguments, **environment):
        done = subprocess.run([os.path.join(self.tree, "dev"), *arguments], capture_output=True, text=True,
                              cwd=self.dir.name, env={**os.environ, "NPUPROF_SKIP_PACKAGES": "1", **environment})
        self.built = os.path.exists(os.path.join(self.tree, "build"))
        return done

    def test_misuse_is_said_before_anything_is_built(self):
        for arguments in (["build", "x"], ["sdk"], ["sdk", ""], ["sdk", "a", "b"], ["sdk", "--asan", "a"],
                          ["sdk", "--frob"], ["demo", "--frob"], ["demo", "a", "b"], ["lab", "nope"],
                          ["lab", "--frob"], ["test", "--frob"], ["test", "-R", "x", "--frob=1"]):
            done = self.dev(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertIn(next((a for a in arguments if a.startswith("--frob")), arguments[0]), done.stderr)
            self.assertFalse(self.built, arguments)

    def test_questions_are_answered_before_anything_is_built(self):
        for arguments, answer in ((["lab", "--list"], "swiotlb"), (["lab", "--help"], "--filter"),
                                  (["demo", "--help"], "usage: ./dev VERB"), (["test", "-h"], "usage: ./dev VERB")):
            done = self.dev(*arguments)
            self.assertEqual(done.returncode, 0, arguments)
            self.assertIn(answer, done.stdout)
            self.assertEqual(done.stderr, "", arguments)
            self.assertFalse(self.built, arguments)

    def test_a_good_command_line_goes_on_to_build(self):
        for arguments in (["test"], ["test", "--asan", "-R", "Ring", "-LE", "lab", "-j2", "--timeout=9"], ["build", "--debug"], ["sdk", "out"], ["lab", "debian", "--filter", "Ring"]):
            shutil.rmtree(os.path.join(self.tree, "build"), ignore_errors=True)
            done = self.dev(*arguments)
            self.assertNotEqual(done.returncode, 0, "there is nothing to build")
            self.assertTrue(self.built, (arguments, done.stderr))

    def test_directories_are_relative_to_where_the_script_was_called(self):
        # A cmake that builds nothing and tells where it is asked to install.
        bin_dir = os.path.join(self.dir.name, "bin")
        os.makedirs(bin_dir)
        with open(os.path.join(bin_dir, "cmake"), "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\n[ "$1" != --install ] || echo "$@"\n')
        os.chmod(os.path.join(bin_dir, "cmake"), 0o755)
        done = self.dev("sdk", "my sdk", PATH=bin_dir + ":" + os.environ["PATH"])
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted = os.path.join(os.path.realpath(self.dir.name), "my sdk")
        with open(os.path.join(self.tree, "build", "release", "install.log"), encoding="utf-8") as f:
            self.assertIn(f"--prefix {wanted}\n", f.read())
        self.assertIn(f"source '{wanted}/set_env.sh'", done.stdout)


if __name__ == "__main__":
    unittest.main()
