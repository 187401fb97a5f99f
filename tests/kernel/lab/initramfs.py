# SPDX-License-Identifier: Apache-2.0
"""Writes the initramfs: busybox, an init, and the modules that reach the host's files."""

import os
import stat

# What init needs before the host's root is there. The rest is loaded from the host's files.
WANTED_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "virtio_console"]


class Cpio:
    """The "newc" format, uncompressed: the guest would unpack it under emulation."""

    def __init__(self, file):
        self.file = file
        self.inode = 0

    def _pad(self):
        self.file.write(b"\0" * (-self.file.tell() % 4))

    def _entry(self, name, mode, data=b"", device=(0, 0)):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(encoded), 0)
        self.file.write(b"070701" + b"".join(b"%08x" % f for f in fields) + encoded)
        self._pad()
        self.file.write(data)
        self._pad()

    def directory(self, name):
        self._entry(name, stat.S_IFDIR | 0o755)

    def regular(self, name, data, mode=0o755):
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def character(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def close(self):
        self._entry("TRAILER!!!", 0)


def module_order(modules, wanted):
    """Files of the wanted modules and what they depend on, in load order. Built-in ones need no file."""
    table = {}
    with open(os.path.join(modules, "modules.dep"), encoding="utf-8") as f:
        for line in f:
            path, _, needs = line.partition(":")
            table[os.path.basename(path).split(".ko")[0]] = (path, needs.split())
    with open(os.path.join(modules, "modules.builtin"), encoding="utf-8") as f:
        builtin = {os.path.basename(line.strip()).removesuffix(".ko") for line in f}
    order = []

    def add(path):
        for need in reversed(table[os.path.basename(path).split(".ko")[0]][1]):
            if need not in order:
                order.append(need)
        if path not in order:
            order.append(path)

    for name in wanted:
        if name in table:
            add(table[name][0])
        elif name not in builtin:
            raise LookupError(f"the kernel in {modules} has no module {name}")
    return [os.path.join(modules, path) for path in order]


def write(out, init, busybox, modules=(), files=None):
    """`modules`: files in load order. `files`: path in the guest -> content."""
    with open(out, "wb") as file:
        cpio = Cpio(file)
        for name in ("bin", "dev", "etc", "proc", "sys", "host", "m", "tree"):
            cpio.directory(name)
        cpio.character("dev/console", 5, 1)
        with open(busybox, "rb") as f:
            cpio.regular("bin/busybox", f.read())
        cpio.link("bin/sh", "busybox")
        with open(init, "rb") as f:
            cpio.regular("init", f.read())
        names = []
        for path in modules:
            names.append(os.path.basename(path))
            with open(path, "rb") as f:
                cpio.regular(f"m/{names[-1]}", f.read())
        cpio.regular("m/order", "".join(n + "\n" for n in names).encode())
        made = set()
        for path, content in sorted((files or {}).items()):
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts)):
                directory = "/".join(parts[:depth])
                if directory not in made and directory not in ("bin", "dev", "etc", "proc", "sys", "m", "tree"):
                    cpio.directory(directory)
                    made.add(directory)
            cpio.regular(path.strip("/"), content)
        cpio.close()
