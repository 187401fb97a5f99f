# SPDX-License-Identifier: Apache-2.0
"""What the module's tracepoints say."""

import re

from npu import read, write

TRACING = "/sys/kernel/tracing"


class Trace:
    """What the module's tracepoints said between entering and leaving."""

    LINE = re.compile(r": npuprof_(\w+): (.*)$")

    def __enter__(self):
        write(f"{TRACING}/trace", "")
        # Names of programs are not asked for: to know them the kernel would change code of its scheduler in mid-run.
        write(f"{TRACING}/options/record-cmd", "0")
        write(f"{TRACING}/events/npuprof/enable", "1")
        return self

    def __exit__(self, *_):
        write(f"{TRACING}/events/npuprof/enable", "0")
        self.events = []
        for line in read(f"{TRACING}/trace").splitlines():
            hit = self.LINE.search(line)
            if hit:
                fields = dict(word.split("=", 1) for word in hit.group(2).split())
                self.events.append((hit.group(1), {k: int(v, 0) if re.fullmatch("-?(0x)?[0-9a-f]+", v) else v
                                                   for k, v in fields.items()}))

    def of(self, name, **fields):
        return [f for n, f in self.events if n == name and all(f[k] == v for k, v in fields.items())]
