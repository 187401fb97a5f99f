# SPDX-License-Identifier: Apache-2.0
"""The checkers of this directory must be able to fail."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import environment
import format as layout
import licences
import conflicts
import links
import named_tests
import readmes
import symbols


class Tree(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.root = self.dir.name
        self.write("LICENSES/Apache-2.0.txt", "text")
        self.write("LICENSES/MIT.txt", "text")
        self.write("LICENSES/GPL-2.0-only.txt", "text")
        self.write("LICENSES/Linux-syscall-note.txt", "text")

    def tearDown(self):
        self.dir.cleanup()

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def complaints(self, top):
        return licences.check(self.root, top)[1]

    def test_right_lines_pass_in_each_comment_style(self):
        self.write("uapi/a.h", "/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */\n")
        self.write("uapi/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\n")
        self.write("tools/run", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.write("docs/a.md", "<!-- SPDX-License-Identifier: Apache-2.0 -->\n")
        self.assertEqual(licences.check(self.root, "uapi"), (2, []))
        self.assertEqual(licences.check(self.root, "tools"), (1, []))
        self.assertEqual(licences.check(self.root, "docs"), (1, []))

    def test_missing_line_is_found(self):
        self.write("libprof/a.cc", "int a;\n")
        self.assertEqual(len(self.complaints("libprof")), 1)
        self.assertIn("libprof/a.cc: no SPDX", self.complaints("libprof")[0])

    def test_line_after_the_third_does_not_count(self):
        self.write("libprof/a.cc", "\n\n\n// SPDX-License-Identifier: Apache-2.0\n")
        self.assertEqual(len(self.complaints("libprof")), 1)

    def test_licence_of_another_directory_is_found(self):
        self.write("kmod/core/a.c", "// SPDX-License-Identifier: GPL-2.0-only OR MIT\n")
        self.write("kmod/b.c", "// SPDX-License-Identifier: GPL-2.0-only OR MIT\n")
        self.assertEqual(self.complaints("kmod"),
                         ["kmod/b.c: licence 'GPL-2.0-only OR MIT'; it must be 'GPL-2.0-only'"])

    def test_bpf_programs_have_their_own_licence(self):
        self.assertEqual(licences.demanded("tools/bpf/sched.bpf.c"), "GPL-2.0-only OR BSD-2-Clause")

    def test_licence_without_text_is_found(self):
        self.write("tools/npusim/qemu/a.c", "// SPDX-License-Identifier: GPL-2.0-or-later\n")
        self.assertEqual(self.complaints("tools"),
                         ["tools/npusim/qemu/a.c: LICENSES/GPL-2.0-or-later.txt does not exist"])

    def test_unknown_top_directory_is_found(self):
        self.write("misc/a.c", "// SPDX-License-Identifier: Apache-2.0\n")
        self.assertEqual(self.complaints("."), ["misc/a.c: 'misc' is no directory of the layout"])

    def test_pages_need_the_line_too(self):
        self.write("docs/a.md", "# Page\n")
        self.write("docs/b.md", "<!-- SPDX-License-Identifier: MIT -->\n")
        found = self.complaints("docs")
        self.assertEqual(len(found), 2)
        self.assertIn("docs/a.md: no SPDX", found[0])
        self.assertEqual(found[1], "docs/b.md: licence 'MIT'; it must be 'Apache-2.0'")

    def test_files_without_comments_are_named_in_reuse_toml(self):
        self.write("REUSE.toml", '# SPDX-License-Identifier: Apache-2.0\n[[annotations]]\n'
                                 'path = ["libprof/*.json", "libprof/*.cc", "tests/data/**", "none/*"]\n'
                                 'SPDX-License-Identifier = "Apache-2.0"\n'
                                 '[[annotations]]\npath = "kmod/a.json"\nSPDX-License-Identifier = "MIT"\n')
        self.write("libprof/a.json", "{}")
        self.write("libprof/below/b.json", "{}")
        self.write("libprof/c.cc", "int c;\n")
        self.write("tests/data/x/y.slice_0", "data")
        self.write("kmod/a.json", "{}")
        bad = [c.split(":")[0] for c in self.complaints("libprof")]
        self.assertEqual(bad, ["libprof/below/b.json", "libprof/c.cc"])
        self.assertEqual(licences.check(self.root, "tests"), (1, []))
        self.assertEqual(self.complaints("kmod"), ["kmod/a.json: licence 'MIT'; it must be 'GPL-2.0-only'"])
        self.assertEqual(self.complaints("."), ["REUSE.toml: 'none/*' fits no file"])

    def test_broken_link_is_found(self):
        self.write("docs/a.md", "[there](b.md#part) ![no](images/no.png) [web](https://example.org) [x](#here)\n")
        self.write("docs/b.md", "")
        self.assertEqual(list(links.broken(self.root, "docs/a.md")), ["docs/a.md: 'images/no.png' leads nowhere"])

    def test_an_unresolved_merge_is_found(self):
        self.write("docs/a.md", "one\n" + "<" * 7 + " HEAD\ntwo\n=======\nthree\n" + ">" * 7 + " other\n")
        self.write("docs/b.md", "Title\n=======\n")
        self.assertEqual([line.split(": ")[0] for path in ("docs/a.md", "docs/b.md")
                          for line in conflicts.unresolved(self.root, path)], ["docs/a.md:2", "docs/a.md:6"])

    def test_missing_readme_is_found(self):
        self.assertEqual(readmes.missing(["a/README.md", "a/b/c/x.cc", "d/x.h", "d/e/README.md", "f/notes.txt", "dev.py"]), ["d"])

    def test_source_laid_out_otherwise_is_found(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("libprof/a.cc", "int  a;\n")
        self.write("libprof/b.cc", "int b;\n")
        self.write("kmod/c.c", "int  c;\n")
        self.write("libprof/d.py", "x  = 1\n")
        paths = layout.sources(licences.files(self.root))
        self.assertEqual(paths, ["libprof/a.cc", "libprof/b.cc"])
        self.assertEqual(layout.check(self.root, paths), ["libprof/a.cc:1:4: run clang-format -i libprof/a.cc"])

    def test_test_that_a_page_names_and_nobody_wrote_is_found(self):
        self.write("tests/a.cc", "TEST(One, IsThere) {}\nTEST_F(Two,\n       IsThere) {}\n")
        self.write("tests/b.py", "class B:\n    def test_three(self):\n        pass\n")
        self.write("docs/a.md", "| `One.IsThere`, `Two.IsThere` | `test_three` | `aclprofStart` `PROF_X.Y` `MAJOR.MINOR` |\n`One.IsNot` `test_no`\n")
        count, complaints = named_tests.missing(self.root, licences.files(self.root))
        self.assertEqual(count, 5)
        self.assertEqual(complaints, ["docs/a.md: test 'One.IsNot' does not exist",
                                      "docs/a.md: test 'test_no' does not exist"])

    def test_suites_and_tests_of_build_files_and_readmes_count_too(self):
        self.write("tests/a.cc", "TEST_P(One, IsThere) {}\n")
        self.write("tests/b.py", "def test_four():\n    pass\n")
        self.write("tests/CMakeLists.txt", "add_test(NAME uapi.IsThere COMMAND true)\n")
        self.write("tests/x/README.md", "`One.*` `test_four` `uapi.IsThere` `Two.*` `uapi.IsNot` `uapi.h`\n")
        count, complaints = named_tests.missing(self.root, licences.files(self.root))
        self.assertEqual(count, 5)
        self.assertEqual(complaints, ["tests/x/README.md: test 'Two.*' does not exist",
                                      "tests/x/README.md: test 'uapi.IsNot' does not exist"])

    def test_variables_are_found_in_sources_and_page(self):
        self.write("libprof/a.cc", 'getenv("NPUPROF_ONE"); puts("NPUPROF_TWO is wrong");  // NPUPROF_THREE')
        self.write("tests/a.sh", 'echo ${NPUPROF_SEVEN:-} NPUPROF_EIGHT')
        self.write("tests/a.cc", 'setenv("NPUPROF_FOUR", "", 1);')
        self.write("docs/environment.md", "| `NPUPROF_ONE` | x |\n| `NPUSIM_FIVE`, `NPUSIM_SIX` | y |\n")
        self.assertEqual(environment.read_by_sources(self.root), {"NPUPROF_ONE", "NPUPROF_SEVEN"})
        self.assertEqual(environment.documented(self.root), {"NPUPROF_ONE", "NPUSIM_FIVE", "NPUSIM_SIX"})

    def symbols_of(self, header, test, said):
        self.write(symbols.MAP, "V_1 {\n  global:\n    one;\n    two;\n  local:\n    *;\n};\n")
        self.write("libprof/include/a/b.h", header)
        self.write("tests/unit/a/a_test.cc", test)
        table = list(symbols.rows(self.root, ["libprof/include/a/b.h", "tests/unit/a/a_test.cc"]))
        page = symbols.page(table, {}) if said is None else said
        return table, list(symbols.complaints(table, symbols.parse(page)))

    def test_functions_of_cpp_are_shown_with_their_namespace(self):
        self.assertEqual(["ge::aclgrphProfStop", "ge::aclgrphProfFinalize", "aclprofStop"], list(map(symbols.shown, (
            "_ZN2ge15aclgrphProfStopEPNS_17aclgrphProfConfigE", "_ZN2ge19aclgrphProfFinalizeEv", "aclprofStop"))))
        self.assertEqual({"ge::f": ("a", "b")}, symbols.parse("| `ge::f` | `a` | `b` |"))

    def test_an_exported_function_is_documented_tested_and_on_the_page(self):
        good = "/** Does. */\nint one(void);\nint two(void);\n"
        self.assertEqual([], self.symbols_of(good, "one(); two();", None)[1])
        for header, test, said, word in (("/** Does. */\nint one(void);\n\nint two(void);\n", "one(); two();", None, "documents it"),
                                         (good, "one();", None, "no test calls it"),
                                         (good, "one(); two();", "", "missing in"),
                                         (good, "one(); two(); three();", "| `three` | `a` | `b` |\n", "not exported"),
                                         (good, "one(); two();", "| `one` | `a` | `b` |\n", "what the tree does not")):
            with self.subTest(word):
                self.assertIn(word, "\n".join(self.symbols_of(header, test, said)[1]))

    def test_what_is_only_written_of_a_function_is_no_test(self):
        for source in ("one();", "if (one()) {}", "return one(2);", "check(one, 1);", "a = *one();", "Try<decltype(one)>(2);",
                       "EXPECT_EQ(one(), 0);", "else one();"):
            with self.subTest(source):
                self.assertIn("one", symbols.called(source))
        for source in ("// one() is called\n", "/* one();\n one(2); */", '"one()"; f("one");', "int one(void);", "a->one();",
                       "static void* one(int a) {}", "std::string &one(int a);", "// a\nconst char* one(void);"):
            with self.subTest(source):
                self.assertNotIn("one", symbols.called(source))


if __name__ == "__main__":
    unittest.main()
