# SPDX-License-Identifier: Apache-2.0
"""Holds the model's own totals against what a profile holds.

usage: check.py rows TABLES                  first ten rows of op_summary
       check.py sound PROF TABLES TOTALS     one line that says nothing was lost; status 1 if that is not so
       check.py stalled PROF TOTALS          one line that says what was lost; status 1 if the sum is wrong
       check.py same TABLES OTHER            one line that compares the operators of two runs; status 1 if they differ
       check.py phases PROF TABLES           shows that the planted phases can be seen; status 1 if they cannot
"""
import csv
import glob
import json
import os
import statistics
import struct
import sys
from collections import Counter, defaultdict

KERNELS = {"AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV"}
KERNEL_SQE = {0, 2}  # scheduler task types of cube and vector kernels
SHOWN = ["Op Name", "OP Type", "Task Type", "Task Start Time(us)", "Task Duration(us)", "Block Num", "Input Shapes",
         "aicore_time(us)", "aic_mac_ratio_extra", "aiv_vec_ratio"]


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def table(directory, name):
    """Rows of the newest table of this name; tables above a million rows come in several files."""
    files = sorted(glob.glob(os.path.join(directory, f"{name}_*.csv")))
    if not files:
        sys.exit(f"no {name}_*.csv in {directory}")
    rows = []
    for path in files:
        with open(path, encoding="utf-8", newline="") as f:
            rows += [{k: v.strip() for k, v in row.items()} for row in csv.DictReader(f)]
    return rows


def kernels_logged(prof):
    """Starts and ends of kernels in the raw scheduler log."""
    starts = ends = 0
    for path in glob.glob(os.path.join(prof, "device_*", "data", "stars_soc.data.*.slice_*")):
        if path.endswith(".done"):
            continue
        with open(path, "rb") as f:
            for (head,) in struct.iter_unpack("<H62x", f.read()):
                if head >> 10 in KERNEL_SQE:
                    starts += head & 63 == 0
                    ends += head & 63 == 1
    return starts, ends


def rings(manifest, channel):
    return [r for d in manifest["devices"] for r in d["rings"] if channel in (None, r["channel"])]


def show_rows(tables):
    rows = table(tables, "op_summary")[:10]
    columns = [c for c in SHOWN if c in rows[0]]
    cells = [columns] + [[row[c][:34] for c in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def equal(numbers):
    """Prints numbers as an equation and tells whether it holds."""
    values = list(numbers.values())
    good = all(v == values[0] for v in values)
    print((" = " if good else " != ").join(f"{name} {value}" for name, value in numbers.items()), end="")
    return good


def sound(prof, tables, totals):
    manifest, counted = load(os.path.join(prof, "npuprof", "manifest.json")), load(totals)["devices"]
    lost = sum(r["lost"] for r in rings(manifest, None)) + sum(k["lost"] for k in manifest["host"]["kinds"])
    starts, ends = kernels_logged(prof)
    operators = [r for r in table(tables, "op_summary") if r["Task Type"] in KERNELS]
    with_counters = [r for r in operators if "N/A" not in (r["aicore_time(us)"], r["aiv_time(us)"])]
    good = equal({"kernels: launched": sum(d["kernels"] for d in counted), "started": starts, "ended": ends,
                  "PMU rows": sum(r["kept"] for r in rings(manifest, "task_pmu")), "exported": len(with_counters)})
    print(f", lost {lost}")
    good &= equal({"all tasks: launched": sum(d["submitted"] for d in counted),
                   "started": sum(d["tasks"]["started"] for d in manifest["devices"]),
                   "ended": sum(d["tasks"]["ended"] for d in manifest["devices"]),
                   "exported": len(table(tables, "task_time"))})
    print(f", lost {lost}")
    return good and lost == 0


def stalled(prof, totals):
    manifest, counted = load(os.path.join(prof, "npuprof", "manifest.json")), load(totals)["devices"]
    good = True
    for channel, name, total in (("task_log", "task start and end records", sum(2 * d["started"] for d in counted)),
                                 ("task_pmu", "counter records", sum(d["kernels"] for d in counted))):
        kept = sum(r["kept"] for r in rings(manifest, channel))
        lost = sum(r["lost"] for r in rings(manifest, channel))
        causes = {}
        for ring in rings(manifest, channel):
            for cause, count in ring["lost_by_cause"].items():
                if count:
                    causes[cause] = causes.get(cause, 0) + count
        right = kept + lost == total and lost > 0 and sum(causes.values()) == lost
        good &= right
        print(f"{name}: kept {kept} + lost {lost} ({', '.join(f'{k} {v}' for k, v in causes.items())}) "
              f"{'=' if right else '!='} model total {total}")
    return good


def operators(tables):
    """How often each operator ran, by all that describes it but its times. Names of collectives tell their group, which has another
    number in each run: of them the type is compared."""
    keys = ("Device_id", "Op Name", "OP Type", "OP State", "Task Type", "Block Num", "Input Shapes", "Input Data Types",
            "Output Shapes", "Output Data Types", "aic_total_cycles", "aiv_total_cycles")
    return Counter(tuple(row["OP Type"] if k == "Op Name" and row["Task Type"] == "COMMUNICATION" else row[k] for k in keys)
                   for row in table(tables, "op_summary"))


def tasks(tables):
    return Counter(row["kernel_type"] for row in table(tables, "task_time"))


def same(tables, other):
    """Compares all that describes an operator but its times, how often it ran and the cycles it took."""
    one, two = operators(tables), operators(other)
    ran = tasks(tables), tasks(other)
    good = one == two
    print(f"operators: C++ {one.total()} of {len(one)} kinds {'=' if good else '!='} "
          f"Python {two.total()} of {len(two)} kinds"
          + ("" if good else f"; {len(one - two)} kinds more in C++, {len(two - one)} more in Python"))
    print(f"tasks: C++ {ran[0].total()} {'=' if ran[0] == ran[1] else '!='} Python {ran[1].total()}")
    return good and ran[0] == ran[1]


LOCK_STEPS, FAULT_STEPS = range(8, 11), range(14, 17)  # as in worker.cc


def preparations(tables):
    """Of each step but the first: microseconds that the slower thread spent before it called the runtime, begin, end."""
    with open(glob.glob(os.path.join(tables, "msprof_[0-9]*.json"))[-1], encoding="utf-8") as f:
        events = [e for e in json.load(f) if e["ph"] == "X"]
    threads = defaultdict(list)
    for event in events:
        name = event["name"].split("@")[-1]
        if name in ("aclrtSynchronizeStream", "aclrtMemcpyAsync"):
            threads[event["tid"]].append((float(event["ts"]), float(event["ts"]) + float(event["dur"]), name))
    gaps = []
    for calls in threads.values():
        calls.sort()
        gaps.append([(after[0] - before[1], before[1], after[0]) for before, after in zip(calls, calls[1:])
                     if before[2] == "aclrtSynchronizeStream" and after[2] == "aclrtMemcpyAsync"])
    return [max(step) for step in zip(*gaps)]


def faults_by_sample(prof):
    """Wall clock in microseconds, and page faults of all threads of the program so far, of each sample of the host."""
    window = load(os.path.join(prof, "npuprof", "manifest.json"))["window"]
    samples = []
    for path in sorted(glob.glob(os.path.join(prof, "host", "data", "host_cpu.data.slice_*"))):
        if path.endswith(".done"):
            continue
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("time "):
                    at = (int(line.split()[1]) - window["begin_monotonic_raw_ns"]) / 1000
                    samples.append([window["begin_realtime_us"] + at, 0])
                elif "(" in line:
                    samples[-1][1] += int(line.rsplit(")", 1)[1].split()[7])
    return samples


def phases(prof, tables):
    steps = preparations(tables)  # of step 1 and on
    lock = [steps[i - 1][0] for i in LOCK_STEPS]
    plain = [gap for i, (gap, _, _) in enumerate(steps, 1) if i not in LOCK_STEPS and i not in FAULT_STEPS]
    seen = min(lock) > 1.5 * statistics.median(plain)
    print(f"one lock in steps {LOCK_STEPS[0]} to {LOCK_STEPS[-1]}: the host takes at least {min(lock) / 1000:.1f} ms "
          f"before it launches, {statistics.median(plain) / 1000:.1f} ms in other steps" + ("" if seen else " - NOT SEEN"))

    samples = faults_by_sample(prof)
    begin, end = steps[FAULT_STEPS[0] - 1][1], steps[FAULT_STEPS[-1] - 1][2]
    before = [count for at, count in samples if at <= begin] or [0]
    after = [count for at, count in samples if at >= end] or [max([0] + [count for _, count in samples])]
    rise, whole = min(after) - max(before), samples[-1][1] - samples[0][1] if samples else 0
    visible = whole > 0 and rise > 0.8 * whole
    print(f"fresh memory in steps {FAULT_STEPS[0]} to {FAULT_STEPS[-1]}: {rise} of {whole} sampled page faults"
          + ("" if visible else " - NOT SEEN"))
    return seen and visible


def main():
    commands = {"rows": (show_rows, 1), "sound": (sound, 3), "stalled": (stalled, 2), "same": (same, 2),
                "phases": (phases, 2)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    return 0 if command(*sys.argv[2:]) in (None, True) else 1


if __name__ == "__main__":
    sys.exit(main())
