# SPDX-License-Identifier: Apache-2.0
"""Judges what the kernel said: every complaint of the kernel about itself is a failure, whoever ran at that time."""

import re

# What a kernel prints when something is wrong with it. A pattern may fit in the middle of a line.
COMPLAINTS = [
    r"\bBUG: ", r"\bBUG at ", r"\bWARNING: ", r"\bOops\b", r"general protection fault", r"Kernel panic",
    r"kernel BUG", r"Unable to handle kernel", r"Internal error:", r"divide error:", r"stack segment:",
    r"UBSAN: ", r"KASAN: ", r"KCSAN: ", r"KFENCE: ",
    r"INFO: (possible|inconsistent|trying|rcu|task) ", r"possible (circular|recursive|irq lock)",
    r"inconsistent lock state", r"suspicious RCU usage", r"[Ii]nvalid wait context", r"held lock freed",
    r"lock held when returning to user space", r"bad unlock balance",
    r"rcu:? .*(stall|self-detected)", r"(soft|hard) lockup", r"blocked for more than \d+ seconds",
    r"sleeping function called from invalid context", r"scheduling while atomic",
    r"DMA-API: .*(device driver|failed|not freed|error)", r"kmemleak: \d+ new suspected", r"ODEBUG: ",
    r"refcount_t: ", r"list_(add|del) corruption", r"nobody cared", r"DMAR: .*(fault|DRHD: handling fault)",
    r"kobject: .*(tried to init|does not have a release)", r"Slab .*(corrupt|Poison)", r"double free",
    r"Device '.*' does not have a release\(\) function", r"Unbalanced (enable|runtime PM)", r"unpoisoned",
    r"genirq: Flags mismatch", r"Trying to (free|vfree)", r"Freed in ", r"Object already free",
    r"page allocation failure", r"Bad page (state|map)", r"BUG_ON",
    r"preempt_count", r"softirq: huh", r"Runtime PM usage count underflow",
    r"\bBUG \S+ .*: ", r"(Poison|Redzone) overwritten", r"rcu_tasks: INFO", r"INFO: lockdep is turned off",
    r"debugfs: .*already present", r"cannot create duplicate", r"kobject_add_internal failed", r"Call Trace:",
    r"kmemleak: .*disabled",
]
PATTERN = re.compile("|".join(COMPLAINTS))

# Not about the kernel's health although a pattern fits.
HARMLESS = [
    r"\blab: ",                            # our own marks
    r"traps: \S+\[\d+\] general protection fault ip:",  # of a program, whose suite says whether it was to be
    r"Spectre|Meltdown|MDS|Mitigation|RETBleed|Speculative|Register File Data",  # of the emulated CPU
    r"DMAR: (Host address width|DRHD base|IOMMU enabled|Intel|No|dmar|RMRR|ATSR|Disable|IOMMU feature)",
    r"DMA-API: (preallocated|debugging enabled|memory usage)",
]
HARMLESS_PATTERN = re.compile("|".join(HARMLESS))

# What the kernel around the module says where its own allocations are made to fail.
HARMLESS_IN = {
    "faults": re.compile(r"kobject_add_internal failed for \d+ \(error: -12 |DMA-API: cacheline tracking ENOMEM"),
}

# The leak detector of 6.1 asks for memory, for the stack that it notes, under a raw lock of its own (kmemleak_update_trace()).
# Where lockdep looks for that, it reports it the first time the list of stacks has to grow there, and ends. Only a
# report in which that lock is held, taken by the detector, is meant.
OWN_REPORT = re.compile(r"\[ BUG: Invalid wait context \]")
OWN_LOCK = re.compile(r"#\d+: .*\(&object->lock\)\{[^}]*\}-\{2:2\}, at: kmemleak_update_trace\+")
OWN_HEAD, OWN_WHOLE = 25, 150    # lines within which the locks are listed, and the report ends

BEGIN = "lab: begin"
HEALTH = re.compile(r"\blab: health (begin|end)((?: [\w-]+=\d+)*)")
# What the kernel counts, its value in health, and what another one means.
SIGNS = {
    "lockdep": (1, "lockdep switched itself off, as it does after a report"),
    "dma-api": (0, "errors in the use of DMA were counted"),
    "objects": (0, "objects such as timers were used wrongly"),
    "kmemleak": (1, "leaks were not looked for: kmemleak switched itself off"),
}
SUITE = re.compile(r"lab: suite (\S+)")


class Complaint:
    def __init__(self, suite, lines):
        self.suite = suite    # suite that ran, or None
        self.lines = lines    # the complaint and what followed it


def end_of_own(lines, number):
    """The line behind a report of the leak detector's own lock that begins at `number`, or None if it is none."""
    if not OWN_REPORT.search(lines[number]) or not any(OWN_LOCK.search(line) for line in lines[number:number + OWN_HEAD]):
        return None
    end = number + 1
    while end < min(len(lines), number + OWN_WHOLE) and "</TASK>" not in lines[end - 1] and "lab: " not in lines[end]:
        end += 1
    return end


def has_own(console):
    """Whether lockdep ended because of the leak detector."""
    lines = console.splitlines()
    return any(end_of_own(lines, number) for number in range(len(lines)))


def complaints(console, context=30, limit=20):
    """What the kernel complained about after the lab's first mark. A kernel that dies before it is noticed by
    the boot's own outcome, and a debug kernel's warnings about its own boot are none of ours."""
    lines = console.splitlines()
    found, suite, begun, skip_until = [], None, False, 0
    for number, line in enumerate(lines):
        if BEGIN in line:
            begun = True
        hit = SUITE.search(line)
        if hit:
            suite = hit.group(1)
        if not begun or number < skip_until or HARMLESS_PATTERN.search(line) or not PATTERN.search(line):
            continue
        if suite in HARMLESS_IN and HARMLESS_IN[suite].search(line):
            continue
        if own := end_of_own(lines, number):
            skip_until = own
            continue
        # One report of the kernel has many lines that fit; the first is enough to count it.
        end = number + 1
        while end < len(lines) and end < number + context and "lab: suite" not in lines[end]:
            end += 1
        skip_until = end
        found.append(Complaint(suite, lines[number:end]))
        if len(found) == limit:
            break
    return found


def health(console):
    """[(sign, what is wrong or None)] of what the kernel counts, at the beginning and at the end."""
    seen = {}
    for when, values in HEALTH.findall(console):
        for word in values.split():
            sign, _, value = word.partition("=")
            seen.setdefault(sign, {})[when] = int(value)
    out = []
    for sign, values in sorted(seen.items()):
        good, meaning = SIGNS[sign]
        bad = [f"{when}: {value}" for when, value in values.items() if value != good]
        if "end" not in values:
            bad.append("the guest ended before it was looked at again")
        out.append((sign, f"{meaning} ({', '.join(bad)})" if bad else None))
    return out


def died_in(console):
    """The suite that was running when the console ended, or None if the last mark is the end."""
    suite = None
    for line in console.splitlines():
        hit = SUITE.search(line)
        if hit:
            suite = hit.group(1)
        if "lab: end" in line:
            suite = None
    return suite
