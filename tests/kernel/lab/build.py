# SPDX-License-Identifier: Apache-2.0
"""What a boot needs from the tree: the module for its kernel, and the NPU as a device of QEMU."""

import filecmp
import os
import shutil
import subprocess

from kernels import Unavailable


class BuildError(Exception):
    pass


def run(what, command, log, env=None):
    with open(log, "wb") as f:
        if subprocess.run(command, stdout=f, stderr=subprocess.STDOUT, env=env).returncode == 0:
            return
    with open(log, encoding="utf-8", errors="replace") as f:
        tail = "".join(f.readlines()[-30:])
    raise BuildError(f"{what} failed (`{' '.join(command)}`, whole output in {log}):\n{tail}")


def _mirror(source, target):
    """Copies what differs, so that make rebuilds no more than it has to, and takes away what is gone."""
    os.makedirs(target, exist_ok=True)
    names = set(os.listdir(source))
    for name in names:
        a, b = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(a):
            _mirror(a, b)
        elif not os.path.exists(b) or not filecmp.cmp(a, b, shallow=False):
            shutil.copy(a, b)
    for name in os.listdir(target):
        if name not in names and name.endswith((".c", ".h", "Makefile", "Kbuild")):
            os.unlink(os.path.join(target, name))


def module(tree, directory, kernel, options=()):
    """Builds npuprof.ko against the headers of `kernel` in a copy of the sources; returns its path."""
    copy = os.path.join(directory, "modules", kernel.name)
    for part in ("kmod", "uapi"):
        _mirror(os.path.join(tree, part), os.path.join(copy, part))
    command = ["make", "-C", os.path.join(copy, "kmod"), f"KDIR={kernel.headers}", "-j", str(os.cpu_count() or 1)]
    if kernel.arch == "aarch64":
        if shutil.which("aarch64-linux-gnu-gcc") is None:
            raise Unavailable("the arm64 compiler (gcc-aarch64-linux-gnu) is not installed")
        command += ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]
    if not kernel.warns():
        command.append(f"KCFLAGS=-include {os.path.join(copy, 'kmod', 'tests', 'warn.h')}")
    run(f"building npuprof.ko for {kernel.version}", command + list(options), copy + ".log")
    return os.path.join(copy, "kmod", "npuprof.ko")


def qemu_device(tree, directory, arch):
    """Builds the shared object with the NPU for the installed QEMU; returns its path."""
    binary = shutil.which(f"qemu-system-{arch}")
    if binary is None:
        raise Unavailable(f"qemu-system-{arch} is not installed")
    out = os.path.join(directory, "qemu")
    os.makedirs(out, exist_ok=True)
    run("building the NPU for QEMU", [os.path.join(tree, "tools/npusim/qemu/build.sh"), out, arch],
         os.path.join(out, f"build-{arch}.log"))
    return os.path.join(out, f"refnpu-qemu-{arch}.so")
