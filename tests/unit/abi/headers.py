# SPDX-License-Identifier: Apache-2.0
"""Compiles each header alone, with all warnings as errors, by every standard that is promised.

usage: headers.py CC CXX INCLUDE...      (directories; each sees the others)
"""

import os
import subprocess
import sys
import tempfile

C = ("c99", "gnu99", "c11", "c17", "gnu2x")
CXX = ("c++11", "c++14", "c++17", "c++20", "c++23")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wundef", "-Wcast-align",
            "-Wcast-qual", "-Wpointer-arith", "-Wredundant-decls", "-Werror"]
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition"]
CXX_ONLY = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wnon-virtual-dtor"]


def headers(include):
    return sorted(os.path.relpath(os.path.join(top, name), include)
                  for top, _, names in os.walk(include) for name in names if name.endswith(".h"))


def complaints(cc, cxx, include, name, scratch):
    """What the compilers say about a header that is included twice, alone in its file."""
    source = os.path.join(scratch, "alone.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(f'#include "{name}"\n#include "{name}"\n')
    flags = WARNINGS + [word for directory in include for word in ("-I", directory)] + ["-fsyntax-only"]
    for standard in C + CXX:
        compiler = [cc, *C_ONLY, "-x", "c"] if standard in C else [cxx, *CXX_ONLY, "-x", "c++"]
        done = subprocess.run([*compiler, "-std=" + standard, *flags, source], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            yield f"{name} as {standard}:\n{done.stderr}"


def main():
    cc, cxx, *include = sys.argv[1:]
    checked, bad = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for directory in include:
            for name in headers(directory):
                checked += 1
                # Also without the others: the profiling headers work where there is no runtime.
                bad += complaints(cc, cxx, include, name, scratch)
                if directory == include[0]:
                    bad += complaints(cc, cxx, [directory], name, scratch)
    print("\n".join(bad))
    print(f"{checked} headers, {len(bad)} complaints")
    return 1 if bad or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
