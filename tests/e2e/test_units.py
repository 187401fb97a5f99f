# SPDX-License-Identifier: Apache-2.0
"""What is recorded of shared units of a device is what its model counted, to the byte and to the tick."""
import os

from harness import ACL_API, AICPU, L2CACHE, MODELS, TASK_TIME, ClientTest

MEMORY, LLC_MODE, IO, LINKS, MEDIA, FLOWS = 3, 4, 5, 6, 7, 12  # aclprofConfigType
NETWORK = "model=" + os.path.join(MODELS, "resnet50_b32.json")
HZ = 50_000_000  # of the device clock


class Units(ClientTest):
    serial = True

    def recorded(self, name, *arguments, types=TASK_TIME, devices=2, **env):
        model, profile = self.workload(self.fresh(name), f"types={types:#x}", f"devices={devices}", "tasks=100", "units=3",
                                       *arguments, **{"NPUPROF_CONTAINER": "no", **env})
        counts = self.assert_readable(profile)
        self.assert_ring_sums(profile)
        self.assertEqual(0, profile.lost())
        return model, profile, counts["devices"]

    def each(self, model, counts):
        for device in model:
            found = counts[str(device["id"])]
            yield device, found, found["totals"]

    def test_network_bytes(self):
        model, profile, counts = self.recorded("nic", f"set={IO}:100")
        for device, found, totals in self.each(model, counts):
            self.assertGreater(device["nic_sent"], device["nic_received"])
            for kind in ("nic.data", "roce.data"):
                self.assertEqual((device["nic_received"], device["nic_sent"]),
                                 (totals[kind + ".received"], totals[kind + ".sent"]))
                self.assertGreater(found[kind], 2)
        self.assertEqual([], [m for m in profile.manifest["messages"] if "network" in m["text"]])

    def test_no_network_data_in_a_container(self):
        _, profile, counts = self.recorded("container", f"set={IO}:100", NPUPROF_CONTAINER="yes")
        for found in counts.values():
            self.assertNotIn("nic.data", found)
            self.assertNotIn("roce.data", found)
        told = [m["text"] for m in profile.manifest["messages"] if "ACL_PROF_SYS_IO_FREQ" in m["text"]]
        self.assertEqual(1, len(told))
        self.assertIn("not collected in a container", told[0])

    def test_bytes_over_links(self):
        model, _, counts = self.recorded("links", f"set={LINKS}:50")
        for device, found, totals in self.each(model, counts):
            self.assertGreater(device["link_received"], 0)
            self.assertEqual((device["link_received"], device["link_sent"]),
                             (totals["link_received"], totals["link_sent"]))
            self.assertEqual((device["link_received"], device["link_sent"]),
                             (totals["link_transfer.received"], totals["link_transfer.sent"]))
            self.assertEqual((device["pcie_received"], device["pcie_sent"]),
                             (totals["pcie_transfer.received"], totals["pcie_transfer.sent"]))
            self.assertEqual(found["pcie.data"], found["hccs.data"] - 1)  # one line tells where sums begin
            self.assertEqual(2 * found["pcie.data"], found["stars_soc_profile"])

    def test_media_engines(self):
        model, _, counts = self.recorded("media", f"set={MEDIA}:100")
        for device, found, totals in self.each(model, counts):
            self.assertEqual(device["media_frames"], totals["media_frames"])
            self.assertEqual(500 * device["media_frames"], totals["media_us"])
            self.assertEqual(0, found["dvpp.data"] % 6)

    def test_memory_bytes(self):
        model, _, counts = self.recorded("memory", f"set={MEMORY}:100")
        for device, found, totals in self.each(model, counts):
            for side, name in (("bytes_read", "hbm_read"), ("bytes_written", "hbm_written")):
                # The file counts in 32 bytes, on each of four channels.
                self.assertTrue(0 <= device[side] - totals[name] < 4 * 32, (device[side], totals[name]))
            self.assertEqual(8 * (found["hbm.data"] // 8), found["hbm.data"])

    def test_flows_of_the_main_memory(self):
        flows = ("peers", "cores", "host", "network", "copies")
        model, profile, counts = self.recorded("flows", f"set={MEMORY}:100", f"set={FLOWS}:{','.join(flows)},all", NETWORK,
                                               "tasks=5")
        self.assertEqual(",".join(flows), profile.metadata("device_0/sample.json")["qosEvents"])
        told = [m["text"] for m in profile.manifest["messages"] if "ACL_PROF_SYS_MEM_SERVICEFLOW" in m["text"]]
        self.assertEqual(["ACL_PROF_SYS_MEM_SERVICEFLOW: there is no flow 'all'; there are cores, copies, host, peers, network"],
                         told)
        step = 2**20 // 100  # the least that a sample of 10 ms can tell
        for device, found, totals in self.each(model, counts):
            self.assertGreater(found["qos.data"], 4)
            moved = {name: totals[f"qos_{name}_ticks"] * 2**20 // HZ for name in flows}
            for name, expected in (("host", device["pcie_received"] + device["pcie_sent"]),
                                   ("peers", device["link_received"] + device["link_sent"]),
                                   ("network", device["nic_received"] + device["nic_sent"]), ("copies", 0)):
                self.assertTrue(0 <= expected - moved[name] <= step, (name, expected, moved[name]))
            everything = device["bytes_read"] + device["bytes_written"]
            self.assertGreater(moved["cores"], everything // 4)
            self.assertTrue(0 <= everything - sum(moved.values()) <= 4 * step, (everything, moved))

    def test_memory_of_modules(self):
        model, profile, counts = self.recorded("modules", f"set={MEMORY}:100")
        program = 33
        for device, found, totals in self.each(model, counts):
            # A round of work takes as much as what each keeps all the time for the other, and gives it back.
            self.assertEqual(8 << 20, totals[f"module_{program}.last"])
            self.assertIn(totals[f"module_{program}.most"], (8 << 20, 16 << 20))
            self.assertEqual([f"module_{program}"], [name for name in found if name.startswith("module_")])
            told = [r for d in profile.manifest["devices"] if d["id"] == device["id"] for r in d["rings"]
                    if r["channel"] == "npu_module_mem"]
            self.assertEqual([(found[f"module_{program}"], 10_000_000)],
                             [(r["records"], r["sampling"]["period_ns"]) for r in told])

    def test_flows_without_a_frequency(self):
        _, profile, counts = self.recorded("unasked", f"set={FLOWS}:host")
        self.assertEqual(20_000_000, profile.rings("flows")[0]["sampling"]["period_ns"])
        self.assertGreater(counts["0"]["qos.data"], 2)
        self.assertNotIn("hbm.data", counts["0"])

    def test_copy_engines(self):
        model, _, counts = self.recorded("engines", f"set={MEMORY}:100")
        for device, found, totals in self.each(model, counts):
            self.assertEqual(0, found["accelerator_samples"] % 4)
            for engine, name in ((1, "pcie"), (2, "link"), (3, "nic")):
                self.assertGreater(device[name + "_received"], 0)
                self.assertEqual((device[name + "_received"], device[name + "_sent"]),
                                 (totals[f"accelerator_{engine}.written"], totals[f"accelerator_{engine}.read"]))

    def test_levels_of_the_buffer_and_of_the_memory(self):
        model, _, counts = self.recorded("levels", f"set={MEMORY}:100", NETWORK, "tasks=40")
        buffer, memory = 72 * 64 * 1_800_000_000, 1_600_000_000_000  # bytes per second: all cores at once, and HBM
        for device, found, totals in self.each(model, counts):
            self.assertGreater(found["level_samples"], 4)
            for name, peak, steps, lines in (("buffer", buffer, 255, device["l2_hits"] + device["l2_misses"]),
                                             ("memory", memory, 7, device["l2_misses"])):
                self.assertTrue(0 < totals[f"{name}_level_ticks.most"] < steps)
                told = totals[f"{name}_level_ticks"] * peak // steps // HZ
                self.assertTrue(-1 <= 128 * lines - told <= 2 * peak // steps // 100, (name, 128 * lines, told))

    def test_cache_requests_of_both_directions(self):
        requests = {}
        for mode in ("read", "write"):
            model, profile, counts = self.recorded(mode, f"set={MEMORY}:100", f"set={LLC_MODE}:{mode}")
            self.assertEqual(mode, profile.metadata("device_0/sample.json")["llc_profiling"])
            requests[mode] = counts["0"]["totals"]
            self.assertEqual(requests[mode]["llc_0"] + requests[mode]["llc_1"], requests[mode]["llc_4"])
        # All traffic of these kernels hits: the lines of the L2 are those of both directions.
        self.assertEqual(model[0]["l2_hits"], (requests["read"]["llc_2"] + requests["write"]["llc_2"]) // 2)

    def test_mode_of_the_cache_without_a_frequency(self):
        _, profile, counts = self.recorded("mode", f"set={LLC_MODE}:write")
        self.assertNotIn("llc.data", counts["0"])
        self.assertIn("ACL_PROF_LLC_MODE has no effect without ACL_PROF_SYS_HARDWARE_MEM_FREQ",
                      [m["text"] for m in profile.manifest["messages"]])

    def test_l2_lines_of_tasks(self):
        model, profile, counts = self.recorded("l2", types=TASK_TIME | L2CACHE)
        for device, found, totals in self.each(model, counts):
            self.assertEqual(device["kernels"], found["socpmu.data"])
            self.assertEqual(device["l2_hits"], totals["l2_0x90"] + totals["l2_0x91"])
            self.assertEqual(device["l2_misses"], totals["l2_0xbf"])
            self.assertEqual(totals["l2_0xf6"], totals["l2_0xfb"] + totals["l2_0xfc"])
        self.assertEqual("HA:0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d",
                         profile.metadata("device_0/sample.json")["npuEvents"])

    def test_ai_cpu_tasks(self):
        model, _, counts = self.recorded("aicpu", types=TASK_TIME | AICPU)
        for device, found, totals in self.each(model, counts):
            self.assertEqual((15, 15), (device["aicpu"], found["aicpu_nodes"]))
            # 36000 cycles at 1800 MHz and a nanosecond, each: 1000 ticks, and one where a tick ends in between.
            self.assertTrue(15 * 1000 <= totals["aicpu_ticks"] <= 15 * 1001, totals["aicpu_ticks"])

    def test_the_period_is_kept_and_its_error_told(self):
        for setting, channel, hz in ((MEMORY, "hbm", 100), (IO, "nic", 20), (LINKS, "link", 50), (MEDIA, "dvpp", 30)):
            with self.subTest(channel):
                _, profile, _ = self.recorded(channel, f"set={setting}:{hz}", types=ACL_API)
                ring = profile.rings(channel)[0]
                sampling = ring["sampling"]
                self.assertEqual(1_000_000_000 // hz, sampling["period_ns"])
                self.assertGreaterEqual(sampling["samples"], 2)
                self.assertEqual(0, ring["records"] % sampling["samples"])
                if sampling["samples"] > 2:  # the simulated device samples by its own clock
                    self.assertLessEqual(sampling["worst_error_ns"], 20)
                    self.assertAlmostEqual(sampling["period_ns"], sampling["mean_ns"], delta=20)
