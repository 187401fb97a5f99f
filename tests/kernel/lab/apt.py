# SPDX-License-Identifier: Apache-2.0
"""Debian packages for the lab, fetched and unpacked but never installed.

The lists and settings are private to the build tree: the kernel of another architecture or of backports can be
looked up without root and without changing what the machine itself installs from.
"""

import fcntl
import glob
import os
import re
import subprocess

RELEASE = "bookworm"


class AptError(Exception):
    pass


class Apt:
    def __init__(self, directory, architectures=("amd64",), backports=False):
        self.architectures = architectures
        self.backports = backports
        # Sets of lists differ by what they hold, so that the common one stays small.
        name = "-".join(architectures) + ("-backports" if backports else "")
        self.root = os.path.join(directory, "apt", name)
        self.debs = os.path.join(directory, "debs")
        self.updated = False

    # ------------------------------------------------------------------------------------- settings

    def _mirrors(self):
        """(uri, suite) of Debian itself as this machine is configured, e.g. with a mirror of its own."""
        out = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                              "Created-By: Packages"], capture_output=True, text=True).stdout
        pairs = []
        for line in out.splitlines():
            uri, suite, component = line.split(" ")
            if component == "main" and suite in (RELEASE, f"{RELEASE}-security", f"{RELEASE}-updates"):
                if (uri, suite) not in pairs:
                    pairs.append((uri, suite))
        if not any(suite == RELEASE for _, suite in pairs):
            pairs = [("http://deb.debian.org/debian", RELEASE),
                     ("http://deb.debian.org/debian-security", f"{RELEASE}-security")]
        if self.backports:
            base = next(uri for uri, suite in pairs if suite == RELEASE)
            pairs.append((base, f"{RELEASE}-backports"))
        return pairs

    def _configure(self):
        for sub in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.root, sub), exist_ok=True)
        with open(os.path.join(self.root, "sources.list"), "w", encoding="utf-8") as f:
            for uri, suite in self._mirrors():
                f.write(f"deb {uri} {suite} main\n")
        names = " ".join(f'"{a}";' for a in self.architectures)
        with open(os.path.join(self.root, "apt.conf"), "w", encoding="utf-8") as f:
            f.write(f'APT::Architecture "{self.architectures[0]}";\n'
                    f"APT::Architectures {{ {names} }};\n"
                    f'APT::Sandbox::User "";\n'
                    f'Acquire::Languages "none";\n'
                    f'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";\n'
                    f'Dir::Etc::sourcelist "{self.root}/sources.list";\n'
                    f'Dir::Etc::sourceparts "-";\n'
                    f'Dir::State::lists "{self.root}/lists";\n'
                    f'Dir::Cache "{self.root}/cache";\n')

    def _run(self, *command, cwd=None):
        env = dict(os.environ, APT_CONFIG=os.path.join(self.root, "apt.conf"), LC_ALL="C")
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd)
        if done.returncode != 0:
            raise AptError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def update(self):
        """Brings the lists up to date; once per object."""
        if self.updated:
            return
        self._configure()
        self._run("apt-get", "-qq", "update")
        self.updated = True

    # --------------------------------------------------------------------------------------- asking

    def records(self, package):
        """All versions of a package as dictionaries, the newest first."""
        self.update()
        records = []
        for text in self._run("apt-cache", "show", package).strip().split("\n\n"):
            records.append(dict(re.findall(r"^([A-Za-z-]+): (.*)$", text, re.M)))
        return records

    def newest(self, package, backports=False):
        """The newest record of a package that comes (or does not come) from backports."""
        fitting = [r for r in self.records(package) if ("~bpo" in r["Version"]) == backports]
        if not fitting:
            raise AptError(f"{package} is not in the package lists" + (" of backports" if backports else ""))
        return fitting[0]

    # -------------------------------------------------------------------------------------- fetching

    def unpack(self, package, version, into):
        """Fetches `package` (name or name:arch) in exactly `version`, checked by apt, and unpacks it."""
        self.update()
        os.makedirs(self.debs, exist_ok=True)
        os.makedirs(into, exist_ok=True)
        name, _, arch = package.partition(":")
        known = os.path.join(self.debs, f"{name}_{version.replace(':', '%3a')}_*.deb")
        have = [p for p in glob.glob(known) if not arch or p.endswith((f"_{arch}.deb", "_all.deb"))]
        if not have:
            self._run("apt-get", "-qq", "download", f"{package}={version}", cwd=self.debs)
            have = [p for p in glob.glob(known) if not arch or p.endswith((f"_{arch}.deb", "_all.deb"))]
        subprocess.run(["dpkg-deb", "-x", have[0], into], check=True)
        # What is unpacked is kept; the archive would only take the same room again.
        os.unlink(have[0])

    def unpack_system(self, packages, root):
        """Unpacks packages of the first architecture with all that they depend on, as if nothing were installed yet."""
        self.update()
        empty = os.path.join(self.root, "status")
        with open(empty, "w", encoding="utf-8"):
            pass
        self._run("apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", "-o", f"Dir::State::status={empty}",
                  "install", *packages)
        # The links that a system has before its first package.
        for name in ("bin", "sbin", "lib"):
            os.makedirs(os.path.join(root, "usr", name), exist_ok=True)
            os.symlink(f"usr/{name}", os.path.join(root, name))
        archives = os.path.join(self.root, "cache", "archives")
        for name in sorted(n for n in os.listdir(archives) if n.endswith(".deb")):
            path = os.path.join(archives, name)
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as deb:
                subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", root], stdin=deb.stdout, check=True)
            if deb.returncode != 0:
                raise AptError(f"{path} cannot be unpacked")
            os.unlink(path)


class Lock:
    """One lab at a time prepares things in a build tree."""

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        self.file = open(os.path.join(directory, "lock"), "w", encoding="utf-8")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        fcntl.flock(self.file, fcntl.LOCK_UN)
