# SPDX-License-Identifier: Apache-2.0
"""What acl.prof takes, what it refuses with an exception, and what with a code."""

import os
import tempfile
import unittest

import acl
import acl.prof


class Arguments(unittest.TestCase):
    def test_wrong_types_are_type_errors(self):
        for call in (
            lambda: acl.prof.init(b"/tmp"),
            lambda: acl.prof.init(1),
            lambda: acl.prof.init(None),
            lambda: acl.prof.create_config((0,), 1, 0, 7),
            lambda: acl.prof.create_config(0, 1, 0, 7),
            lambda: acl.prof.create_config([0.0], 1, 0, 7),
            lambda: acl.prof.create_config(["0"], 1, 0, 7),
            lambda: acl.prof.create_config([0], "1", 0, 7),
            lambda: acl.prof.create_config([0], 1.0, 0, 7),
            lambda: acl.prof.create_config([0], 1, None, 7),
            lambda: acl.prof.create_config([0], 1, 0, 7.0),
            lambda: acl.prof.set_config("3", "15"),
            lambda: acl.prof.set_config(3, 15),
            lambda: acl.prof.set_config(3, b"15"),
            lambda: acl.prof.destroy_config(None),
            lambda: acl.prof.start("1"),
            lambda: acl.prof.start(-1),
            lambda: acl.prof.stop(1.0),
            lambda: acl.rt.set_device("0"),
            lambda: acl.mdl.load_from_file(b"model.json"),
            lambda: acl.util.bytes_to_ptr("text"),
        ):
            with self.assertRaises(TypeError):
                call()

    def test_a_path_may_be_any_bytes_that_python_can_name(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.fsdecode(os.fsencode(directory) + b"/odd\xff")
            self.assertEqual(acl.prof.init(path), 0)
            config = acl.prof.create_config([], 0, 0, 0x80)
            self.assertEqual(acl.prof.start(config), 0)
            self.assertEqual(acl.prof.stop(config), 0)
            self.assertEqual(acl.prof.destroy_config(config), 0)
            self.assertEqual(acl.prof.finalize(), 0)
            self.assertEqual(len(os.listdir(path)), 1)
        with self.assertRaises(UnicodeEncodeError):
            acl.prof.init("/tmp/\ud800")

    def test_wrong_counts_are_type_errors(self):
        for call in (
            lambda: acl.prof.init(),
            lambda: acl.prof.init("/tmp", 4),
            lambda: acl.prof.create_config([0], 1, 0),
            lambda: acl.prof.create_config([0], 1, 0, 7, 7),
            lambda: acl.prof.set_config(3),
            lambda: acl.prof.start(),
            lambda: acl.prof.stop(0, 0),
            lambda: acl.prof.destroy_config(),
        ):
            with self.assertRaises(TypeError):
                call()

    def test_ids_out_of_range_are_value_errors(self):
        for bad in (-1, 2**32, 2**70):
            with self.assertRaisesRegex(ValueError, str(bad)):
                acl.prof.create_config([0, bad], 1, 0, 7)

    def test_finalize_ignores_arguments(self):
        self.assertEqual(acl.prof.finalize(1, "two"), 0)


class Codes(unittest.TestCase):
    def test_zero_is_null(self):
        self.assertEqual(acl.prof.destroy_config(0), 100000)
        self.assertEqual(acl.prof.stop(0), 0)  # nothing runs
        self.assertEqual(acl.prof.finalize(), 0)  # nothing was initialised

    def test_paths(self):
        self.assertEqual(acl.prof.init(""), 100000)
        self.assertEqual(acl.prof.init("/tmp/with\0nul"), 100000)
        self.assertEqual(acl.prof.init("x" * 4096), 100000)
        self.assertEqual(acl.prof.init("/tmp/a;b"), 100003)

    def test_settings(self):
        self.assertEqual(acl.prof.set_config(0, "x"), 100000)
        self.assertEqual(acl.prof.set_config(17, "x"), 100000)
        self.assertEqual(acl.prof.set_config(3, "x" * 257), 100000)
        self.assertEqual(acl.prof.set_config(2, "x"), 100010)
        self.assertEqual(acl.prof.set_config(3, "101"), 100010)
        self.assertEqual(acl.prof.set_config(3, "15"), 0)
        self.assertEqual(acl.prof.finalize(), 0)

    def test_configs_are_addresses_and_zero_is_failure(self):
        count, ret = acl.rt.get_device_count()
        self.assertEqual((count, ret), (2, 0))
        for device_list, metrics, events, data_types in (([2], 1, 0, 7), ([0, 0], 1, 0, 7), ([], 1, 0, 7), ([0], 1, 1, 7)):
            self.assertEqual(acl.prof.create_config(device_list, metrics, events, data_types), 0)
        for device_list, metrics, events, data_types in (([0], 1, 0, 7), ([0, 1], 0xFF, 0, 2), ([], 0, 0, 0x80), ([0], 1, 0, 0)):
            config = acl.prof.create_config(device_list, metrics, events, data_types)
            self.assertIsInstance(config, int)
            self.assertNotEqual(config, 0)
            self.assertEqual(acl.prof.destroy_config(config), 0)


class Util(unittest.TestCase):
    def test_bytes_survive_the_way_through_an_address(self):
        data = bytes(range(256))
        self.assertEqual(acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(data), 256), data)
        with self.assertRaises(ValueError):
            acl.util.ptr_to_bytes(0, 1)

    def test_data_buffers_keep_address_and_size(self):
        data = b"12345678"
        buffer = acl.create_data_buffer(acl.util.bytes_to_ptr(data), 8)
        self.assertNotEqual(buffer, 0)
        self.assertEqual(acl.get_data_buffer_addr(buffer), acl.util.bytes_to_ptr(data))
        self.assertEqual(acl.get_data_buffer_size(buffer), 8)
        self.assertEqual(acl.destroy_data_buffer(buffer), 0)


if __name__ == "__main__":
    unittest.main()
