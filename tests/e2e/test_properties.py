# SPDX-License-Identifier: Apache-2.0
"""What docs/reference-npu.md promises of the device holds in the tables exported from profiled networks."""
import json
import os
import subprocess
from collections import Counter

from harness import MODELS, ClientTest, environment, rows

CUBE_CORES, VECTOR_CORES, GHZ = 24, 48, 1.8
OVERHEAD_US = 500 / GHZ / 1000
HBM_BYTES_PER_NS = 1600
TICK_US = 0.02  # of the device clock; a duration is the difference of two readings
# Bytes per core and cycle at each level.
PEAKS = {"aic_l1_read_bw": 512, "aic_l1_write_bw": 64 + 128, "aic_l2_read_bw": 64, "aic_l2_write_bw": 64,
         "aic_main_mem_read_bw": 64, "aic_main_mem_write_bw": 64, "aiv_main_mem_read_bw": 64, "aiv_main_mem_write_bw": 64,
         "aiv_l2_read_bw": 64, "aiv_l2_write_bw": 64, "aiv_ub_read_bw": 512 + 64 + 16, "aiv_ub_write_bw": 256 + 64 + 16,
         "aic_l0a_read_bw": 512, "aic_l0b_read_bw": 512, "aic_l0a_write_bw": 512, "aic_l0b_write_bw": 512,
         "aic_l0c_read_bw": 64 + 128, "aic_l0c_write_bw": 1024, "aic_l0c_read_bw_cube": 1024, "aic_l0c_write_bw_cube": 1024,
         "aiv_ub_read_bw_vector": 512, "aiv_ub_write_bw_vector": 256, "aiv_ub_read_bw_scalar": 16,
         "aiv_ub_write_bw_scalar": 16}
ARITHMETIC, PIPES, MEMORY, MEMORY_L0, CONFLICTS, MEMORY_UB, L2_CACHE, MEMORY_ACCESS = 0, 1, 2, 3, 4, 5, 6, 8


class Properties(ClientTest):
    def network(self, model, metrics=PIPES, **env):
        """One execution of a network. Returns what the model counted, and the rows of op_summary."""
        path = model if os.path.isabs(model) else os.path.join(MODELS, f"{model}.json")
        counted, profile = self.workload(self.fresh(f"{os.path.basename(model)}-{metrics}"), "tasks=1", f"model={path}",
                                         f"metrics={metrics}", **env)
        exported = profile.export()
        self.assertEqual(0, profile.lost())
        self.assertEqual(counted[0]["kernels"], exported["rows"]["op_summary"])
        return counted[0], rows(exported["output"], "op_summary")

    def bigger(self, batch):
        """ResNet-50 for another number of images, from the script that wrote the shipped ones."""
        script = f"import generate, sys; generate.resnet50({batch}).write(sys.argv[1])"
        subprocess.run(["/usr/bin/python3", "-B", "-c", script, self.dir], check=True, cwd=MODELS, env=environment())
        return os.path.join(self.dir, f"resnet50_b{batch}.json")

    def test_operations_of_the_shipped_networks_are_the_published_ones(self):
        # The sources of the figures stand in tests/unit/runtime/model_work_test.cc, which counts the operator lists;
        # here the device has counted while it ran them.
        gpt2 = 124_439_808 - 1024 * 768 - 12 * (2304 + 768 + 3072 + 768 + 4 * 768) - 2 * 768 + 12 * 2 * 768 * 512
        for model, published in (("resnet50_b1", 2 * 4.1e9), ("bert_base_s128", 22.5e9), ("gpt2_decode", 2 * gpt2)):
            with self.subTest(model):
                counted, table = self.network(model, ARITHMETIC)
                self.assertLess(abs(2 * counted["cube_macs"] / published - 1), 0.02)
                # And the export tells what the device counted, to the rounding of a block's work to whole cycles.
                exported = sum(float(r["aic_cube_fops"]) for r in table)
                self.assertLess(abs(exported / (2 * counted["cube_macs"]) - 1), 0.01)

    def test_no_ratio_is_above_one_and_no_pipe_is_busy_longer_than_its_core(self):
        for metrics in (ARITHMETIC, PIPES, CONFLICTS):
            seen = 0
            for row in self.network("resnet50_b1", metrics)[1]:
                for column in (c for c in row if "_ratio" in c and row[c] != "N/A"):
                    seen += float(row[column]) > 0
                    self.assertLessEqual(float(row[column]), 1, (row["Op Name"], column))
                for column in (c for c in row if c.startswith(("aic_", "aiv_")) and c.endswith("_time(us)")):
                    core = "aicore_time(us)" if column.startswith("aic_") else "aiv_time(us)"
                    self.assertLessEqual(float(row[column]), float(row[core]) + 0.001, (row["Op Name"], column))
            self.assertGreater(seen, 30, f"ratios above zero in group {metrics}")

    def test_bytes_stay_within_peak_times_time_at_each_level(self):
        seen = set()
        for metrics in (MEMORY, MEMORY_L0, MEMORY_UB):
            for row in self.network("resnet50_b1", metrics)[1]:
                for column in (c for c in row if c.endswith("(GB/s)") and row[c] != "N/A"):
                    peak = PEAKS[column[:-len("(GB/s)")]] * GHZ * 1e9 / 2**30
                    self.assertLessEqual(float(row[column]), peak, (row["Op Name"], column))
                    seen.add(column) if float(row[column]) > 0 else None
        self.assertGreater(len(seen), 15)

    def test_main_memory_serves_no_more_than_its_peak(self):
        for model in ("resnet50_b1", "bert_base_s128", "gpt2_decode"):
            counted, table = self.network(model, MEMORY_ACCESS)
            near = 0
            for row in table:
                moved = 1024 * sum(float(row[c]) for c in row if "main_memory_datas" in c and row[c] != "N/A")
                duration = float(row["Task Duration(us)"]) + TICK_US
                self.assertLessEqual(moved, HBM_BYTES_PER_NS * 1000 * duration, row["Op Name"])
                near += moved > 0.9 * HBM_BYTES_PER_NS * 1000 * duration
            self.assertGreater(near, 0, f"no operator of {model} is bound by main memory, so this shows nothing")
            # The whole run, by the device's own count.
            span = sum(float(r["Task Duration(us)"]) + TICK_US for r in table)
            self.assertLessEqual(counted["bytes_read"] + counted["bytes_written"], HBM_BYTES_PER_NS * 1000 * span)

    def test_core_cycles_fit_into_duration_times_cores_times_frequency(self):
        for model in ("resnet50_b1", "bert_base_s128", "gpt2_decode"):
            counted, table = self.network(model)
            full = 0
            for row in table:
                room = (float(row["Task Duration(us)"]) + TICK_US) * 1000 * GHZ
                for core, cores in (("aic", CUBE_CORES), ("aiv", VECTOR_CORES)):
                    cycles = float(row[f"{core}_total_cycles"])
                    self.assertLessEqual(cycles, room * cores, (row["Op Name"], core))
                    full += cycles > 0.9 * room * cores
            self.assertGreater(full, 0)
            for core in ("aic", "aiv"):
                self.assertEqual(counted[f"{core}_cycles"], sum(float(r[f"{core}_total_cycles"]) for r in table))

    def roofline(self, model):
        """By operator: duration, that of the roofline model for what was counted, its bound, and the busy time of the cube."""
        found = {}
        for row, memory in zip(self.network(model)[1], self.network(model, MEMORY_ACCESS)[1]):
            self.assertEqual(row["Op Name"], memory["Op Name"])
            moved = 1024 * sum(float(memory[c]) for c in memory if "main_memory_datas" in c and memory[c] != "N/A")
            bounds = {c: float(row[c]) + OVERHEAD_US for c in row
                      if c.startswith(("aic_", "aiv_")) and c.endswith("_time(us)") and c != "aiv_time(us)"
                      and row[c] != "N/A"}
            bounds["main memory"] = moved / HBM_BYTES_PER_NS / 1000
            bound = max(bounds, key=bounds.get)
            found[row["Op Name"]] = (row["OP Type"], float(row["Task Duration(us)"]), bounds[bound], bound,
                                     float(row["aic_mac_time(us)"]))
        return found

    def test_doubled_batch_moves_bound_operators_as_the_roofline_says(self):
        once, twice = self.roofline("resnet50_b32"), self.roofline(self.bigger(64))
        self.assertEqual(once.keys(), twice.keys())
        doubled = Counter()
        for name, (kind, short, predicted, bound, cube) in once.items():
            _, long, predicted_twice, bound_twice, cube_twice = twice[name]
            if kind not in ("Conv2D", "Add", "Relu"):
                continue
            for duration, expected in ((short, predicted), (long, predicted_twice)):
                self.assertLess(abs(duration - expected), 0.01 * expected + 2 * TICK_US, name)
            if kind == "Conv2D":  # all of the cube's work is per image
                self.assertLess(abs(cube_twice / cube - 2), 0.01, name)
            if bound == bound_twice == "main memory" and kind != "Conv2D":  # no weights: all bytes are per image
                self.assertLess(abs(long / short - 2), 0.01, name)
            doubled[bound if bound == bound_twice else "other"] += 1
        self.assertGreater(doubled["main memory"], 20, doubled)
        self.assertGreater(doubled["aic_mte2_time(us)"], 10, doubled)

    def test_doubled_work_of_the_cube_doubles_what_lies_beyond_the_overhead(self):
        # A convolution of the size at which the cube and the way into the core are almost equally busy.
        beyond = []
        for batch in (16, 32):
            image = {"dtype": "FLOAT16", "format": "NCHW", "shape": [batch, 256, 28, 28]}
            weights = {"dtype": "FLOAT16", "format": "NCHW", "shape": [256, 256, 7, 7], "weight": True}
            path = os.path.join(self.dir, f"convolution_b{batch}.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"format": 1, "name": f"convolution_b{batch}", "description": "one layer", "work_bytes": 0,
                           "weight_bytes": 2 * 256 * 256 * 49, "inputs": [{"name": "in", **image}],
                           "outputs": [{"name": "out", **image}],
                           "ops": [{"name": "conv", "type": "Conv2D", "state": "static", "inputs": [image, weights],
                                    "outputs": [image], "attrs": {"pads": [3, 3, 3, 3], "strides": [1, 1]}}]}, f)
            counted, table = self.network(path)
            self.assertEqual(batch * 28 * 28 * 256 * 256 * 49, counted["cube_macs"])
            beyond.append(float(table[0]["Task Duration(us)"]) - OVERHEAD_US)
            at_peak = counted["cube_macs"] / (4096 * CUBE_CORES * GHZ * 1000)
            self.assertTrue(at_peak - TICK_US < beyond[-1] < 1.03 * at_peak, (at_peak, beyond))
            self.assertLess(abs(float(table[0]["aic_mac_time(us)"]) / at_peak - 1), 0.01)
        self.assertLess(abs(beyond[1] / beyond[0] - 2), 0.002)
