# SPDX-License-Identifier: Apache-2.0
"""usage: udev.py MODULE TREE UDEV: what packaging/udev makes of the nodes, with a real udev in directory UDEV."""

import ctypes
import glob
import grp
import os
import re
import shutil
import stat
import subprocess
import sys

import npu
from npu import read, wait_for, write

RULES = "/run/udev/rules.d"
NODES = []     # all there are, once the module is loaded
module, tree, udev = sys.argv[1:4]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def udevadm(*words):
    done = run(f"{udev}/bin/udevadm", *words)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def complaints(name):
    """What udev has against a file of rules."""
    said = udevadm("test", "/sys/class/npuprof/npuprof0")
    assert f"{RULES}/{name}" in said, "the file was not read\n" + said
    return [line for line in said.splitlines()
            if re.search(rf"{re.escape(name)}:\d+", line) and re.search("nvalid|nknown|ignoring|ailed|unset", line)]


def make_group():
    """By systemd-sysusers, as on an installed system; the guest's own /etc cannot be written."""
    os.makedirs("/tmp/sysusers/etc")
    for name in ("passwd", "group"):
        shutil.copy(f"/etc/{name}", "/tmp/sysusers/etc")
    with open(f"{tree}/packaging/udev/npuprof.sysusers.conf", encoding="utf-8") as wanted:
        done = subprocess.run([f"{udev}/bin/systemd-sysusers", "--root=/tmp/sysusers", "-"], stdin=wanted,
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    subprocess.run(["mount", "--bind", "/tmp/sysusers/etc/group", "/etc/group"], check=True)


def look(path):
    """(permissions, group) of a node."""
    status = os.stat(path)
    assert stat.S_ISCHR(status.st_mode)
    return stat.S_IMODE(status.st_mode), grp.getgrgid(status.st_gid).gr_name


def may_open(**who):
    script = f"import os\ntry: os.open('{NODES[0]}', os.O_RDWR)\nexcept PermissionError: raise SystemExit(13)"
    return subprocess.run([sys.executable, "-c", script], check=False, **who).returncode


def test_the_group_is_one_of_the_system():
    assert re.search(r"^npuprof:[^:]*:\d+:$", read("/etc/group"), re.M), read("/etc/group")[-300:]
    assert 0 < grp.getgrnam("npuprof").gr_gid < 1000


def expect_as_documented():
    for path in NODES:
        assert look(path) == (0o660, "npuprof"), look(path)
    # On some machines the bus itself has a place, which comes first.
    links = {os.path.realpath(f"/dev/npuprof-by-path/{name}"): re.sub("^platform-.*-(?=pci-)", "", name)
             for name in os.listdir("/dev/npuprof-by-path")}
    slots = {path: f"pci-{os.path.basename(npu.pci(number))}" for number, path in enumerate(NODES)}
    assert links == slots, (links, slots)


def test_a_trigger_gives_nodes_their_group_mode_and_links():
    assert {look(path) for path in NODES} == {(0o600, "root")}, NODES
    udevadm("trigger", "--subsystem-match=npuprof", "--settle")
    expect_as_documented()


def test_the_rules_have_no_mistakes():
    assert complaints("60-npuprof.rules") == []


def test_mistakes_in_rules_are_found():
    rules = read(f"{RULES}/60-npuprof.rules")
    for wrong in (rules.replace('MODE="0660"', 'MOOD="0660"'), rules.replace('GROUP="npuprof"', 'GROUP="nobodys"'),
                  rules.replace('IMPORT{builtin}="path_id"', 'IMPORT{builtin}="path_of_id"')):
        assert wrong != rules
        write(f"{RULES}/61-wrong.rules", wrong)
        try:
            assert complaints("61-wrong.rules"), wrong
        finally:
            os.unlink(f"{RULES}/61-wrong.rules")


def test_members_may_open_and_nobody_else():
    assert may_open(user=65534, group=65534, extra_groups=[grp.getgrnam("npuprof").gr_gid]) == 0
    assert may_open(user=65534, group=65534, extra_groups=[]) == 13


def test_devices_that_come_back_get_the_same():
    subprocess.run(["rmmod", "npuprof"], check=True)
    udevadm("settle")
    assert not os.path.exists("/dev/npuprof-by-path"), os.listdir("/dev/npuprof-by-path")
    npu.load(module)
    for node in NODES:
        wait_for(lambda: os.path.exists(node), node)
    udevadm("settle")
    expect_as_documented()


if __name__ == "__main__":
    if not os.path.isdir(udev):
        npu.main(globals(), udev)
    if ctypes.CDLL(None).inotify_init1(os.O_CLOEXEC) < 0:
        npu.main(globals(), "udev's daemon needs inotify, which this kernel has not (CONFIG_INOTIFY_USER)")
    npu.load(module)
    NODES += sorted(glob.glob("/dev/npuprof[0-9]*"))
    assert len(NODES) >= 2, NODES
    for node in NODES:
        os.chmod(node, 0o600)
    os.makedirs(RULES)
    shutil.copy(f"{tree}/packaging/udev/60-npuprof.rules", RULES)
    make_group()
    subprocess.run(["systemd-udevd", "--daemon"], executable=f"{udev}/bin/udevadm", check=True)
    npu.main(globals())
