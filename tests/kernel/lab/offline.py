# SPDX-License-Identifier: Apache-2.0
"""Boots without the host's files: what goes into their initramfs, and what came back over the console."""

import glob
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Where the guest has the module.
MODULE = "/npuprof.ko"
# What its first process sources.
SOURCED = ("health.sh", "port.sh")
OUTPUT = re.compile(r"lab: output (\S+) (\d+)$")


def closure(binary):
    """The binary and every library it needs, as absolute paths on the host."""
    out = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [binary] + re.findall(r"(/\S+) \(0x", out)


def stripped(path, root):
    """A program or library without what only a debugger reads: a debug kernel takes long to unpack it."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["aarch64-linux-gnu-strip" if root else "strip", "-o", out.name, path], check=True)
        with open(out.name, "rb") as f:
            return f.read()


def needs(path):
    """What readelf says of a program or library: the loader it asks for, libraries, and where these may be."""
    out = subprocess.run(["readelf", "-dlW", path], capture_output=True, text=True, check=True).stdout
    loader = re.findall(r"program interpreter: (\S+)\]", out)
    places = [place for entry in re.findall(r"R(?:UN)?PATH\) .*\[(.*)\]", out) for place in entry.split(":") if place]
    return loader, re.findall(r"\(NEEDED\) .*\[(.*)\]", out), places


def closure_in(root, binary):
    """As closure(), for a program of another machine, whose system lies in `root`: path in the guest -> file on the host. ldd
    would run it."""
    found, todo = {}, [(binary, binary)]
    while todo:
        inside, file = todo.pop()
        if inside in found:
            continue
        found[inside] = file
        loader, libraries, places = needs(file)
        todo += [(path, root + path) for path in loader]
        for name in libraries:
            own = [f"{place.replace('$ORIGIN', os.path.dirname(inside))}/{name}" for place in places]
            system = [f"/{place}/{name}" for place in glob.glob("usr/lib/*-linux-gnu*", root_dir=root) + ["usr/lib"]]
            candidates = [(path, path) for path in own] + [(path, root + path) for path in system]
            todo.append(next(pair for pair in candidates if os.path.exists(pair[1])))
    return found


def binaries(plan):
    """Programs that the commands of a plan name by absolute path."""
    return sorted({word for word in plan.split() if word.startswith("/") and os.path.isfile(word)})


def files(plan, module, root=None):
    """Path in the guest -> content. `root`: of a system that is not this machine's own."""
    found = {"/plan": plan.encode()}
    for name, path in ((MODULE, module), *((f"/{name}", os.path.join(HERE, "guest", name)) for name in SOURCED)):
        with open(path, "rb") as f:
            found[name] = f.read()
    for binary in binaries(plan):
        needed = closure_in(root, binary) if root else {path: path for path in closure(binary)}
        for path, file in needed.items():
            # The loader finds $ORIGIN by the name it was given.
            found[os.path.normpath(path)] = stripped(file, root)
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
