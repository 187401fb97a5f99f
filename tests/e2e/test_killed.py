# SPDX-License-Identifier: Apache-2.0
"""A process is killed at a random moment: what is older than a second is there, and verify, repair and export read it."""
import glob
import json
import mmap
import os
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import CLIENTS, DRAIN_PATHS, NPUPROF, ClientTest, Profile, direct_refused, environment, rows, uring_refused

# Other numbers by hand: NPUPROF_TEST_KILLS=1000 python3 -m unittest test_killed
KILLS = int(os.environ.get("NPUPROF_TEST_KILLS", "100"))
TOGETHER = 12


def command(*arguments):
    done = subprocess.run([NPUPROF, *arguments], capture_output=True, text=True, env=environment(), check=False)
    return done.returncode, done.stdout, done.stderr


def as_json(*arguments):
    status, out, err = command(*arguments, "--json")
    return status, json.loads(out) if out else err


class Machine(threading.Thread):
    """How late this machine is meanwhile: a block that is due on the disk every ten milliseconds, and when it is there. Nobody
    who wants a CPU and the disk in turn can be quicker."""

    def __init__(self, directory, direct):
        super().__init__(daemon=True)
        self.file = os.open(os.path.join(directory, "probe"), os.O_CREAT | os.O_WRONLY | (os.O_DIRECT if direct else 0))
        self.block = mmap.mmap(-1, 4096)
        self.late = [(time.monotonic_ns(), 0)]      # when, by how much
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set():
            due = time.monotonic_ns() + 10**7
            time.sleep(0.01)
            os.pwrite(self.file, self.block, 0)
            now = time.monotonic_ns()
            self.late.append((now, now - due))

    def latest(self, since, until):
        """The most in nanoseconds, the one included that was under way at the end."""
        seen = self.late[:]
        running = max(0, until - seen[-1][0] - 10**7)
        return max([late for when, late in seen if when >= since and when - late <= until] + [running])

    def end(self):
        self.ended.set()
        self.join()
        os.close(self.file)


class KilledAtRandom(ClientTest):
    serial = True
    timeout = 900

    def paths(self):
        return [path for path in DRAIN_PATHS
                if not (path != "pwritev" and uring_refused()) and not (path == "direct" and direct_refused(self.dir))]

    def one(self, number, path, life):
        """Returns what was promised, the directory, and how late the machine was in the two seconds before the kill. What
        ended a second before it is promised."""
        directory = self.fresh(f"killed{number}")
        with subprocess.Popen([os.path.join(CLIENTS, "forever"), directory, "50", "3000"], stdout=subprocess.PIPE,
                              text=True, env=environment(NPUPROF_DRAIN=path)) as process:
            process.stdout.readline()
            time.sleep(life)
            killed = time.monotonic_ns()
            process.send_signal(signal.SIGKILL)
            lines = [line.split() for line in process.stdout.read().splitlines()]
        promised = max([int(line[1]) for line in lines if len(line) == 2 and int(line[0]) <= killed - 10**9], default=0)
        late = f"{self.machine.latest(killed - 2 * 10**9, killed) / 1e6:.0f} ms"
        return promised, glob.glob(os.path.join(directory, "PROF_*"))[0], late

    def judge(self, path, promised, directory):
        # Writes past the page cache may end after the process that asked for them; verify and repair wait for them, so what
        # each of them finds from here on is the same.
        status, found = as_json("verify", directory)
        self.assertEqual((4, "torn"), (status, found["state"]), found)
        # A slice that was finished is what it was noted to be; the open ones are whole but for their end.
        for file in found["files"]:
            for piece in file["slices"]:
                self.assertIn(piece["state"], ("complete", "torn"), piece)
                if path != "direct":
                    self.assertGreaterEqual(piece["whole_bytes"] + 4096, piece["bytes"], piece)
        status, dry = as_json("repair", "--dry-run", directory)
        self.assertEqual((0, found), (status, as_json("verify", directory)[1]), "a dry run changes nothing")
        status, repaired = as_json("repair", directory)
        self.assertEqual((0, dry["actions"]), (status, repaired["actions"]))
        status, found = as_json("verify", directory)
        self.assertEqual([], [f["problems"] for f in found["files"] if f["problems"]])
        self.assertEqual({"complete"}, {f["state"] for f in found["files"]})
        self.assertTrue(found["repaired"])
        self.assertEqual([], as_json("repair", directory)[1]["actions"], "a second repair finds nothing to do")
        profile = Profile(directory)
        # Partners may be missing at the very end; nothing else may be wrong.
        cut_off = ("task-pairs", "pmu-inside-task", "track-inside-api", "node-inside-launch", "flips")
        # All names are of the first tasks; where those are old enough to be promised, so are their names.
        counts = self.assert_readable(profile, cut_off + (() if promised else ("hash-name", "type-name")))
        device = counts["devices"]["0"]
        self.assertGreaterEqual(device.get("tasks", 0), promised)
        self.assertGreaterEqual(device.get("context_pmu", 0), promised)
        self.assertGreaterEqual(counts["host"].get("task_track", 0), promised)
        status, exported = as_json("export", directory, "--output", directory + ".out")
        self.assertEqual(0, status)
        self.assertEqual(0, exported["broken_records"])
        tasks = rows(directory + ".out", "task_time") if promised else []
        self.assertGreaterEqual(len(tasks), promised)
        self.assertLessEqual({task["kernel_name"] for task in tasks[:promised]}, {"work"})
        return min(device.get("tasks", 0), counts["host"].get("task_track", 0))

    def test_what_is_older_than_a_second_survives(self):
        chance = random.Random()
        paths = self.paths()
        runs = [(i, paths[i % len(paths)], chance.uniform(0.0, 2.2)) for i in range(KILLS)]
        self.machine = Machine(self.dir, "direct" in paths)
        with ThreadPoolExecutor(TOGETHER) as pool:
            left = list(pool.map(lambda run: self.one(*run), runs))
        self.machine.end()
        promised, kept = [count for count, _, _ in left], []
        for (_, path, life), (count, directory, late) in zip(runs, left):
            with self.subTest(path=path, life=life, machine_was_late_by=late):
                kept.append(self.judge(path, count, directory))
        self.assertGreater(sum(count > 0 for count in promised), KILLS // 5, "hardly any run was old enough to show it")
        print(f"shown: {KILLS} kills on {', '.join(paths)}; {sum(promised)} tasks had ended a second before, {sum(kept)} are kept; "
              f"the machine was late by up to {max(late for _, late in self.machine.late) / 1e6:.0f} ms")


class KilledEarly(ClientTest):
    """Killed while Start is under way: whatever it has made by then confuses nobody."""
    serial = True
    timeout = 600

    def test_a_kill_before_start_returned_leaves_what_can_be_told_and_repaired(self):
        chance, states = random.Random(), []
        for number in range(40):
            out = self.fresh(f"early{number}")
            with subprocess.Popen([os.path.join(CLIENTS, "forever"), out], stdout=subprocess.PIPE, text=True,
                                  env=environment()) as process:
                # From the first sign of a directory on; Start takes a few milliseconds.
                while not (found := glob.glob(os.path.join(out, "PROF_*"))) and process.poll() is None:
                    pass
                time.sleep(chance.choice((0, 0, chance.uniform(0, 0.01))))
                process.send_signal(signal.SIGKILL)
            (path,) = found
            with self.subTest(number=number, left=sorted(os.listdir(path))):
                for verb in ("verify", "repair", "verify", "info", "export"):
                    arguments = (path, "--output", os.path.join(self.dir, f"tables{number}")) if verb == "export" else (path,)
                    status, answer = as_json(verb, *arguments)
                    self.assertIn(status, (0, 1, 3, 4), (verb, answer))
                    # An answer, or one sentence that says what is missing.
                    if not isinstance(answer, dict):
                        self.assertRegex(answer, r"^npuprof: [^\n]+\n$")
                    if verb == "verify" and os.path.exists(os.path.join(path, "npuprof")):
                        states.append(answer["state"])
        self.assertEqual({"torn"}, set(states))
        # The directory of one that was killed is in nobody's way.
        self.run_client("workload", out, "tasks=10")
        (later,) = set(glob.glob(os.path.join(out, "PROF_*"))) - {path}
        self.assertTrue(Profile(later).manifest["complete"])


class Repairing(ClientTest):
    def test_a_directory_that_is_written_is_left_alone(self):
        directory = self.fresh("alive")
        with subprocess.Popen([os.path.join(CLIENTS, "forever"), directory, "50", "3000"], stdout=subprocess.PIPE,
                              text=True, env=environment()) as process:
            process.stdout.readline()
            found = glob.glob(os.path.join(directory, "PROF_*"))[0]
            status, out, err = command("repair", found)
            process.kill()
        self.assertEqual((1, ""), (status, out))
        self.assertIn(f"is being written by process {process.pid}", err)
        self.assertEqual(0, command("repair", found)[0])

    def test_a_sound_directory_is_complete_and_needs_no_repair(self):
        for path in self.subTestPaths():
            _, profile = self.workload(self.fresh("sound_" + path), "tasks=5000", NPUPROF_DRAIN=path)
            status, found = as_json("verify", profile.path)
            self.assertEqual((0, "complete", []), (status, found["state"], found["problems"]), found)
            self.assertTrue(all(s["crc_was_noted"] and s["done"] for f in found["files"] for s in f["slices"]))
            told = {f["path"][:-len(".slice_0")]: f for f in profile.manifest["files"]}
            for file in found["files"]:
                self.assertEqual((told[file["path"]]["records"], told[file["path"]]["bytes"]),
                                 (file["records"], file["bytes"]), file)
            self.assertEqual((0, []), (lambda s, r: (s, r["actions"]))(*as_json("repair", profile.path)))

    def subTestPaths(self):
        return [p for p in DRAIN_PATHS if p == "pwritev" or not (uring_refused() or (p == "direct" and direct_refused(self.dir)))]

    def test_losses_and_a_limit_are_told_apart_from_damage(self):
        _, lossy = self.workload(self.fresh("lossy"), "tasks=5000", NPUSIM_FAULT="stall_drain", NPUPROF_RING_RECORDS=256)
        status, found = as_json("verify", lossy.path)
        states = {f["path"]: f["state"] for f in found["files"]}
        self.assertEqual((3, "lossy"), (status, found["state"]))
        self.assertEqual(("lossy", "lossy", "complete"), (states["device_0/data/stars_soc.data.0"],
                         states["device_0/data/ffts_profile.data.0"], states["host/data/aging.compact.task_track"]))
        _, aged = self.workload(self.fresh("aged"), "tasks=60000", NPUPROF_STORAGE_MB=16)
        status, found = as_json("verify", aged.path)
        self.assertEqual((3, "aged") if aged.lost() == 0 else (3, "lossy"), (status, found["state"]), found["problems"])
        for file in found["files"]:
            if file["path"].startswith("device_0/data/stars_soc"):
                self.assertGreater(file["aged_records"], 0)
                self.assertIn(file["state"], ("aged", "lossy"))

    def test_every_kind_of_damage_is_found_and_left_as_it_is(self):
        _, profile = self.workload(self.fresh("damaged"), "tasks=50000")
        slices = sorted(glob.glob(os.path.join(profile.path, "device_0/data/stars_soc.data.0.slice_*[0-9]")))
        self.assertGreater(len(slices), 2)
        victim = slices[1]
        with open(victim, "rb") as f:
            before = f.read()
        cases = {
            "its contents were changed": lambda: flip(victim),
            "when it was finished": lambda: os.truncate(victim, len(before) - 64),
            "is missing": lambda: os.remove(victim),
        }
        for words, damage in cases.items():
            with self.subTest(words):
                damage()
                status, found = as_json("verify", profile.path)
                self.assertEqual((4, "damaged"), (status, found["state"]))
                told = json.dumps(found)
                self.assertIn(words, told)
                self.assertIn(os.path.basename(victim), told)
                self.assertEqual(4, command("repair", profile.path)[0])
                self.assertEqual(found["state"], as_json("verify", profile.path)[1]["state"])
                with open(victim, "wb") as f:
                    f.write(before)
                self.assertEqual(0, command("verify", profile.path)[0])
        os.remove(victim + ".done")
        self.assertEqual("torn", as_json("verify", profile.path)[1]["state"])
        self.assertEqual(0, command("repair", profile.path)[0])
        self.assertEqual(0, command("verify", profile.path)[0])
        os.remove(os.path.join(profile.path, "device_0", "info.json.0"))
        status, found = as_json("verify", profile.path)
        self.assertEqual((4, "damaged"), (status, found["state"]))
        self.assertIn("info.json.0", json.dumps(found["problems"]))


def flip(path):
    with open(path, "r+b") as f:
        f.seek(1000)
        byte = f.read(1)
        f.seek(1000)
        f.write(bytes([byte[0] ^ 1]))
