#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: record_path.py TREE: what interrupts, timers and perf run allocates nothing, takes no sleeping lock and prints nothing;
and the time a callback takes begins before it waits for the device's lock.

That path is: functions of timers, the interrupt, what perf calls, each function that asserts a raw or poll lock, and whatever
of the module these call, also through operations of a driver. First it looks at functions that do such things, and fails unless
it finds each fault.
"""

import glob
import os
import re
import sys

FORBIDDEN = re.compile(r"\b(printk\w*|pr_(?:emerg|alert|crit|err|warn|notice|info|debug|cont)\w*|dev_(?:emerg|alert|crit|err|warn|notice|info|dbg)\w*"
                       r"|k[mzv]*alloc\w*|kv?calloc|k(?:mem|str)dup\w*|vmalloc\w*|vzalloc\w*|k?v?free|alloc_pages?\w*|devm_\w+"
                       r"|mutex_lock\w*|down(?:_read|_write)?|might_sleep|cond_resched|[mu]sleep\w*|usleep_range|wait_event\w*"
                       r"|schedule|schedule_timeout\w*|hrtimer_cancel|cancel_\w*sync|copy_(?:to|from)_user|pm_runtime_\w*sync"
                       r"|pm_runtime_resume_and_get)\(")
DEFINITION = re.compile(r"^(?!typedef|#|\})[A-Za-z_][\w \t*]*?[ *](\w+)\([^;{}]*?\)\n\{\n(.*?)^\}", re.M | re.S)
OPERATION = re.compile(r"^\t+\.(\w+) = (\w+),", re.M)
CALL = re.compile(r"(?:(?:->|\.)\s*)?\b(\w+)\(")
# Timers and the interrupt: what they do with the lock is one callback.
CALLBACK = re.compile(r"^(?:static )?(?:enum hrtimer_restart (\w+)|\w+ (refnpu_interrupt))\(", re.M)
PERF = {"add", "del", "start", "stop", "read"}


def strip(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\]|\\.)*\"", " ", text, flags=re.S)


class Tree:
    def __init__(self, files):
        """`files`: text by name"""
        self.bodies, self.places, self.operations, self.callbacks = {}, {}, {}, set()
        self.perf = set()
        for name, text in files.items():
            text = strip(text)
            for function, body in DEFINITION.findall(text):
                self.bodies[function] = body
                self.places[function] = name
            for operation, function in OPERATION.findall(text):
                self.operations.setdefault(operation, set()).add(function)
                if operation in PERF and function.startswith("npuprof_perf_"):
                    self.perf.add(function)
            self.callbacks |= {a or b for a, b in CALLBACK.findall(text)}
        self.callbacks &= set(self.bodies)

    def roots(self):
        locked = {f for f, body in self.bodies.items()
                  if re.search(r"lockdep_assert_held\([^;]*(?:\block|\bpoll_lock)\);", body)}
        return self.callbacks | self.perf | locked

    def callees(self, function):
        for name in CALL.findall(self.bodies[function]):
            if name in self.bodies:
                yield name
            yield from (f for f in self.operations.get(name, ()) if f in self.bodies)

    def path(self):
        """Every function that the roots reach, with the one that called it."""
        seen = {root: None for root in self.roots()}
        todo = list(seen)
        while todo:
            function = todo.pop()
            for callee in self.callees(function):
                if callee not in seen:
                    seen[callee] = function
                    todo.append(callee)
        return seen

    def faults(self):
        seen = self.path()
        for function, caller in sorted(seen.items()):
            for call in FORBIDDEN.findall(self.bodies[function]):
                by = f", called by {caller}()" if caller else ""
                yield f"{self.places[function]}: {function}(){by} calls {call}()"
        for function in sorted(self.callbacks):
            body = self.bodies[function]
            begin, lock = body.find("begin = ktime_get_ns()"), body.find("npuprof_lock(")
            if lock >= 0 and not 0 <= begin < lock:
                yield f"{self.places[function]}: {function}() does not begin before it waits for the lock, so that its account lacks the wait"


def self_test():
    def look(*functions):
        return list(Tree({"x.c": "\n".join(functions)}).faults())
    good = "static enum hrtimer_restart t(struct hrtimer *timer)\n{\n\tu64 begin = ktime_get_ns();\n\n\tflags = npuprof_lock(npu);\n\tg();\n\tops->sample(1);\n}\n"
    assert look(good) == []
    assert len(look(good.replace("u64 begin = ktime_get_ns();", ""))) == 1
    for bad in ("printk(KERN_ERR 1)", "pr_info_once(1)", "dev_err(1)", "kmalloc(1)", "kzalloc(1)", "kvcalloc(1)", "mutex_lock(&m)",
                "msleep(1)", "kfree(p)", "cond_resched()", "schedule()"):
        assert len(look(good, f"static void g(void)\n{{\n\t{bad};\n}}\n")) == 1, bad
        assert len(look(good, f"static void s(int a)\n{{\n\t{bad};\n}}\n", "struct o o = {\n\t.sample = s,\n};\n")) == 1, bad
        assert len(look(f"void h(int a)\n{{\n\tlockdep_assert_held(&npu->lock);\n\t{bad};\n}}\n")) == 1, bad
        assert look(f"void process(void)\n{{\n\t{bad};\n}}\n", good) == [], bad
    assert look(good, "static void g(void)\n{\n\t/* no printk() */\n\tschedule_delayed_work(1);\n}\n") == []


def main():
    self_test()
    files = {}
    for pattern in ("*.[ch]", "core/*.[ch]"):
        for path in sorted(glob.glob(os.path.join(sys.argv[1], "kmod", pattern))):
            with open(path, encoding="utf-8") as f:
                files[os.path.relpath(path, sys.argv[1])] = f.read()
    tree = Tree(files)
    found = list(tree.faults())
    for fault in found:
        print(fault)
    reached = set(tree.path())
    # Had the search lost its way, nothing would be found.
    needed = {"refnpu_interrupt", "npc_ring_reserve", "npc_entry_put", "refnpu_sample_unit", "refnpu_queue_look", "npuprof_perf_add",
              "npuprof_core_take", "npc_core_update", "refnpu_take_entry", "npuprof_device_lost", "npc_credit_renew"}
    assert not needed - reached, f"not found on the path: {needed - reached}"
    assert len(tree.callbacks) == 6, f"callbacks: {sorted(tree.callbacks)}"
    print(f"{len(reached)} functions of {len(tree.bodies)} on the record path, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
