# SPDX-License-Identifier: Apache-2.0
"""Holds the model's own totals against what a profile holds.

usage: check.py rows TABLES                  first ten rows of op_summary
       check.py sound PROF TABLES TOTALS     one line that says nothing was lost; status 1 if that is not so
       check.py stalled PROF TOTALS          one line that says what was lost; status 1 if the sum is wrong
"""
import csv
import glob
import json
import os
import struct
import sys

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


def main():
    commands = {"rows": (show_rows, 1), "sound": (sound, 3), "stalled": (stalled, 2)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    return 0 if command(*sys.argv[2:]) in (None, True) else 1


if __name__ == "__main__":
    sys.exit(main())
