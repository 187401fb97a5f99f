# SPDX-License-Identifier: Apache-2.0
"""Checks that a reader finds a README.md in each directory with sources, or in one further up inside its part of the tree.

usage: readmes.py ROOT
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

SOURCES = (".c", ".cc", ".h", ".py", ".sh")


def missing(paths):
    """Directories without one, of the tree whose files are @p paths."""
    present = {os.path.dirname(p) for p in paths if os.path.basename(p) == "README.md"} - {""}
    out = []
    for directory in sorted({os.path.dirname(p) for p in paths if p.endswith(SOURCES)} - {""}):
        parts = directory.split("/")
        if not any("/".join(parts[:n]) in present for n in range(1, len(parts) + 1)):
            out.append(directory)
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    complaints = missing(files(sys.argv[1]))
    for directory in complaints:
        print(f"{directory}: no README.md here or further up")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
