# SPDX-License-Identifier: Apache-2.0
"""What the libraries need of a system: other libraries, and symbol versions of the C library. docs/sdk.md has the table;
neither may tell more or less than the other.

usage: needs.py PAGE LIBRARY...
"""

import os
import re
import sys

from elftools.elf.elffile import ELFFile

ROW = re.compile(r"\| `(lib\w+\.so)` \| (.*?) \| GLIBC_([\d.]+) \|")
MOST_THREAD_LOCAL = 512

# The names that the C library and its loader have on the architectures that the tree is built for.
OF_THE_C_LIBRARY = re.compile(r"lib(c|m)\.so\.6|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1")


def needs(library):
    """Names of libraries beside those of the C library, the newest GLIBC_ version, and what is needed and should not be."""
    with open(library, "rb") as f:
        elf = ELFFile(f)
        needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
        versions = [auxiliary.name for _, auxiliaries in elf.get_section_by_name(".gnu.version_r").iter_versions()
                    for auxiliary in auxiliaries]
        thread_local = max([segment["p_memsz"] for segment in elf.iter_segments("PT_TLS")], default=0)
    foreign = [f"the symbol version {v}, which is none of the C library" for v in versions
               if not v.startswith(("GLIBC_", "ACLPROF_", "NPUSIM_"))]
    newest = max(tuple(map(int, v[6:].split("."))) for v in versions if v.startswith("GLIBC_"))
    if thread_local > MOST_THREAD_LOCAL:
        foreign.append(f"{thread_local} bytes of thread-local memory, of at most {MOST_THREAD_LOCAL}: a library that is loaded "
                       "late shares little of it with all others")
    return {n for n in needed if not OF_THE_C_LIBRARY.fullmatch(n)}, ".".join(map(str, newest)), foreign


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        stated = {name: (set(re.findall(r"`(\S+)`", others)), version) for name, others, version in ROW.findall(f.read())}
    bad = []
    for library in sys.argv[2:]:
        name = os.path.basename(library)
        others, newest, foreign = needs(library)
        if foreign:
            bad.append(f"{name} needs {'; '.join(sorted(foreign))}")
        if stated.get(name) != (others, newest):
            bad.append(f"{name} needs {sorted(others)} and GLIBC_{newest}; {sys.argv[1]} says {stated.get(name)}")
    print("\n".join(bad) or f"{len(sys.argv) - 2} libraries need what the page says")
    return 1 if bad or len(sys.argv) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
