# SPDX-License-Identifier: Apache-2.0
"""One boot of the virtual machine: command line, time limit, how it ended."""

import os
import shutil
import signal
import subprocess
import time

import initramfs

HERE = os.path.dirname(os.path.abspath(__file__))

# -cpu max and the compressed image cost seconds; `-M microvm` hangs for want of a time-stamp reference.
MACHINES = {
    "x86_64": {"binary": "qemu-system-x86_64", "args": ["-M", "q35", "-cpu", "qemu64"], "console": "ttyS0",
               "exit": ["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]},
    "aarch64": {"binary": "qemu-system-aarch64", "args": ["-M", "virt,gic-version=3", "-cpu", "cortex-a57"],
                "console": "ttyAMA0", "exit": []},
}


RUNNING = set()


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_all():
    """Ends every boot in progress, whichever thread waits for it."""
    for process in list(RUNNING):
        end(process)


class Outcome:
    def __init__(self, ended, seconds, console):
        self.ended = ended        # None, or why the boot counts as failed
        self.seconds = seconds
        self.console = console    # text


def command(kernel, directory, tree, config, device):
    """`device`: the shared object with the NPU, or None."""
    machine = MACHINES[kernel.arch]
    root = config.get("root", "/")
    args = [machine["binary"], *(config.get("machine") or machine["args"]), *machine["exit"],
            *config["accel"], "-m", str(config.get("memory", 768)),
            "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
            "-kernel", kernel.image, "-initrd", os.path.join(directory, "initramfs"),
            "-virtfs", f"local,path={root},mount_tag=host,security_model=none,readonly=on,multidevs=remap",
            "-virtfs", f"local,path={directory}/results,mount_tag=results,security_model=none,multidevs=remap",
            "-device", "virtio-serial-pci"]
    if root != "/":
        args += ["-virtfs", f"local,path={tree},mount_tag=tree,security_model=none,readonly=on,multidevs=remap"]
    if device:
        for index in range(config.get("devices", 2)):
            args += ["-device", f"refnpu,index={index},id=npu{index}"]
        args += ["-device", "npusim-port,name=npusim"]
    args += config.get("qemu", [])
    console = [f"console={machine['console']}"]
    if config.get("unlocked_console"):
        # The serial console takes a sleeping lock of PREEMPT_RT's. Where lockdep checks for that, whatever the kernel says
        # in an interrupt is a report, and the last one: lockdep switches itself off. The early console takes no lock.
        console = ["earlycon=uart8250,io,0x3f8,115200n8", "keep_bootcon", "console=tty0",
                   f"lab.tty={machine['console']}"]
    words = [*console, "quiet", "panic=-1", "oops=panic", "loglevel=4", "nokaslr",
             f"lab.tree={tree}", f"lab.exit={'port' if machine['exit'] else 'console'}",
             *(["lab.apart=yes"] if root != "/" else []), *(["lab.port=npusim"] if device else []), *config.get("append", [])]
    return args + ["-append", " ".join(words)]


def code_of(returncode, console):
    """The code with which init left, or None: a crash with panic=-1 -no-reboot ends QEMU with 0."""
    if returncode > 0 and returncode % 2 == 1:
        return (returncode - 1) // 2
    for line in reversed(console.splitlines()):
        if "lab: RESULT " in line:
            return int(line.rsplit(" ", 1)[1])
    return None


def boot(kernel, directory, tree, config, device, limit, files=None):
    """Runs one boot whose plan lies in directory/results/plan. `limit`: seconds. `files`: what an offline guest has
    instead of the host's (offline.py)."""
    if any(c.isspace() for c in directory + tree):
        return Outcome(f"the path '{tree}' has a space, which the guest's command line cannot carry", 0, "")
    modules = []
    if kernel.arch == "aarch64" or kernel.name != "debug":
        modules = initramfs.module_order(kernel.modules(),
                                         initramfs.WANTED_MODULES + config.get("modules", []))
    initramfs.write(os.path.join(directory, "initramfs"),
                    os.path.join(HERE, "guest", "init-offline" if files else "init"),
                    config.get("busybox") or shutil.which("busybox") or "/bin/busybox", modules, files)
    args = command(kernel, directory, tree, config, device)
    env = dict(os.environ)
    if device:
        env["LD_PRELOAD"] = device
    log = os.path.join(directory, "console.log")
    begin = time.monotonic()
    with open(log, "wb") as out, open(os.path.join(directory, "qemu.log"), "wb") as errors:
        errors.write((" ".join(args) + "\n").encode())
        errors.flush()
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=env,
                                   start_new_session=True)
        RUNNING.add(process)
        try:
            process.wait(limit)
            hung = False
        except subprocess.TimeoutExpired:
            hung = True
        finally:
            end(process)
            RUNNING.discard(process)
    seconds = time.monotonic() - begin
    with open(log, encoding="utf-8", errors="replace") as f:
        console = f.read()
    if hung:
        return Outcome(f"the guest did not end within {limit} s", seconds, console)
    code = code_of(process.returncode, console)
    if code == 0:
        return Outcome(None, seconds, console)
    if code is None:
        with open(os.path.join(directory, "qemu.log"), encoding="utf-8", errors="replace") as f:
            said = " ".join(f.read().splitlines()[1:][-3:])
        return Outcome(f"the guest ended without a result (QEMU's exit code {process.returncode}) {said}".strip(),
                       seconds, console)
    return Outcome(f"the guest's set-up failed with {code}", seconds, console)
