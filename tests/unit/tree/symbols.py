# SPDX-License-Identifier: Apache-2.0
"""Makes docs/symbols.md out of the tree, and checks that it is up to date and that every exported function is documented
and tested.

Exported is what the version map lists, documented what a public header declares right below a comment (several in a row
share one), tested what a test or a client program calls, or hands to a function that calls it. What is only written of a
function, in a comment or a text, or declared, is no test.

usage: symbols.py [--update] ROOT
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
STATEMENTS = {"return", "else", "do", "case", "throw"}

PAGE = "docs/symbols.md"
MAP = "libprof/src/api/libaclprof.map"
HEADERS = "libprof/include/"
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Exported functions

What `libaclprof.so` exports under all its names (`libmsprofiler.so`, `libprofapi.so`, `libms_tools_ext.so`), the header that
documents each, and a test that calls it. Names in `ge::` are functions of C++; a program that looks them up needs their mangled
names, which are in the [version map](../libprof/src/api/libaclprof.map). Made by `tests/unit/tree/symbols.py --update .`; the test
`Tree.SymbolsAreDocumentedAndTested` looks at every cell again.

| function | documented in | tested, among others, in |
|---|---|---|
"""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def exported(text):
    """Names that a version map makes global, in its order."""
    return re.findall(r"^\s+(\w[\w:*()]*);", text[text.index("global:"):text.index("local:")], re.M)


def is_documented(text, name):
    """Whether a declaration of the name lies below a comment, with nothing but other declarations in between."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not re.search(rf"(?<![\w.]){re.escape(name)}\(", line) or line.lstrip().startswith(("*", "/")):
            continue
        while at > 0 and lines[at - 1].strip():
            at -= 1
            if lines[at].rstrip().endswith("*/"):
                return True
    return False


def called(text):
    """Names that a source in C or C++ calls, or hands to a call as they are."""
    text = NO_CODE.sub(" ", text)
    found = set()
    for name in re.finditer(r"(?<![\w.])(?<!->)(\w+)\s*\(", text):
        before = text[max(0, name.start() - 80):name.start()].rstrip()
        word = re.search(r"(\w+)$", before)
        # Behind a type it is a declaration.
        if (not word or word[1] in STATEMENTS) and not re.search(r"(?:^|[;{}])[\w\s:]*\w\s*[*&]+$", before):
            found.add(name[1])
    return found | set(re.findall(r"(?<=[(,])\s*(\w+)\s*(?=[,)])", text))


def shown(name):
    """What the page calls a name of the map: those of C++ are mangled there."""
    mangled = re.match(r"_ZN2ge\d+(\w+?)E(?:v|P)", name)
    return "ge::" + mangled.group(1) if mangled else name


def rows(root, paths):
    """(name, header or None, files of tests) of each exported function."""
    headers = [(p, read(root, p)) for p in paths if p.startswith(HEADERS) and p.endswith(".h")]
    tests = [(p, called(read(root, p))) for p in paths if p.startswith("tests/") and p.endswith((".c", ".cc", ".h"))
             and not p.startswith(("tests/unit/tree/", "tests/unit/abi/", "tests/bench/"))]
    for name in map(shown, exported(read(root, MAP))):
        plain = name.removeprefix("ge::")  # as sources call it
        header = next((p for p, text in headers if is_documented(text, plain)), None)
        yield name, header, [p for p, words in tests if plain in words]


def parse(text):
    """What the page says: header and test by name."""
    return {name: (header, test) for name, header, test in re.findall(r"^\| `([\w:]+)` \| `([^`]*)` \| `([^`]*)` \|$", text, re.M)}


def page(table, before):
    """The page. A test that it names already stays, so that new tests do not change it."""
    text = HEAD
    for name, header, tests in table:
        known = before.get(name, (None, None))[1]
        test = known if known in tests else next(iter(tests), "")
        text += f"| `{name}` | `{header or ''}` | `{test}` |\n"
    return text


def complaints(table, said):
    for name, header, tests in table:
        if not header:
            yield f"{name} is exported, and no header of {HEADERS} documents it"
        if not tests:
            yield f"{name} is exported, and no test calls it"
        if name not in said:
            yield f"{name} is exported and missing in {PAGE}"
        elif said[name][0] != header or said[name][1] not in tests:
            yield f"{PAGE} says of {name} what the tree does not: {' and '.join(said[name])}"
    for name in sorted(said.keys() - {row[0] for row in table}):
        yield f"{name} is in {PAGE} and not exported"


def main():
    update = sys.argv[1:2] == ["--update"]
    if len(sys.argv) != 2 + update:
        sys.exit(__doc__)
    root = sys.argv[-1]
    table = list(rows(root, files(root)))
    path = os.path.join(root, PAGE)
    found = read(root, PAGE) if os.path.exists(path) else ""
    if update:
        found = page(table, parse(found))
        with open(path, "w", encoding="utf-8") as f:
            f.write(found)
    bad = list(complaints(table, parse(found)))
    print("\n".join(bad + [f"{len(table)} functions, {len(bad)} complaints"]))
    sys.exit(1 if bad or not table else 0)


if __name__ == "__main__":
    main()
