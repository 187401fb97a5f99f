# SPDX-License-Identifier: Apache-2.0
"""Checks that the files below one directory carry the licence which that directory demands: in a line of their own
or, where the format has no comments, in REUSE.toml.

usage: licences.py ROOT TOP    (TOP: a directory directly below ROOT, or "." for the files in ROOT itself)
"""

import fnmatch
import os
import re
import subprocess
import sys
import tomllib

APACHE = "Apache-2.0"
UAPI = "(GPL-2.0 WITH Linux-syscall-note) OR MIT"
CORE = "GPL-2.0-only OR MIT"

# The first pattern that fits decides. fnmatch's * also crosses slashes.
RULES = [
    ("*CMakeLists.txt", APACHE),
    ("*.clang-format", APACHE),
    ("*.py", APACHE),
    ("uapi/*", UAPI),
    ("kmod/core/*", CORE),
    ("kmod/refnpu_regs.h", CORE),
    ("kmod/*", "GPL-2.0-only"),
    ("tools/npusim/model/*", CORE),
    ("tools/npusim/qemu/*", "GPL-2.0-or-later"),
    ("*.bpf.c", "GPL-2.0-only OR BSD-2-Clause"),
    ("*", APACHE),
]

# The layout of the tree. A new directory needs a rule, so it is named here first.
TOPS = {".ci", "LICENSES", "cmake", "docs", "kmod", "libprof", "packaging", "tests", "tools", "uapi"}

# The texts themselves.
EXEMPT = ["LICENSES/*"]
# Files that can carry a line have to; REUSE.toml speaks for the others.
COMMENTED = (".c", ".cc", ".h", ".py", ".sh", ".md", ".cmake", ".yml", ".toml", "CMakeLists.txt")
DATA = "tests/data/"

LINE = re.compile(r"SPDX-License-Identifier:\s*(.*?)\s*(?:\*/|-->)?\s*$")
LICENCE_FILE = {"GPL-2.0": "GPL-2.0-only"}


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, p) for p in patterns)


def demanded(path):
    return next(licence for pattern, licence in RULES if fnmatch.fnmatchcase(path, pattern))


def found(root, path):
    """The licence expression in the first three lines, or None."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        for _ in range(3):
            hit = LINE.search(f.readline())
            if hit:
                return hit.group(1)
    return None


def annotations(root):
    """[(glob, licence)] of REUSE.toml; the last one that fits a file decides."""
    path = os.path.join(root, "REUSE.toml")
    if not os.path.exists(path):
        return []
    with open(path, "rb") as f:
        listed = tomllib.load(f).get("annotations", [])
    globs = [(g, a.get("SPDX-License-Identifier")) for a in listed
             for g in ([a["path"]] if isinstance(a["path"], str) else a["path"])]
    return globs


def fits(path, glob):
    """As REUSE has it: * stays within a directory, ** does not."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.fullmatch("".join({"**": ".*", "*": "[^/]*"}.get(p, re.escape(p)) for p in parts), path) is not None


def annotated(path, globs):
    """The licence that REUSE.toml gives a file without a line of its own, or None."""
    if path.endswith(COMMENTED) and not path.startswith(DATA):
        return None
    hits = [licence for glob, licence in globs if fits(path, glob)]
    return hits[-1] if hits else None


def files(root):
    """Tracked files; without a usable git repository (a source archive) every file outside build trees."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if git.returncode == 0 and git.stdout:
        return [p for p in git.stdout.decode().split("\0") if p and os.path.isfile(os.path.join(root, p))]
    out = []
    for base, dirs, names in os.walk(root):
        dirs[:] = [d for d in dirs if d not in (".git", "__pycache__", "demo-out", "sdk") and not d.startswith("build")]
        out += [os.path.relpath(os.path.join(base, n), root) for n in names]
    return out


def check(root, top):
    """Returns (number of files looked at, list of complaints)."""
    complaints, count = [], 0
    paths, globs = sorted(files(root)), annotations(root)
    if top == ".":
        complaints += [f"REUSE.toml: '{glob}' fits no file" for glob, _ in globs
                       if not any(fits(path, glob) for path in paths)]
    for path in paths:
        if top == "." and "/" in path and path.split("/")[0] not in TOPS:
            complaints.append(f"{path}: '{path.split('/')[0]}' is no directory of the layout")
        if (path.split("/")[0] if "/" in path else ".") != top or matches(path, EXEMPT):
            continue
        count += 1
        licence = found(root, path) or annotated(path, globs)
        want = demanded(path)
        if licence is None:
            complaints.append(f"{path}: no SPDX-License-Identifier in the first three lines, and no annotation in "
                              f"REUSE.toml; it must be '{want}'")
        elif licence != want:
            complaints.append(f"{path}: licence '{licence}'; it must be '{want}'")
        for name in re.findall(r"[A-Za-z0-9.-]+", licence or ""):
            text = LICENCE_FILE.get(name, name)
            if name not in ("OR", "AND", "WITH") and not os.path.isfile(os.path.join(root, "LICENSES", text + ".txt")):
                complaints.append(f"{path}: LICENSES/{text}.txt does not exist")
    return count, complaints


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    count, complaints = check(sys.argv[1], sys.argv[2])
    for line in complaints:
        print(line)
    if count == 0:
        sys.exit(f"no file to check below '{sys.argv[2]}'")
    print(f"{count} files checked, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
