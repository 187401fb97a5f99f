# SPDX-License-Identifier: Apache-2.0
"""Boots without the host's files: what goes into their initramfs, and what came back over the console."""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUT = re.compile(r"lab: output (\S+) (\d+)$")


def closure(binary):
    """The binary and every library it needs, as absolute paths on the host."""
    out = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [binary] + re.findall(r"(/\S+) \(0x", out)


def binaries(plan):
    """Programs that the commands of a plan name by absolute path."""
    return sorted({word for word in plan.split() if word.startswith("/") and os.path.isfile(word)})


def files(plan, module):
    """Path in the guest -> content."""
    found = {"/plan": plan.encode()}
    for name, path in (("/npuprof.ko", module), ("/health.sh", os.path.join(HERE, "guest", "health.sh"))):
        with open(path, "rb") as f:
            found[name] = f.read()
    for binary in binaries(plan):
        for path in closure(binary):
            # The loader finds $ORIGIN by the name it was given.
            with open(path, "rb") as f:
                found[os.path.normpath(path)] = f.read()
    return found


def unpack(console, results):
    """Writes NAME.log and NAME.rc of each suite that the console tells of, as a guest with a share does."""
    name, code, lines = None, "", []
    for line in console.splitlines():
        hit = OUTPUT.search(line)
        if hit:
            name, code, lines = hit.group(1), hit.group(2), []
        elif line.endswith("lab: output ends") and name:
            log = name if name == "kmemleak" else name + ".log"
            with open(os.path.join(results, log), "w", encoding="utf-8") as f:
                f.write("\n".join(lines).strip("\n"))
            if name != "kmemleak":
                with open(os.path.join(results, name + ".rc"), "w", encoding="utf-8") as f:
                    f.write(f"{code} 0\n")
            name = None
        elif name:
            lines.append(line)
