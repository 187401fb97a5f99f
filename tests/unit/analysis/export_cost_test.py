# SPDX-License-Identifier: Apache-2.0
"""What an export costs for each task: instructions, which do not depend on the machine's load, and memory.

usage: export_cost_test.py NPUPROF
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import make_profile

NPUPROF = sys.argv.pop(1)

# Of the difference between two sizes, so that what a process costs by itself does not count. Tables and the timeline
# together; three events of the timeline and two rows of tables come of a task.
MOST_INSTRUCTIONS = 36_000
FEW, MANY = 500, 2_500
# Tasks of the smaller run whose memory is compared; even that does not fit into what is allowed.
SOME = 20_000


def instructions(directory, tasks):
    root = make_profile.write(os.path.join(directory, str(tasks)), tasks)
    out = os.path.join(directory, f"callgrind.{tasks}")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", NPUPROF, "export", root], check=True,
                   capture_output=True)
    with open(out, encoding="utf-8") as f:
        return int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M).group(1))


def tables(directory):
    """Contents of the tables that have a row for each task, in the order of their names."""
    contents = []
    for name in sorted(os.listdir(directory)):
        if name.startswith(("op_summary", "task_time")):
            with open(os.path.join(directory, name), "rb") as f:
                contents.append(f.read())
    if len(contents) != 2:
        raise AssertionError(f"{len(contents)} tables in {directory}")
    return contents


def peak(directory, tasks, *options):
    """The most memory of an export of tables, in bytes, and what the raw records of `tasks` take."""
    root = os.path.join(directory, str(tasks))
    if not os.path.isdir(root):
        make_profile.write(root, tasks)
    done = subprocess.run([NPUPROF, "export", root, "--format", "csv", "--json", "--output",
                           os.path.join(directory, "-".join(("out", str(tasks), *options))), *options],
                          check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    if result["rows"]["task_time"] != tasks:
        raise AssertionError(f"{result['rows']} of {tasks} tasks")
    return result["peak_memory_bytes"]


class ExportCost(unittest.TestCase):
    def test_memory_does_not_grow_with_the_tasks(self):
        with tempfile.TemporaryDirectory() as directory:
            small, large = (peak(directory, tasks, "--memory", "1") for tasks in (SOME, 4 * SOME))
            free = [peak(directory, tasks) for tasks in (SOME, 4 * SOME)]
            results = [tables(os.path.join(directory, f"out-{4 * SOME}{end}")) for end in ("", "---memory-1")]
        print(f"limited {small >> 10} and {large >> 10} KiB, without {free[0] >> 10} and {free[1] >> 10} KiB")
        self.assertLess(large, 1.35 * small)  # caches of files fill up
        self.assertGreater(free[1] - free[0], 4 * max(large - small, 0), "the limit makes no difference")
        self.assertEqual(*results, "with temporary files the tables differ")

    def test_instructions_of_a_task(self):
        with tempfile.TemporaryDirectory() as directory:
            few, many, most = (instructions(directory, tasks) for tasks in (FEW, MANY, 2 * MANY))
        each, later = (many - few) / (MANY - FEW), (most - many) / MANY
        print(f"{each:.0f} instructions a task, {later:.0f} in a run twice as long")
        self.assertLess(each, MOST_INSTRUCTIONS)
        self.assertLess(later, 1.1 * each, "not linear")


if __name__ == "__main__":
    unittest.main()
