# SPDX-License-Identifier: Apache-2.0
"""Rules about records of the host can fail."""
import struct

from . import layout, validate
from .damage import API, CONTEXT, HASHES, MEMCPY, NODE, RuleTest, TENSOR, TIME, TRACK, TYPES, broken


class HostRecords(RuleTest):
    def test_magic(self):
        for name in (API, NODE, TENSOR, TRACK, MEMCPY):
            with self.subTest(name):
                copy = self.damage()
                copy.patch(name, 0, "<H", 0x5A5B)
                self.assertIn("host-magic", validate(copy.path).rules())
                broken.add("host-magic")

    def test_unknown_level(self):
        for name in (NODE, TENSOR, CONTEXT):
            with self.subTest(name):
                copy = self.damage()
                copy.patch(name, 2, "<H", 4500)
                self.breaks(copy, "host-level")

    def test_level_that_does_not_belong_into_the_file(self):
        copy = self.damage()
        copy.patch(NODE, 2, "<H", layout.RUNTIME)
        self.breaks(copy, "host-level", "type-name")

    def test_payload_that_is_too_long(self):
        copy = self.damage()
        copy.patch(NODE, 12, "<I", 41)
        self.breaks(copy, "host-payload")
        copy = self.damage()
        copy.patch(TENSOR, 32, "<I", 6)
        self.breaks(copy, "host-payload")
        copy = self.damage()
        copy.patch(CONTEXT, 32, "<I", 56)
        self.breaks(copy, "host-payload")

    def test_dictionary_line(self):
        copy = self.damage()
        copy.write(HASHES, copy.read(HASHES) + b"0x12:name\n")
        self.breaks(copy, "dictionary")
        copy = self.damage()
        copy.write(TYPES, copy.read(TYPES) + b"4500_1:name\n")
        self.breaks(copy, "dictionary")

    def test_type_without_name(self):
        for line in (b"10000_5:launch", b"5000_66:KERNEL_AIVEC", b"10000_1:tensor_info", b"5000_1010:"):
            with self.subTest(line):
                copy = self.damage()
                copy.write(TYPES, b"".join(x for x in copy.read(TYPES).splitlines(True) if not x.startswith(line)))
                self.assertIn("type-name", validate(copy.path).rules())
                broken.add("type-name")

    def test_type_named_unlike_its_file(self):
        copy = self.damage()
        copy.write(TYPES, copy.read(TYPES).replace(b"tensor_info", b"tensor_data"))
        self.breaks(copy, "type-name")

    def test_name_without_string(self):
        for text in (b"MatMulV2", b"te_matmulv2_0"):
            with self.subTest(text):
                copy = self.damage()
                lines = [x for x in copy.read(HASHES).splitlines(True) if not x.endswith(b":" + text + b"\n")]
                copy.write(HASHES, b"".join(lines))
                self.breaks(copy, "hash-name")

    def _call(self, copy, level, number):
        """Offset of the first call of this kind."""
        data = copy.read(API)
        return next(i for i in range(0, len(data), 40) if struct.unpack_from("<HI", data, i + 2) == (level, number))

    def test_call_that_ends_as_it_begins(self):
        copy = self.damage()
        at = self._call(copy, 20000, 327681)
        begin = struct.unpack_from("<Q", copy.read(API), at + 16)[0]
        copy.patch(API, at + 24, "<Q", begin)
        self.breaks(copy, "api-interval")
        copy.patch(API, at + 24, "<Q", begin - 1)
        self.breaks(copy, "api-interval")

    def test_call_without_begin(self):
        copy = self.damage()
        copy.patch(API, self._call(copy, 20000, 327681) + 16, "<Q", 0)
        self.breaks(copy, "api-interval", "clock-range")

    def _event(self, when, request=7, thread=12399):
        return struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, thread, request, when, layout.EVENT_FLAG, 0)

    def test_event_halves(self):
        copy = self.damage()
        copy.write(API, copy.read(API) + self._event(100000900000, thread=1) + self._event(100000900100, thread=1))
        self.breaks(copy)
        copy.write(API, copy.read(API) + self._event(100000900200, thread=1))
        self.breaks(copy, "api-interval")

    def test_calls_that_partly_overlap(self):
        copy = self.damage()
        at = self._call(copy, 20000, 327681)
        begin, end = struct.unpack_from("<QQ", copy.read(API), at + 16)
        late = struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, 12399, 0, end - 1, end + 1, 0)
        copy.write(API, copy.read(API) + late)
        self.breaks(copy, "api-nesting")
        copy = self.damage()  # one inside the other is fine
        inner = struct.pack("<HHIIIQQQ", 0x5A5A, 20000, 327681, 12399, 0, begin + 1, end - 1, 0)
        copy.write(API, copy.read(API) + inner)
        self.breaks(copy)

    def test_information_outside_its_launch(self):
        for name in (NODE, TENSOR, CONTEXT):
            with self.subTest(name):
                copy = self.damage()
                when = struct.unpack_from("<Q", copy.read(name), TIME)[0]
                copy.patch(name, TIME, "<Q", when + 5_000_000)
                self.breaks(copy, "node-inside-launch")

    def test_information_at_the_edges_of_its_launch(self):
        copy = self.damage()
        begin, end = struct.unpack_from("<QQ", copy.read(API), self._call(copy, layout.NODE, 5) + 16)
        copy.patch(NODE, TIME, "<Q", end)
        self.breaks(copy)
        copy.patch(NODE, TIME, "<Q", begin)  # the begin itself is outside
        self.breaks(copy, "node-inside-launch")

    def test_information_of_another_thread(self):
        copy = self.damage()
        copy.patch(NODE, 8, "<I", 4)
        self.breaks(copy, "node-inside-launch")

    def test_track_outside_its_call(self):
        copy = self.damage()
        copy.patch(TRACK, TIME, "<Q", 100000900000)
        self.assertIn("track-inside-api", validate(copy.path).rules())
        copy = self.damage()
        copy.patch(TRACK, 8, "<I", 4)
        self.breaks(copy, "track-inside-api")

    def test_copy_without_its_track(self):
        copy = self.damage()
        when = struct.unpack_from("<Q", copy.read(MEMCPY), TIME)[0]
        copy.patch(MEMCPY, TIME, "<Q", when + 1)
        self.breaks(copy, "memcpy-track")

    def test_track_of_unknown_device(self):
        copy = self.damage()
        copy.patch(TRACK, 24, "<H", 5)
        self.breaks(copy, "ids")

    def test_flip_missing_on_the_host(self):
        copy = self.damage("wrap")
        data = copy.read(TRACK)
        at = next(i for i in range(0, len(data), 64) if struct.unpack_from("<Q", data, i + 32)[0] == layout.TASK_FLIP)
        copy.write(TRACK, data[:at] + data[at + 64:])
        self.breaks(copy, "flips")

    def test_flip_with_a_number_that_does_not_follow(self):
        copy = self.damage("wrap")
        data = copy.read(TRACK)
        flips = [i for i in range(0, len(data), 64)
                 if struct.unpack_from("<Q", data, i + 32)[0] == layout.TASK_FLIP
                 and struct.unpack_from("<H", data, i + 26)[0] == 8]
        copy.patch(TRACK, flips[1] + 30, "<H", 9)
        self.breaks(copy, "flips")

    def test_values_of_two_to_the_53(self):
        copy = self.damage()
        copy.patch(MEMCPY, 24, "<Q", 1 << 53)
        self.breaks(copy, "precision")
        copy.patch(MEMCPY, 24, "<Q", (1 << 53) - 1)
        self.breaks(copy)
        copy = self.damage()
        copy.patch(API, self._call(copy, 20000, 327681) + 24, "<Q", 1 << 53)
        self.assertIn("precision", validate(copy.path).rules())

    def test_host_time_far_from_the_collection(self):
        copy = self.damage("full")
        copy.patch("host/data/aging.additional.msproftx.slice_0", TIME, "<Q", 1)
        self.breaks(copy, "clock-range")

    def test_host_samples(self):
        for name, line in (("host_mem.data", b"12 34\n"), ("host_cpu.data", b"nothing\n"),
                           ("host_network.data", b"  eth0 1 2\n")):
            with self.subTest(name):
                copy = self.damage("full")
                path = f"host/data/{name}.slice_0"
                copy.write(path, copy.read(path) + line)
                self.breaks(copy, "host-sample")

    def test_host_samples_that_the_golden_directories_lack(self):
        for name, good, bad in (("host_disk.data", b"start_time 5\n 12 be/4 root 0.00 K/s 1.00 K/s 0.00 % 0.00 % x\n",
                                 b"12 be/4 root 0.00 K/s x\n"),
                                ("host_sys_cpu.data", b"TimeStamp:5\ncpu0 1 2 3 4 5 6 7 8\n\n", b"cpu0 1 2\n"),
                                ("host_sys_mem.data", b"TimeStamp:5\nMemTotal:  7 kB\n\n", b"MemTotal 7\n")):
            with self.subTest(name):
                copy = self.damage("full")
                path = f"host/data/{name}.slice_0"
                copy.write(path, good)
                self.breaks(copy)
                copy.write(path, good + bad)
                self.breaks(copy, "host-sample")
