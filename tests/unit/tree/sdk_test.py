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
                     "include/profiling/aprof_pub.h", "include/npusim/npusim.h", "set_env.sh", "bin/npuprof", "bin/msprof", "share/man/man1/msprof.1",
                     "tools/profiler/profiler_tool/analysis/msprof/msprof.py",
                     "lib64/libaclprof.so", "lib64/libmsprofiler.so", "lib64/libprofapi.so",
                     "lib64/libms_tools_ext.so", "include/mstx/ms_tools_ext.h", "include/npuprof/acl_prof_loaded.h", "lib64/libascendcl.so", "lib64/libruntime.so", "lib64/libhccl.so",
                     "python/acl/__init__.py", "python/npuprof/__init__.pyi", "share/npuprof/models/resnet50_b1.json", "share/man/man1/npuprof.1"):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, path)), path)

    def test_is_never_installed_over_the_msprof_of_somebody_else(self):
        os.makedirs(os.path.join(self.prefix, "bin"))
        theirs = os.path.join(self.prefix, "bin", "msprof")
        with open(theirs, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 0\n")
        done = install(self.prefix)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("bin/msprof is not part of npuprof", done.stderr)
        self.assertEqual(os.listdir(self.prefix), ["bin"])

    def test_the_script_beside_msprof_exports_too(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        script = os.path.join(self.prefix, "tools/profiler/profiler_tool/analysis/msprof/msprof.py")
        missing = os.path.join(self.dir.name, "PROF_none")
        done = subprocess.run(["/usr/bin/python3", "-B", script, "export", "db", "-dir=" + missing], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn(missing, done.stdout)

    def test_may_be_installed_again(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        self.assertEqual(install(self.prefix).returncode, 0)

    def test_works_from_where_it_was_moved_to(self):
        self.assertEqual(install(self.prefix).returncode, 0)
        moved = os.path.join(self.dir.name, "else where")
        os.rename(self.prefix, moved)
        program = "import acl, npuprof; print(acl.get_soc_name() is not None, acl.prof.stop(0), callable(npuprof.load))"
        clean = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
        done = subprocess.run(
            ["bash", "-c", f'set -eu; source "$0/set_env.sh"; test "$ASCEND_TOOLKIT_HOME" = "$0"; npuprof --version; '
             f'exec /usr/bin/python3 -B -c "$1"', moved, program], capture_output=True, text=True, env=clean)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:], ["True 0 True"])

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

    def run_clean(self, command, *arguments, **changes):
        """Runs without what the caller's shell knows of another SDK."""
        env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")}
        done = subprocess.run([command, *arguments], capture_output=True, text=True, env={**env, **changes})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def moved_sdk(self):
        """An SDK in a directory that no file in it was made for."""
        self.assertEqual(install(self.prefix).returncode, 0)
        moved = os.path.join(self.dir.name, "moved")
        os.rename(self.prefix, moved)
        return moved

    def write(self, name, content):
        with open(os.path.join(self.dir.name, name), "w", encoding="utf-8") as f:
            f.write(content)
        return f.name

    def test_is_found_by_pkg_config(self):
        sdk = self.moved_sdk()
        search = {"PKG_CONFIG_PATH": os.path.join(sdk, "lib64", "pkgconfig")}
        for package, code in (("aclprof", "aclprofStop(NULL)"), ("npusim", "aclInit(NULL) || aclprofStop(NULL) || aclFinalize()")):
            flags = self.run_clean("pkg-config", "--cflags", "--libs", package, **search).split()
            source = self.write(package + ".c", ('#include "acl/acl.h"\n' if package == "npusim" else "") +
                                f'#include "acl/acl_prof.h"\nint main(void) {{ return {code}; }}\n')
            self.run_clean("cc", source, "-o", source + ".out", *flags)
            self.run_clean(source + ".out", LD_LIBRARY_PATH=os.path.join(sdk, "lib64"))
        self.assertEqual(self.run_clean("pkg-config", "--modversion", "aclprof", **search),
                         self.run_clean("pkg-config", "--modversion", "npusim", **search))

    def test_is_found_by_cmake(self):
        sdk = self.moved_sdk()
        project = os.path.join(self.dir.name, "project")
        os.mkdir(project)
        self.write("project/a.cc", '#include "acl/acl.h"\n#include "acl/acl_prof.h"\n'
                   "int main() { return aclInit(nullptr) || aclprofStop(nullptr) || aclFinalize(); }\n")
        self.write("project/b.c", '#include "acl/acl_prof.h"\nint main(void) { return aclprofStop(NULL); }\n')
        self.write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(p C CXX)\n"
                   "find_package(npuprof 0.1 REQUIRED CONFIG)\nadd_executable(a a.cc)\nadd_executable(b b.c)\n"
                   "target_link_libraries(a npuprof::ascendcl)\ntarget_link_libraries(b npuprof::aclprof)\n")
        build = os.path.join(self.dir.name, "build")
        self.run_clean(CMAKE, "-S", project, "-B", build, "-DCMAKE_PREFIX_PATH=" + sdk)
        self.run_clean(CMAKE, "--build", build)
        for program in ("a", "b"):
            self.run_clean(os.path.join(build, program))

    def test_another_version_is_not_found_by_cmake(self):
        sdk = self.moved_sdk()
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\n"
                   "find_package(npuprof 99.0 CONFIG)\nif(npuprof_FOUND)\n  message(FATAL_ERROR found)\nendif()\n")
        self.run_clean(CMAKE, "-S", self.dir.name, "-B", os.path.join(self.dir.name, "build"), "-DCMAKE_PREFIX_PATH=" + sdk)

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
