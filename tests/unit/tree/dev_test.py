# SPDX-License-Identifier: Apache-2.0
"""./dev fetches what is missing and nothing else, as root, as a user with sudo, and as root on a user's behalf.

A copy of the script runs with a PATH of its own, in which what would change the machine only writes down that it was
called.

usage: dev_test.py ROOT Anybody|AsRoot [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
NOBODY = 65534
TOOLS = ("awk", "bash", "cat", "comm", "cut", "dirname", "echo", "env", "getent", "grep", "id", "mkdir", "nproc", "sed",
         "setpriv", "sh", "sort", "stat", "tr", "xargs")

FAKES = {
    "dpkg-query": '''
for name; do
  case $name in -* | '${'*) continue ;; esac
  if grep -qx "$name" "$STATE/installed"; then echo "installed $name"; else unknown=1; fi
done
exit ${unknown:-0}
''',
    "apt-get": '''
echo "apt-get $* (user $(id -u))" >>"$STATE/log"
[ ! -e "$STATE/broken" ] || exit 0
case " $* " in *" update "*) [ ! -e "$STATE/no-update" ] || exit 100 ;; esac
for name in npm chromium; do
  case " $* " in *" $name "*) [ ! -e "$STATE/no-$name" ] || exit 100 ;; esac
done
case " $* " in *" install "*)
  for name; do
    case $name in -* | install | Dpkg::*) ;; *) echo "$name" >>"$STATE/installed" ;; esac
  done
esac
''',
    "sudo": '''
echo sudo >>"$STATE/log"
exec "$@"
''',
    "npm": "",
    "cmake": '''
echo "cmake $1 (user $(id -u), home $HOME)" >>"$STATE/log"
''',
}


def drop_root():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


class Dev(unittest.TestCase):
    """Base: a tree with the script, and a machine that has one of three packages."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="dev-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.bin, self.tree, self.state = (os.path.join(self.dir, name) for name in ("bin", "tree", "state"))
        for path in (self.bin, os.path.join(self.tree, "packaging"), self.state):
            os.makedirs(path)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.bin, tool))
        for name, text in FAKES.items():
            self.write(os.path.join(self.bin, name), "#!/bin/sh\n" + text, 0o755)
        shutil.copy(os.path.join(ROOT, "dev"), self.tree)
        self.write(os.path.join(self.tree, "packaging", "packages.txt"), "# comment\nalpha\nbeta\ngamma\n")
        page = os.path.join(self.tree, "tools", "npuprof", "page")
        os.makedirs(page)
        self.write(os.path.join(page, "fetch.sh"), '#!/bin/sh\n[ ! -e "$STATE/offline" ] || { echo no network; exit 1; }\n', 0o755)
        self.write(os.path.join(self.state, "installed"), "beta\n")
        self.write(os.path.join(self.state, "log"), "")
        if os.geteuid() == 0:
            for path, folders, files in os.walk(self.dir):
                for entry in [".", *folders, *files]:
                    os.chown(os.path.join(path, entry), NOBODY, NOBODY, follow_symlinks=False)
        self.env = {"PATH": self.bin, "STATE": self.state, "HOME": "/home/caller", "NPUPROF_JOBS": "1"}

    def write(self, path, text, mode=0o644):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def dev(self, *arguments, as_root=False, **env):
        return subprocess.run([os.path.join(self.tree, "dev"), *arguments], capture_output=True, text=True, check=False,
                              env={**self.env, **env}, preexec_fn=None if as_root else drop_root)

    def log(self):
        with open(os.path.join(self.state, "log"), encoding="utf-8") as f:
            return f.read().splitlines()

    def installs(self):
        return [line for line in self.log() if " install " in line]


class Anybody(Dev):
    def test_a_user_gets_what_is_missing_through_sudo_and_is_told(self):
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("installing Debian packages: alpha gamma\n", done.stdout)
        self.assertEqual(1, len(self.installs()))
        self.assertIn("--no-install-recommends alpha gamma ", self.installs()[0])
        self.assertEqual(2, self.log().count("sudo"))  # before update and before install
        self.assertEqual(2, sum(line.startswith("cmake") for line in self.log()))

    def test_a_second_run_fetches_nothing(self):
        self.assertEqual(0, self.dev("build").returncode)
        before = self.log()
        done = self.dev("build")
        self.assertEqual(0, done.returncode)
        self.assertNotIn("packages", done.stdout)
        self.assertEqual(["cmake", "cmake"], [line.split()[0] for line in self.log()[len(before):]])

    def test_without_sudo_the_command_to_run_is_named(self):
        os.remove(os.path.join(self.bin, "sudo"))
        done = self.dev("build")
        self.assertEqual(1, done.returncode)
        self.assertIn("apt-get install --no-install-recommends alpha gamma", done.stderr)
        self.assertEqual([], self.log())

    def test_packages_that_do_not_come_are_named(self):
        self.write(os.path.join(self.state, "broken"), "")
        done = self.dev("build")
        self.assertEqual(1, done.returncode)
        self.assertIn("still missing after installation: alpha gamma", done.stderr)
        self.assertFalse(any(line.startswith("cmake") for line in self.log()))

    def test_packages_are_left_alone_on_request(self):
        self.assertEqual(0, self.dev("build", NPUPROF_SKIP_PACKAGES="1").returncode)
        self.assertEqual(["cmake", "cmake"], [line.split()[0] for line in self.log()])

    def test_npm_is_installed_where_it_is_missing(self):
        os.remove(os.path.join(self.bin, "npm"))
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(2, len(self.installs()))
        self.assertIn("--no-install-recommends npm ", self.installs()[1])

    def test_a_browser_that_does_not_come_is_said_and_the_rest_is_built(self):
        self.write(os.path.join(self.tree, "packaging", "packages.txt"), "alpha\nchromium\n")
        self.write(os.path.join(self.state, "no-chromium"), "")
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(["alpha", "chromium"], [line.split("recommends ")[1].split()[0] for line in self.installs()])
        self.assertIn("chromium could not be installed; what needs it will say so\n", done.stdout)
        self.assertEqual(2, sum(line.startswith("cmake") for line in self.log()))

    def test_what_may_be_missing_needs_neither_root_nor_a_network(self):
        self.write(os.path.join(self.state, "installed"), "alpha\nbeta\ngamma\n")
        os.remove(os.path.join(self.bin, "npm"))
        self.write(os.path.join(self.state, "no-update"), "")
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        os.remove(os.path.join(self.bin, "sudo"))
        self.write(os.path.join(self.state, "installed"), "alpha\nbeta\ngamma\n")
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("not installed, being neither root nor having sudo: npm; what needs it will say so\n", done.stdout)

    def test_a_machine_that_gets_no_npm_builds_without(self):
        os.remove(os.path.join(self.bin, "npm"))
        self.write(os.path.join(self.state, "no-npm"), "")
        self.write(os.path.join(self.state, "offline"), "")
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("npm could not be installed; what needs it will say so\n", done.stdout)
        self.assertEqual(2, sum(line.startswith("cmake") for line in self.log()))

    def test_what_cannot_be_fetched_for_the_page_is_said_and_the_rest_is_built(self):
        self.write(os.path.join(self.state, "offline"), "")
        done = self.dev("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("no network; this build will have no 'npuprof report --html'\n", done.stdout)
        self.assertEqual(2, sum(line.startswith("cmake") for line in self.log()))

    def test_help_and_unknown_verbs_touch_nothing(self):
        for arguments, status in (((), 0), (("help",), 0), (("frobnicate",), 2), (("fuzz",), 2)):
            with self.subTest(arguments):
                self.assertEqual(status, self.dev(*arguments).returncode)
        self.assertEqual([], self.log())


class AsRoot(Dev):
    def test_root_needs_no_sudo(self):
        done = self.dev("build", as_root=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(0, self.log().count("sudo"))
        self.assertTrue(self.installs()[0].endswith("(user 0)"), self.log())

    def test_root_through_sudo_installs_as_root_and_builds_as_the_user(self):
        done = self.dev("build", as_root=True, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER="nobody")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertTrue(self.installs()[0].endswith("(user 0)"), self.log())
        builds = [line for line in self.log() if line.startswith("cmake")]
        self.assertEqual(2, len(builds))
        for line in builds:
            self.assertIn(f"(user {NOBODY}, ", line)
            self.assertNotIn("/home/caller", line)
        for path, _, files in os.walk(os.path.join(self.tree, "build")):
            for entry in [".", *files]:
                self.assertEqual(NOBODY, os.stat(os.path.join(path, entry)).st_uid, entry)

    def test_root_through_sudo_in_a_tree_of_root_stays_root(self):
        os.chown(self.tree, 0, 0)
        self.assertEqual(0, self.dev("build", as_root=True, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY)).returncode)
        self.assertEqual({"(user 0"}, {line[line.index("("):line.index(",")] for line in self.log()
                                      if line.startswith("cmake")})


if __name__ == "__main__":
    if "AsRoot" in sys.argv and os.geteuid() != 0:
        print("skipped: only root can call ./dev as root")
        sys.exit(77)
    unittest.main()
