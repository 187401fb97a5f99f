# SPDX-License-Identifier: Apache-2.0
"""Stamps, constants and the context manager of acl.prof, by what they leave in a directory.

usage: profile_test.py HEADER MODELS [unittest arguments]
"""

import ctypes
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import unittest

import acl
import acl.prof

HEADER, MODELS = sys.argv.pop(1), sys.argv.pop(1)


class Session(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.addCleanup(acl.prof.finalize)

    def marks(self, **changes):
        return acl.prof.Profile(self.dir.name, devices=(), data_types=acl.prof.ACL_PROF_MSPROFTX, **changes)

    @staticmethod
    def manifest(directory):
        with open(os.path.join(directory, "npuprof", "manifest.json"), encoding="utf-8") as f:
            return json.load(f)

    def records(self, directory):
        """(event type, message) of each stamp in the directory."""
        found = []
        data = os.path.join(directory, "host", "data")
        for name in sorted(os.listdir(data)):
            if re.match(r"(un)?aging\.additional\.msproftx\.slice_\d+$", name):
                with open(os.path.join(data, name), "rb") as f:
                    content = f.read()
                for at in range(0, len(content), 256):
                    record = content[at + 24:at + 256]
                    text = record[76:].split(b"\0")[0].decode("utf-8", "replace")
                    found.append((int.from_bytes(record[24:28], "little"), text))
        return found


class Profile(Session):
    def test_a_session_has_a_whole_directory_of_its_own(self):
        with self.marks() as profile:
            stamp = acl.prof.create_stamp()
            self.assertEqual(acl.prof.set_stamp_trace_message(stamp, "step", 4), 0)
            self.assertEqual(acl.prof.mark(stamp), 0)
            acl.prof.destroy_stamp(stamp)
        first = profile.directory
        self.assertTrue(self.manifest(first)["complete"])
        self.assertEqual([text for _, text in self.records(first)], ["step"])
        with profile:
            pass
        self.assertNotEqual(profile.directory, first)
        self.assertTrue(self.manifest(profile.directory)["complete"])
        self.assertEqual(acl.prof.directory(), profile.directory)

    def test_settings_are_set(self):
        with self.marks(settings={acl.prof.ACL_PROF_HOST_SYS: "cpu", acl.prof.ACL_PROF_HOST_SYS_USAGE_FREQ: 10}) as profile:
            pass
        self.assertIn("host_cpu", [k["kind"] for k in self.manifest(profile.directory)["host"]["kinds"]])

    def test_a_failure_names_call_code_and_reason_and_leaves_nothing(self):
        cases = (({"settings": {acl.prof.ACL_PROF_SYS_IO_FREQ: 1000}}, "set_config", 100010, "allowed"),
                 ({"metrics": 99, "data_types": 0x4, "devices": (0,)}, "start", 100000, "counter group 99"),
                 ({"devices": (77,)}, "create_config", 0, "77"))
        for changes, function, code, words in cases:
            arguments = {"devices": (), "data_types": acl.prof.ACL_PROF_MSPROFTX, **changes}
            with self.subTest(function):
                with self.assertRaises(acl.prof.Error) as caught, acl.prof.Profile(self.dir.name, **arguments):
                    self.fail("entered")
                self.assertEqual((caught.exception.function, caught.exception.code), (function, code))
                self.assertIn(words, str(caught.exception))
                self.assertEqual(os.listdir(self.dir.name), [])
                with self.marks():  # nothing of it is in the way
                    pass
                for name in os.listdir(self.dir.name):
                    os.rename(os.path.join(self.dir.name, name), os.path.join(self.fresh(), name))

    def fresh(self):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        return directory

    def test_what_the_work_raises_is_what_the_caller_sees(self):
        with self.assertRaises(ZeroDivisionError):
            with self.marks() as profile:
                raise ZeroDivisionError
        self.assertTrue(self.manifest(profile.directory)["complete"])
        with self.assertRaises(KeyError) as caught:
            with self.marks():
                self.assertEqual(acl.prof.finalize(), 0)
                self.assertEqual(acl.prof.init("/tmp"), 0)
                # Somebody else's session, with other data types.
                other = acl.prof.create_config([], 0, 0, acl.prof.ACL_PROF_MSPROFTX | acl.prof.ACL_PROF_ACL_API)
                self.assertEqual(acl.prof.set_config(acl.prof.ACL_PROF_PATH, self.dir.name), 0)
                self.assertEqual(acl.prof.start(other), 0)
                raise KeyError
        self.assertIn("acl.prof.stop returned 100010", caught.exception.__notes__[0])

    def test_entering_twice_is_refused(self):
        profile = self.marks()
        with profile:
            with self.assertRaises(acl.prof.Error):
                profile.__enter__()
            self.assertEqual(acl.prof.stop(0), 0)


class Stamps(Session):
    def test_each_kind_leaves_its_record(self):
        with self.marks() as profile:
            stamps = [acl.prof.create_stamp() for _ in range(3)]
            for stamp, text in zip(stamps, ("mark", "nested", "range")):
                self.assertEqual(acl.prof.set_stamp_trace_message(stamp, text, len(text)), 0)
            self.assertEqual(acl.prof.mark(stamps[0]), 0)
            self.assertEqual(acl.prof.push(stamps[1]), 0)
            self.assertEqual(acl.prof.pop("arguments", "are", "ignored"), 0)
            self.assertEqual(acl.prof.pop(), -1)
            number, ret = acl.prof.range_start(stamps[2])
            self.assertEqual((number > 0, ret), (True, 0))
            self.assertEqual(acl.prof.range_stop(number), 0)
            self.assertEqual(acl.prof.range_stop(number), -1)
            for stamp in stamps:
                self.assertIsNone(acl.prof.destroy_stamp(stamp))
        self.assertEqual(sorted(self.records(profile.directory)), [(0, "mark"), (1, "nested"), (2, "range")])

    def test_messages_are_counted_in_characters_or_bytes_and_never_read_past_their_end(self):
        text = "\u7b97\u5b50"
        with self.marks() as profile:
            stamp = acl.prof.create_stamp()
            for length, ret in ((len(text), 0), (len(text.encode()), 0), (3, 0), (100, -1), (128, -1)):
                self.assertEqual(acl.prof.set_stamp_trace_message(stamp, text, length), ret, length)
                if ret == 0:
                    self.assertEqual(acl.prof.mark(stamp), 0)
            acl.prof.destroy_stamp(stamp)
        self.assertEqual([t for _, t in self.records(profile.directory)], [text, text, text[0]])

    def test_outside_a_session_and_with_null_they_fail_with_codes(self):
        self.assertEqual(acl.prof.create_stamp(), 0)
        self.assertIsNone(acl.prof.destroy_stamp(0))
        self.assertEqual(acl.prof.set_stamp_trace_message(0, "x", 1), -1)
        self.assertEqual(acl.prof.mark(0), -1)
        self.assertEqual(acl.prof.push(0), 100000)
        self.assertEqual(acl.prof.range_start(0)[1], 100000)
        self.assertEqual(acl.prof.mark_ex("x", 0), -1)
        self.assertNotEqual(acl.prof.last_message(), "")

    def test_wrong_types_are_type_errors(self):
        for call in (
            lambda: acl.prof.mark("1"), lambda: acl.prof.mark(), lambda: acl.prof.mark(-1), lambda: acl.prof.push(1.0),
            lambda: acl.prof.destroy_stamp(None), lambda: acl.prof.range_stop("1"), lambda: acl.prof.range_stop(-1),
            lambda: acl.prof.mark_ex(b"x", 1), lambda: acl.prof.mark_ex("x"), lambda: acl.prof.mark_ex(1, 1),
            lambda: acl.prof.set_stamp_trace_message(1, b"x", 1), lambda: acl.prof.set_stamp_trace_message(1, "x"),
            lambda: acl.prof.set_stamp_trace_message(1, "x", "1"), lambda: acl.prof.create_stamp(1),
        ):
            with self.assertRaises(TypeError):
                call()


class Steps(Session):
    def test_are_numbered_and_refuse_what_is_marked_already(self):
        self.assertEqual(acl.rt.set_device(0), 0)
        stream, ret = acl.rt.create_stream()
        self.assertEqual(ret, 0)
        steps = [acl.prof.create_step_info() for _ in range(2)]
        # Programs read and write the number at offset 8.
        numbers = [int.from_bytes(acl.util.ptr_to_bytes(step + 8, 8), "little") for step in steps]
        self.assertEqual(numbers[1], numbers[0] + 1)
        with acl.prof.Profile(self.dir.name):
            for tag in (acl.prof.ACL_STEP_START, acl.prof.ACL_STEP_END):
                self.assertEqual(acl.prof.get_step_timestamp(steps[0], tag, stream), 0)
                self.assertEqual(acl.prof.get_step_timestamp(steps[0], tag, stream), 100000)
            self.assertEqual(acl.prof.get_step_timestamp(steps[1], 60000, stream), 0)
            self.assertEqual(acl.rt.synchronize_stream(stream), 0)
        for step in steps:
            self.assertIsNone(acl.prof.destroy_step_info(step))
        self.assertEqual(acl.prof.get_step_timestamp(0, 0, stream), 100000)
        self.assertIsNone(acl.prof.destroy_step_info(0))
        self.assertEqual(acl.rt.destroy_stream(stream), 0)
        for call in (lambda: acl.prof.create_step_info(1), lambda: acl.prof.get_step_timestamp(0, 0),
                     lambda: acl.prof.get_step_timestamp("0", 0, 0), lambda: acl.prof.destroy_step_info(-1)):
            with self.assertRaises(TypeError):
                call()


class Subscription(Session):
    MODEL = "resnet50_b1.json"

    def setUp(self):
        super().setUp()
        self.assertEqual(acl.rt.set_device(0), 0)
        self.addCleanup(acl.rt.reset_device, 0)
        with open(os.path.join(MODELS, self.MODEL), encoding="utf-8") as f:
            self.operators = [op["name"] for op in json.load(f)["ops"]]
        self.model, ret = acl.mdl.load_from_file(os.path.join(MODELS, self.MODEL))
        self.assertEqual(ret, 0)

    def execute(self, times):
        desc = acl.mdl.create_desc()
        self.assertEqual(acl.mdl.get_desc(desc, self.model), 0)
        made = []
        for count, size in ((acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index),
                            (acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)):
            made.append(acl.mdl.create_dataset())
            for i in range(count):
                memory, ret = acl.rt.malloc(size(desc, i), 0)
                self.assertEqual(ret, 0)
                self.assertEqual(acl.mdl.add_dataset_buffer(made[-1], acl.create_data_buffer(memory, size(desc, i)))[1], 0)
        for _ in range(times):
            self.assertEqual(acl.mdl.execute(self.model, *made), 0)

    def test_every_operator_of_every_execution_comes_out_of_the_pipe(self):
        read_end, write_end = os.pipe()
        content = bytearray()
        reader = threading.Thread(target=lambda: [content.extend(b) for b in iter(lambda: os.read(read_end, 65536), b"")])
        reader.start()
        config = acl.prof.create_subscribe_config(1, acl.prof.ACL_AICORE_NONE, write_end)
        self.assertNotEqual(config, 0)
        self.assertEqual(acl.prof.model_subscribe(self.model, config), 0)
        self.assertEqual(acl.prof.model_subscribe(self.model, config), 148046)
        self.execute(2)
        self.assertEqual(acl.prof.model_unsubscribe(self.model), 0)
        reader.join(60)  # the library closes its end with the last subscription
        self.assertFalse(reader.is_alive())
        os.close(read_end)
        self.assertEqual(acl.prof.destroy_subscribe_config(config), 0)
        self.assertEqual(acl.prof.destroy_subscribe_config(config), 100000)

        size, ret = acl.prof.get_op_desc_size()
        self.assertEqual((size, ret), (80, 0))
        data = bytes(content)
        items = (acl.util.bytes_to_ptr(data), len(data))
        self.assertEqual(acl.prof.get_op_num(*items), (2 * len(self.operators), 0))
        names = []
        for index in range(2 * len(self.operators)):
            length, ret = acl.prof.get_op_name_len(*items, index)
            self.assertEqual(ret, 0)
            name, ret = acl.prof.get_op_name(*items, index, length)
            self.assertEqual((len(name.encode()) + 1, ret), (length, 0))
            kind, ret = acl.prof.get_op_type_v2(*items, index)
            self.assertEqual((bool(kind), ret), (True, 0))
            start, end = acl.prof.get_op_start(*items, index), acl.prof.get_op_end(*items, index)
            self.assertLessEqual(abs(end - start - acl.prof.get_op_duration(*items, index)), 1)
            self.assertEqual(acl.prof.get_model_id(*items, index), self.model)
            names.append(name)
        self.assertEqual(sorted(names), sorted(2 * self.operators))
        self.assertEqual(acl.prof.get_op_name(*items, 0, 0), ("", 100000))
        self.assertEqual(acl.prof.get_op_name(*items, 0, 4097), ("", 100000))
        self.assertEqual(acl.prof.get_op_type_v2(*items, len(names)), (None, 100000))
        self.assertEqual(acl.prof.get_op_num(items[0], len(data) - 1)[1], 100000)

    def test_a_configuration_destroyed_during_the_subscription_leaves_it_its_pipe(self):
        # The place of the descriptor must not go with the configuration, where the next one gets it.
        ends = [os.pipe(), os.pipe()]
        contents = [bytearray(), bytearray()]
        made = []
        with open("/proc/self/maps", encoding="utf-8") as f:
            library = next(line.split()[-1] for line in f if "/libaclprof.so" in line)

        @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
        def component(_, command, __):
            kind = ctypes.c_uint32.from_address(command + 280).value
            if kind == 1 and not made:  # START, the library has read the configuration
                self.assertEqual(acl.prof.destroy_subscribe_config(config), 0)
                made.append(acl.prof.create_subscribe_config(1, acl.prof.ACL_AICORE_NONE, ends[1][1]))
            return 0

        self.__class__.kept = component  # there is no function to take it back
        config = acl.prof.create_subscribe_config(1, acl.prof.ACL_AICORE_NONE, ends[0][1])
        self.assertEqual(ctypes.CDLL(library).MsprofRegisterCallback(33, component), 0)
        readers = [threading.Thread(target=lambda i=i: [contents[i].extend(b) for b in
                                                         iter(lambda: os.read(ends[i][0], 65536), b"")]) for i in (0, 1)]
        for reader in readers:
            reader.start()
        self.assertEqual(acl.prof.model_subscribe(self.model, config), 0)
        self.assertEqual(1, len(made))
        self.execute(1)
        self.assertEqual(acl.prof.model_unsubscribe(self.model), 0)
        readers[0].join(60)
        self.assertFalse(readers[0].is_alive())
        os.close(ends[1][1])
        readers[1].join(60)
        self.assertEqual([80 * len(self.operators), 0], [len(content) for content in contents])
        self.assertEqual(acl.prof.destroy_subscribe_config(made[0]), 0)

    def test_wrong_arguments(self):
        self.assertEqual(acl.prof.model_un_subscribe(self.model), 100011)
        self.assertEqual(acl.prof.model_subscribe(4000000000, 0), 100011)
        self.assertEqual(acl.prof.create_subscribe_config(2, 0, 1), 0)
        self.assertEqual(acl.prof.get_op_num(0, 0)[1], 100000)
        for call in (lambda: acl.prof.create_subscribe_config(1, 0), lambda: acl.prof.create_subscribe_config(1, 0, "1"),
                     lambda: acl.prof.create_subscribe_config(1, 0, 2**40), lambda: acl.prof.get_op_num(0),
                     lambda: acl.prof.get_op_name(0, 0, -1, 1), lambda: acl.prof.model_subscribe("1", 0)):
            with self.assertRaises(TypeError):
                call()


# Those that pyACL publishes.
FUNCTIONS = """init finalize create_config destroy_config set_config start stop create_stamp destroy_stamp
    set_stamp_trace_message mark push pop mark_ex range_start range_stop create_step_info destroy_step_info
    get_step_timestamp create_subscribe_config destroy_subscribe_config model_subscribe model_unsubscribe
    model_un_subscribe get_op_desc_size get_op_num get_op_type_len get_op_name_len get_op_type get_op_name
    get_op_type_v2 get_op_name_v2 get_op_start get_op_end get_op_duration get_model_id""".split()
ADDITIONS = {"last_message", "directory", "Profile", "Error"}


class Functions(unittest.TestCase):
    def test_are_the_published_ones_and_additions_of_other_names(self):
        self.assertEqual(36, len(set(FUNCTIONS)))
        ours = {name for name in dir(acl.prof) if callable(getattr(acl.prof, name)) and not name.startswith("_")}
        self.assertEqual(ADDITIONS, ours - set(FUNCTIONS))
        self.assertEqual(set(), set(FUNCTIONS) - ours)


class Constants(unittest.TestCase):
    def test_are_those_of_the_header(self):
        with open(HEADER, encoding="utf-8") as f:
            text = f.read()
        macros = {n: int(v, 0) for n, v in re.findall(r"#define (ACL_PROF_\w+) +(0x[0-9a-fA-F]+)ULL", text)}
        enums = {n: int(v, 0) for n, v in re.findall(r"\b(ACL_(?:PROF|AICORE|STEP)_\w+) = (0x[0-9a-fA-F]+|\d+)", text)
                 if n not in ("ACL_PROF_ARGS_MIN", "ACL_PROF_ARGS_MAX")}
        ours = {n: getattr(acl.prof, n) for n in dir(acl.prof) if n.startswith("ACL_")}
        self.assertGreater(len(macros), 15)
        self.assertEqual(ours, {**macros, **enums})


if __name__ == "__main__":
    unittest.main()
