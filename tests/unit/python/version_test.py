# SPDX-License-Identifier: Apache-2.0
"""The package under a Python that its extension was not built for.

usage: version_test.py PACKAGE
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = sys.argv.pop(1)


class Version(unittest.TestCase):
    def import_with(self, extension):
        with tempfile.TemporaryDirectory() as directory:
            package = os.path.join(directory, "acl")
            os.mkdir(package)
            for name in ("__init__.py", "_other.py", "prof.py", "util.py"):
                shutil.copy(os.path.join(PACKAGE, name), package)
            with open(os.path.join(package, extension), "wb"):
                pass
            return subprocess.run([sys.executable, "-B", "-c", "import acl"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": directory}).stderr

    def test_another_python_is_named_and_the_right_one_too(self):
        error = self.import_with("_prof.cpython-999-x86_64-linux-gnu.so")
        self.assertIn(f"ImportError: acl is built for cpython-999-x86_64-linux-gnu, this is {sys.implementation.cache_tag}",
                      error)
        self.assertNotIn("circular", error)

    def test_an_extension_that_does_not_load_says_why_itself(self):
        error = self.import_with("_prof.so")
        self.assertIn("_prof.so", error)
        self.assertNotIn("is built for", error)


if __name__ == "__main__":
    unittest.main()
