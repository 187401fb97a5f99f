# SPDX-License-Identifier: Apache-2.0
"""The type stubs say what the modules are: every public name with its parameters, and nothing else.

usage: stubs_test.py PACKAGE
"""

import ast
import inspect
import os
import re
import sys
import types
import unittest

import acl

PACKAGE = sys.argv.pop(1)


def stub(name):
    with open(os.path.join(PACKAGE, name + ".pyi"), encoding="utf-8") as f:
        return ast.parse(f.read())


def parameters_of_stub(function):
    named = function.args
    return [a.arg for a in named.posonlyargs + named.args] + (["*"] if named.vararg else [])


def parameters(function):
    """Of a function of ours in Python, or as an extension tells them in the first line of its documentation."""
    if isinstance(function, types.FunctionType):
        return list(inspect.signature(function).parameters)
    inside = re.match(r"\w+\((.*)\)", function.__doc__.splitlines()[0]).group(1)
    return [re.match(r"\*|\w+", p).group(0) for p in inside.split(", ")] if inside else []


class Stubs(unittest.TestCase):
    def check(self, name, module):
        told = {}
        for node in stub(name).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                told[node.name] = node
            elif isinstance(node, ast.AnnAssign):
                told[node.target.id] = node
        public = {n: v for n, v in vars(module).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
        self.assertEqual(set(told), set(public))
        for word, value in public.items():
            with self.subTest(word):
                if isinstance(told[word], ast.FunctionDef):
                    self.assertEqual(parameters_of_stub(told[word]), parameters(value))
                elif isinstance(told[word], ast.ClassDef):
                    methods = {n.name: parameters_of_stub(n) for n in told[word].body if isinstance(n, ast.FunctionDef)}
                    self.assertEqual(methods, {n: parameters(f) for n, f in vars(value).items()
                                               if isinstance(f, types.FunctionType) and not re.match("_[a-z]", n)})
                else:
                    self.assertIsInstance(value, int)
        return public

    def test_prof(self):
        self.assertIn("create_config", self.check("prof", acl.prof))

    def test_rt(self):
        self.assertIn("set_device", self.check("rt", acl.rt))

    def test_mdl(self):
        self.assertIn("execute", self.check("mdl", acl.mdl))

    def test_util(self):
        self.assertIn("numpy_to_ptr", self.check("util", acl.util))

    def test_acl(self):
        self.assertIn("get_soc_name", self.check("__init__", acl))

    def test_every_function_of_prof_says_what_it_returns(self):
        for name in acl.prof.__all__:
            value = getattr(acl.prof, name)
            if callable(value):
                self.assertRegex(value.__doc__ or "", r"(?s)-> \w|\w+ .* \w+", name)


if __name__ == "__main__":
    unittest.main()
