#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: functions.py TREE: every function of the module that other files can call has its kernel-doc, complete.

kernel-doc itself looks at blocks that are there. Complete is: all parameters, the context, and what is returned. A function
whose context says that a lock is held, or must not be, asserts that. First it looks at functions that lack these, and fails
unless it finds each fault.
"""

import glob
import re
import sys

BLOCK = r"/\*\*(?:[^*]|\*(?!/))*\*/\s*"
# A prototype or a definition that begins a line and is not static; its kernel-doc if it has one.
FUNCTION = re.compile(rf"^({BLOCK})?((?!static|typedef|extern|return|else|struct [\w]+ {{)\w[\w \t*]*?[ *])(\w+)(\([^;{{}}]*?\))\s*(;|\n{{)", re.M)

LOCK = r"npuprof_\w+\.(\w+)"
# `A.x is held`, `A.x and B.y are held`, `A.x must not be held`; `, or nobody else knows it` is part of the assertion.
CLAIM = re.compile(rf"{LOCK}(?: and {LOCK})? (is|are|must not be) held(, or nobody else knows)?")


def functions(text):
    """(name, result, parameters, kernel-doc, body; none if it is no definition)"""
    for hit in FUNCTION.finditer(text):
        block, result, name, parameters, end = hit.groups()
        yield name, result.strip(), parameters, block, None if end == ";" else text[hit.end():text.find("\n}", hit.end())]


def unasserted(name, block, body):
    context = re.search(r"\n \* Context: ((?:[^\n]|\n \* (?!Return:))*)", block or "")
    context = re.sub(r"\s*\n \* ?", " ", context.group(1)) if context else ""
    for first, second, verb, alone in CLAIM.findall(context):
        assertion = "lockdep_assert_not_held" if verb == "must not be" else "lockdep_assert_held"
        if alone:
            assertion = "lockdep_assert"
        for lock in filter(None, (first, second)):
            held = rf"[^;]*\|\| lockdep_is_held\([^;]*\b{lock}\)" if alone else rf"[^;]*\b{lock}"
            if not re.search(rf"\b{assertion}\({held}\);", body):
                yield f"{name}: its context says of {lock} `{verb} held`, and it has no {assertion}()"


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
        for name, result, parameters, block, body in functions(text):
            if body is None:
                continue
            count += 1
            found += faults(name, result, parameters, block or documented.get(name, ""))
            found += unasserted(name, block, body)
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

    def held(claim, *assertions):
        block = f"/**\n * f() - does it\n *\n * Context: Process\n * context. {claim}.\n */\n"
        return look([f"{block}void f(void)\n{{\n" + "".join(f"\t{a};\n" for a in assertions) + "}\nlockdep_assert_held(&npu->lock);\n"], [])[0]
    one, two = "lockdep_assert_held(&npu->lock)", "lockdep_assert_held(&session->setup)"
    assert held("npuprof_device.lock is\n * held", one) == []
    assert len(held("npuprof_device.lock is\n * held")) == 1
    assert len(held("npuprof_device.lock is held", two)) == 1
    assert held("npuprof_session.setup and npuprof_device.lock are held", one, two) == []
    assert len(held("npuprof_session.setup and npuprof_device.lock are held")) == 2
    assert len(held("npuprof_device.lock must not be held", one)) == 1
    alone = "npuprof_device.lock is held, or nobody else knows it"
    assert len(held(alone)) == len(held(alone, one)) == 1
    assert held(alone, "lockdep_assert(!npu->users || lockdep_is_held(&npu->lock))") == []


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
