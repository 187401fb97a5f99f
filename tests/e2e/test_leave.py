# SPDX-License-Identifier: Apache-2.0
"""Programs that leave main() or the libraries in unusual ways: profiling neither keeps them nor breaks them."""
import os
import signal
import subprocess

from harness import BUILD, CLIENTS, ClientTest, environment


class Leave(ClientTest):
    def start(self, *arguments):
        client = subprocess.Popen([os.path.join(CLIENTS, "leave"), *arguments], stdout=subprocess.PIPE, text=True,
                                  cwd=self.dir, env=environment())
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        return client

    def test_process_ends_with_its_last_thread(self):
        self.assertEqual(0, self.start("-", "thread").wait(60))

    def test_profiled_process_ends_with_its_last_thread_and_leaves_a_whole_directory(self):
        out = self.fresh("thread")
        self.assertEqual(0, self.start(out, "thread").wait(60))
        profile = self.profile_in(out)
        self.assert_readable(profile)
        self.assertTrue(profile.manifest["complete"])
        self.assertEqual(3000, profile.export()["devices"][0]["tasks"])

    def test_process_with_a_subscription_ends_with_its_last_thread(self):
        self.assertEqual(0, self.start("pipe", "thread").wait(60))

    def test_worker_lives_on_without_the_main_thread_until_a_signal_ends_it(self):
        for directory in ("-", self.fresh("worker")):
            client = self.start(directory, "worker")
            for _ in range(30):  # three seconds: longer than between two looks for a last thread
                self.assertEqual("alive\n", client.stdout.readline())
            client.send_signal(signal.SIGTERM)
            self.assertEqual(-signal.SIGTERM, client.wait(60))

    def test_libraries_may_be_unloaded_in_the_middle(self):
        out = self.fresh("unload")
        self.run_client("unload", out, os.path.join(BUILD, "lib64"))
        self.assert_readable(self.profile_in(out))
