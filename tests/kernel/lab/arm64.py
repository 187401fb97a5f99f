# SPDX-License-Identifier: Apache-2.0
"""An arm64 system of Debian's packages in a directory: what programs are cross-built against, and the root of the
guest that runs them. Nothing of it is installed on this machine."""

import os
import shutil
import subprocess

from apt import Apt, AptError
from build import run
from kernels import Unavailable

# What the suites use, and what the tree's libraries and programs are built with.
PACKAGES = ["base-passwd", "bash", "coreutils", "grep", "kmod", "mount", "python3", "busybox-static", "libstdc++6",
            "linux-perf", "udev", "systemd-standalone-sysusers",
            "libc6-dev", "libcli11-dev", "libfmt-dev", "libgtest-dev", "libjpeg62-turbo-dev",
            "libprotozero-dev", "libsqlite3-dev", "liburing-dev", "nlohmann-json3-dev"]

# The least that the suites need.
TARGETS = ["npuprof", "aclprof", "npuprof_conformance", "npuprof_selftest", "npusim_port_guest", "plain", "demo"]
LEFT_OUT = ["NPUPROF_PYTHON_PACKAGE", "NPUPROF_BENCHMARKS"]


def system(directory, tree):
    """Unpacks the system where it is not there yet; returns its root, in which `tree` is a place to mount at."""
    root = os.path.join(directory, "arm64-root")
    stamp = os.path.join(root, "packages")
    wanted = " ".join(PACKAGES)
    if not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != wanted:
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        try:
            Apt(directory, ("arm64",)).unpack_system(PACKAGES, root)
            for name in ("passwd", "group"):   # as when base-passwd is installed
                shutil.copy(f"{root}/usr/share/base-passwd/{name}.master", f"{root}/etc/{name}")
        except (AptError, OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(root, ignore_errors=True)
            raise Unavailable(f"an arm64 system cannot be fetched: {error}") from error
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(wanted)
    os.makedirs(root + tree, exist_ok=True)
    return root


def programs(directory, tree, root, build):
    """Cross-builds what the suites run; returns the build tree. `build`: this machine's, which made the pictures."""
    if shutil.which("aarch64-linux-gnu-g++") is None:
        raise Unavailable("the arm64 compiler (g++-aarch64-linux-gnu) is not installed")
    out = os.path.join(directory, "arm64-build")
    # -U: what an earlier configuration of this directory left out may be wanted now.
    run("configuring for arm64", ["cmake", "-S", tree, "-B", out, "-G", "Ninja", f"-DCMAKE_SYSROOT={root}",
                                  "--toolchain", os.path.join(tree, "cmake", "aarch64.cmake"), "-U", "NPUPROF_*",
                                  *(f"-D{name}=OFF" for name in LEFT_OUT)], out + "-configure.log")
    run("building for arm64", ["cmake", "--build", out, "--target", *TARGETS], out + ".log")
    scenes = "tests/clients/scenes"
    if os.path.isdir(os.path.join(build, scenes)):
        shutil.copytree(os.path.join(build, scenes), os.path.join(out, scenes), dirs_exist_ok=True)
    return out
