# SPDX-License-Identifier: Apache-2.0
"""Variables of the simulated NPU and of the command change what is profiled and shown as documented."""
import json
import os
import pty
import re
import subprocess

from harness import NPUPROF, ClientTest, environment, rows

TICK_US = 0.02


class SimulatedDevice(ClientTest):
    def profiled(self, name, *arguments, **env):
        """Profiles a window. Returns what the model counted, rows of op_summary, and the device as `npuprof info` tells."""
        model, profile = self.workload(self.fresh(name), *arguments, **env)
        exported = self.assert_whole(model, profile)
        told = subprocess.run([NPUPROF, "info", profile.path, "--json"], capture_output=True, text=True,
                              env=environment(), check=True)
        return model[0], rows(exported["output"], "op_summary"), json.loads(told.stdout)["devices"][0]

    def test_number_of_cube_cores(self):
        # Sixteen blocks of 18000 cycles take one round on sixteen cores, two on eight.
        for cores, rounds in ((16, 1), (8, 2), (1, 16)):
            with self.subTest(cores):
                _, table, device = self.profiled(f"aic{cores}", "tasks=5", "kind=aic", "blocks=16", "cycles=18000",
                                                 NPUSIM_AIC=cores)
                self.assertEqual(cores, device["cube_cores"])
                for row in table:
                    self.assertAlmostEqual(rounds * 10.0, float(row["Task Duration(us)"]), delta=TICK_US)

    def test_number_of_vector_cores(self):
        for cores, rounds in ((32, 1), (16, 2)):
            with self.subTest(cores):
                _, table, device = self.profiled(f"aiv{cores}", "tasks=5", "kind=aiv", "blocks=32", "cycles=18000",
                                                 NPUSIM_AIV=cores)
                self.assertEqual(cores, device["vector_cores"])
                for row in table:
                    self.assertAlmostEqual(rounds * 10.0, float(row["Task Duration(us)"]), delta=TICK_US)

    def test_frequency_of_the_cores(self):
        for mhz in (900, 1800, 3600):
            with self.subTest(mhz):
                model, table, device = self.profiled(f"mhz{mhz}", "tasks=5", "blocks=8", "cycles=18000", NPUSIM_AIC_MHZ=mhz)
                self.assertEqual(mhz, device["cube_mhz"])
                self.assertEqual(5 * 8 * 18000, model["aic_cycles"])
                for row in table:
                    self.assertEqual(8 * 18000, float(row["aic_total_cycles"]))
                    self.assertAlmostEqual(18000 / mhz, float(row["Task Duration(us)"]), delta=TICK_US)
                    self.assertAlmostEqual(18000 / mhz, float(row["aicore_time(us)"]), delta=0.001)

    def test_seed(self):
        def durations(name, **env):
            table = self.profiled(name, "tasks=40", "blocks=8", "cycles=180000", **env)[1]
            return [float(r["Task Duration(us)"]) for r in table]

        def differ(one, other):
            return sum(abs(a - b) > 2 * TICK_US for a, b in zip(one, other))

        plain, seven, again, eight = (durations("none"), durations("seven", NPUSIM_SEED=7),
                                      durations("again", NPUSIM_SEED=7), durations("eight", NPUSIM_SEED=8))
        for duration in plain:
            self.assertAlmostEqual(100.0, duration, delta=TICK_US)
        for duration in seven + eight:
            self.assertTrue(100 - TICK_US <= duration <= 101 + TICK_US, duration)  # at most one per cent longer
        self.assertEqual(0, differ(seven, again), "the same seed gives the same run")
        self.assertGreater(differ(seven, plain), 20)
        self.assertGreater(differ(seven, eight), 20)


class Progress(ClientTest):
    """Long work shows how far it is on a terminal, and leaves no trace of that elsewhere."""

    def on_a_terminal(self, *arguments):
        """Runs the command on a terminal, to its success. Returns what the terminal got."""
        master, slave = pty.openpty()
        with subprocess.Popen([NPUPROF, *arguments], stdout=slave, stderr=slave, env=environment(NO_COLOR=1)) as process:
            os.close(slave)
            shown = b""
            try:
                while piece := os.read(master, 65536):
                    shown += piece
            except OSError:  # the other side is closed
                pass
        os.close(master)
        self.assertEqual(0, process.returncode, shown)
        return shown.decode()

    def assert_wiped(self, shown, result):
        """The line of the progress is empty again before the result begins."""
        *_, line, rest = shown.split("\r\x1b[K")
        self.assertNotIn(result, line)
        self.assertIn(result, rest)

    def test_export_shows_its_progress_and_wipes_it_away(self):
        _, profile = self.workload(self.fresh("long"), "tasks=100000", "cycles=500")
        shown = self.on_a_terminal("export", profile.path, "--output", os.path.join(self.dir, "tables"))
        shares = [int(n) for n in re.findall(r"exporting +(\d+)%", shown)]
        self.assertGreater(len(shares), 1, repr(shown))
        self.assertEqual(sorted(shares), shares)
        self.assertLessEqual(shares[-1], 100)
        self.assertRegex(shown, "host|device_0")
        self.assert_wiped(shown, "op_summary_")

    def test_no_progress_without_a_terminal(self):
        _, profile = self.workload(self.fresh("short"), "tasks=1000")
        done = subprocess.run([NPUPROF, "export", profile.path, "--output", os.path.join(self.dir, "tables")],
                              capture_output=True, text=True, env=environment(), check=True)
        self.assertEqual("", done.stderr)
        self.assertNotIn("\x1b[K", done.stdout)

    def test_list_shows_its_progress_and_wipes_it_away(self):
        directory = self.fresh("listed")
        self.workload(directory, "tasks=10")
        shown = self.on_a_terminal("list", directory)
        self.assertIn("looking into", shown)
        self.assert_wiped(shown, "DIRECTORY")
