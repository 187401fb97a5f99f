# SPDX-License-Identifier: Apache-2.0
"""Runs client programs and commands of the build under test, and gathers every count of what they left.

NPUPROF_BUILD_DIR and NPUPROF_SOURCE_DIR name the build and the source tree.
"""
import csv
import ctypes
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from validator import validate

SOURCE = os.environ.get("NPUPROF_SOURCE_DIR", os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.environ.get("NPUPROF_BUILD_DIR", os.path.join(SOURCE, "build", "release"))
CLIENTS = os.path.join(BUILD, "tests", "clients", "bin")
NPUPROF = os.path.join(BUILD, "bin", "npuprof")
MODELS = os.path.join(SOURCE, "tools", "npusim", "models")

DRAIN_PATHS = ("uring", "direct", "pwritev")

# Bits of dataTypeConfig.
ACL_API, TASK_TIME, METRICS, HCCL, MSPROFTX, RUNTIME_API, TASK_TIME_L0 = 0x1, 0x2, 0x4, 0x20, 0x80, 0x100, 0x800
AICPU, L2CACHE, TRAINING_TRACE, GE_API_L0, TASK_MEMORY, TASK_TIME_L2 = 0x8, 0x10, 0x40, 0x200, 0x1000, 0x2000
OP_ATTR, TASK_TIME_L3, GE_API_L1, API_STATS, AICORE_SHAPE = 0x4000, 0x8000, 0x1000000, 0x400000000, 0x800000000


def environment(**changes):
    """The test's environment without settings that would change a run, and with `changes`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NPUSIM_", "NPUPROF_"))}
    env.update({k: str(v) for k, v in changes.items()})
    env["PYTHONPATH"] = os.path.join(BUILD, "python")
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return env


def sanitizers():
    """Those of the build under test, as NPUPROF_SANITIZE names them; "" without any."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as f:
        return next((line.split("=", 1)[1].strip() for line in f if line.startswith("NPUPROF_SANITIZE:")), "")


def uring_refused():
    """Why io_uring cannot be used here, or None."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(425, 2, ctypes.create_string_buffer(120))
    if fd >= 0:
        os.close(fd)
        return None
    return os.strerror(ctypes.get_errno())


def direct_refused(directory):
    """Why O_DIRECT cannot be used in a directory, or None."""
    path = os.path.join(directory, "direct-probe")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
        return None
    except OSError as e:
        return e.strerror
    finally:
        if os.path.exists(path):
            os.remove(path)


def on_drain_paths(*paths):
    """Makes of test_x(self, path) one case per path: test_x_uring and so on."""
    def mark(test):
        test.drain_paths = paths
        return test
    return mark


on_each_drain_path = on_drain_paths(*DRAIN_PATHS)


class Profile:
    """One PROF directory and everything that counts what it holds."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "npuprof", "manifest.json"), encoding="utf-8") as f:
            self.manifest = json.load(f)

    def metadata(self, name):
        """A metadata file of the public format, by its path inside the directory."""
        with open(os.path.join(self.path, name), encoding="utf-8") as f:
            return json.load(f)

    def left_by_analysis(self):
        """What only an analysis leaves in a directory. A reader that finds it takes it for its own earlier work and does
        not read the records again."""
        return sorted(path for path in glob.glob(os.path.join(self.path, "**"), recursive=True)
                      if path.endswith((".complete", ".db", "/sqlite")))

    def validate(self, allowed=()):
        report = validate(self.path)
        report.without(set(allowed))
        return report

    def rings(self, channel=None):
        return [r for d in self.manifest["devices"] for r in d["rings"] if channel in (None, r["channel"])]

    def lost(self):
        """Records that never reached the files, of rings and of the host."""
        return sum(r["lost"] for r in self.rings()) + sum(k["lost"] for k in self.manifest["host"]["kinds"])

    def export(self, *arguments):
        """Exports beside the directory. Returns what the command says as JSON."""
        output = os.path.join(os.path.dirname(self.path), "tables")
        done = subprocess.run([NPUPROF, "export", self.path, "--output", output, "--json", *arguments],
                              capture_output=True, text=True, env=environment(), check=False)
        if done.returncode != 0:
            raise AssertionError(f"export ended with {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout)
        result["output"] = output
        return result


def rows(output, table):
    """Rows of an exported table, all its files together."""
    found = []
    for path in sorted(glob.glob(os.path.join(output, f"{table}_*.csv"))):
        with open(path, encoding="utf-8", newline="") as f:
            found += [{k: v.strip() for k, v in row.items()} for row in csv.DictReader(f)]
    return found


class ClientTest(unittest.TestCase):
    """Base: a directory of its own on the disk of the build tree, and clients that run in it."""

    maxDiff = 4000

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name, test in list(vars(cls).items()):
            for path in getattr(test, "drain_paths", ()):
                setattr(cls, f"{name}_{path}", lambda self, test=test, path=path: test(self, path))
            if hasattr(test, "drain_paths"):
                delattr(cls, name)

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="e2e-", dir=os.path.join(BUILD, "tests"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def fresh(self, name):
        """A new empty directory below the test's."""
        path = os.path.join(self.dir, name)
        os.makedirs(path)
        return path

    def run_client(self, client, *arguments, status=0, preexec=None, **env):
        """Runs a client to its end and checks its exit status."""
        done = subprocess.run([os.path.join(CLIENTS, client), *map(str, arguments)], capture_output=True, text=True,
                              env=environment(**env), timeout=500, cwd=self.dir, check=False, preexec_fn=preexec)
        self.assertEqual(status, done.returncode, f"{client}: {done.stdout}{done.stderr}")
        return done

    def profile_in(self, directory):
        found = glob.glob(os.path.join(directory, "PROF_*"))
        self.assertEqual(1, len(found), f"PROF directories in {directory}")
        return Profile(found[0])

    def workload(self, directory, *arguments, **env):
        """Runs workload. Returns what the models counted in the window, and the profile."""
        done = self.run_client("workload", directory, *arguments, **env)
        return json.loads(done.stdout)["devices"], self.profile_in(directory)

    def drain(self, path):
        """Skips the test, saying why, if a drain path cannot work on this machine."""
        why = uring_refused() if path != "pwritev" else None
        if path == "direct" and not why:
            why = direct_refused(self.dir)
        if why:
            self.skipTest(f"drain path {path} cannot be used here: {why}")
        return {"NPUPROF_DRAIN": path}

    def assert_readable(self, profile, allowed=()):
        """The validator finds nothing, and nothing pretends to have been read already."""
        self.assertEqual([], profile.left_by_analysis())
        report = profile.validate(allowed)
        self.assertEqual([], list(report.lines()))
        return report.counts

    def assert_ring_sums(self, profile):
        for ring in profile.rings():
            self.assertEqual(ring["records"], ring["kept"] + ring["lost"], ring)
            self.assertEqual(ring["lost"], sum(ring["lost_by_cause"].values()), ring)

    def assert_whole(self, model, profile, counters=True):
        """Launched = started = ended = counter records = exported, nothing lost, on every device.

        Returns what the export said, and under "raw" the counts of the validator.
        """
        with ThreadPoolExecutor() as beside:  # both take long for a long window
            exporting = beside.submit(profile.export)
            counts = self.assert_readable(profile)
            self.assert_ring_sums(profile)
            self.assertEqual(0, profile.lost(), profile.manifest)
            self.assertTrue(profile.manifest["complete"])
            self.assertTrue(profile.manifest["simulated"])
            exported = exporting.result()
        told = {d["id"]: d for d in profile.manifest["devices"]}
        shown = {d["device"]: d for d in exported["devices"]}
        self.assertEqual({d["id"] for d in model}, set(told))
        for device in model:
            raw, tasks, out = counts["devices"][str(device["id"])], told[device["id"]]["tasks"], shown[device["id"]]
            launched = device["submitted"]
            self.assertEqual(launched, device["started"])
            self.assertEqual({"started": launched, "ended": launched, "starts": launched, "ends": launched,
                              "tracks": launched, "without track": 0, "paired": launched, "tracked": launched},
                             {"started": tasks["started"], "ended": tasks["ended"], "starts": raw["starts"],
                              "ends": raw["ends"], "tracks": raw["tracks"],
                              "without track": raw["tasks_without_track"], "paired": out["tasks"],
                              "tracked": out["tracked"]})
            kernels = device["kernels"] if counters else 0
            self.assertEqual((kernels, kernels, kernels),
                             (raw.get("context_pmu", 0), out["pmu_records"], out["pmu_matched"]))
        self.assertEqual(sum(d["submitted"] for d in model), exported["rows"].get("task_time", 0))
        self.assertEqual(sum(d["kernels"] for d in model), exported["rows"].get("op_summary", 0))
        self.assertEqual(([], True), (exported["losses"], exported["losses_known"]))
        self.assertEqual(0, exported["broken_records"])
        return {**exported, "raw": counts}
