# SPDX-License-Identifier: Apache-2.0
"""The page of `npuprof report --html` in a real browser: no complaints, the numbers of the tables, everything works."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict

import browser
from harness import BUILD, METRICS, MODELS, NPUPROF, SOURCE, TASK_TIME, ClientTest, environment, rows

sys.path.insert(0, os.path.join(SOURCE, "tests", "unit", "analysis"))
import make_profile  # noqa: E402

MEMORY = 3  # aclprofConfigType
TABLE = """(name => [...document.querySelectorAll(`table[data-table="${name}"] tbody tr`)].map(
    row => [...row.cells].map(cell => cell.textContent)))"""
# How many rows the timeline's table has and how many fit the search: "300 of 4,960".
SAID = "document.querySelector('#timeline .tools [aria-live]').textContent"
HOSTILE = [b"</script><script>window.broken = 1</script>", b"<img src=x onerror='window.broken = 1'>", b"<!--<script>",
           b"quote\" and ' and \\ and `${broken}`", "line\u2028and\u2029paragraph".encode(), b"no\xff\xfeUTF-8", b"&lt;&amp;"]


def nanoseconds(text):
    value, unit = text.split()
    return float(value) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def number(text):
    return int(text.replace(",", ""))


def report(path, *arguments):
    return subprocess.run([NPUPROF, "report", path, *arguments], capture_output=True, text=True, errors="replace",
                          env=environment(), check=False)


def has_page():
    with open(os.path.join(BUILD, "tools", "npuprof", "page_text.cc"), encoding="utf-8") as f:
        return "uPlot" in f.read()


class HtmlReport(ClientTest):
    timeout = 300

    def test_a_build_with_the_page_writes_it_and_one_without_says_so(self):
        path = os.path.join(self.dir, "report.html")
        done = report(make_profile.write(self.dir, 10), "--html", path)
        if has_page():
            self.assertEqual((0, True), (done.returncode, os.path.exists(path)), done.stderr)
        else:
            self.assertEqual((1, False), (done.returncode, os.path.exists(path)))
            self.assertIn("this build has no page: uPlot was not there", done.stderr)


class HtmlReportInBrowser(ClientTest):
    timeout = 300

    def setUp(self):
        super().setUp()
        if not has_page():
            self.skipTest("this build has no page: npm could not fetch uPlot before it was made")
        if not browser.CHROMIUM:
            self.skipTest("chromium is not installed")

    def page(self, profile):
        path = os.path.join(self.dir, "report.html")
        done = report(profile, "--html", path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(f"page: {path}\n", done.stdout)
        return path

    def open(self, path):
        shown = browser.Browser("file://" + path, self.fresh("browser"))
        self.addCleanup(shown.close)
        self.assertTrue(shown.run("document.documentElement.dataset.ready"), shown.complaints)
        return shown

    def assert_sums(self, shown, profile):
        """The table of operators against op_summary."""
        sums = defaultdict(lambda: [0, 0.0])
        for row in rows(profile.export("--format", "csv")["output"], "op_summary"):
            sums[row["Device_id"], row["Op Name"]][0] += 1
            sums[row["Device_id"], row["Op Name"]][1] += float(row["Task Duration(us)"]) * 1000
        table = shown.run(TABLE + "('operators')")
        self.assertEqual(len(sums), len(table))
        for cells in table:
            count, duration = sums[cells[0], cells[1]]
            self.assertEqual(count, number(cells[4]))
            # Shown to the nanosecond below a millisecond, else to the microsecond.
            self.assertAlmostEqual(duration, nanoseconds(cells[5]), delta=600 if duration >= 1e6 else 2, msg=cells[1])
        return sum(count for count, _ in sums.values())

    def assert_range(self, shown, tasks, low, high):
        """The timeline shows those of all tasks between these shares of its time, to a fiftieth of it."""
        begin, end = min(start for start, _ in tasks), max(start + length for start, length in tasks)
        def within(low, high):
            return sum(start < begin + high * (end - begin) and start + length > begin + low * (end - begin)
                       for start, length in tasks)
        seen = number(shown.run(SAID).split(" of ")[1])
        self.assertGreaterEqual(seen, within(low + 0.02, high - 0.02))
        self.assertLessEqual(seen, within(low - 0.02, high + 0.02))
        self.assertLess(seen, len(tasks))

    def test_numbers_are_those_of_the_tables(self):
        directory = self.fresh("model")
        self.workload(directory, f"model={os.path.join(MODELS, 'bert_base_s128')}.json", "tasks=2")
        profile = self.profile_in(directory)
        shown = self.open(self.page(profile.path))
        self.assertEqual(0, shown.run("performance.getEntriesByType('resource').length"), "the page asks for nothing")
        self.assertFalse(shown.run("document.getElementById('simulated').hidden"))
        self.assertIn("not from hardware", shown.run("document.getElementById('quality').textContent"))
        self.assertEqual(self.assert_sums(shown, profile), number(shown.run(SAID).split(" of ")[1]))
        self.assertEqual(1, shown.run("document.querySelectorAll('#roofline canvas').length"))
        self.assertEqual([], shown.complaints)

    def test_several_devices_with_memory_and_sampled_cores(self):
        directory = self.fresh("devices")
        self.workload(directory, "tasks=100", "units=3", "devices=2", f"types={TASK_TIME | METRICS:#x}", f"set={MEMORY}:100",
                      NPUPROF_CORE_SAMPLE_HZ=100)
        profile = self.profile_in(directory)
        shown = self.open(self.page(profile.path))
        self.assertGreaterEqual(self.assert_sums(shown, profile), 200)
        self.assertEqual(["0", "1"], shown.run("[...document.querySelectorAll('#summary .card')].map(c => c.dataset.device)"))
        self.assertEqual(2, shown.run("document.querySelectorAll('#bandwidth canvas').length"))
        cores = shown.run(TABLE + "('cores')")
        for device in ("0", "1"):
            self.assertEqual([f"cube {i}" for i in range(24)] + [f"vector {i}" for i in range(48)],
                             [row[1] for row in cores if row[0] == device])
        # What the plot moves in its time is what the counters of hbm do.
        data = json.loads(shown.run("document.getElementById('data').textContent"))
        with open(glob.glob(os.path.join(profile.export()["output"], "msprof_[0-9]*.json"))[0], encoding="utf-8") as f:
            events = [e for e in json.load(f) if e["ph"] == "C" and e["name"].startswith("HBM ")]
        for plot in data["page"]["bandwidth"]:
            for side in ("read", "write"):
                moved = 0
                for name in {e["name"] for e in events if side.title() in e["name"]}:
                    samples = [(int(e["ts"].replace(".", "")), *e["args"].values()) for e in events
                               if e["name"] == name and e["pid"] & 31 == plot["device"]]
                    moved += sum(rate * (now - before) for (before, _), (now, rate) in zip(samples, samples[1:]))
                shown_moved = sum(plot[side]) * (plot["end_ns"] - plot["begin_ns"]) / len(plot[side])
                self.assertAlmostEqual(moved, shown_moved, delta=max(1e6, 1e-4 * moved))
        self.assertEqual([], shown.complaints)

    def test_blocks_of_mixed_kernels_are_loads_of_cores(self):
        directory = self.fresh("mixed")
        self.workload(directory, "kind=mix", "tasks=20", "cycles=4000000")
        shown = self.open(self.page(self.profile_in(directory).path))
        cores = shown.run(TABLE + "('cores')")
        self.assertEqual({"vector"}, {row[1].split()[0] for row in cores})
        self.assertTrue(all(50 < float(row[2].split()[0]) <= 100 for row in cores), cores)

    def test_sorting_and_searching(self):
        directory = self.fresh("gaps")
        self.run_client("gaps", directory, "rounds=3")
        shown = self.open(self.page(self.profile_in(directory).path))
        head = "document.querySelectorAll('table[data-table=operators] th button')[4]"  # Count
        counts = []
        shown.run(head + ".focus()")
        for _ in range(2):
            shown.key("Enter")
            counts.append([number(row[4]) for row in shown.run(TABLE + "('operators')")])
        self.assertGreater(len(set(counts[0])), 1)
        self.assertEqual([sorted(counts[0], reverse=True), sorted(counts[0])], counts)
        shown.run("document.activeElement.blur()")
        shown.key("/")
        shown.write("host_late")
        self.assertEqual({"host_late"}, {row[1] for row in shown.run(TABLE + "('operators')")})
        self.assertEqual(["0", "1"], [row[0] for row in shown.run(TABLE + "('ranks')")])
        self.assertEqual([], shown.complaints)

    def test_zoom_by_keys_and_by_mouse(self):
        directory = self.fresh("zoom")
        # Long ones, so that the device is busy all along however late the host is at times.
        self.workload(directory, "tasks=400", "cycles=500000")
        profile = self.profile_in(directory)
        tasks = [(float(row["Task Start Time(us)"]), float(row["Task Duration(us)"]))
                 for row in rows(profile.export("--format", "csv")["output"], "op_summary")]
        shown = self.open(self.page(profile.path))
        everything = shown.run(SAID)
        shown.key("+")
        shown.until(f"{SAID} !== {json.dumps(everything)}")
        self.assert_range(shown, tasks, 1 / 4, 3 / 4)
        shown.key("ArrowRight")
        shown.until(TABLE + "('tasks')[0][3] !== '0.000 us'")
        shown.key("0")
        shown.until(f"{SAID} === {json.dumps(everything)}")
        shown.run("document.querySelector('#timeline .u-over').scrollIntoView({block: 'center'})")
        box = shown.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector('#timeline .u-over').getBoundingClientRect())")
        y = box[1] + box[3] / 2
        shown.drag((box[0] + box[2] / 4, y), (box[0] + box[2] / 2, y))
        shown.until(f"{SAID} !== {json.dumps(everything)}")
        self.assert_range(shown, tasks, 1 / 4, 1 / 2)
        self.assertEqual([], shown.complaints)

    def test_light_and_dark_and_another_width(self):
        directory = self.fresh("look")
        self.workload(directory, "tasks=20")
        shown = self.open(self.page(self.profile_in(directory).path))
        colours = []
        for _ in range(2):
            colours.append(shown.run("getComputedStyle(document.body).backgroundColor"))
            shown.key("t")
        self.assertNotEqual(*colours)
        self.assertEqual(colours[0], shown.run("getComputedStyle(document.body).backgroundColor"))
        for width in (1200, 600):
            shown.resize(width, 800)
            shown.until(f"(w => w > {width} - 120 && w <= {width})(document.querySelector('#timeline .uplot').offsetWidth)")
            self.assertLessEqual(shown.run("document.documentElement.scrollWidth"), width)
        self.assertEqual([], shown.complaints)

    def test_names_are_text_and_never_code(self):
        root = make_profile.write(self.dir, 64)
        path = os.path.join(root, "host", "data", "unaging.additional.hash_dic.slice_0")
        with open(path, "rb") as f:
            text = f.read()
        for i, name in enumerate(HOSTILE):
            text = text.replace(b":MatMul_%d\n" % i, b":" + name + b"\n")
        with open(path, "wb") as f:
            f.write(text)
        shown = self.open(self.page(root))
        names = {row[1] for row in shown.run(TABLE + "('operators')")}
        for name in HOSTILE:
            # Bytes that are no UTF-8 are replaced as everywhere.
            self.assertIn(name.decode(errors="replace"), names)
        self.assertIsNone(shown.run("window.broken"))
        self.assertEqual(0, shown.run("document.querySelectorAll('main img, main script').length"))
        self.assertEqual([], shown.complaints)

    def test_nothing_to_show_is_said(self):
        without_tasks = make_profile.write(self.fresh("tasks"), 0)
        host_only = make_profile.write(self.fresh("host"), 20)
        shutil.rmtree(os.path.join(host_only, "device_0"))
        for profile, missing in ((without_tasks, "calls of the host"), (host_only, "devices: everything but calls of the host")):
            shown = browser.Browser("file://" + self.page(profile), self.fresh("browser-" + os.path.basename(os.path.dirname(profile))))
            self.addCleanup(shown.close)
            self.assertTrue(shown.run("document.documentElement.dataset.ready"), shown.complaints)
            self.assertIn("Nothing ran on a device.", shown.run("document.getElementById('timeline').textContent"))
            self.assertIn(missing, shown.run("document.getElementById('quality').textContent"))
            self.assertEqual([], shown.run(TABLE + "('operators')"))
            self.assertEqual([], shown.complaints)

    def test_losses_are_in_the_page(self):
        directory = self.fresh("lost")
        self.workload(directory, "tasks=2000", NPUPROF_RING_RECORDS=16)
        profile = self.profile_in(directory)
        shown = self.open(self.page(profile.path))
        self.assertGreater(profile.lost(), 0)
        self.assertIn(f"Lost while recording{profile.lost():,} records", shown.run("document.getElementById('quality').textContent"))

    def test_a_hundred_thousand_operators_open_at_once(self):
        """Each of another name. Work is bounded: elements of a large page are not more than those of a small one allow."""
        elements = []
        for tasks in (800, 114_285):  # seven of eight are operators
            root = make_profile.write(self.fresh(str(tasks)), tasks)
            shown = browser.Browser("file://" + self.page(root), self.fresh(f"browser-{tasks}"))
            self.addCleanup(shown.close)
            self.assertEqual([], shown.complaints)
            elements.append(shown.run("document.getElementsByTagName('*').length"))
            shutil.rmtree(root)
        self.assertEqual("100,000", shown.run(SAID).split(" of ")[1])
        self.assertLess(elements[1], 1.5 * elements[0])
        ready = shown.run("+document.documentElement.dataset.ready")
        parse = shown.run("""(() => { const text = document.getElementById('data').textContent, begin = performance.now();
            for (let i = 0; i < 10; ++i) JSON.parse(text);
            return performance.now() - begin; })()""")
        print(f"100,000 operators: ready after {ready:.0f} ms, ten times parsing the data takes {parse:.0f} ms; {elements[1]} elements")
        self.assertLess(ready, 20 * parse)

    def test_above_a_hundred_thousand_operators_it_shows_sums(self):
        directory = self.fresh("many")
        self.workload(directory, "tasks=100001", "cycles=100", f"types={0x800 | TASK_TIME:#x}")
        path = self.page(self.profile_in(directory).path)
        self.assertLess(os.path.getsize(path), 4_000_000)
        shown = self.open(path)
        self.assertEqual([["0", "work", "100,001"]], [row[:3] for row in shown.run(TABLE + "('range')")])
        shown.key("+")
        shown.until(TABLE + "('range')[0][2] !== '100,001'")
        self.assertEqual([], shown.complaints)
