# SPDX-License-Identifier: Apache-2.0
"""Marks and ranges through mstx: records of the host by domain, what the device noted, and who listens."""
import collections
import json
import os
import struct
import subprocess

from harness import BUILD, CLIENTS, NPUPROF, ClientTest, environment

START_END, MARKER_EX = 2, 3
# Sanitizers take the place of dlopen(), which then does not look where the program was told to.
LIBRARIES = {"LD_LIBRARY_PATH": os.path.join(BUILD, "lib64")}
# Header, payload, message.
RECORD = struct.Struct("<HHIIIQHHIHHIIIIIQQQQQI156s")
Mark = collections.namedtuple("Mark", "event thread start end number domain text")


def long_text(size):
    text = "long:"
    while len(text.encode()) < size:
        text += "数🔥x"
    return text


class Mstx(ClientTest):
    def profiled(self, **env):
        directory = self.fresh("out")
        done = self.run_client("mstx_domains", directory, **LIBRARIES, **env)
        profile = self.profile_in(directory)
        counts = self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        return json.loads(done.stdout), profile, counts, done.stderr

    def names(self, profile):
        path = os.path.join(profile.path, "host", "data", "unaging.additional.hash_dic.slice_0")
        with open(path, encoding="utf-8") as f:
            return dict(line.rstrip("\n").split(":", 1) for line in f)

    def marks(self, profile):
        """Whole marks, pieces of long messages put together by their numbers."""
        names = self.names(profile)
        found, begun = [], {}
        with open(os.path.join(profile.path, "host", "data", "aging.additional.msproftx.slice_0"), "rb") as f:
            data = f.read()
        self.assertEqual(0, len(data) % 256)
        for at in range(0, len(data), 256):
            (_, level, _, thread, length, time, ex, segment, _, magic, tag, process, teller, _, event, _, _, start, end,
             number, domain, _, text) = RECORD.unpack_from(data, at)
            self.assertEqual((20500, 232, start, 0x5A5A, 120, thread, 1), (level, length, time, magic, tag, teller, ex))
            self.assertEqual(profile.manifest["pid"], process)
            text = text.split(b"\0")[0].decode()  # each piece alone is text
            if segment == 0:
                begun[number] = len(found)
                found.append(Mark(event, thread, start, end, number, names[str(domain)], text))
            else:
                known = found[begun[number]]
                self.assertEqual(known[:5], (event, thread, start, end, number))
                found[begun[number]] = known._replace(text=known.text + text)
        return found

    def test_marks_and_ranges_in_domains(self):
        returned, profile, _, said = self.profiled()
        self.assertEqual({"early": 0, "late": 0, "tool": 0x1000, "same": True, "refused": 4},
                         {k: returned[k] for k in ("early", "late", "tool", "same", "refused")})
        self.assertEqual(3, len({returned[k] for k in ("load", "kernel", "open")} - {0}))
        marks = self.marks(profile)
        points = [(m.domain, m.text) for m in marks if m.event == MARKER_EX]
        self.assertEqual([("default", "point"), ("default", "标记"), ("default", long_text(1000)), ("io", "read"),
                          ("communication", "allreduce")], points)
        self.assertTrue(all(m.start == m.end for m in marks if m.event == MARKER_EX))
        ranges = collections.Counter((m.domain, m.text) for m in marks if m.event == START_END)
        self.assertEqual({("io", "load"): 1, ("default", "kernel"): 1, ("io", "small"): 400}, dict(ranges))
        self.assertEqual(len(marks), len({m.number for m in marks}))
        by_text = {m.text: m for m in marks}
        self.assertEqual((returned["load"], returned["kernel"]), (by_text["load"].number, by_text["kernel"].number))
        self.assertEqual(by_text["point"].thread, by_text["load"].thread, "a range is of the thread that began it")
        self.assertEqual(8, len({m.thread for m in marks if m.text == "small"}))
        self.assertTrue(all(m.start < m.end for m in marks if m.event == START_END))
        self.assertIn("1 ranges of mstx were not ended", str(profile.manifest["messages"]))
        for part in ("begin with one of = + - @", "NULL or empty"):
            self.assertIn(part, said)

    def test_marks_and_steps_of_the_device_follow_the_stream(self):
        returned, profile, counts, _ = self.profiled()
        numbers = {m.text: m.number for m in self.marks(profile)}
        data = os.path.join(profile.path, "device_0", "data")
        with open(os.path.join(data, "ts_track.data.0.slice_0"), "rb") as f:
            noted = [(tag, index, clock) for kind, clock, index, tag in struct.iter_unpack("<xBxx4xQQ12xH2x", f.read())
                     if kind == 10]
        self.assertEqual([(11, numbers["allreduce"]), (11, returned["kernel"]), (11, returned["kernel"]), (60000, 1),
                          (60001, 1), (60000, 70), (60001, 70)], [n[:2] for n in noted])
        with open(os.path.join(data, "stars_soc.data.0.slice_0"), "rb") as f:
            tasks = [(head & 63, clock) for head, clock in struct.iter_unpack("<H6xQ48x", f.read())]
        (begin, end), (_, step_end) = [(a[1], b[1]) for a, b in zip(tasks[::2], tasks[1::2])][:2]
        self.assertTrue(noted[1][2] <= begin < end <= noted[2][2] <= noted[3][2] < step_end <= noted[4][2], (noted, tasks))
        exported = profile.export()
        self.assertEqual(2, exported["rows"].get("step_trace", 0))

    def test_domains_are_chosen(self):
        for choice, expected in (({"NPUPROF_MSTX_DOMAIN_INCLUDE": "io"}, {"io"}),
                                 ({"NPUPROF_MSTX_DOMAIN_INCLUDE": "default,communication"}, {"default", "communication"}),
                                 ({"NPUPROF_MSTX_DOMAIN_EXCLUDE": "io,nothing"}, {"default", "communication"})):
            with self.subTest(choice):
                directory = self.fresh("+".join(choice.values()))
                self.run_client("mstx_domains", directory, **LIBRARIES, **choice)
                self.assertEqual(expected, {m.domain for m in self.marks(self.profile_in(directory))})

    def test_both_lists_count_as_none(self):
        _, profile, _, _ = self.profiled(NPUPROF_MSTX_DOMAIN_INCLUDE="io", NPUPROF_MSTX_DOMAIN_EXCLUDE="io")
        self.assertEqual({"default", "io", "communication"}, {m.domain for m in self.marks(profile)})
        self.assertIn("only one is possible", str(profile.manifest["messages"]))

    def test_a_configuration_outside_the_program_chooses_domains_too(self):
        for key, expected in (("mstxDomainInclude", [("io", "read")]), ("mstxDomainExclude", [("default", "hello"), ("default", "range")])):
            with self.subTest(key):
                directory = self.fresh(key)
                self.run_client("mstx_plain", "acl", PROFILER_SAMPLECONFIG=json.dumps(
                    {"result_dir": directory, "msproftx": "on", key: "io"}))
                self.assertEqual(expected, [(m.domain, m.text) for m in self.marks(self.profile_in(directory))])

    def test_record_chooses_domains_too(self):
        for option, expected in (("--mstx-domain-include", [("io", "read")]),
                                 ("--mstx-domain-exclude", [("default", "hello"), ("default", "range")])):
            with self.subTest(option):
                directory = self.fresh(option.strip("-"))
                subprocess.run([NPUPROF, "record", "-o", directory, "--data-types", "msproftx", option, "io", "--",
                                os.path.join(CLIENTS, "mstx_plain"), "acl"], env=environment(), check=True, timeout=300)
                self.assertEqual(expected, [(m.domain, m.text) for m in self.marks(self.profile_in(directory))])

    def test_another_tool_may_listen(self):
        # The tool uses mstx itself while it loads, which must not wait for itself.
        tool = os.path.join(CLIENTS, "libmstx_tool.so")
        done = self.run_client("mstx_plain", MSTX_INJECTION_PATH=tool)
        self.assertEqual(["tool: mark hello", "tool: begin range", "tool: end 77", "tool: heap of type 0",
                          "range 77 tool 5 heap 9 handles 0 0"], done.stdout.splitlines())

    def test_nobody_listens(self):
        done = self.run_client("mstx_plain")
        self.assertEqual(("range 0 tool 4096 heap 0 handles 0 0\n", ""), (done.stdout, done.stderr))

    def test_a_tool_that_cannot_be_loaded_is_named(self):
        done = self.run_client("mstx_plain", MSTX_INJECTION_PATH="/no/such/tool.so")
        self.assertIn("/no/such/tool.so", done.stderr)
        self.assertEqual("range 0 tool 4096 heap 0 handles 0 0\n", done.stdout)

    def test_the_profiler_named_as_the_tool_is_itself(self):
        library = os.path.join(BUILD, "lib64", "libaclprof.so")
        done = self.run_client("mstx_plain", MSTX_INJECTION_PATH=library)
        self.assertEqual(("range 0 tool 4096 heap 0 handles 0 0\n", ""), (done.stdout, done.stderr))
