# SPDX-License-Identifier: Apache-2.0
"""Programs that are told to end by a signal while they are profiled, and processes that profile at the same time."""
import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness import CLIENTS, ClientTest, environment


class Signals(ClientTest):
    def told(self, client, arguments, number, lines=1):
        """Runs a client until it has said so many lines, sends it a signal, and returns how it ended and what else it said."""
        with subprocess.Popen([os.path.join(CLIENTS, client), *arguments], stdout=subprocess.PIPE, text=True,
                              env=environment(), cwd=self.dir) as running:
            for _ in range(lines):
                self.assertNotEqual("", running.stdout.readline())
            running.send_signal(number)
            said = running.stdout.read()
            return running.wait(60), said

    def test_handlers_of_the_program_end_it_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for end in ("stop", "exit"):
                with self.subTest(f"{number.name} {end}"):
                    directory = self.fresh(f"{number.name}-{end}")
                    status, said = self.told("handlers", (directory, end), number)
                    self.assertEqual(0, status)
                    got, tasks = map(int, said.split())
                    self.assertEqual(number, got)
                    profile = self.profile_in(directory)
                    self.assertTrue(profile.manifest["complete"])
                    self.assertEqual(0, profile.lost())
                    self.assert_readable(profile)
                    told = profile.manifest["devices"][0]["tasks"]
                    self.assertEqual((tasks, tasks), (told["started"], told["ended"]))

    def test_without_a_handler_the_signal_ends_the_program_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                directory = self.fresh(number.name)
                status, _ = self.told("forever", (directory,), number, lines=3)  # one a second
                self.assertEqual(-number, status)
                profile = self.profile_in(directory)
                self.assertFalse(profile.manifest["complete"])
                self.assertGreater(profile.rings("task_log")[0]["kept"], 0)


class Processes(ClientTest):
    def test_two_processes_profile_different_devices_into_one_place(self):
        out, own = os.path.join(self.dir, "out"), self.fresh("own")
        config = os.path.join(self.dir, "acl.json")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"profiler": {"switch": "on", "output": out}}, f)
        with ThreadPoolExecutor() as both:
            runs = [both.submit(self.run_client, "configured", config, device, 200, own) for device in (0, 1)]
            for run in runs:
                self.assertEqual(100042, json.loads(run.result().stdout)["start"])
        found = {}
        for name in os.listdir(out):
            os.makedirs(os.path.join(self.dir, name))
            os.rename(os.path.join(out, name), os.path.join(self.dir, name, name))
            profile = self.profile_in(os.path.join(self.dir, name))
            self.assertTrue(profile.manifest["complete"])
            self.assert_readable(profile)
            for device in profile.manifest["devices"]:
                found[device["id"]] = (device["tasks"]["started"], profile.manifest["pid"])
        self.assertEqual({0: 400, 1: 400}, {device: tasks for device, (tasks, _) in found.items()})
        self.assertNotEqual(found[0][1], found[1][1])
