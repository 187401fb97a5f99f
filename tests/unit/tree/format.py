# SPDX-License-Identifier: Apache-2.0
"""Checks that C and C++ sources of user space are laid out as the nearest .clang-format says.

usage: format.py ROOT

Below kmod/ and uapi/ kernel style holds, which clang-format does not know well enough to be the judge.
"""

import concurrent.futures
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

SOURCES = (".c", ".cc", ".h")
KERNEL_STYLE = ("kmod/", "uapi/")


def sources(paths):
    return sorted(p for p in paths if p.endswith(SOURCES) and not p.startswith(KERNEL_STYLE))


def complaint(root, path):
    """What clang-format would change first in a file, or None."""
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", path], cwd=root, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    first = done.stderr.splitlines()[0] if done.stderr else "clang-format fails without a word"
    return f"{first.split(': error: ')[0]}: run clang-format -i {path}" if ": error: " in first else f"{path}: {first}"


def check(root, paths):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [c for c in pool.map(lambda p: complaint(root, p), paths) if c]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = sources(files(sys.argv[1]))
    try:
        complaints = check(sys.argv[1], paths)
    except FileNotFoundError:
        sys.exit("clang-format is not installed; packaging/packages.txt names it, ./dev installs it")
    for line in complaints:
        print(line)
    print(f"{len(paths)} files checked, {len(complaints)} to be laid out anew")
    sys.exit(1 if complaints or not paths else 0)


if __name__ == "__main__":
    main()
