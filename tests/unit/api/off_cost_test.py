# SPDX-License-Identifier: Apache-2.0
"""While nobody profiles, an entry that is no exception named below takes at most 1.3 times as long as an exported function that does
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

BEGINS_AND_ENDS = "begins, ends or sets something, once per window or process"
MAKES = "makes or ends an object, whether somebody profiles or not"
NAMES = "keeps or finds a name for later sessions, whether somebody profiles or not"
READS = "reads what came through a subscription's pipe, which is there while one runs"
ARGUMENTS = "of the first generation, judges its arguments alone"
# Every other exported function is measured, so that a new one is not forgotten.
EXCEPTIONS = {
    **dict.fromkeys(
        ("aclprofInit aclprofFinalize aclprofSetConfig aclprofStart aclprofStop aclprofWarmup aclprofModelSubscribe "
         "aclprofModelUnSubscribe aclgrphProfGraphSubscribe aclgrphProfGraphUnSubscribe aclprofRegisterDeviceCallback "
         "aclprofGetSupportedFeatures aclprofGetSupportedFeaturesV2 aclprofMsproftxSwitch aclprofSetCategoryName MsprofInit "
         "MsprofStart MsprofStop MsprofFinalize MsprofSetConfig MsprofRegisterCallback MsprofRegisterProfileCallback "
         "MsprofNotifySetDevice MsprofSetDeviceIdByGeModelIdx MsprofUnsetDeviceIdByGeModelIdx MsprofRegTypeInfo "
         "MsprofRegDataFormat profSetProfCommand InitInjectionMstx").split(), BEGINS_AND_ENDS),
    **dict.fromkeys(
        ("aclprofCreateConfig aclprofDestroyConfig aclprofCreateStepInfo aclprofDestroyStepInfo aclprofCreateSubscribeConfig "
         "aclprofDestroySubscribeConfig mstxDomainCreateA mstxDomainDestroy").split(), MAKES),
    **dict.fromkeys("MsprofGetHashId MsprofStr2Id MsprofId2Str aclprofStr2Id".split(), NAMES),
    **dict.fromkeys(
        ("aclprofGetOpDescSize aclprofGetOpNum aclprofGetOpTypeLen aclprofGetOpType aclprofGetOpNameLen aclprofGetOpName "
         "aclprofGetOpStart aclprofGetOpEnd aclprofGetOpDuration aclprofGetOpFlag aclprofGetOpAttriValue aclprofGetModelId "
         "aclprofGetGraphId").split(), READS),
    **dict.fromkeys("aclprofReportStamp aclprofSetStampTagName aclprofSetStampCallStack".split(), ARGUMENTS),
    "aclprofGetStepTimestamp": "marks the device's stream, whether somebody profiles or not",
    "MsprofSysCycleTime": "reads the clock, which is what it is for",
    "MsprofGetPath": "for people who ask where the output is",
    "npuprofGetStatus": "for people who ask where the output is",
    "npuprofLastMessage": "for people who ask why a call failed",
    "npuprofTakeError": "for people who ask why a call failed",
}
GRAPH = "_ZN2ge"  # twins of GE: they begin and end as those without


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    names = {re.sub("@.*", "", row[-1]) for row in rows if row[-2] in "TW"}
    return {name for name in names if not name.startswith(GRAPH)}


def main():
    program, library = sys.argv[1:]
    names = exported(library)
    hot = names - EXCEPTIONS.keys()
    if gone := EXCEPTIONS.keys() - names:
        print("named as exceptions and not exported:", sorted(gone))
        return 1
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
