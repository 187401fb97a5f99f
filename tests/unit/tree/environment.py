# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/environment.md and the sources know the same NPUPROF_* and NPUSIM_* variables.

usage: environment.py ROOT
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

NAME = r"(?:NPUPROF|NPUSIM)_[A-Z0-9_]+"


def read_by_sources(root):
    """Names that appear as a whole string literal in C and C++, as a variable in a shell script, or as what
    the kernel lab asks for."""
    names = set()
    for path in files(root):
        code = path.endswith((".c", ".cc", ".h")) and path.startswith(("libprof/", "tools/", "kmod/"))
        lab = path.endswith(".py") and path.startswith("tests/kernel/lab/")
        shell = path == "dev" or path.endswith(".sh")
        if code or lab or shell:
            pattern = rf"\$\{{({NAME})" if shell else rf'environ.get\("({NAME})"' if lab else rf'"({NAME})"'
            with open(os.path.join(root, path), encoding="utf-8") as f:
                names |= set(re.findall(pattern, f.read()))
    return names


def documented(root):
    with open(os.path.join(root, "docs/environment.md"), encoding="utf-8") as f:
        return set(re.findall(rf"`({NAME})`", f.read()))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    code, page = read_by_sources(sys.argv[1]), documented(sys.argv[1])
    for name in sorted(code - page):
        print(f"{name} is read by the sources and missing in docs/environment.md")
    for name in sorted(page - code):
        print(f"{name} is in docs/environment.md and read by nothing")
    print(f"{len(code)} variables in the sources, {len(page)} documented")
    sys.exit(0 if code == page and code else 1)


if __name__ == "__main__":
    main()
