# SPDX-License-Identifier: Apache-2.0
"""What `npuprof report` derives, on runs of the simulated NPU whose truth is known."""
import json
import os
import subprocess
from collections import Counter, defaultdict

from harness import MODELS, NPUPROF, ClientTest, environment, rows

TICK_NS = 20  # of the clock that the simulated NPU stamps its tasks with
KINDS = ("host_late", "synchronising", "copy", "communication", "collective_wait")


def report(profile, *arguments):
    done = subprocess.run([NPUPROF, "report", profile.path, *arguments], capture_output=True, text=True,
                          env=environment(), check=False)
    if done.returncode != 0:
        raise AssertionError(f"report ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Insight(ClientTest):
    serial = True

    def test_causes_of_gaps(self):
        directory = self.fresh("gaps")
        told = json.loads(self.run_client("gaps", directory, "rounds=20").stdout)
        found = json.loads(report(self.profile_in(directory), "--json"))
        labels, stragglers = defaultdict(Counter), Counter()
        for gap in found["devices"][0]["gaps"]:
            labels[gap["next"]][gap["cause"]] += 1
            if gap["next"] == "collective_wait":
                stragglers[gap.get("straggler")] += 1
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assertEqual(told["rounds"], sum(labels[kind].values()), labels)
                undisturbed = told["rounds"] - told["disturbed"][kind]
                self.assertGreaterEqual(labels[kind][kind], 0.95 * undisturbed, labels)
        if told["disturbed"]["collective_wait"] == 0:
            self.assertEqual({1: told["rounds"]}, dict(stragglers))
            ranks = {rank["device"]: rank for rank in found["ranks"]}
            self.assertGreaterEqual(ranks[1]["last"], told["rounds"])
            # 3 ms of each round, in which device 0 waits for device 1.
            self.assertGreaterEqual(ranks[0]["waiting_ns"], 0.95 * 3e6 * told["rounds"])
        self.assertEqual(sum(rank["waiting_ns"] for rank in found["ranks"]),
                         sum(rank["held_up_ns"] for rank in found["ranks"]))
        for device in found["devices"]:
            time = device["time"]
            self.assertEqual(time["window_ns"],
                             time["compute_ns"] + time["between_ns"] + sum(time["idle_ns"].values()))

    def test_operators_are_those_of_the_tables(self):
        # The second one is stretched, so that no host is too slow for its small operators.
        for model, scale in (("bert_base_s128", 1), ("gpt2_decode", 100)):
            directory = self.fresh(model)
            self.workload(directory, f"model={os.path.join(MODELS, model)}.json", "tasks=3", NPUSIM_TIME_SCALE=scale)
            profile = self.profile_in(directory)
            found = json.loads(report(profile, "--json"))
            table = rows(profile.export("--format", "csv")["output"], "op_summary")
            sums = defaultdict(lambda: [0, 0.0, 0.0, 0.0])
            for row in table:
                entry = sums[row["Op Name"]]
                entry[0] += 1
                entry[1] += float(row["Task Duration(us)"])
                cycles = int(row["aic_total_cycles"])
                entry[2] += cycles
                entry[3] += cycles * float(row["aic_mac_ratio_extra"])
            self.assertEqual(set(sums), {op["name"] for op in found["operators"]})
            for op in found["operators"]:
                count, duration, cycles, busy = sums[op["name"]]
                self.assertEqual(count, op["count"])
                self.assertAlmostEqual(duration, op["total_ns"] / 1000, delta=0.01 * count)
                if cycles:
                    self.assertAlmostEqual(busy / cycles, op["busy"]["cube"], delta=0.001, msg=op["name"])
            bounds = {op["bound"] for op in found["operators"] if "MatMul" in op["type"]}
            # A product with a vector reads each weight for one multiplication.
            if model == "gpt2_decode":
                self.assertEqual({"memory"}, bounds - {"launch"})
                self.assertIn("memory", bounds)
            for op in found["operators"]:
                if "roof_operations_per_s" in op:
                    # Both ends of a task are rounded down to ticks, so that it may look up to one tick shorter.
                    ticks = 1 + TICK_NS * op["count"] / op["total_ns"]
                    self.assertLess(op["operations_per_s"], 1.01 * ticks * op["roof_operations_per_s"], op)

    def test_summary_for_people(self):
        directory = self.fresh("summary")
        self.workload(directory, "tasks=50", "single=1", "sync=5")
        profile = self.profile_in(directory)
        text = report(profile)
        self.assertNotIn("\033", text, "colours on a terminal alone")
        mark = "simulated: device times"
        lines = text.strip().split("\n")
        self.assertTrue(lines[0].startswith(mark) and lines[-1].startswith(mark), text)
        self.assertIn("device 0: 50 operators", text)
        self.assertIn("lost 0 records", text)
        shares = [float(line.split(" %")[0].split()[-1]) for line in lines
                  if " % " in line + " " and line.startswith(("computing", "host", "waiting", "communication", "copies",
                                                              "unknown", "between"))]
        self.assertAlmostEqual(100, sum(shares), delta=0.5, msg=text)
