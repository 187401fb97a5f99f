# SPDX-License-Identifier: Apache-2.0
"""bin/msprof as frameworks spawn it: options, modes, files and exit codes."""
import glob
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess

from harness import NPUPROF, SOURCE, environment
from test_record import SERVE, RecordTest

MSPROF = os.path.join(os.path.dirname(NPUPROF), "msprof")
FAILED, UNSUPPORTED = 255, 254
GOLDEN = os.path.join(SOURCE, "tests", "data", "golden")

ON_OFF = ("parse", "query", "export", "analyze", "clear", "dynamic", "ascendcl", "runtime-api", "task-tsfw", "task-memory", "aicpu",
          "l2", "msproftx", "aicore-shape", "instr-profiling", "model-execution", "hccl", "ai-core", "sys-cpu-profiling",
          "sys-profiling", "sys-pid-profiling", "sys-hardware-mem", "sys-io-profiling", "sys-interconnection-profiling",
          "dvpp-profiling")
WORDS = {"type": ("text", "db"), "summary-format": ("csv", "json"), "rule": ("communication", "communication,communication_matrix"),
         "task-time": ("on", "off", "l0", "l1", "l2", "l3"), "task-trace": ("on", "l3"), "ge-api": ("off", "l0", "l1"),
         "aic-mode": ("task-based", "sample-based"), "task-block": ("off", "all", "on"), "llc-profiling": ("read", "write")}
NUMBERS = {"iteration-id": (1, 4294967295), "model-id": (-1, 4294967295), "pid": (1, 2147483647), "delay": (1, 4294967295),
           "duration": (1, 4294967295), "aic-freq": (1, 100), "instr-profiling-freq": (300, 30000), "sys-period": (1, 2592000),
           "sys-cpu-freq": (1, 50), "sys-sampling-freq": (1, 10), "sys-pid-sampling-freq": (1, 10),
           "sys-hardware-mem-freq": (1, 100), "sys-io-sampling-freq": (1, 100), "sys-interconnection-freq": (1, 50),
           "dvpp-freq": (1, 100), "host-sys-pid": (1, 2147483647), "host-sys-usage-freq": (1, 50)}
TEXTS = ("output", "application", "environment", "storage-limit", "python-path", "reports", "aic-metrics", "npu-events",
         "mstx-domain-include", "mstx-domain-exclude", "sys-devices", "sys-mem-serviceflow", "host-sys", "host-sys-usage")
OF_OTHER_CHIPS = ("ai-vector-core", "aiv-mode", "aiv-metrics", "aiv-freq", "sys-lp", "sys-lp-freq", "optype")


class MsprofTest(RecordTest):
    def msprof(self, *arguments, status=0, **options):
        done = subprocess.run([MSPROF, *map(str, arguments)], capture_output=True, text=True, env=environment(), timeout=120,
                              cwd=self.dir, check=False, **options)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done

    def golden(self, name):
        source, = glob.glob(os.path.join(GOLDEN, name, "PROF_*"))
        target = os.path.join(self.fresh(name), os.path.basename(source))
        shutil.copytree(source, target)
        subprocess.run(["chmod", "-R", "u+w", target], check=True)
        return target

    def outputs(self, profile):
        """What frameworks wait for."""
        names = os.listdir(os.path.join(profile, "mindstudio_profiler_output"))
        return {re.match(r"(.*?)(?:_slice_\d+)?_\d{14}\.(?:csv|json)$", n)[1] for n in names if n != "README.txt"}

    def databases(self, profile):
        return [n for n in os.listdir(profile) if re.match(r"^msprof_\d+\.db$", n)]


class Options(MsprofTest):
    def test_every_published_option_takes_its_values_and_no_others(self):
        good = [(o, v) for o in ON_OFF for v in ("on", "off")] + [(o, v) for o, vs in WORDS.items() for v in vs]
        good += [(o, v) for o, vs in NUMBERS.items() for v in vs] + [(o, "x") for o in TEXTS]
        bad = [(o, "maybe") for o in (*ON_OFF, *WORDS)] + [(o, v) for o, (a, b) in NUMBERS.items() for v in (a - 1, b + 1, "x")]
        for option, value in good:
            self.assertIn("--type", self.msprof(f"--{option}={value}", "--help").stdout)
        for option, value in bad:
            said = self.msprof(f"--{option}", value, "--help", status=FAILED).stdout
            self.assertRegex(said, rf"\[ERROR\] Argument --{option}: invalid value: {value}\. Allowed is ")

    def test_the_help_lists_exactly_these_and_says_what_frameworks_look_for(self):
        text = self.msprof("--help").stdout
        self.assertIn("text(which will also export the database)", text)
        listed = set(re.findall(r"^  --([a-z0-9-]+)", text, re.M)) - {"help"}
        self.assertEqual(listed, {*ON_OFF, *WORDS, *NUMBERS, *TEXTS})
        self.assertEqual(self.msprof(status=FAILED).stdout, text)

    def test_unknown_options_are_named(self):
        for option in ("no-such-option", *OF_OTHER_CHIPS):
            said = self.msprof(f"--{option}=on", status=FAILED)
            self.assertIn(f"[ERROR] unrecognized option '--{option}=on'", said.stdout)
            self.assertEqual(said.stderr, "", "clients take any text there for a failure")

    def test_the_beginning_of_an_option_is_enough_if_there_is_only_one(self):
        self.msprof("--expor=on", "--help")
        self.assertIn("'--sys=on'", self.msprof("--sys=on", status=FAILED).stdout)

    def test_options_that_do_not_go_together_are_named(self):
        for arguments, named in ((["--export=on"], "output is necessary when --export"),
                                 (["--analyze=on"], "output is necessary when --analyze"),
                                 (["--pid=1"], "dynamic is necessary when --pid"),
                                 (["--dynamic=on"], "exactly one of --pid and a program"),
                                 (["--export=on", "--output=x", "--type=db", "--clear=on"], "clear is forbidden"),
                                 (["--export=off"], "No valid argument found")):
            self.assertIn(named, self.msprof(*arguments, status=FAILED).stdout)

    def test_what_cannot_be_done_is_told_by_its_own_exit_code(self):
        said = self.msprof("--sys-devices=all", "--sys-period=1", "--output=x", status=UNSUPPORTED)
        self.assertIn("--sys-devices is not supported", said.stdout)


class Modes(MsprofTest):
    def test_export_makes_tables_timeline_and_database(self):
        profile = self.golden("full")
        for output in (profile, os.path.dirname(profile)):  # the directory itself, or one above it
            said = self.msprof("--export=on", f"--output={output}")
            self.assertEqual(said.stderr, "")
            self.assertIn(f"Export all data in {profile} done.", said.stdout)
            self.assertLessEqual({"msprof", "op_summary", "api_statistic", "task_time", "hbm"}, self.outputs(profile))
            self.assertEqual(len(self.databases(profile)), 1)
            shutil.rmtree(os.path.join(profile, "mindstudio_profiler_output"))

    def test_export_of_the_database_makes_nothing_else(self):
        profile = self.golden("min")
        self.msprof("--export=on", "--type=db", f"--output={profile}")
        self.assertEqual(len(self.databases(profile)), 1)
        self.assertFalse(os.path.exists(os.path.join(profile, "mindstudio_profiler_output")))

    def test_a_directory_without_profiles_fails(self):
        empty = self.fresh("empty")
        os.makedirs(empty, exist_ok=True)
        self.assertIn(empty, self.msprof("--export=on", f"--output={empty}", status=FAILED).stdout)

    def test_a_profile_that_cannot_be_read_fails(self):
        profile = self.golden("min")
        os.remove(os.path.join(profile, "host", "info.json"))
        os.remove(os.path.join(profile, "device_0", "info.json.0"))
        self.assertIn("[ERROR]", self.msprof("--export=on", f"--output={profile}", status=FAILED).stdout)

    def test_parse_and_query_say_what_there_is(self):
        profile = self.golden("min")
        for mode in ("parse", "query"):
            self.assertIn("device 0", self.msprof(f"--{mode}=on", f"--output={profile}").stdout.lower())

    def test_an_application_is_profiled_and_exported(self):
        out = self.fresh("out")
        said = self.msprof("--output", out, "--ai-core=on", "--environment=A_VARIABLE=b", SERVE, input="work 5\n")
        profile, = self.profiles(out)
        self.assertIn(f"Data is saved in {out}", said.stdout)
        self.assertIn("op_summary", self.outputs(profile))
        self.assertEqual(len(self.databases(profile)), 1)
        out = self.fresh("second")
        self.msprof(f"--application={SERVE}", f"--output={out}", "--type=db", input="work 5\n")
        profile, = self.profiles(out)
        self.assertEqual(len(self.databases(profile)), 1)
        self.assertFalse(os.path.exists(os.path.join(profile, "mindstudio_profiler_output")))

    def test_an_application_without_devices_and_one_that_is_missing_fail(self):
        out = self.fresh("out")
        self.assertIn("Failed to find profiling data", self.msprof(f"--output={out}", "/bin/true", status=FAILED).stdout)
        self.assertIn("cannot be run", self.msprof(f"--output={out}", "/no/such/program", status=FAILED).stdout)

    def test_dynamic_begins_and_ends_windows_of_a_running_process(self):
        service, out = self.service(), self.fresh("out")
        self.assertEqual("done", service.tell("work 5"))
        said = self.msprof("--dynamic=on", f"--pid={service.pid}", f"--output={out}",
                           input="help\nstart\nstop\nnonsense\nstart\nquit\n")
        self.assertEqual(said.stdout.count("Start profiling...."), 2)
        self.assertIn("'nonsense' is no command", said.stdout)
        self.assertEqual(len(self.profiles(out)), 2)
        self.assertEqual("none", self.state(service.pid))
        self.assertEqual("done", service.tell("work 5"))
        service.end()

    def test_dynamic_starts_a_program_too(self):
        out = self.fresh("out")
        said = self.msprof("--dynamic=on", f"--output={out}", "/bin/true", input="quit\n")
        self.assertIn("(msprof) ", said.stdout)


class Analysis(MsprofTest):
    def assert_close(self, ours, theirs, path=""):
        if isinstance(theirs, dict):
            self.assertEqual(set(ours), set(theirs), path)
            for key in theirs:
                self.assert_close(ours[key], theirs[key], f"{path}/{key}")
        elif isinstance(theirs, list):
            self.assertEqual(len(ours), len(theirs), path)
            for i, (a, b) in enumerate(zip(ours, theirs)):
                self.assert_close(a, b, f"{path}/{i}")
        elif isinstance(theirs, (int, float)):
            self.assertTrue(math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9), f"{path}: {ours} is not {theirs}")
        else:
            self.assertEqual(ours, theirs, path)

    def test_files_about_communication_are_those_of_the_public_analysis(self):
        profile = self.golden("multi")
        self.msprof("--analyze=on", "--rule=communication,communication_matrix", f"--output={profile}")
        expected = os.path.join(GOLDEN, "multi", "expected", "analyze")
        for name in ("communication.json", "communication_matrix.json"):
            with open(os.path.join(profile, "analyze", name), encoding="utf-8") as a, \
                 open(os.path.join(expected, name), encoding="utf-8") as b:
                self.assert_close(json.load(a), json.load(b), name)
        theirs = sqlite3.connect(":memory:")
        with open(os.path.join(expected, "communication_analyzer.sql"), encoding="utf-8") as f:
            theirs.executescript(f.read())
        ours = sqlite3.connect(os.path.join(profile, "analyze", "communication_analyzer.db"))
        for table in ("CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"):
            query = f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5"
            self.assertEqual([c[1] for c in ours.execute(f"PRAGMA table_info({table})")],
                             [c[1] for c in theirs.execute(f"PRAGMA table_info({table})")])
            self.assert_close([list(r) for r in ours.execute(query)], [list(r) for r in theirs.execute(query)], table)

    def test_the_database_alone_is_made_for_type_db(self):
        profile = self.golden("multi")
        self.msprof("--analyze=on", "--type=db", f"--output={profile}")
        self.assertEqual(os.listdir(os.path.join(profile, "analyze")), ["communication_analyzer.db"])

    def test_without_collectives_there_is_nothing_to_say(self):
        profile = self.golden("min")
        self.msprof("--analyze=on", f"--output={profile}")
        self.assertFalse(os.path.exists(os.path.join(profile, "analyze")))
