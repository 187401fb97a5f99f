# SPDX-License-Identifier: Apache-2.0
"""Rules about samples of shared units can fail."""
from . import validate
from .damage import RuleTest

DATA = "device_0/data/"


class UnitSamples(RuleTest):
    def replaced(self, kind, old, new, golden="full"):
        """A copy in which a text file of the device has `new` instead of the first `old`."""
        copy = self.damage(golden)
        name = f"{DATA}{kind}.data.0.slice_0"
        text = copy.read(name)
        self.assertIn(old, text)
        copy.write(name, text.replace(old, new, 1))
        return copy

    def test_lines_that_cannot_be_read(self):
        self.breaks(self.replaced("nic", b"200000 10 1000", b"200000 10"), "unit-sample")
        self.breaks(self.replaced("roce", b"200000", b"-200000"), "unit-sample")
        self.breaks(self.replaced("dvpp", b"10%", b"10"), "unit-sample")
        self.breaks(self.replaced("hccs", b": 3000000 2000000", b": 3000000"), "unit-sample")

    def test_a_heading_that_is_missing(self):
        self.breaks(self.replaced("hccs", b"time tx rx\n", b""), "unit-sample")

    def test_sums_that_fall(self):
        self.breaks(self.replaced("hccs", b": 6000000 4000000", b": 6000000 1"), "unit-sample")
        self.breaks(self.replaced("nic", b"20 2000 0 0 20 2000 40 4000", b"20 5 0 0 20 2000 40 4000"), "unit-sample")
        self.breaks(self.replaced("dvpp", b" 2000 2 10% 2000 2 ", b" 2000 0 10% 2000 2 "), "unit-sample")

    def test_more_than_is_possible(self):
        self.breaks(self.replaced("nic", b" 200000 10 1000 ", b" 200000 10 26000000000 "), "unit-sample")
        self.breaks(self.replaced("dvpp", b"10%", b"101%"), "unit-sample")
        copy = self.damage("full")
        copy.patch(DATA + "pcie.data.0.slice_0", 12, "<I", 99)
        self.breaks(copy, "unit-sample")

    def test_time_that_goes_back(self):
        for kind, size in (("hbm", 24), ("pcie", 96)):
            copy = self.damage("full")
            name = f"{DATA}{kind}.data.0.slice_0"
            length = len(copy.read(name))
            copy.patch(name, length - size, "<Q", 0)
            self.breaks(copy, "unit-sample")

    def test_events_and_kinds_that_are_unknown(self):
        copy = self.damage("full")
        copy.patch(DATA + "hbm.data.0.slice_0", 16, "<I", 2)
        self.breaks(copy, "unit-sample")
        copy = self.damage("full")
        copy.patch(DATA + "socpmu.data.0.slice_0", 14, "<H", 3)
        self.breaks(copy, "unit-sample")

    def test_samples_of_the_main_memory(self):
        profile, qos = DATA + "stars_soc_profile.data.0.slice_0", DATA + "qos.data.0.slice_0"
        copy = self.damage("full")
        records = copy.read(profile)
        for function in (0x1A, 0x1C):
            which = [i for i in range(0, len(records), 64) if records[i] & 63 == function]
            copy = self.damage("full")
            copy.patch(profile, which[-1] + 8, "<Q", int.from_bytes(records[which[0] + 8:which[0] + 16], "little") - 1)
            self.assertIn("unit-sample", validate(copy.path).rules())
        copy = self.damage("full")
        copy.patch(qos, 64 + 16, "<Q", 0)
        self.breaks(copy, "unit-sample")

    def test_l2_events_of_a_task_that_did_not_run(self):
        copy = self.damage("full")
        copy.patch(DATA + "socpmu.data.0.slice_0", 12, "<H", 60000)
        self.breaks(copy, "unit-sample")

    def test_settings_without_which_samples_are_dropped(self):
        for changes in ({"l2CacheTaskProfilingEvents": ""}, {"l2CacheTaskProfilingEvents": "251"}, {"npuEvents": "SMMU:0x2"}):
            copy = self.damage("full")
            copy.json("device_0/sample.json", **changes)
            self.breaks(copy, "unit-gate")
        copy = self.damage("full")
        copy.write(DATA + "qos.data.0.slice_0", bytes(64))
        copy.json("device_0/sample.json", qosEvents="")
        self.breaks(copy, "unit-gate")
        copy = self.damage("full")
        copy.json("device_0/sample.json", llc_profiling="both")
        self.breaks(copy, "unit-gate")

    def test_ai_cpu_tasks(self):
        node = 512  # the file has records of other types before it
        copy = self.damage("multi")
        copy.patch(DATA + "aicpu.data.0.slice_0", node + 96, "<Q", 1 << 50)
        self.assertIn("unit-sample", validate(copy.path).rules())
        copy = self.damage("multi")
        copy.patch(DATA + "aicpu.data.0.slice_0", node + 92, "<I", 7)
        self.assertIn("ids", validate(copy.path).rules())
