# SPDX-License-Identifier: Apache-2.0
"""While nobody profiles, entries that are called at each operator or mark return after one load and one branch.

Follows the machine code of each from its first instruction to its return, the way that it takes then.

usage: off_check_test.py LIBRARY [unittest arguments]
"""
import platform
import re
import subprocess
import sys
import unittest

LIBRARY = sys.argv.pop(1)
ENTRIES = ("MsprofReportApi", "MsprofReportEvent", "MsprofReportCompactInfo", "MsprofReportAdditionalInfo",
           "MsprofReportBatchAdditionalInfo", "profSetStepInfo", "mstxMarkA", "mstxRangeStartA", "mstxRangeEnd",
           "mstxDomainMarkA", "mstxDomainRangeStartA", "mstxDomainRangeEnd", "aclprofMark", "aclprofPop", "aclprofRangeStop")
LINE = re.compile(r"^ +([0-9a-f]+):\t(\S+) *(.*)$")
MOST = 10


def code(name):
    """[(address, what it does, with what)] of a function."""
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", LIBRARY],
                           capture_output=True, text=True, check=True).stdout
    return [match.groups() for match in map(LINE.match, shown.splitlines()) if match]


def way_out(name):
    """(loads, branches) until it returns; None if it does anything else than look at one thing and return."""
    instructions = code(name)
    places = {address: i for i, (address, _, _) in enumerate(instructions)}
    at = loads = branches = 0
    for _ in range(MOST):
        if at >= len(instructions):
            return None
        _, does, operands = instructions[at]
        at += 1
        if does == "ret":
            return loads, branches
        if does in ("je", "jne"):
            branches += 1
            # It found what it compares with: 0, nobody profiles; or that this was said already.
            if does == "je":
                at = places.get(operands.split()[0], MOST + len(instructions))
        elif does == "mov" and re.match(r"-?(0x[0-9a-f]+)?\(", operands):
            loads += 1
        elif does not in ("lea", "mov", "test", "cmp", "xor", "endbr64", "nop"):
            return None
    return None


class OffCheck(unittest.TestCase):
    def test_is_a_load_and_a_branch(self):
        self.assertEqual({name: (1, 1) for name in ENTRIES}, {name: way_out(name) for name in ENTRIES})

    def test_sees_what_does_more(self):
        self.assertEqual([None] * 3, [way_out(name) for name in ("aclprofInit", "MsprofGetHashId", "MsprofStr2Id")])
        self.assertEqual([], code("no_such_function"))


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: it reads the machine code of x86-64, this is", platform.machine())
        sys.exit(77)
    unittest.main()
