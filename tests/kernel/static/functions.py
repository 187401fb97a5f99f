#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: functions.py TREE: every function of the module that other files can call has its kernel-doc, complete.

kernel-doc itself looks at blocks that are there. Complete is: all parameters, the context, and what is returned. First
it looks at functions that lack these, and fails unless it finds each fault.
"""

import glob
import re
import sys

BLOCK = r"/\*\*(?:[^*]|\*(?!/))*\*/\s*"
# A prototype or a definition that begins a line and is not static; its kernel-doc if it has one.
FUNCTION = re.compile(rf"^({BLOCK})?((?!static|typedef|extern|return|else|struct [\w]+ {{)\w[\w \t*]*?[ *])(\w+)(\([^;{{}}]*?\))\s*(;|\n{{)", re.M)


def functions(text):
    """(name, result, parameters, kernel-doc, is a definition)"""
    for block, result, name, parameters, end in FUNCTION.findall(text):
        yield name, result.strip(), parameters, block, end != ";"


def names(parameters):
    inner = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"\1", parameters[1:-1])
    if inner.strip() == "void":
        return []
    return [re.search(r"(\w+)(?:\[[^]]*\])?$", part.strip()).group(1) for part in inner.split(",")]


def faults(name, result, parameters, block):
    if not block:
        return [f"{name}: no kernel-doc"]
    found = []
    if not re.match(rf"/\*\*\n \* {name}\(\) - ", block):
        found.append(f"{name}: its kernel-doc does not begin with its name")
    found += [f"{name}: nothing on parameter {p}" for p in names(parameters) if f"\n * @{p}: " not in block]
    if "\n * Context: " not in block:
        found.append(f"{name}: no context")
    if result != "void" and "\n * Return: " not in block:
        found.append(f"{name}: nothing on what it returns")
    return found


def look(sources, headers):
    """`headers`: where functions of kmod/core are documented; sources document theirs themselves."""
    documented = {name: block for text in headers for name, _, _, block, _ in functions(text) if block}
    found, count = [], 0
    for text in sources:
        for name, result, parameters, block, defined in functions(text):
            if not defined:
                continue
            count += 1
            found += faults(name, result, parameters, block or documented.get(name, ""))
    return found, count


def self_test():
    good = "/**\n * f() - does it\n * @a: one\n *\n * Context: Any context.\n * Return: 0.\n */\nint f(int a)\n{\n"
    assert look([good], []) == ([], 1)
    assert look(["int f(int a)\n{\n"], [good.replace("\n{\n", ";\n")]) == ([], 1)
    for lacking, complaint in ((" * @a: one\n", "parameter a"), (" * Context: Any context.\n", "context"),
                               (" * Return: 0.\n", "returns"), (good.split("int f")[0], "no kernel-doc")):
        found, _ = look([good.replace(lacking, "")], [])
        assert len(found) == 1 and complaint in found[0], (lacking, found)
    assert look(["static int f(int a)\n{\n"], []) == ([], 0)


def main():
    tree = sys.argv[1]
    self_test()

    def read(pattern):
        return [open(path, encoding="utf-8").read() for path in sorted(glob.glob(f"{tree}/kmod/{pattern}"))]
    found, count = look(read("*.c") + read("core/*.c"), read("core/*.h"))
    for fault in found:
        print(fault)
    assert count > 100, f"only {count} functions seen"
    print(f"{count} functions, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
