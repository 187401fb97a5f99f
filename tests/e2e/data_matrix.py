# SPDX-License-Identifier: Apache-2.0
"""Makes docs/data-matrix.md of what the tests know and do: python3 data_matrix.py > ../../docs/data-matrix.md

A test of test_data_types.py compares the page with this, so that neither says what the other does not.
"""
import re

from harness import (ACL_API, AICORE_SHAPE, AICPU, API_STATS, GE_API_L0, GE_API_L1, HCCL, L2CACHE, METRICS, MSPROFTX, OP_ATTR,
                     RUNTIME_API, TASK_MEMORY, TASK_TIME, TASK_TIME_L0, TASK_TIME_L2, TASK_TIME_L3, TRAINING_TRACE)
from test_everything import ALONE, SETTING_KINDS, Combinations, completed
from validator import layout

TYPES = {"ACL_API": ACL_API, "TASK_TIME_L0": TASK_TIME_L0, "TASK_TIME": TASK_TIME, "TASK_TIME_L2": TASK_TIME_L2,
         "TASK_TIME_L3": TASK_TIME_L3, "OP_ATTR": OP_ATTR, "AICORE_METRICS": METRICS, "AICPU": AICPU, "L2CACHE": L2CACHE,
         "HCCL_TRACE": HCCL, "TRAINING_TRACE": TRAINING_TRACE, "MSPROFTX": MSPROFTX, "RUNTIME_API": RUNTIME_API,
         "GE_API_L0": GE_API_L0, "GE_API_L1": GE_API_L1, "TASK_MEMORY": TASK_MEMORY,
         "AICORE_SHAPE": AICORE_SHAPE | TASK_TIME_L0, "API_STATS": API_STATS}
NUMBERS = Combinations.NUMBERS  # of settings
# Names of files that the validator reads by the published layouts.
PARSED = {"api_event"} | set(layout.KIND_LEVELS) | {
    name.removesuffix(".data") for name in (*layout.DEVICE_RECORDS, *layout.DEVICE_TEXT, *layout.HOST_TEXT)}

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Each data type with each setting

Made by `tests/e2e/data_matrix.py` of the tables that the tests use; `test_the_matrix_is_what_the_tests_know_and_do` compares it.
What files and kinds mean is told in [data-types.md](data-types.md).

Each line is of a data type beside a setting, in a window that has something for everything. *Record kinds* are the files, with
levels of calls, tags of tracks, functions or numbers of groups of the records in them; behind the + are those that the setting
adds, which are told once, above the table. *Parsed*: whether the validator, which knows the published layouts alone, reads every
one of these files. *Value checked*: in which runs of `test_devices_types_settings_and_drain_paths` both were asked for. There the
kinds in the files are compared with those of this table, and their values with what the model and the program counted.
`API_STATS` switches all other data types off and has runs of its own.
"""


def brief(kinds):
    """{"a 1", "a 2", "b"} -> "`a` (1, 2), `b`"."""
    found = {}
    for kind in sorted(kinds):
        name, _, what = kind.partition(" ")
        found.setdefault(name, []).append(re.sub("^of ", "", what))
    return ", ".join(f"`{name}`" + (f" ({', '.join(what)})" if any(what) else "") for name, what in found.items())


def page():
    runs = [(completed(types), settings) for _, _, types, settings in Combinations().conditions()]
    lines = [HEAD]
    for name, setting in NUMBERS.items():
        added = SETTING_KINDS[setting]
        lines += [f"\n## {name}\n", f"Adds {brief(added) or 'no kind of record'}.\n",
                  "| data type | record kinds | parsed | value checked |", "|---|---|---|---|"]
        for label, bits in TYPES.items():
            kinds = ALONE[bits] | added
            met = [str(i) for i, (types, settings) in enumerate(runs, 1) if setting in settings and types & bits == bits]
            parsed = {kind.split()[0] for kind in kinds} <= PARSED
            lines.append(f"| `{label}` | {brief(ALONE[bits])}{' +' if added else ''} | {'yes' if parsed else 'no'} | "
                         f"{', '.join(met) or 'no'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
