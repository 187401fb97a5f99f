# SPDX-License-Identifier: Apache-2.0
"""What exported tables and counters of sampled data tell adds up to what the model, or the machine, counted."""
import glob
import json
import os
import struct
from collections import defaultdict

from harness import AICPU, L2CACHE, MODELS, MSPROFTX, TASK_MEMORY, TASK_TIME, ClientTest, rows

MEMORY, LLC_MODE, IO, LINKS, MEDIA, HOST, MACHINE, FLOWS = 3, 4, 5, 6, 7, 8, 9, 12  # aclprofConfigType
MODEL = "model=" + os.path.join(MODELS, "resnet50_b32.json")
MB = 2**20


def nanoseconds(text):
    return int(text.replace(".", ""))


class SampleTables(ClientTest):
    serial = True

    def exported(self, name, *arguments, types=TASK_TIME, **env):
        """Returns what the models counted, the profile, and where the tables are."""
        model, profile = self.workload(self.fresh(name), f"types={types:#x}", "devices=2", *arguments,
                                       **{"NPUPROF_CONTAINER": "no", **env})
        self.assertEqual(0, profile.lost())
        result = profile.export()
        self.assertEqual([], result["failures"])
        self.assertEqual(0, result["broken_records"])
        for path in result["not_exported"]:
            self.assertIn("graph_id_map", path)
        return model, profile, result["output"]

    def units(self, name, *arguments, **others):
        return self.exported(name, "tasks=100", "units=3", *arguments, **others)

    def counters(self, output, layer):
        """Samples of each device, counter and series: ns and value."""
        with open(glob.glob(os.path.join(output, "msprof_[0-9]*.json"))[0], encoding="utf-8") as f:
            events = json.load(f)
        found = defaultdict(list)
        for event in events:
            if event["ph"] == "C" and event["pid"] >> 5 & 31 == layer:
                for series, value in event["args"].items():
                    found[event["pid"] & 31, event["name"], series].append((nanoseconds(event["ts"]), value))
        return found

    def moved(self, samples):
        """What rates of MB per second amount to, from the second sample on: the first has no time before it."""
        return sum(rate * MB * (now - before) / 1e9 for (before, _), (now, rate) in zip(samples, samples[1:]))

    def first(self, profile, device, kind, event, unit):
        """The first count of a channel, in a file of bandwidths."""
        with open(os.path.join(profile.path, f"device_{device}", "data", f"{kind}.data.{device}.slice_0"), "rb") as f:
            return next(count for _, count, e, u in struct.iter_unpack("<QQII", f.read()) if (e, u) == (event, unit))

    def assert_mean(self, cell, samples):
        self.assertAlmostEqual(float(cell), sum(v for _, v in samples) / len(samples), delta=0.001)

    def assert_within_the_run(self, profile, samples):
        begin = int(profile.metadata("host/start_info")["collectionTimeBegin"]) * 1000
        end = int(profile.metadata("host/end_info")["collectionTimeEnd"]) * 1000
        for at, _ in samples:
            self.assertTrue(begin <= at <= end + 50_000_000, (begin, at, end))

    def test_main_memory(self):
        # A clock that has run for long tells as well when a sample was taken.
        model, profile, output = self.units("hbm", f"set={MEMORY}:100", NPUSIM_CLOCK_START=10**12)
        counters = self.counters(output, 24)
        table = {(r["Device_id"], r["Metric"]): r for r in rows(output, "hbm")}
        for device in model:
            for event, (side, expected) in enumerate((("Read", device["bytes_read"]), ("Write", device["bytes_written"]))):
                total = 0
                for unit in range(4):
                    samples = counters[device["id"], f"HBM {unit}/{side}", f"{side}(MB/s)"]
                    self.assert_within_the_run(profile, samples)
                    self.assert_mean(table[str(device["id"]), str(unit)][f"{side}(MB/s)"], samples)
                    total += self.moved(samples) + 32 * self.first(profile, device["id"], "hbm", event, unit)
                self.assertAlmostEqual(expected, total, delta=max(256, expected * 1e-3))
        self.assertEqual({"Average", "0", "1", "2", "3"}, {metric for _, metric in table})

    def test_last_level_cache(self):
        for mode in ("read", "write"):
            _, profile, output = self.units(mode, f"set={MEMORY}:100", f"set={LLC_MODE}:{mode}")
            counts = self.assert_readable(profile)["devices"]
            counters = self.counters(output, 27)
            table = [r for r in rows(output, "llc_read_write") if r["Task"] != "Average"]
            self.assertEqual({mode}, {r["Mode"] for r in table})
            for device, found in counts.items():
                own = [r for r in table if r["Device_id"] == device]
                total = 0
                for row in own:
                    samples = counters[int(device), f"LLC {row['Task']} {mode.title()}/Throughput", "Throughput(MB/s)"]
                    self.assert_mean(row["Throughput(MB/s)"], samples)
                    total += self.moved(samples) + 64 * sum(
                        self.first(profile, int(device), "llc", e, int(row["Task"])) for e in (0, 1))
                    self.assertTrue(0 <= float(row["Hit Rate(%)"]) <= 100, row)
                expected = 64 * (found["totals"]["llc_0"] + found["totals"]["llc_1"])
                self.assertAlmostEqual(expected, total, delta=max(64, expected * 1e-3))

    def test_media_engines(self):
        model, _, output = self.units("dvpp", f"set={MEDIA}:100")
        for device in model:
            engines = [r for r in rows(output, "dvpp") if r["Device_id"] == str(device["id"])]
            self.assertEqual({"VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC"}, {r["Engine Type"] for r in engines})
            self.assertEqual(device["media_frames"], sum(float(r["All Frame"]) for r in engines))
            self.assertEqual(500 * device["media_frames"], sum(float(r["All Time(us)"]) for r in engines))

    def test_links(self):
        model, profile, output = self.units("links", f"set={LINKS}:50")
        link, pcie = self.counters(output, 20), self.counters(output, 23)
        table = {(r["Device_id"], r["Mode"]): r for r in rows(output, "hccs")}
        for device in model:
            for side, name in (("Tx", "link_sent"), ("Rx", "link_received")):
                samples = link[device["id"], side, f"{side}(MB/s)"]
                self.assert_within_the_run(profile, samples)
                self.assert_mean(table[str(device["id"]), f"{side} (MB/s)"]["Average"], samples)
                # Where the first interval begins is the period before the first sample.
                start = samples[0][0] - 20_000_000
                self.assertAlmostEqual(device[name], self.moved([(start, 0)] + samples), delta=device[name] * 1e-3)
            for counter, side, name in (("PCIe_post", "Tx", "pcie_sent"), ("PCIe_cpl", "Rx", "pcie_received")):
                samples = pcie[device["id"], counter, side]
                start = samples[0][0] - 20_000_000
                # What is no byte per microsecond counts in the next sample.
                self.assertAlmostEqual(device[name], self.moved([(start, 0)] + samples),
                                       delta=device[name] * 1e-3 + 20_000)

    def test_ports(self):
        model, profile, output = self.units("ports", f"set={IO}:100")
        for layer, table in ((21, "nic"), (22, "roce")):
            counters = self.counters(output, layer)
            for device in model:
                row, = (r for r in rows(output, table) if r["Device_id"] == str(device["id"]))
                for side, name in (("Rx", "nic_received"), ("Tx", "nic_sent")):
                    samples = counters[device["id"], "Port 0/" + side, side + " Bandwidth Efficiency"]
                    self.assert_within_the_run(profile, samples)
                    self.assert_mean(row[f"{side} Bandwidth efficiency(%)"], samples)
                    rates = [(at, share / 100 * 200_000e6 / 8 / MB) for at, share in samples]
                    start = rates[0][0] - 10_000_000
                    self.assertAlmostEqual(device[name], self.moved([(start, 0)] + rates), delta=device[name] * 1e-3)

    def test_flows_engines_and_levels(self):
        model, profile, output = self.units("flows", f"set={MEMORY}:100", f"set={FLOWS}:host,network", MODEL, "tasks=5")
        counts = self.assert_readable(profile)["devices"]
        engines, levels, flows = (self.counters(output, layer) for layer in (19, 25, 29))
        for device in model:
            for engine, name in ((1, "pcie"), (2, "link"), (3, "nic")):
                for counter, side in (("write_bandwidth", "received"), ("read_bandwidth", "sent")):
                    told = sum(v for _, v in engines[device["id"], counter, f"engine {engine}"])
                    self.assertEqual(device[f"{name}_{side}"], told)
            most = counts[str(device["id"])]["totals"]
            for label, name in (("L2 Buffer Bw Level", "buffer"), ("Mata Bw Level", "memory")):
                self.assertEqual(most[name + "_level_ticks.most"], max(v for _, v in levels[device["id"], label, label]))
            for flow in ("host", "network"):
                self.assertGreater(max(v for _, v in flows[device["id"], "QoS " + flow, "value"]), 0)

    def test_cache_lines_of_tasks(self):
        model, _, output = self.exported("l2", "tasks=100", types=TASK_TIME | L2CACHE)
        names = {(r["Device_id"], r["Stream ID"], r["Task ID"]): r["Op Name"] for r in rows(output, "op_summary")}
        for device in model:
            table = [r for r in rows(output, "l2_cache") if r["Device_id"] == str(device["id"])]
            self.assertEqual(device["kernels"], len(table))
            for row in table:
                self.assertEqual(names[row["Device_id"], row["Stream Id"], row["Task Id"]], row["Op Name"])
            expected = device["l2_hits"] / (device["l2_hits"] + device["l2_misses"])
            self.assertAlmostEqual(expected, sum(float(r["Hit Rate"]) for r in table) / len(table), delta=0.001)

    def test_ai_cpu_tasks(self):
        model, _, output = self.units("aicpu", types=TASK_TIME | AICPU)
        for device in model:
            table = [r for r in rows(output, "aicpu") if r["Device_id"] == str(device["id"])]
            self.assertEqual(device["aicpu"], len(table))
            for row in table:
                self.assertTrue(20 <= float(row["Task_time(us)"]) <= 20.02, row)
                self.assertGreaterEqual(float(row["Total_time(us)"]), float(row["Task_time(us)"]))

    def test_memory_of_operators(self):
        model, profile, output = self.exported("memory", MODEL, "tasks=3", types=TASK_TIME | TASK_MEMORY)
        submitted = sum(device["submitted"] for device in model)
        records, operators = rows(output, "memory_record"), rows(output, "operator_memory")
        self.assertEqual((2 * submitted, submitted), (len(records), len(operators)))
        self.assertEqual({r["Op Name"] for r in rows(output, "op_summary")}, {r["Name"] for r in operators})
        for row in operators:
            self.assertGreater(float(row["Duration(us)"]), 0)
        for device in model:
            last = max((r for r in records if r["Device_id"] == str(device["id"])), key=lambda r: r["Timestamp(us)"])
            self.assertEqual("0.0", last["Total Allocated(KB)"])

    def test_marks(self):
        directory = self.fresh("marks")
        self.run_client("marks", directory, f"{MSPROFTX | TASK_TIME:#x}")
        output = self.profile_in(directory).export()["output"]
        table = {r["message"]: r for r in rows(output, "msprof_tx")}
        self.assertEqual({"point": "marker", "inner": "push/pop", "outer": "push/pop", "far": "start/end",
                          "first": "marker_ex", "second": "marker_ex", "third": "marker_ex"},
                         {text: r["event_type"] for text, r in table.items()})
        times = [float(table[text]["Device Start_time(us)"]) for text in ("first", "second", "third")]
        self.assertEqual(sorted(times), times)
        for text, row in table.items():
            on_device = row["event_type"] == "marker_ex"
            self.assertEqual("0" if on_device else "host", row["Device_id"], text)
            if on_device:
                # Not before it was asked for, but for the error of the clocks.
                self.assertGreater(float(row["Device Start_time(us)"]), float(row["Start_time(us)"]) - 1000)

    def test_host(self):
        _, profile, output = self.exported("host", "tasks=200", "cycles=1800000", f"set={HOST}:cpu,mem,disk,network",
                                           f"set={MACHINE}:cpu,mem")
        info = profile.metadata("host/info.json")
        cpu, = rows(output, "host_cpu_usage")
        self.assertEqual(str(info["cpuNums"]), cpu["Total Cpu Numbers"])
        self.assertLessEqual(int(cpu["Occupied Cpu Numbers"]), os.cpu_count())
        memory, = rows(output, "host_mem_usage")
        self.assertEqual(str(info["memoryTotal"]), memory["Total Memory(KB)"])
        with open(glob.glob(os.path.join(profile.path, "host/data/host_mem.data.slice_0"))[0], encoding="utf-8") as f:
            peak = max(int(line.split()[2]) * 4 for line in f)
        self.assertAlmostEqual(peak, float(memory["Peak Used Memory(KB)"]), delta=info["memoryTotal"] * 1e-8 + 0.001)
        usage, = rows(output, "cpu_usage")
        self.assertEqual("host", usage["Device_id"])
        self.assertTrue(0 <= sum(float(v) for k, v in usage.items() if k.endswith("(%)")) <= 100.01, usage)
        machine, = rows(output, "sys_mem")
        with open("/proc/meminfo", encoding="utf-8") as f:
            self.assertEqual(f.readline().split()[1], machine["Memory Total(kB)"])
        taken = {k["kind"]: k["sampling"]["samples"] for k in profile.manifest["host"]["kinds"] if "sampling" in k}
        # The first sample of the disk only tells when it was taken.
        self.assertEqual(1 if taken["host_disk"] > 1 else 0, len(rows(output, "host_disk_usage")))
        self.assertEqual(1, len(rows(output, "host_network_usage")))
