# SPDX-License-Identifier: Apache-2.0
"""Kernels to boot and headers to build against, unpacked below build/lab/kernels.

    debian     Debian's linux-image-amd64 and its headers
    arm64      the same for arm64
    rt         headers of linux-headers-rt-amd64 (builds only)
    backport   headers of Debian's backported kernel (builds only)
    debug      a kernel with every checker switched on, built from Debian's linux-source
"""

import os
import re
import shutil
import subprocess

from apt import Apt, AptError


class Unavailable(Exception):
    """Why a kernel cannot be had here; the text goes into the report."""


class Kernel:
    def __init__(self, name, root, version, image, headers, arch="x86_64"):
        self.name = name
        self.root = root          # where the packages are unpacked
        self.version = version    # as uname -r says
        self.image = image        # what QEMU boots; None: headers only
        self.headers = headers    # KDIR
        self.arch = arch

    def warns(self):
        """Whether WARN_ON() says anything on this kernel."""
        with open(os.path.join(self.headers, "include", "generated", "autoconf.h"), encoding="utf-8") as f:
            return "#define CONFIG_BUG 1\n" in f.read()

    def modules(self):
        return os.path.join(self.root, "lib", "modules", self.version)


def depends(record, pattern):
    """(name, version or None) of the dependencies that match."""
    out = []
    for item in record.get("Depends", "").split(","):
        hit = re.match(r"\s*([^\s:(|]+)(?::\w+)?(?:\s*\(>?=\s*([^)]+)\))?", item)
        if hit and re.fullmatch(pattern, hit.group(1)):
            out.append((hit.group(1), hit.group(2)))
    return out


def extract_vmlinux(vmlinuz, out):
    """Boots several seconds faster than the compressed image: no decompression under emulation."""
    with open(vmlinuz, "rb") as f:
        data = f.read()
    start = 0
    while (start := data.find(b"\xfd7zXZ\x00", start)) >= 0:
        done = subprocess.run(["xz", "-dc", "--single-stream"], input=data[start:], capture_output=True)
        if done.stdout.startswith(b"\x7fELF"):
            with open(out, "wb") as f:
                f.write(done.stdout)
            return
        start += 6
    raise Unavailable(f"{os.path.basename(vmlinuz)} holds no kernel compressed with xz")


def relocate_headers(root, headers):
    """Header packages name each other by absolute paths of an installed system."""
    pattern = re.compile(r"(?<![\w/.])/usr/(src|lib)/linux-")
    with open(os.path.join(headers, "Makefile"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(headers, "Makefile"), "w", encoding="utf-8") as f:
        f.write(pattern.sub(rf"{root}/usr/\1/linux-", text))
    source = os.path.join(root, "usr", "src")
    for directory in os.listdir(source):
        for name in os.listdir(os.path.join(source, directory)):
            link = os.path.join(source, directory, name)
            if os.path.islink(link):
                target = os.readlink(link)
                absolute = os.path.normpath(os.path.join(os.path.dirname(link), target))
                if not os.path.exists(link) or absolute.startswith("/usr/"):
                    inside = target if target.startswith("/") else "/" + os.path.relpath(absolute, root)
                    if os.path.exists(root + inside):
                        os.unlink(link)
                        os.symlink(root + inside, link)


def unpack_headers(apt, record, root, arch):
    """Unpacks a linux-headers-<version> with what it is made of; returns KDIR."""
    suffix = "" if arch == "amd64" else f":{arch}"
    name, version = record["Package"], record["Version"]
    apt.unpack(name + suffix, version, root)
    for package, wanted in depends(record, r"linux-(headers|kbuild)-.*"):
        apt.unpack(package + (":amd64" if "kbuild" in package else ""),
                   version if wanted is None or "headers" in package else apt_version(apt, package, version), root)
    headers = os.path.join(root, "usr", "src", name)
    relocate_headers(root, headers)
    return headers


def apt_version(apt, package, version):
    """The version of the build helpers that belongs to a kernel: its own if there is one."""
    versions = [r["Version"] for r in apt.records(package)]
    return version if version in versions else versions[0]


def fetch(directory, name, meta, arch="amd64", backports=False, image=True):
    """Unpacks the kernel that the meta package `meta` names today; what is there already is used as it is."""
    root = os.path.join(directory, "kernels", name)
    stamp = os.path.join(root, "version")
    if not os.path.exists(stamp):
        shutil.rmtree(root, ignore_errors=True)
        apt = Apt(directory, ("amd64",) if arch == "amd64" else ("amd64", arch), backports)
        suffix = "" if arch == "amd64" else f":{arch}"
        try:
            newest = apt.newest(meta.replace("image", "headers") + suffix, backports)
            headers_name, _ = depends(newest, r"linux-headers-\d.*")[0]
            version = headers_name.removeprefix("linux-headers-")
            record = next(r for r in apt.records(headers_name + suffix) if r["Version"] == newest["Version"])
            unpack_headers(apt, record, root, arch)
            if image:
                apt.unpack(f"linux-image-{version}{suffix}", newest["Version"], root)
                subprocess.run(["/sbin/depmod", "-b", root, version], check=True)
        except (AptError, StopIteration, OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(root, ignore_errors=True)
            raise Unavailable(f"{meta} cannot be fetched: {error}") from error
        boot = os.path.join(root, "boot", f"vmlinuz-{version}")
        if image and arch == "amd64":
            extract_vmlinux(boot, os.path.join(root, "vmlinux"))
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(version)
    with open(stamp, encoding="utf-8") as f:
        version = f.read()
    boot = os.path.join(root, "vmlinux" if arch == "amd64" else f"boot/vmlinuz-{version}")
    return Kernel(name, root, version, boot if image else None,
                  os.path.join(root, "usr", "src", f"linux-headers-{version}"),
                  "x86_64" if arch == "amd64" else "aarch64")


def unpacked_headers(place, built):
    """KDIR of a ready debug kernel: the tree it was built in, or the package beside it, unpacked once."""
    tree = os.path.join(place, "headers")
    if os.path.isdir(tree):
        return os.path.realpath(tree)
    package = os.path.join(place, "linux-headers-debug.deb")
    if not os.path.exists(package):
        return None
    stamp = os.path.join(built, "from")
    mark = f"{package} {os.stat(package).st_mtime_ns}"
    if not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != mark:
        shutil.rmtree(built, ignore_errors=True)
        os.makedirs(built)
        subprocess.run(["dpkg-deb", "-x", package, built], check=True)
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(mark)
    source = os.path.join(built, "usr", "src")
    return os.path.join(source, next(n for n in os.listdir(source) if n.startswith("linux-headers-")))


def ready_debug_kernel(directory, source):
    """A debug kernel built before: what NPUPROF_DEBUG_KERNEL names, what build-debug-kernel.sh left, or
    `shared/kernel-debug` beside the tree."""
    built = os.path.join(directory, "kernels", "debug")
    places = [os.environ.get("NPUPROF_DEBUG_KERNEL"), os.path.join(directory, "debug-kernel"),
              os.path.join(os.path.dirname(source), "shared", "kernel-debug")]
    for place in filter(None, places):
        image = os.path.join(place, "bzImage")
        headers = unpacked_headers(place, built) if os.path.exists(image) else None
        if headers is None:
            continue
        with open(os.path.join(headers, "include", "config", "kernel.release"), encoding="utf-8") as f:
            return Kernel("debug", built, f.read().strip(), image, headers)
    raise Unavailable("no debug kernel here: tests/kernel/build-debug-kernel.sh builds one (about a quarter of an "
                      "hour), or NPUPROF_DEBUG_KERNEL names the directory of a ready one")


def get(name, directory, source):
    if name == "debian":
        return fetch(directory, "debian", "linux-image-amd64")
    if name == "arm64":
        return fetch(directory, "arm64", "linux-image-arm64", arch="arm64")
    if name == "rt":
        return fetch(directory, "rt", "linux-headers-rt-amd64", image=False)
    if name == "backport":
        return fetch(directory, "backport", "linux-headers-amd64", backports=True, image=False)
    if name == "debug":
        return ready_debug_kernel(directory, source)
    raise ValueError(f"there is no kernel '{name}'")
