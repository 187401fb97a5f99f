# SPDX-License-Identifier: Apache-2.0
"""While nobody profiles, an entry that a program calls often takes at most 1.3 times as long as an exported function that does
nothing, in the same run.

usage: off_cost_test.py PROGRAM LIBRARY
"""
import re
import subprocess
import sys

MOST = 1.3
# A machine that is busy with others may never run a batch undisturbed; it does not do so every time. What was fast enough
# once is.
TRIES = 5

# Exported entries that are called often and measured, as names or their beginnings; what has no other use than these.
HOT = ("MsprofReport", "MsprofCheckOpSwitch", "MsprofGetBatchReportMaxSize", "aclprofMark", "aclprofPush", "aclprofPop",
       "aclprofRange", "mstxMarkA", "mstxRange", "mstxDomainMarkA", "mstxDomainRange", "aclprofCreateStamp",
       "aclprofDestroyStamp", "aclprofSetStamp")
EXCEPTIONS = {
    "aclprofSetStampTagName": "of the first generation, judges its arguments alone",
    "aclprofSetStampCallStack": "of the first generation, judges its arguments alone",
}
# Not among the hot ones because they do their work whether somebody profiles or not: MsprofSysCycleTime reads the clock,
# MsprofGetHashId, MsprofStr2Id, aclprofStr2Id and MsprofId2Str keep names for later sessions, aclprofGetStepTimestamp marks
# the device's stream.


def hot_entries(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {re.sub("@.*", "", line.split()[-1]) for line in listed.splitlines()}
    return {name for name in names if name.startswith(HOT)} - EXCEPTIONS.keys()


def main():
    program, library = sys.argv[1:]
    hot = hot_entries(library)
    best = {}
    for _ in range(TRIES):
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        took = {name: int(time) for name, time in map(str.split, done.stdout.splitlines())}
        for name, time in took.items():
            ratio = time / took["empty"]
            best[name] = min(best.get(name, ratio), ratio)
        del best["empty"]
        print(", ".join(f"{name} {ratio:.2f}" for name, ratio in best.items()))
        if hot != best.keys():
            print("exported and not measured:", sorted(hot - best.keys()), "measured and not hot:", sorted(best.keys() - hot))
            return 1
        if max(best.values()) <= MOST:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
