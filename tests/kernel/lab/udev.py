# SPDX-License-Identifier: Apache-2.0
"""Debian's udev in a directory, not installed: containers have none."""

import os
import shutil
import subprocess

from apt import Apt, AptError

PACKAGES = ["udev", "systemd-standalone-sysusers"]


def place(directory):
    """Unpacks it where it is not there yet. Returns its root, or why there is none: its suite alone is skipped then."""
    root = os.path.join(directory, "udev-root")
    if not os.path.exists(os.path.join(root, "complete")):
        shutil.rmtree(root, ignore_errors=True)
        try:
            apt = Apt(directory)
            version = apt.newest(PACKAGES[0])["Version"]
            for package in PACKAGES:
                apt.unpack(package, version, root)
        except (AptError, OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(root, ignore_errors=True)
            return f"udev cannot be fetched: {error}".replace("'", "").replace("\n", " ")
        with open(os.path.join(root, "complete"), "w", encoding="utf-8"):
            pass
    return root
