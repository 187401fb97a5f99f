#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws an exported tables directory as one SVG: operator types by time, and one iteration's timeline.

usage: draw.py TABLES_DIR OUTPUT.svg
"""
import csv
import glob
import json
import os
import sys
from collections import Counter
from decimal import Decimal
from html import escape

WIDTH = 900
COLOURS = ["#3b6fb6", "#d9822b", "#3f9c6d", "#b5485d", "#7a5ea8", "#8a8d91", "#2f9fb3", "#a88b2d"]


def newest(directory, pattern):
    found = sorted(glob.glob(os.path.join(directory, pattern)))
    if not found:
        sys.exit(f"draw.py: no {pattern} in {directory}; export the profile first")
    return found[-1]


def text(x, y, what, size=12, anchor="start", colour="#24292f", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(what)}</text>')


def operators(tables):
    with open(newest(tables, "op_statistic_*.csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Device_id"] == "0"]
    return sorted(rows, key=lambda row: -float(row["Total Time(us)"]))[:8]


def bars(rows, colours, top):
    out = [text(20, top, "Operators of device 0 by time", 13, weight="bold")]
    longest = max(float(row["Total Time(us)"]) for row in rows)
    for index, row in enumerate(rows):
        y, total = top + 22 + index * 20, float(row["Total Time(us)"])
        out.append(text(150, y, row["OP Type"], anchor="end"))
        out.append(f'<rect x="160" y="{y - 11}" width="{max(1, 420 * total / longest):.1f}" height="14" rx="2" '
                   f'fill="{colours[row["OP Type"]]}"/>')
        out.append(text(590, y, f'{total:,.1f} us  {float(row["Ratio(%)"]):.1f} %  {row["Count"]} x  {row["Core Type"]}', 11,
                        colour="#57606a"))
    return out, top + 22 + len(rows) * 20


def timeline(tables, types, colours, top):
    with open(newest(tables, "msprof_[0-9]*.json")) as file:
        events = json.load(file)
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    labels = {e["pid"]: e["args"].get("labels", "") for e in events if e["ph"] == "M" and e["name"] == "process_labels"}
    spans = [e for e in events if e["ph"] == "X"]
    # A float has no room for microseconds since 1970 and a fraction; one for the time since the first event has.
    base = min(Decimal(e["ts"]) for e in spans)
    for e in spans:
        e["start"] = float(Decimal(e["ts"]) - base)
        e["end"] = e["start"] + float(e["dur"])
    runs = sorted((e for e in spans if e["name"].endswith("aclmdlExecute") or e["name"].endswith("ModelExecute")),
                  key=lambda e: e["start"])
    chosen = runs[len(runs) // 2]
    begin = chosen["start"]
    device_end = max((e["end"] for e in spans if "Hardware" in names.get(e["pid"], "") and
                      begin <= e["start"] <= chosen["end"]), default=chosen["end"])
    end = max(chosen["end"], device_end)
    inside = [e for e in spans if e["end"] > begin and e["start"] < end]
    out = [text(20, top, f"One model execution: {end - begin:,.0f} us on the host threads and the devices' streams", 13,
                weight="bold")]
    rows = Counter((e["pid"], e["tid"]) for e in inside if names.get(e["pid"]) in ("CANN", "Ascend Hardware")
                   and not str(e["name"]).startswith("Iteration"))
    ordered = sorted(sorted(rows, key=lambda k: -rows[k])[:6], key=lambda k: (names[k[0]] != "CANN", k))
    scale = (WIDTH - 190) / (end - begin)
    y = top + 14
    for pid, tid in ordered:
        host = names[pid] == "CANN"
        out.append(text(150, y + 16, f"CANN thread {tid}" if host else f"{labels[pid].replace('NPU (simulated)', 'NPU')} stream {tid}",
                        11, "end", "#57606a"))
        out.append(f'<rect x="160" y="{y}" width="{WIDTH - 190}" height="24" fill="#f3f4f6"/>')
        for e in sorted((e for e in inside if (e["pid"], e["tid"]) == (pid, tid)), key=lambda e: e["start"] - e["end"])[:500]:
            left, right = max(e["start"], begin), min(e["end"], end)
            colour = "#9db4d3" if host else colours.get(types.get(e["name"]), "#c4c7cc")
            inset = {"AscendCL": 0, "Model": 4, "Node": 8, "Runtime": 12}.get(str(e["name"]).split("@")[0], 0) if host else 2
            out.append(f'<rect x="{160 + (left - begin) * scale:.2f}" y="{y + inset / 2:.1f}" '
                       f'width="{max(0.4, (right - left) * scale):.2f}" height="{24 - inset}" fill="{colour}" '
                       f'fill-opacity="{0.55 if host else 1}"/>')
        y += 30
    for step in range(6):
        x = 160 + step * (WIDTH - 190) / 5
        out.append(text(x, y + 12, f"{(end - begin) * step / 5:,.0f} us", 10, "middle", "#57606a"))
    return out, y + 24


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    tables, output = sys.argv[1:]
    rows = operators(tables)
    colours = {row["OP Type"]: COLOURS[index] for index, row in enumerate(rows)}
    with open(newest(tables, "op_summary_*.csv"), newline="") as file:
        types = {row["Op Name"]: row["OP Type"] for row in csv.DictReader(file)}
    upper, y = bars(rows, colours, 62)
    lower, y = timeline(tables, types, colours, y + 22)
    head = [text(20, 30, "ResNet-50 profiled through aclprof", 18, weight="bold"),
            text(WIDTH - 20, 30, "NPU (simulated): times come from a model", 12, "end", "#b5485d", "bold")]
    with open(output, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 10:.0f}" '
                   f'font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join(head + upper + lower) + "\n</svg>\n")


if __name__ == "__main__":
    main()
