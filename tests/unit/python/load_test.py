# SPDX-License-Identifier: Apache-2.0
"""npuprof.load gives what the CSV files say, in numbers.

usage: load_test.py NPUPROF GOLDEN_DIRECTORY MODULES_OF_ANALYSIS_TESTS
"""
import csv
import decimal
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import npuprof

NPUPROF, GOLDEN, HELPERS = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, HELPERS)
import make_profile  # noqa: E402


def csv_tables(directory, out):
    subprocess.run([NPUPROF, "export", directory, "--output", out, "--format", "csv"], check=True, capture_output=True)
    tables = {}
    for path in glob.glob(os.path.join(out, "*.csv")):
        with open(path, encoding="utf-8", newline="") as f:
            rows = list(csv.reader(f))
        tables[re.fullmatch(r"(\w+)_\d{14}\.csv", os.path.basename(path)).group(1)] = rows[0], rows[1:]
    return tables


class Load(unittest.TestCase):
    def compare_column(self, column, name, cells):
        self.assertEqual(len(column), len(cells))
        self.assertEqual(re.sub(r" \d+$", "", column.name).replace("(ns)", "(us)"), name)
        view = memoryview(column)
        self.assertTrue(view.readonly)
        self.assertEqual(view.format, {"real": "d", "text": "I"}.get(column.kind, "q"))
        values, valid = view.tolist(), column.valid.tolist() if column.valid is not None else [True] * len(cells)
        for value, there, one, cell in zip(values, valid, column, cells):
            cell = cell.rstrip("\t")
            self.assertEqual(there, cell != "N/A")
            if not there:
                self.assertIsNone(one)
            elif column.kind == "text":
                self.assertEqual(column.categories[value], cell)
                self.assertEqual(one, cell)
            else:
                self.assertEqual(one, value)
                expected = decimal.Decimal(cell)
                if column.kind == "nanoseconds":
                    self.assertEqual(value, expected * 1000)
                elif column.kind == "integer":
                    self.assertEqual(value, expected)
                else:  # not rounded here
                    self.assertAlmostEqual(value, float(expected), delta=0.00051 + 1e-12 * abs(value))

    def compare(self, directory):
        with tempfile.TemporaryDirectory() as out:
            expected = csv_tables(directory, out)
        tables = npuprof.load(directory)
        self.assertEqual(set(tables), set(expected))
        for name, (header, rows) in expected.items():
            with self.subTest(directory=directory, table=name):
                table = tables[name]
                self.assertEqual((table.rows, len(table)), (len(rows), len(header)))
                for place, column in enumerate(table.values()):
                    self.compare_column(column, header[place], [row[place] for row in rows])
        return tables

    def test_every_cell_of_the_golden_directories(self):
        kinds = set()
        for directory in glob.glob(os.path.join(GOLDEN, "*", "PROF_*")):
            for table in self.compare(directory).values():
                kinds |= {column.kind for column in table.values()}
        self.assertEqual(kinds, {"integer", "nanoseconds", "real", "text"})

    def test_a_larger_run(self):
        with tempfile.TemporaryDirectory() as parent:
            tables = self.compare(make_profile.write(parent, 3000))
        self.assertFalse(tables.simulated)
        row = tables["op_summary"].row(-1)
        self.assertEqual(row["Op Name"], "MatMul_2998")
        self.assertIsInstance(row["Task Duration(ns)"], int)

    def test_a_view_outlives_the_tables(self):
        with tempfile.TemporaryDirectory() as parent:
            root = make_profile.write(parent, 100)
            view = memoryview(npuprof.load(root)["task_time"]["task_time(ns)"])
        self.assertEqual(view.tolist(), [10_000] * 100)

    def test_only_what_is_asked_for(self):
        with tempfile.TemporaryDirectory() as parent:
            root = make_profile.write(parent, 10)
            self.assertEqual(list(npuprof.load(root, ["task_time"])), ["task_time"])
            with self.assertRaisesRegex(npuprof.Error, "unknown table 'tasks'; known are op_summary"):
                npuprof.load(root, ["tasks"])
            with self.assertRaises(TypeError):
                npuprof.load(root, "task_time")
            with self.assertRaises(IndexError):
                npuprof.load(root)["task_time"]["task_id"][10]
        with self.assertRaisesRegex(npuprof.Error, "nowhere"):
            npuprof.load("/nowhere")

    def test_a_simulated_run_says_so(self):
        with tempfile.TemporaryDirectory() as parent:
            root = make_profile.write(parent, 10)
            os.makedirs(os.path.join(root, "npuprof"))
            with open(os.path.join(root, "npuprof", "manifest.json"), "w", encoding="utf-8") as f:
                f.write('{"format":1,"simulated":true,"complete":true,"devices":[{"id":0,"backend":"sim","simulated":true}]}')
            tables = npuprof.load(root)
        self.assertTrue(tables.simulated)
        self.assertIn("SIMULATED", repr(tables))


if __name__ == "__main__":
    unittest.main()
