# SPDX-License-Identifier: Apache-2.0
"""The installed SDK: its shape, and what it is never installed over.

usage: sdk_test.py BUILD_DIR CMAKE
"""

import os
import subprocess
import sys
import tempfile
import unittest

BUILD, CMAKE = sys.argv.pop(1), sys.argv.pop(1)


def install(prefix):
    return subprocess.run([CMAKE, "--install", BUILD, "--strip", "--prefix", prefix], capture_output=True, text=True)


class Sdk(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.prefix = os.path.join(self.dir.name, "sdk")

    def tearDown(self):
        self.dir.cleanup()

    def put_library(self, name, content):
        os.makedirs(os.path.join(self.prefix, "lib64"))
        with open(os.path.join(self.prefix, "lib64", name), "wb") as f:
            f.write(content)

    def test_has_the_shape_of_a_toolkit(self):
        done = install(self.prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in ("include/acl/acl_prof.h", "include/acl/acl.h", "include/profiling/prof_api.h",
                     "include/profiling/aprof_pub.h", "include/npusim/npusim.h", "set_env.sh", "bin/npuprof",
                     "lib64/libaclprof.so", "lib64/libmsprofiler.so", "lib64/libprofapi.so", "lib64/libascendcl.so", "lib64/libruntime.so", "lib64/libhccl.so",
                     "python/acl/__init__.py", "share/npuprof/models/resnet50_b1.json", "share/man/man1/npuprof.1"):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, path)), path)

    def test_may_be_installed_again(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        self.assertEqual(install(self.prefix).returncode, 0)

    def test_works_from_where_it_was_moved_to(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        moved = os.path.join(self.dir.name, "else where")
        os.rename(self.prefix, moved)
        program = "import acl; print(acl.get_soc_name() is not None, acl.prof.stop(0))"
        clean = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
        done = subprocess.run(
            ["bash", "-c", f'set -eu; source "$0/set_env.sh"; test "$ASCEND_TOOLKIT_HOME" = "$0"; npuprof --version; '
             f'exec /usr/bin/python3 -B -c "$1"', moved, program], capture_output=True, text=True, env=clean)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:], ["True 0"])

    def test_compiles_and_runs_a_program_against_headers_and_libraries_alone(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        source = os.path.join(self.dir.name, "a.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write('#include "acl/acl.h"\n#include "acl/acl_prof.h"\n'
                    'int main(void) { return aclInit(NULL) || aclprofStop(NULL) || aclFinalize(); }\n')
        lib = os.path.join(self.prefix, "lib64")
        done = subprocess.run(["cc", "-Wall", "-Werror", "-I", os.path.join(self.prefix, "include"), source, "-o", source + ".out",
                               "-L", lib, "-lascendcl", "-lmsprofiler", "-Wl,-rpath," + lib], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(subprocess.run([source + ".out"]).returncode, 0)

    def test_is_refused_over_a_vendors_runtime(self):
        for name in ("libascendcl.so", "libruntime.so.8", "libmsprofiler.so"):
            with self.subTest(name):
                self.prefix = os.path.join(self.dir.name, name)
                self.put_library(name, b"\x7fELF some vendor's code")
                done = install(self.prefix)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"{name} is not part of npuprof", " ".join(done.stderr.split()))
                self.assertEqual(os.listdir(self.prefix), ["lib64"])
                self.assertEqual(os.listdir(os.path.join(self.prefix, "lib64")), [name])


if __name__ == "__main__":
    unittest.main()
