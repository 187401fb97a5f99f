# SPDX-License-Identifier: Apache-2.0
"""Checks that tests which the tree's pages name in `Suite.Name`, `Suite.*`, `Rows.name` or `test_name` form exist.

Pages are those below docs/ and READMEs below tests/.

usage: named_tests.py ROOT
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

NAMED = re.compile(r"`((?:[A-Z]\w*[a-z]\w*|uapi)\.(?:[A-Z]\w*[a-z]\w*|\*)|Rows\.\w+|test_\w+)`")
DEFINED = re.compile(r"^(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\)|^\s*def (test_\w+)\(", re.M)
ROW = re.compile(r"^ROW\((\w+),", re.M)
ADDED = re.compile(r"add_test\(NAME (\w+\.\w+)")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def defined(root, paths):
    names = set()
    for path in paths:
        if path.startswith("tests/clients/rows/") and path.endswith((".c", ".cc")):
            names |= {f"Rows.{name}" for name in ROW.findall(read(root, path))}
        elif path.startswith("tests/") and path.endswith((".cc", ".py")):
            names |= {python or f"{suite}.{name}" for suite, name, python in DEFINED.findall(read(root, path))}
        elif path.startswith("tests/") and path.endswith("CMakeLists.txt"):
            names |= set(ADDED.findall(read(root, path)))
    return names | {name.split(".")[0] + ".*" for name in names}


def is_page(path):
    return path.startswith("docs/") and path.endswith(".md") or path.startswith("tests/") and path.endswith("/README.md")


def missing(root, paths):
    """Returns (number of names in pages, list of complaints)."""
    known, count, complaints = defined(root, paths), 0, []
    for path in sorted(filter(is_page, paths)):
        for name in NAMED.findall(read(root, path)):
            count += 1
            if name not in known:
                complaints.append(f"{path}: test '{name}' does not exist")
    return count, complaints


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count, complaints = missing(sys.argv[1], files(sys.argv[1]))
    for line in complaints:
        print(line)
    print(f"{count} names of tests in pages, {len(complaints)} of no test")
    sys.exit(1 if complaints or count == 0 else 0)


if __name__ == "__main__":
    main()
