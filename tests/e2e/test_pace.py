# SPDX-License-Identifier: Apache-2.0
"""Profiling that fails does not slow the program to a crawl."""
import json
import resource

from harness import ClientTest
from test_full_disk import SmallDisk

LAUNCHES = 10_000
# A bare launch costs well below a microsecond; what a profiled one reports about itself costs a multiple of that.
MOST_CPU = 50
# Of the launches. One that waited for a disk, a lock or a retry would do so each time.
MOST_WAITS = 0.05
ROUNDS = 12
FEW_ROUNDS = 4  # where Stop waits for a disk before it gives up


class PaceTest(ClientTest):
    """Base: measures the pace."""
    serial = True

    def pace(self, directory, rounds=ROUNDS, preexec=None, **env):
        """Alternates bare and profiled launches in one process; the best turn of each kind counts, which no noise
        makes better."""
        done = self.run_client("pace", directory, rounds, LAUNCHES, preexec=preexec, NPUPROF_LOG=0, **env)
        result = json.loads(done.stdout)
        plain, profiled = result["plain"], result["profiled"]
        self.assertLess(profiled["cpu_ns"], MOST_CPU * plain["cpu_ns"], result)
        self.assertLess(profiled["waits"] - plain["waits"], MOST_WAITS * LAUNCHES, result)
        return result

    def all_of(self, code, rounds=ROUNDS):
        return [code] * rounds


class Pace(PaceTest):
    def test_profiling_that_works(self):
        result = self.pace(self.fresh("sound"))
        self.assertEqual((self.all_of(0), self.all_of(0)), (result["starts"], result["stops"]))

    def test_refused_start(self):
        result = self.pace(self.fresh("refused"), NPUSIM_FAULT="refuse_start")
        self.assertEqual(self.all_of(500005), result["starts"])

    def test_stalled_drain(self):
        result = self.pace(self.fresh("stalled"), NPUSIM_FAULT="stall_drain", NPUPROF_RING_RECORDS=256)
        self.assertEqual((self.all_of(0), self.all_of(0)), (result["starts"], result["stops"]))

    def test_dropped_interrupts(self):
        result = self.pace(self.fresh("irq"), NPUSIM_FAULT="drop_irq=1000000")
        self.assertEqual((self.all_of(0), self.all_of(0)), (result["starts"], result["stops"]))

    def test_host_rings_that_are_full(self):
        # A thread's ring fills within a few thousand launches when the drain has next to no memory to move it to.
        self.pace(self.fresh("full"), NPUPROF_HOST_RING_MB=1, NPUPROF_STAGING_MB=1)

    def test_limit_on_file_sizes(self):
        result = self.pace(self.fresh("limit"), FEW_ROUNDS,
                           preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.assertEqual(self.all_of(0, FEW_ROUNDS), result["starts"])
        self.assertNotIn(0, result["stops"])


class PaceOnAFullDisk(SmallDisk, PaceTest):
    def test_full_disk(self):
        result = self.pace(self.disk, FEW_ROUNDS)
        self.assertEqual((self.all_of(0, FEW_ROUNDS), self.all_of(500005, FEW_ROUNDS)), (result["starts"], result["stops"]))
