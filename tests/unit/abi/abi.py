# SPDX-License-Identifier: Apache-2.0
"""Compares what the public headers and the built libraries offer with the list that was agreed upon.

usage: abi.py [--update] LIST CC INCLUDE LIBRARY...
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile

from elftools.elf.elffile import ELFFile

HEAD = """# SPDX-License-Identifier: Apache-2.0
# The binary interface of the profiling libraries; see README.md. Made by abi.py: types as bytes and offsets, then
# constants, functions and exported names.
"""
MEMBERS = ("DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_class_type")


def headers(include):
    return sorted(os.path.relpath(os.path.join(top, name), include)
                  for top, _, names in os.walk(include) for name in names if name.endswith(".h"))


def text(die, attribute="DW_AT_name"):
    value = die.attributes.get(attribute)
    return value.value.decode() if value else ""


def number(die, attribute, default=0):
    value = die.attributes.get(attribute)
    return value.value if value else default


class Types:
    """The types that the headers declare, out of the debugging information of a file that includes them."""

    def __init__(self, object_file, include):
        self.lines = []
        with open(object_file, "rb") as f:
            dwarf = ELFFile(f).get_dwarf_info()
            for unit in dwarf.iter_CUs():
                program = dwarf.line_program_for_CU(unit)
                top = unit.get_top_DIE()
                for die in top.iter_children():
                    if self.file_of(program, die).startswith(os.path.abspath(include) + os.sep):
                        self.add(die)
        self.lines.sort(key=lambda block: block.split()[:2])

    @staticmethod
    def file_of(program, die):
        index = number(die, "DW_AT_decl_file")
        if not index:
            return ""
        entry = program["file_entry"][index - (program["version"] < 5)]
        directory = program["include_directory"][entry.dir_index - (program["version"] < 5)].decode()
        return os.path.abspath(os.path.join(directory, entry.name.decode()))

    def name(self, die):
        """The type of a member or a typedef, in words."""
        if "DW_AT_type" not in die.attributes:
            return "void"
        kind = die.get_DIE_from_attribute("DW_AT_type")
        if kind.tag == "DW_TAG_pointer_type":
            return self.name(kind) + " *"
        if kind.tag in ("DW_TAG_const_type", "DW_TAG_volatile_type"):
            return kind.tag[7:-5] + " " + self.name(kind)
        if kind.tag == "DW_TAG_array_type":
            return self.name(kind) + "".join(f"[{number(d, 'DW_AT_upper_bound', -1) + 1}]" for d in kind.iter_children())
        if kind.tag == "DW_TAG_subroutine_type":
            parameters = ", ".join(self.name(p) for p in kind.iter_children())
            return f"{self.name(kind)} ({parameters})"
        word = {"DW_TAG_structure_type": "struct ", "DW_TAG_union_type": "union ",
                "DW_TAG_enumeration_type": "enum "}.get(kind.tag, "")
        return word + (text(kind) or "{}")

    def members(self, die, base=0, indent="  "):
        for member in die.iter_children():
            if member.tag != "DW_TAG_member":
                continue
            offset = base + number(member, "DW_AT_data_member_location")
            kind = member.get_DIE_from_attribute("DW_AT_type")
            yield f"{indent}{offset} {text(member) or '(unnamed)'}: {self.name(member)}"
            if kind.tag in MEMBERS and not text(kind):
                yield from self.members(kind, offset, indent + "  ")

    def add(self, die):
        if die.tag in MEMBERS and text(die):
            word = die.tag[7:-5].replace("structure", "struct")
            size = number(die, "DW_AT_byte_size", None)
            head = f"{word} {text(die)}" + (f" {size} bytes" if size is not None else " (opaque)")
            self.lines.append("\n".join([head, *self.members(die)]))
        elif die.tag == "DW_TAG_enumeration_type" and text(die):
            self.lines.append("\n".join([f"enum {text(die)}", *self.enumerators(die)]))
        elif die.tag == "DW_TAG_typedef":
            kind = die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None
            lines = [f"typedef {text(die)}: {self.name(die)}"]
            if kind is not None and not text(kind):
                if kind.tag == "DW_TAG_enumeration_type":
                    lines += self.enumerators(kind)
                elif kind.tag in MEMBERS:
                    lines[0] += f" {number(kind, 'DW_AT_byte_size')} bytes"
                    lines += self.members(kind)
            self.lines.append("\n".join(lines))

    @staticmethod
    def enumerators(die):
        return [f"  {number(e, 'DW_AT_const_value'):#x} {text(e)}" for e in die.iter_children()]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def constants(compiler, source, include):
    """Macros of the headers that have a value."""
    found, here = [], ""
    for line in run(*compiler, "-E", "-dD", source).splitlines():
        if marker := re.match(r'# \d+ "([^"]*)"', line):
            here = marker.group(1)
        elif (macro := re.match(r"#define (\w+) (.+)", line)) and here.startswith(include + os.sep):
            if not macro.group(1).startswith("_") and "__attribute__" not in line:
                found.append(f"constant {macro.group(1)} = {' '.join(macro.group(2).split())}")
    return sorted(set(found))


def functions(compiler, source, include, scratch):
    out = os.path.join(scratch, "prototypes")
    run(*compiler, "-fsyntax-only", "-aux-info", out, source)
    found = []
    with open(out, encoding="utf-8") as f:
        for line in f:
            if hit := re.match(r"/\* (.+):\d+:\w+ \*/ extern (.*);", line):
                if os.path.abspath(hit.group(1)).startswith(include + os.sep):
                    found.append("function " + hit.group(2))
    return sorted(set(found), key=lambda line: re.search(r"(\w+) \(", line).group(1))


def exports(library):
    """Names with their version, and how many bytes a variable has: those are part of the contract too."""
    with open(library, "rb") as f:
        elf = ELFFile(f)
        version_of, names = elf.get_section_by_name(".gnu.version"), {}
        for definition, auxiliaries in elf.get_section_by_name(".gnu.version_d").iter_versions():
            names[definition["vd_ndx"]] = next(auxiliaries).name
        found = []
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            version = version_of.get_symbol(index)["ndx"]
            version = "" if isinstance(version, str) else "@" + names[version & 0x7FFF]
            size = f" {symbol['st_size']} bytes" if symbol["st_info"]["type"] == "STT_OBJECT" else ""
            found.append(f"export {os.path.basename(library)} {symbol.name}{version}{size}")
    return sorted(found)


def describe(cc, include, libraries):
    include = os.path.abspath(include)
    with tempfile.TemporaryDirectory() as scratch:
        source, output = os.path.join(scratch, "all.c"), os.path.join(scratch, "all.o")
        with open(source, "w", encoding="utf-8") as f:
            f.writelines(f'#include "{name}"\n' for name in headers(include))
        compiler = [cc, "-std=gnu11", "-I", include]
        run(*compiler, "-g", "-fno-eliminate-unused-debug-types", "-c", source, "-o", output)
        blocks = Types(output, include).lines
        blocks += constants(compiler, source, include)
        blocks += functions(compiler, source, include, scratch)
    for library in libraries:
        blocks += exports(library)
    return HEAD + "".join(block + "\n" for block in blocks)


def main():
    arguments = sys.argv[1:]
    update = arguments[:1] == ["--update"]
    agreed, cc, include, *libraries = arguments[update:]
    built = describe(cc, include, libraries)
    if update:
        with open(agreed, "w", encoding="utf-8") as f:
            f.write(built)
        return 0
    with open(agreed, encoding="utf-8") as f:
        difference = list(difflib.unified_diff(f.read().splitlines(), built.splitlines(), "agreed", "built", lineterm="", n=1))
    if not difference:
        return 0
    print("\n".join(difference))
    print("If this is intended: cmake --build BUILD --target abi-update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
