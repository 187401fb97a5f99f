# SPDX-License-Identifier: Apache-2.0
"""Databases of known directories are what the public analysis makes of them; when one is written, kept or replaced.

usage: database_test.py NPUPROF GOLDEN_DIRECTORY TEST_CLASS...
"""
import glob
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import golden

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import make_profile  # noqa: E402

NOBODY = 65534
NPUPROF, GOLDEN = sys.argv[1:3]
del sys.argv[1:3]
SETS = ("min", "full", "multi", "wrap")
# What the public analysis keeps as doubles of nanoseconds, in steps of 256, and makes rates of.
ROUNDED_TIMES = {"HBM": ("hbmId", "type"), "LLC": ("llcId",), "NPU_MEM": ("type",)}
HALF_STEP, RATE_ERROR = 128, 5e-4
# Tables with documented differences of other kinds.
OWN_WAY = {"AICORE_FREQ", "HCCS", "SOC_BANDWIDTH_LEVEL", "STRING_IDS"}


def profile(name):
    return glob.glob(f"{GOLDEN}/{name}/PROF_*")[0]


def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def export(directory, *options, check=True, limit=None):
    def before():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    result = subprocess.run([NPUPROF, "export", directory, "--format", "db", *options], capture_output=True, text=True,
                            preexec_fn=before)
    if check and result.returncode != 0:
        raise AssertionError(f"exit code {result.returncode}: {result.stdout}{result.stderr}")
    return result


class Golden(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours, cls.theirs = {}, {}
        with tempfile.TemporaryDirectory() as out:
            for name in SETS:
                export(profile(name), "--output", f"{out}/{name}")
                found, = glob.glob(f"{out}/{name}/*")
                disk = sqlite3.connect(found)
                memory = sqlite3.connect(":memory:")
                disk.backup(memory)
                disk.close()
                cls.ours[name] = golden.Database(memory)
                cls.theirs[name] = golden.from_script(f"{GOLDEN}/{name}/expected/msprof.sql")

    def each(self, *tables):
        for name in SETS:
            for table in tables or sorted(self.theirs[name].tables()):
                if table in self.theirs[name].tables():
                    yield self.ours[name].table(table), self.theirs[name].table(table), f"{name} {table}"

    def test_tables_columns_types_and_indices_are_the_published_ones(self):
        for name in SETS:
            self.assertEqual(self.ours[name].schema, self.theirs[name].schema, name)

    def test_rows_mean_the_same_in_every_table(self):
        compared, differences = 0, []
        for ours, theirs, where in self.each():
            if where.split()[1] in {*OWN_WAY, *ROUNDED_TIMES}:
                continue
            ours, theirs = golden.counted(ours), golden.counted(theirs)
            for what, rows in (("missing", theirs - ours), ("extra", ours - theirs)):
                differences += [f"{where}, {what}: {row}" for row in sorted(map(str, rows.elements()))[:3]]
            compared += 1
        self.assertEqual(differences, [])
        self.assertGreater(compared, 70)

    def test_times_and_rates_are_exact_where_the_others_are_rounded(self):
        for ours, theirs, where in self.each(*ROUNDED_TIMES):
            key = ROUNDED_TIMES[where.split()[1]]
            order = lambda row: ([row[k] for k in key], row["timestampNs"])
            self.assertEqual(len(ours), len(theirs))
            for a, b in zip(sorted(ours, key=order), sorted(theirs, key=order)):
                for column, value in b.items():
                    if column == "timestampNs":
                        self.assertLessEqual(abs(a[column] - value), HALF_STEP)
                        self.assertEqual(a[column] % 1_000_000, 0, "samples were a millisecond apart")
                    elif column in ("bandwidth", "throughput"):
                        self.assertLessEqual(abs(a[column] - value), abs(value) * RATE_ERROR)
                    else:
                        self.assertEqual(a[column], value)

    def test_the_clock_of_the_cores_is_told_once_for_each_change(self):
        for ours, theirs, _ in self.each("AICORE_FREQ"):
            self.assertEqual(set(golden.counted(ours)), set(golden.counted(theirs)))
            self.assertEqual(max(golden.counted(ours).values()), 1)

    def test_every_interval_of_traffic_between_chips_is_there(self):
        for ours, theirs, _ in self.each("HCCS"):
            self.assertEqual(len(ours), len(theirs) + 1)
            rates = {row["timestampNs"]: row for row in ours}
            for row in theirs:
                for column in ("txThroughput", "rxThroughput"):
                    self.assertLess(abs(rates[row["timestampNs"]][column] / row[column] - 1), 1e-6)

    def test_levels_are_told_by_their_own_names(self):
        for ours, theirs, _ in self.each("SOC_BANDWIDTH_LEVEL"):
            for row in theirs:
                row["l2BufferBwLevel"], row["mataBwLevel"] = row["mataBwLevel"], row["l2BufferBwLevel"]
            self.assertEqual(golden.counted(ours), golden.counted(theirs))

    def test_texts_are_numbered_from_0_and_each_is_there_once(self):
        for name in SETS:
            texts = self.ours[name].texts
            self.assertEqual(sorted(texts), list(range(len(texts))))
            self.assertEqual(len(set(texts.values())), len(texts))
            self.assertEqual((texts[0], texts[1]), ("release", "allocate"))

    def test_a_comparison_notices_a_different_cell(self):
        script = f"{GOLDEN}/min/expected/msprof.sql"
        other = golden.from_script(script)
        other.connection.execute("UPDATE TASK SET endNs = endNs + 1 WHERE taskId = 3")
        self.assertNotEqual(golden.counted(golden.Database(other.connection).table("TASK")),
                            golden.counted(golden.from_script(script).table("TASK")))


class LifeCycle(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.profile = f"{self.temporary.name}/{os.path.basename(profile('min'))}"
        shutil.copytree(profile("min"), self.profile)
        subprocess.run(["chmod", "-R", "u+w", self.profile], check=True)

    def databases(self):
        return sorted(name for name in os.listdir(self.profile) if ".db" in name)

    def test_the_database_lies_in_the_profile_itself_and_others_may_not_read_it(self):
        export(self.profile)
        name, = self.databases()
        self.assertRegex(name, r"^msprof_\d{14}\.db$")
        self.assertEqual(os.stat(f"{self.profile}/{name}").st_mode & 0o777, 0o640)
        self.assertFalse(os.path.exists(f"{self.profile}/mindstudio_profiler_output"))

    def test_a_complete_database_is_left_alone_whoever_wrote_it(self):
        path = f"{self.profile}/msprof_20200101000000.db"
        with sqlite3.connect(path) as theirs:
            theirs.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
        before = pathlib.Path(path).read_bytes()
        result = export(self.profile)
        self.assertIn("is complete already", result.stdout)
        self.assertEqual(self.databases(), [os.path.basename(path)])
        self.assertEqual(pathlib.Path(path).read_bytes(), before)

    def test_an_incomplete_database_is_replaced(self):
        path = f"{self.profile}/msprof_20200101000000.db"
        for contents in (b"", b"no database"):
            with open(path, "wb") as f:
                f.write(contents)
            export(self.profile)
            name, = self.databases()
            self.assertNotEqual(name, os.path.basename(path))
            self.assertEqual(len(golden.opened(f"{self.profile}/{name}").table("TASK")), 50)
            os.remove(f"{self.profile}/{name}")

    def test_nothing_stays_behind_where_there_is_no_room(self):
        result = export(self.profile, check=False, limit=65536)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"msprof_\d{14}\.db cannot be written")
        self.assertEqual(self.databases(), [])

    def test_texts_that_are_no_utf_8_can_be_read(self):
        names = f"{self.profile}/host/data/unaging.additional.hash_dic.slice_0"
        if not os.path.exists(names):
            names = names.replace("unaging", "aging")
        lines = pathlib.Path(names).read_bytes().split(b"\n")
        pathlib.Path(names).write_bytes(b"\n".join(line + b"\xe4\xb8" if b":" in line else line for line in lines))
        export(self.profile)
        name, = self.databases()
        texts = [text for text, in sqlite3.connect(f"{self.profile}/{name}").execute("SELECT value FROM STRING_IDS")]
        self.assertTrue(any(text.endswith("\ufffd") for text in texts), texts)

    def test_whoever_comes_second_finds_the_database_of_the_first(self):
        runs = [subprocess.Popen([NPUPROF, "export", self.profile, "--format", "db"], stdout=subprocess.PIPE, text=True)
                for _ in range(3)]
        said = [run.communicate()[0] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0, 0])
        self.assertEqual(sum("is complete already" in text for text in said), 2)
        self.assertEqual(len(self.databases()), 1)

    def test_simulated_figures_are_marked(self):
        os.mkdir(f"{self.profile}/npuprof")
        with open(f"{self.profile}/npuprof/manifest.json", "w", encoding="utf-8") as f:
            json.dump({"simulated": True, "complete": True, "devices": [{"id": 0, "simulated": True, "backend": "sim"}]}, f)
        export(self.profile)
        name, = self.databases()
        marks = dict(golden.opened(f"{self.profile}/{name}").rows("SELECT name, value FROM META_DATA"))
        self.assertIn("simulated NPU", marks["SIMULATED"])

    def test_a_table_of_samples_that_cannot_be_read_costs_itself_alone(self):
        shutil.rmtree(self.profile)
        shutil.copytree(profile("full"), self.profile)
        subprocess.run(["chmod", "-R", "u+w", self.profile], check=True)
        info = f"{self.profile}/device_0/info.json.0"
        text = pathlib.Path(info).read_text(encoding="utf-8")
        with open(info, "w", encoding="utf-8") as f:
            f.write(re.sub(r'"version": "1.0"', '"version": "9.0"', text))
        result = export(self.profile, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not made, or not whole: hbm", result.stdout)
        name, = self.databases()
        database = golden.opened(f"{self.profile}/{name}")
        self.assertNotIn("HBM", database.tables())
        self.assertEqual(len(database.table("NIC")), 20)

    def test_other_formats_beside_it_go_where_they_always_go(self):
        subprocess.run([NPUPROF, "export", self.profile, "--format", "csv,db"], check=True, capture_output=True)
        self.assertEqual(len(self.databases()), 1)
        self.assertTrue(glob.glob(f"{self.profile}/mindstudio_profiler_output/op_summary_*.csv"))


class Communication(unittest.TestCase):
    EXPECTED = f"{GOLDEN}/multi/expected/analyze"

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = temporary.name

    def analyze(self, name, form):
        subprocess.run([NPUPROF, "export", profile(name), "--format", form, "--output", self.out], check=True,
                       capture_output=True)
        return sorted(os.listdir(f"{self.out}/analyze")) if os.path.isdir(f"{self.out}/analyze") else []

    def test_files_say_what_the_public_analysis_says(self):
        self.assertEqual(self.analyze("multi", "communication"),
                         ["communication.json", "communication_analyzer.db", "communication_matrix.json"])
        for name in ("communication.json", "communication_matrix.json"):
            ours, theirs = (json.loads(pathlib.Path(f"{d}/{name}").read_text(encoding="utf-8"))
                            for d in (f"{self.out}/analyze", self.EXPECTED))
            self.assertEqual(ours, theirs)
            self.assertEqual(list(ours), list(theirs), "in the same order")
            self.assertGreater(len(ours), 10)
        ours = sqlite3.connect(f"{self.out}/analyze/communication_analyzer.db")
        theirs = sqlite3.connect(":memory:")
        theirs.executescript(pathlib.Path(f"{self.EXPECTED}/communication_analyzer.sql").read_text(encoding="utf-8"))
        tables = [name for name, in theirs.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.assertEqual(len(tables), 3)
        for table in tables:
            columns, rows = ([c.execute(query.format(table)).fetchall() for c in (ours, theirs)]
                             for query in ("SELECT name, type FROM pragma_table_info('{}')", "SELECT * FROM {}"))
            self.assertEqual(columns[0], columns[1], table)
            self.assertEqual(sorted(rows[0]), sorted(rows[1]), table)
            self.assertGreater(len(rows[0]), 0)

    def test_the_database_of_collectives_comes_alone_if_asked_for_alone(self):
        self.assertEqual(self.analyze("multi", "communication-db"), ["communication_analyzer.db"])

    def test_without_collectives_there_are_no_files(self):
        self.assertEqual(self.analyze("min", "communication"), [])

    def test_what_does_not_fit_into_memory_never_goes_into_a_profile_that_is_only_read(self):
        for name in os.listdir(self.out):
            os.remove(f"{self.out}/{name}")
        os.chmod(self.out, 0o755)
        copy = shutil.copy(NPUPROF, self.out)
        directory = make_profile.write(self.out, 20000)
        results = f"{self.out}/results"
        os.mkdir(results)
        if os.geteuid() == 0:  # may write everywhere
            os.chown(results, NOBODY, NOBODY)
        for path, folders, files in os.walk(directory):
            for entry in files:
                os.chmod(f"{path}/{entry}", 0o444)
            os.chmod(path, 0o555)
        for form in ("csv", "json", "db", "communication", "csv,json,db,communication-db"):
            done = subprocess.run([copy, "export", directory, "--output", f"{results}/{form}", "--memory", "1", "--format", form],
                                  capture_output=True, text=True, check=False, preexec_fn=become_nobody)
            self.assertEqual((0, ""), (done.returncode, done.stderr), form)
        self.assertFalse(os.path.exists(f"{results}/communication"), "made in vain")


if __name__ == "__main__":
    unittest.main()
