# SPDX-License-Identifier: Apache-2.0
"""The lab's judgement can fail: each kind of trouble is put before it and must be found."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boot
import configs
import initramfs
import kernels
import lab
import report
import results
import suites
import table
import verdict
from results import FAILED, PASSED, SKIPPED

QUIET = """[    1.0] WARNING: of the boot itself, before the lab
[    5.9] lab: begin
[    6.0] lab: suite smoke
[    8.1] npuprof: loading out-of-tree module taints kernel.
[    8.2] npuprof_conform[210]: segfault at 7f3 ip 55d error 7 in npuprof_conformance[55d+1000]
[    8.2] traps: npuprof_selftes[140] general protection fault ip:55de sp:7fff error:802 in npuprof_selftest[55de+da000]
[    8.3] lab: suite conformance
{}
[    9.0] lab: end
[    9.1] lab: done
"""

COMPLAINTS = [
    "[    8.4] WARNING: CPU: 1 PID: 220 at kernel/irq/manage.c:2005 free_irq+0x1/0x2",
    "[    8.4] BUG: KASAN: slab-use-after-free in npuprof_poll+0x10/0x20 [npuprof]",
    "[    8.4] BUG: sleeping function called from invalid context at mm/slab.h:1",
    "[    8.4] WARNING: possible circular locking dependency detected",
    "[    8.4] rcu: INFO: rcu_preempt self-detected stall on CPU",
    "[    8.4] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [npuprof:1]",
    "[    8.4] INFO: task npuprof:220 blocked for more than 120 seconds.",
    "[    8.4] DMA-API: refnpu 0000:00:03.0: device driver frees DMA memory with wrong function",
    "[    8.4] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "[    8.4] general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP",
    "[    8.4] UBSAN: shift-out-of-bounds in npuprof.c:10:3",
    "[    8.4] DMAR: [DMA Write NO_PASID] Request device [00:03.0] fault addr 0x1000",
    "[    8.4] refcount_t: underflow; use-after-free.",
    "[    8.4] ODEBUG: free active (active state 0) object type: hrtimer",
    "[    8.4] irq 24: nobody cared (try booting with the \"irqpoll\" option)",
    "[    8.4] list_add corruption. prev->next should be next",
    "[    8.4] Kernel panic - not syncing: x",
    "[    8.4] WARNING: at /m/kmod/session.c:30 npuprof_emit()",
    "[    8.4] BUG kmalloc-64 (Tainted: G    B      O      ): Left Redzone overwritten",
    "[    8.4] rcu_tasks: INFO: rcu_tasks detected stalls on tasks:",
    "[    8.4] INFO: lockdep is turned off.",
    "[    8.4] debugfs: Directory 'npuprof0' with parent 'npuprof' already present!",
    "[    8.4] sysfs: cannot create duplicate filename '/class/npuprof'",
    "[    8.4] kmemleak: Kernel memory leak detector disabled",
    "[    8.4] slab: cannot create duplicate",
    "[    8.4] Unable to handle kernel paging request at virtual address ffff",
]


class Kernel(unittest.TestCase):
    def test_what_failed_allocations_make_the_kernel_say_is_harmless_where_they_are_made_to_fail(self):
        line = "[    8.4] kobject_add_internal failed for 31 (error: -12 parent: irq)"
        self.assertEqual(len(verdict.complaints(QUIET.format(line))), 1)
        self.assertEqual(verdict.complaints(QUIET.format(line).replace("suite conformance", "suite faults")), [])

    def test_a_report_about_the_leak_detectors_own_lock_is_none_about_the_module(self):
        report = """[  1.1] [ BUG: Invalid wait context ]
[  1.2] selftest/105 is trying to lock:
[  1.3] ffffffff82c74378 (&zone->lock){....}-{3:3}, at: rmqueue_bulk+0x95/0x8d0
[  1.4]  #5: ffff8880002ccbf8 (&object->lock){..-.}-{2:2}, at: kmemleak_update_trace+0x47/0xb0
[  1.5] Call Trace:
[  1.6]  <TASK>
""" + "[  1.7]  ? preempt_count_sub+0x13/0x60\n" * 60 + "[  1.8]  </TASK>\n"
        self.assertEqual([], verdict.complaints(QUIET.format(report)))
        self.assertTrue(verdict.has_own(QUIET.format(report)))
        self.assertFalse(verdict.has_own(QUIET.format("[  1.1] a quiet line")))
        behind = verdict.complaints(QUIET.format(report + "[  1.9] WARNING: CPU: 0"))
        self.assertEqual(1, len(behind), "what comes behind it counts")
        for other in (report.replace("kmemleak_update_trace", "npuprof_lock"), report.replace("&object->lock", "&npu->lock"),
                      report.replace("Invalid wait context", "sleeping function")):
            self.assertEqual(1, len(verdict.complaints(QUIET.format(other))[:1]))
            self.assertFalse(verdict.has_own(QUIET.format(other)))

    def test_a_quiet_log_is_no_complaint(self):
        self.assertEqual(verdict.complaints(QUIET.format("[    8.4] refnpu: probed")), [])

    def test_each_kind_of_complaint_is_found_and_laid_to_its_suite(self):
        for line in COMPLAINTS:
            with self.subTest(line):
                found = verdict.complaints(QUIET.format(line + "\n[    8.5] Call Trace:"))
                self.assertEqual([c.suite for c in found], ["conformance"])
                self.assertEqual(found[0].lines[0], line)
                self.assertIn("Call Trace", found[0].lines[1])

    def test_what_a_silent_kernel_counts_is_looked_at(self):
        good = "lab: health begin lockdep=1 dma-api=0\n[ 9.0] lab: health end lockdep=1 dma-api=0 kmemleak=1\n"
        self.assertEqual(verdict.health(good), [("dma-api", None), ("kmemleak", None), ("lockdep", None)])
        for word, sign in (("lockdep=0", "lockdep"), ("dma-api=3", "dma-api"), ("objects=1", "objects"),
                           ("kmemleak=0", "kmemleak")):
            with self.subTest(word):
                for when in ("begin", "end"):
                    text = f"[ 9.0] lab: health {when} {word}\n"
                    text += "" if when == "end" else f"[ 9.1] lab: health end {sign}={verdict.SIGNS[sign][0]}\n"
                    found = dict(verdict.health(text))
                    self.assertIn(f"{when}: {word.split('=')[1]}", found[sign])
        self.assertIn("ended before", dict(verdict.health("lab: health begin objects=0\n"))["objects"])
        self.assertEqual(verdict.health(QUIET), [])

    def test_a_kernel_that_cannot_warn_is_known(self):
        with tempfile.TemporaryDirectory() as headers:
            os.makedirs(os.path.join(headers, "include", "generated"))
            for text, warns in (("#define CONFIG_BUG 1\n", True), ("#define CONFIG_BUGGY 1\n", False)):
                with open(os.path.join(headers, "include", "generated", "autoconf.h"), "w", encoding="utf-8") as f:
                    f.write(text)
                self.assertEqual(kernels.Kernel("k", "/k", "6", "/k/v", headers).warns(), warns)

    def test_who_ran_when_the_guest_died(self):
        self.assertIsNone(verdict.died_in(QUIET))
        self.assertEqual(verdict.died_in(QUIET.split("[    9.0]")[0]), "conformance")

    def test_a_crash_that_ends_quietly_is_no_success(self):
        self.assertIsNone(boot.code_of(0, QUIET))   # panic=-1 and -no-reboot
        self.assertEqual(boot.code_of(1, QUIET), 0)
        self.assertEqual(boot.code_of(201, QUIET), 100)
        self.assertEqual(boot.code_of(0, "lab: RESULT 0\n"), 0)


class Command(unittest.TestCase):
    @staticmethod
    def shares(arch, config, device=None):
        kernel = kernels.Kernel("k", "/k", "6", "/k/vmlinuz", "/k/h", arch)
        args = boot.command(kernel, "/lab/b", "/tree", {"accel": [], **config}, device)
        words = [args[i + 1].split(",") for i, a in enumerate(args) if a == "-virtfs"]
        return {w[2]: w[1] for w in words}, args[-1].split()

    def test_a_guest_of_this_machines_kind_sees_its_files(self):
        shares, words = self.shares("x86_64", {})
        self.assertEqual(shares, {"mount_tag=host": "path=/", "mount_tag=results": "path=/lab/b/results"})
        self.assertNotIn("lab.apart=yes", words)
        self.assertIn("lab.exit=port", words)

    def test_a_guest_waits_for_the_port_of_a_machine_that_has_one(self):
        self.assertNotIn("lab.port=npusim", self.shares("x86_64", {})[1])
        self.assertIn("lab.port=npusim", self.shares("x86_64", {}, "/build/refnpu.so")[1])

    def test_a_guest_of_another_kind_sees_its_own_system_and_the_tree(self):
        shares, words = self.shares("aarch64", {"root": "/lab/arm64-root"})
        self.assertEqual(shares["mount_tag=host"], "path=/lab/arm64-root")
        self.assertEqual(shares["mount_tag=tree"], "path=/tree")
        self.assertIn("lab.apart=yes", words)
        self.assertIn("lab.exit=console", words)


class Suites(unittest.TestCase):
    GTEST = """[==========] Running 3 tests
[ RUN      ] Ring.A/0
[       OK ] Ring.A/0 (12 ms)
[ RUN      ] Ring.B
x.cc:3: Failure
[  FAILED  ] Ring.B, where GetParam() = 1 (1500 ms)
[ RUN      ] Ring.C
x.cc:9: Skipped
the backend has none
[  SKIPPED ] Ring.C (0 ms)
[  FAILED  ] Ring.B, where GetParam() = 1
"""

    def test_googletest_output(self):
        tests = results.parse("debian", "s", self.GTEST)
        self.assertEqual([(t.name, t.result, t.seconds) for t in tests],
                         [("Ring.A/0", PASSED, 0.012), ("Ring.B", FAILED, 1.5), ("Ring.C", SKIPPED, 0)])
        self.assertIn("x.cc:3", tests[1].text)
        self.assertIn("the backend has none", tests[2].text)

    def test_one_that_never_ended_failed(self):
        tests = results.parse("debian", "s", "[ RUN      ] Ring.D\nhalf a line")
        self.assertEqual([(t.name, t.result) for t in tests], [("Ring.D", FAILED)])

    def test_plain_output(self):
        tests = results.parse("debian", "s", "ok a (5 ms)\nit says why\nnot ok b.c\nskip d: no perf here\n")
        self.assertEqual([(t.name, t.result, t.text) for t in tests],
                         [("a", PASSED, ""), ("b.c", FAILED, "it says why"), ("d", SKIPPED, "no perf here")])

    def judged(self, log, code):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("s.log", log), ("s.rc", code)):
                if text is not None:
                    with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                        f.write(text)
            return [(t.name, t.result) for t in results.of_suite("debian", "s", directory)]

    def test_the_exit_code_counts_even_if_every_test_passed(self):
        self.assertEqual(self.judged("ok a\n", "0 10\n"), [("a", PASSED)])
        self.assertEqual(self.judged("ok a\n", "3 10\n"), [("a", PASSED), ("suite", FAILED)])
        self.assertEqual(self.judged("ok a\n", "124 10\n"), [("a", PASSED), ("suite", FAILED)])

    def test_a_suite_without_a_test_or_an_end_failed(self):
        self.assertEqual(self.judged("", "0 10\n"), [("suite", FAILED)])
        self.assertEqual(self.judged("ok a\n", None), [("a", PASSED), ("suite", FAILED)])
        self.assertEqual(self.judged(None, None), [("suite", FAILED)])

    def test_a_boot_that_did_not_end_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            tests = lab.judge("debian", [], boot.Outcome("it hung", 240, QUIET.split("[    9.0]")[0]), directory)
        self.assertEqual([(t.suite, t.result) for t in tests], [("conformance", FAILED)])


class Boots(unittest.TestCase):
    def test_told_to_end_the_lab_leaves_no_machine_behind(self):
        self.end_a_lab("")

    # What waits does not hear of a signal that came a moment before, nor of one that another thread got.
    def test_told_to_end_a_moment_before_it_waits_the_lab_leaves_no_machine_behind(self):
        self.end_a_lab("SIG_BLOCK")

    def end_a_lab(self, mask):
        script = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
import boot, lab, results
if sys.argv[2]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
def machine(*_):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    boot.RUNNING.add(process)
    os.write(1, f"{process.pid}\\n".encode())  # whole, although another thread writes too
    process.wait()
    boot.RUNNING.discard(process)
    return []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
lab.all_boots(2, machine, [(0, ["a"]), (1, ["b"]), (2, ["c"])])
"""
        with subprocess.Popen([sys.executable, "-B", "-c", script, os.path.dirname(os.path.abspath(__file__)), mask],
                              stdout=subprocess.PIPE, text=True) as running:
            machines = [int(running.stdout.readline()) for _ in range(2)]
            running.terminate()
            self.assertEqual(running.wait(30), 1)
            self.assertEqual(running.stdout.read(), "", "a third one began")
        for pid in machines:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)


class Table(unittest.TestCase):
    def test_it_shows_what_ran_where_and_why_not(self):
        sim = [results.Test("d", "sim", "A.a", PASSED), results.Test("d", "sim", "B.b", SKIPPED, 0, "x.cc:1: Skipped\n"
               "not applicable on sim: it has no pages")]
        kernel = [results.Test("d", "conformance", "A.a", FAILED), results.Test("d", "conformance", "B.b", PASSED)]
        self.assertEqual([line.split() for line in table.lines(sim, kernel, "6.1")],
                         [["test", "sim", "kernel", "6.1"], ["A.a", "passed", "failed"],
                          ["B.b", "not", "applicable", "(1)", "passed"], ["(1)", "it", "has", "no", "pages"]])


class Choice(unittest.TestCase):
    BOOTS = [["load", "a", "b"], ["load", "c"], ["d", "e"], ["f"]]

    def test_boots_of_suites_that_nobody_asked_for_are_left_out(self):
        self.assertEqual(lab.choose(self.BOOTS, "b"), [["load", "b"]])
        self.assertEqual(lab.choose(self.BOOTS, "e,c"), [["load", "c"], ["e"]])
        self.assertEqual(lab.choose(self.BOOTS, "load"), [["load"]])

    def test_a_machine_of_its_own_stays_that_of_the_boot(self):
        boots = [["load", "a"], configs.On(["load", "b", "c"], accel=["one"])]
        for chosen in (lab.choose(boots, "c"), lab.choose_tests(boots, "x", lambda name: ["x"] if name == "c" else [])[0]):
            self.assertEqual([(list(group), group.machine) for group in chosen], [(["load", "c"], {"accel": ["one"]})])

    def test_every_configuration_is_of_suites_that_exist(self):
        for name, config in configs.CONFIGS.items():
            for group in config["boots"]:
                self.assertEqual([suite for suite in group if suite not in suites.SUITES], [], name)

    def test_what_is_no_suite_is_part_of_tests_names(self):
        self.assertIsNone(lab.choose(self.BOOTS, "ab"))
        names = {"a": ["A.x", "A.y"], "b": ["B.x"], "c": ["C.z"]}
        boots, tests = lab.choose_tests(self.BOOTS, ".x,z", lambda name: names.get(name, []))
        self.assertEqual(boots, [["load", "a", "b"], ["load", "c"]])
        self.assertEqual((tests["a"], tests["b"], tests["c"], tests["d"]), (["A.x"], ["B.x"], ["C.z"], []))
        self.assertEqual(lab.choose_tests(self.BOOTS, "none", lambda name: names.get(name, []))[0], [])

    def test_tests_run_alone_stay_those_of_their_suite(self):
        places = dict.fromkeys(("build", "here", "tree", "module", "udev"), "B")
        text = lab.plan({}, ["load", "storms"], places, {"load": [], "storms": ["Storm.Open", "Storm.Close"]})
        load, storms = text.splitlines()
        self.assertNotIn("gtest_filter", load)
        self.assertTrue(storms.endswith("B/tests/npuprof_selftest  --gtest_filter='Storm.Open:Storm.Close'"), storms)
        self.assertTrue(lab.plan({}, ["storms"], places).endswith("--gtest_filter='*Storm*'\n"))


class Report(unittest.TestCase):
    TESTS = [results.Test("debian", "life", "A.a", PASSED), results.Test("debian", "life", "B.b", SKIPPED, 0, "no pages"),
             results.Test("debian", "boot", "ends", FAILED, 0, "\n".join(f"line {n}" for n in range(100))),
             results.Test("debian", "rules", "C.c", FAILED, 0, "beside it\nx.cc:3: Failure\nExpected: 1"),
             results.Test("debian", "rules", "D.d", SKIPPED, 0, "no pages")]

    def shown(self, since=0):
        with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()) as out:
            for config, tests in (("debian", self.TESTS), ("debug", self.TESTS[:1])):
                os.makedirs(os.path.join(work, config))
                facts = {"seconds": 3, "kernel": "6.1", "about": "a machine"}
                report.write(os.path.join(work, config), config, tests, facts)
            with open(os.path.join(work, "debian", "report.txt"), encoding="utf-8") as f:
                self.assertIn("in 3 s (kernel 6.1, a machine)", f.read().splitlines()[-1])
            report.show(work, since)
        return out.getvalue().splitlines()

    def test_a_summary_tells_why_things_were_skipped_and_ends_with_what_failed(self):
        lines = self.shown()
        self.assertEqual(lines[:4], ["lab debian: 1 passed, 2 failed, 2 skipped in 3 s (kernel 6.1, a machine)",
                                     "    skipped life/B.b: no pages", "    skipped rules/D.d: no pages",
                                     "lab debug: 1 passed, 0 failed, 0 skipped in 3 s (kernel 6.1, a machine)"])
        self.assertIn("lab: 2 configurations in 6 s", lines)
        self.assertIn("lab: Debian's kernel and the debug kernel together in 6 s", lines)
        self.assertEqual(lines[-2:], ["FAILED debian boot/ends: line 0", "FAILED debian rules/C.c: x.cc:3: Failure"])
        self.assertIn("    line 99", lines)
        self.assertNotIn(f"    line {99 - report.SHOWN}", lines)

    def test_older_reports_are_not_shown(self):
        self.assertEqual(self.shown(os.stat(__file__).st_mtime + 10**9), [])

    def test_a_run_prints_a_line_for_a_suite_and_ends_with_what_failed(self):
        lines = report.brief(self.TESTS)
        self.assertEqual(lines[0].split(), "debian life 1 passed, 1 skipped in 0 s".split())
        self.assertEqual(lines[1], "    skipped B.b: no pages")
        self.assertEqual(lines[-2:], ["FAILED debian boot/ends: line 0", "FAILED debian rules/C.c: x.cc:3: Failure"])

    def test_what_a_kernel_never_runs_is_skipped_with_a_reason(self):
        for kernel, main in (("debian", "debian"), ("debug", "debug"), ("arm64", "arm64")):
            run = {suite for config in configs.CONFIGS.values() if config["kernel"] == kernel
                   for group in config["boots"] for suite in group}
            left_out = lab.left_out(main, configs.CONFIGS[main])
            self.assertEqual(set(suites.SUITES) - run, {t.suite for t in left_out}, kernel)
            self.assertTrue(all(t.result == SKIPPED and len(t.text) > 20 for t in left_out), kernel)

    def test_leaks_that_are_not_looked_for_are_skipped_with_a_reason(self):
        with tempfile.TemporaryDirectory() as directory:
            ended = boot.Outcome(None, 3, QUIET.format(""))
            told = {append: [t for t in lab.judge("debug", [], ended, directory, append) if t.name == "kmemleak"]
                    for append in (("kmemleak=off",), ())}
        self.assertEqual([t.result for t in told[("kmemleak=off",)]], [SKIPPED])
        self.assertEqual(told[()], [])


class Port(unittest.TestCase):
    """What the guest's suites say of the port is what its header says."""

    MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "npusim", "model")

    def header(self, name):
        with open(os.path.join(self.MODEL, name), encoding="utf-8") as f:
            return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)

    def test_version_and_totals(self):
        suites_directory = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "suites")
        sys.path.insert(0, suites_directory)
        try:
            import npu  # pylint: disable=import-outside-toplevel
        finally:
            sys.path.remove(suites_directory)
        version, = re.findall(r"#define NPUSIM_PORT_VERSION\s+(\d+)u", self.header("npusim_port.h"))
        self.assertEqual(npu.Port.VERSION, int(version))
        struct_body, = re.findall(r"struct npusim_totals \{(.*?)\};", self.header("npusim_model.h"), flags=re.S)
        fields = re.findall(r"uint64_t\s+(\w+)\s*(?:\[(\d)\])?\s*;", struct_body)
        self.assertEqual(len(npu.Port.TOTALS), sum(int(count or 1) for _, count in fields))
        self.assertEqual((npu.Port.TOTALS[0], npu.Port.TOTALS[-1]), (fields[0][0], fields[-1][0]))


class Initramfs(unittest.TestCase):
    def test_modules_come_after_what_they_need_and_built_in_ones_not_at_all(self):
        with tempfile.TemporaryDirectory() as modules:
            with open(os.path.join(modules, "modules.dep"), "w", encoding="utf-8") as f:
                f.write("k/9p.ko: k/9pnet.ko k/netfs.ko\nk/9pnet.ko:\nk/netfs.ko:\nk/x.ko.xz: k/9pnet.ko\n")
            with open(os.path.join(modules, "modules.builtin"), "w", encoding="utf-8") as f:
                f.write("kernel/virtio.ko\n")
            order = initramfs.module_order(modules, ["9p", "virtio", "x"])
            self.assertEqual([os.path.basename(p) for p in order], ["netfs.ko", "9pnet.ko", "9p.ko", "x.ko.xz"])
            with self.assertRaisesRegex(LookupError, "no module y"):
                initramfs.module_order(modules, ["y"])

    def test_archive_is_aligned_and_ends(self):
        out = io.BytesIO()
        cpio = initramfs.Cpio(out)
        cpio.regular("a", b"12345")
        cpio.close()
        data = out.getvalue()
        self.assertEqual(len(data) % 4, 0)
        self.assertEqual(data.count(b"070701"), 2)
        self.assertIn(b"TRAILER!!!", data)


if __name__ == "__main__":
    unittest.main()
