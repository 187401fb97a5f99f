# SPDX-License-Identifier: Apache-2.0
"""Checks that no file keeps both sides of a merge.

usage: conflicts.py ROOT
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

MARK = re.compile(rb"^(<{7} |>{7} )", re.M)


def unresolved(root, path):
    """The lines of a file at which a side of a merge begins or ends."""
    with open(os.path.join(root, path), "rb") as f:
        text = f.read()
    return [f"{path}:{text.count(bytes([10]), 0, mark.start()) + 1}: a merge was left unresolved" for mark in MARK.finditer(text)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    paths = sorted(files(root))
    complaints = [line for path in paths for line in unresolved(root, path)]
    for line in complaints:
        print(line)
    print(f"{len(paths)} files checked, {len(complaints)} marks of merges")
    sys.exit(1 if complaints or not paths else 0)


if __name__ == "__main__":
    main()
