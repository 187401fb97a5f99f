# SPDX-License-Identifier: Apache-2.0
"""What abi.py sees: each kind of change to a header or to a library makes a difference.

usage: abi_test.py CC
"""

import os
import subprocess
import sys
import tempfile
import unittest

import abi

CC = sys.argv.pop(1)
HEADER = """#define LIMIT 7
typedef enum { A = 1, B = 2 } Kind;
struct Item { char a; union { int b; char c[2]; } u; void *p; };
int Call(const struct Item *item, int number);
extern int Counter;
"""
SOURCE = """#include "x.h"
int Call(const struct Item *item, int number) { (void)item; return number; }
int Counter;
"""


class Changes(unittest.TestCase):
    def describe(self, header, source=SOURCE, version="V_1"):
        with tempfile.TemporaryDirectory() as directory:
            include = os.path.join(directory, "include")
            os.mkdir(include)
            for name, content in (("include/x.h", header), ("x.c", source),
                                  ("x.map", version + " { global: Call; Counter; local: *; };\n")):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                    f.write(content)
            subprocess.run([CC, "-shared", "-fPIC", "-I", include, os.path.join(directory, "x.c"), "-o",
                            os.path.join(directory, "libx.so"), "-Wl,--version-script=" + os.path.join(directory, "x.map")],
                           check=True)
            return abi.describe(CC, include, [os.path.join(directory, "libx.so")])

    def test_everything_is_listed(self):
        lines = self.describe(HEADER).splitlines()
        for line in ("constant LIMIT = 7", "typedef Kind: enum {}", "  0x2 B", "struct Item 16 bytes", "  4 u: union {}",
                     "    4 c: char[2]", "  8 p: void *", "function int Call (const struct Item *, int)",
                     "export libx.so Call@V_1", "export libx.so Counter@V_1 4 bytes"):
            self.assertIn(line, lines)

    def test_each_kind_of_change_is_seen(self):
        before = self.describe(HEADER)
        self.assertEqual(before, self.describe(HEADER))
        for old, new in (("LIMIT 7", "LIMIT 8"), ("B = 2", "B = 3"), ("char a;", "long a;"), ("c[2]", "c[8]"),
                         ("char a; union", "union"), ("int b", "unsigned b"), ("struct Item { char a;", "struct Item { char z;")):
            with self.subTest(new):
                self.assertIn(old, HEADER)
                self.assertNotEqual(before, self.describe(HEADER.replace(old, new, 1)))
        self.assertNotEqual(before, self.describe(HEADER.replace("int number", "long number"),
                                                  SOURCE.replace("int number", "long number")))
        self.assertNotEqual(before, self.describe(HEADER.replace("int Counter", "long Counter"),
                                                  SOURCE.replace("int Counter", "long Counter")))
        self.assertNotEqual(before, self.describe(HEADER, SOURCE.replace("int Counter;\n", "")))
        self.assertNotEqual(before, self.describe(HEADER, version="V_2"))


if __name__ == "__main__":
    unittest.main()
