# SPDX-License-Identifier: Apache-2.0
"""Our package where an acl of somebody else is installed.

usage: vendor_test.py PACKAGES VENDOR BROKEN     (directories for PYTHONPATH)
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGES, VENDOR, BROKEN = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)


def python(program, *path):
    return subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, cwd="/",
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}, check=False)


class Vendor(unittest.TestCase):
    def says(self, program, *path):
        done = python(program, *path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_everything_but_prof_is_the_other_one(self):
        self.assertEqual(self.says("import acl; print(acl.init(), acl.rt.init(), acl.prof.stop(0), hasattr(acl, 'mdl'))",
                                   PACKAGES, VENDOR), ["vendor", "vendor", "0", "False"])

    def test_each_way_of_importing_prof_gives_ours(self):
        for program in ("import acl.prof; p = acl.prof", "from acl import prof as p", "import acl; p = acl.prof",
                        "import acl.prof as p", "import importlib; p = importlib.import_module('acl.prof')"):
            self.assertEqual(self.says(program + "; print(p.stop(0), p.ACL_PROF_TASK_TIME)", PACKAGES, VENDOR), ["0", "2"])

    def test_the_simulated_runtime_stays_out(self):
        maps = "; print(sum('libascendcl' in line or 'libruntime' in line for line in open('/proc/self/maps')) > 0)"
        self.assertEqual(self.says("import acl" + maps, PACKAGES, VENDOR), ["False"])
        self.assertEqual(self.says("import acl" + maps, PACKAGES), ["True"])

    def test_a_session_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            program = (f"import acl\nwith acl.prof.Profile({directory!r}, devices=(), data_types=acl.prof.ACL_PROF_MSPROFTX) as p:\n"
                       "  s = acl.prof.create_stamp(); print(acl.prof.mark(s))\nprint(p.directory)")
            ret, path = self.says(program, PACKAGES, VENDOR)
            self.assertEqual(ret, "0")
            self.assertEqual([os.path.basename(path)], os.listdir(directory))

    def test_another_copy_of_ours_is_no_other(self):
        with tempfile.TemporaryDirectory() as directory:
            shutil.copytree(os.path.join(PACKAGES, "acl"), os.path.join(directory, "acl"))
            program = "import acl; print(acl.rt.get_device_count()[1], acl.__file__)"
            self.assertEqual(self.says(program, PACKAGES, directory), ["0", os.path.join(PACKAGES, "acl", "__init__.py")])

    def test_a_package_of_the_same_name_that_is_no_pyacl_is_left_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "acl"))
            with open(os.path.join(directory, "acl", "__init__.py"), "w", encoding="utf-8") as f:
                f.write("raise RuntimeError('imported')\n")
            self.assertEqual(self.says("import acl; print(acl.rt.get_device_count()[1])", PACKAGES, directory), ["0"])

    def test_one_that_does_not_load_is_named(self):
        done = python("import acl", PACKAGES, BROKEN)
        self.assertNotEqual(done.returncode, 0)
        for words in (BROKEN, "libvendor.so: cannot open", "take its directory out of PYTHONPATH"):
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
