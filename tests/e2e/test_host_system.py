# SPDX-License-Identifier: Apache-2.0
"""What is sampled of the host: how often, what it says of a thread and of the disk, and what it costs; containers."""
import json
import os
import re
import shutil
import subprocess

from harness import CLIENTS, ClientTest, environment

PERIOD = 20_000_000


class HostSystem(ClientTest):
    serial = True

    def sampled(self, name, cpu_ms=100, size=1 << 20):
        """Returns what the client says of its work, the profile, and the sampling of each kind."""
        done = self.run_client("host_work", self.fresh(name), str(cpu_ms), str(size))
        profile = self.profile_in(os.path.join(self.dir, name))
        self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        kinds = {k["kind"]: k["sampling"] for k in profile.manifest["host"]["kinds"] if "sampling" in k}
        return json.loads(done.stdout), profile, kinds

    def lines(self, profile, kind):
        with open(os.path.join(profile.path, "host", "data", f"{kind}.data.slice_0"), encoding="utf-8") as f:
            return f.read().splitlines()

    def times(self, profile, kind):
        form = {"host_mem": r"(\d+) \d+ \d+ ", "host_cpu": r"time (\d+)$", "host_network": r"time (\d+)$",
                "host_sys_cpu": r"TimeStamp:(\d+)$", "host_sys_mem": r"TimeStamp:(\d+)$"}[kind]
        return [int(m[1]) for m in (re.match(form, line) for line in self.lines(profile, kind)) if m]

    def test_period_and_error_told_are_those_of_the_samples(self):
        _, profile, kinds = self.sampled("period")
        window = profile.manifest["window"]
        length = window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"]
        for kind in ("host_mem", "host_cpu", "host_network", "host_sys_cpu", "host_sys_mem"):
            with self.subTest(kind):
                times, told = self.times(profile, kind), kinds[kind]
                self.assertEqual((PERIOD, len(times)), (told["period_ns"], told["samples"]))
                gaps = [b - a for a, b in zip(times, times[1:])]
                # The last one is not counted: the end may cut it short.
                *counted, _ = gaps
                self.assertEqual((sum(counted) + len(counted) // 2) // len(counted), told["mean_ns"])
                self.assertEqual(max(abs(gap - PERIOD) for gap in counted), told["worst_error_ns"])
                # Never faster than asked for, on the whole; a machine that is busy elsewhere leaves samples out.
                self.assertLessEqual(len(times), length // PERIOD + 2)
                self.assertGreater(len(times), length // PERIOD // 8)

    def test_machine_and_process_are_sampled_as_often_as_asked_for(self):
        # A second of work, so that there are ten samples at least of either.
        directory = self.fresh("often")
        for hertz, period in (("10", 100_000_000), ("25", 40_000_000)):
            with self.subTest(hertz=hertz):
                _, profile = self.workload(os.path.join(directory, hertz), "tasks=1", "cycles=2160000000", "set=8:cpu,mem",
                                           "set=9:cpu,mem", f"set=10:{hertz}")
                kinds = {k["kind"]: k["sampling"] for k in profile.manifest["host"]["kinds"] if "sampling" in k}
                for kind in ("host_sys_cpu", "host_sys_mem", "host_cpu", "host_mem"):
                    times, told = self.times(profile, kind), kinds[kind]
                    self.assertEqual((period, len(times)), (told["period_ns"], told["samples"]), kind)
                    *counted, _ = (b - a for a, b in zip(times, times[1:]))
                    self.assertEqual(max(abs(gap - period) for gap in counted), told["worst_error_ns"], kind)
                    # Late ones are made up for or left out: on the whole never faster than asked for.
                    self.assertGreaterEqual(times[-1] - times[0], (len(times) - 2) * period, kind)

    def test_most_samples_come_in_time(self):
        """Half of the intervals are within half a period of it; a machine that is busy elsewhere may spoil a window."""
        for window in range(5):
            _, profile, kinds = self.sampled(f"in_time{window}")
            late = {}
            for kind in ("host_mem", "host_cpu", "host_network", "host_sys_cpu", "host_sys_mem"):
                times = self.times(profile, kind)
                *counted, _ = (b - a for a, b in zip(times, times[1:]))
                errors = sorted(abs(gap - PERIOD) for gap in counted)
                # The worst of them is what is told: a bound on all.
                self.assertLessEqual(errors[len(errors) // 2], kinds[kind]["worst_error_ns"])
                if errors[len(errors) // 2] > PERIOD // 2 or abs(kinds[kind]["mean_ns"] - PERIOD) > PERIOD // 2:
                    late[kind] = errors
            if not late:
                return
        self.fail(f"late in each of five windows: {late}")

    def test_cpu_time_of_a_thread(self):
        done, profile, _ = self.sampled("cpu", cpu_ms=300)
        tick = 1e9 / profile.metadata("host/info.json")["sysClockFreq"]
        found, when = {}, 0
        for line in self.lines(profile, "host_cpu"):
            if m := re.match(r"time (\d+)$", line):
                when = int(m[1])
            elif m := re.match(r"(\d+) \(.*\) \S (.*)$", line):
                words = m[2].split()  # from the parent's number on
                found.setdefault(int(m[1]), []).append((when, (int(words[10]) + int(words[11])) * tick))
        mine = found[done["thread"]]
        self.assertEqual(sorted(used for _, used in mine), [used for _, used in mine])
        self.assertGreater(mine[-1][0], done["worked_at"])
        self.assertGreater(mine[-1][1], done["used_ns"] - 2 * tick)
        self.assertLess(mine[-1][1], done["used_at_end_ns"] + 2 * tick)
        # The thread that waited for it used next to nothing.
        self.assertLess(found[profile.manifest["pid"]][-1][1], mine[-1][1] / 2)

    def test_rates_of_the_disk(self):
        done, profile, kinds = self.sampled("disk", size=24 << 20)
        if done["written"] < 24 << 20:
            self.skipTest(f"of 24 MiB the kernel counts {done['written']} bytes as written to a disk, on this file system")
        rates = [float(m[2]) * 1024 for m in (re.match(r" *\d+ \S+ +\S+ +([\d.]+) K/s +([\d.]+) K/s ", line)
                                               for line in self.lines(profile, "host_disk")) if m]
        sampling = kinds["host_disk"]
        self.assertEqual(sampling["samples"] - 1, len(rates))
        self.assertGreater(self.times(profile, "host_mem")[-1], done["worked_at"])
        # A line tells no time of its own: the interval that it is of is as long as the period, give or take the error.
        rest = 1024 * 0.005 * len(rates)  # two digits behind the point
        longest, shortest = PERIOD + sampling["worst_error_ns"], PERIOD - sampling["worst_error_ns"]
        self.assertGreaterEqual((sum(rates) + rest) * longest / 1e9, done["written"] - rest)
        self.assertLessEqual(sum(rates) * max(shortest, 0) / 1e9, done["written_in_all"] + rest)

    def test_sampling_is_cheap(self):
        _, profile, _ = self.sampled("cheap")
        window = profile.manifest["window"]
        length = window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"]
        # All that there is, fifty times a second, and everything else that the drain does.
        self.assertLess(profile.manifest["cost"]["drain_cpu_ns"] / length, 0.15)


class Containers(ClientTest):
    def network(self, name, *command):
        directory = self.fresh(name)
        done = subprocess.run([*command, os.path.join(CLIENTS, "workload"), directory, "tasks=1", "set=5:100"],
                              capture_output=True, text=True, env=environment(), timeout=100, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        profile = self.profile_in(directory)
        return [m["text"] for m in profile.manifest["messages"] if "not collected in a container" in m["text"]], profile

    def test_process_numbers_of_its_own_make_a_container(self):
        if not shutil.which("unshare") or subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True,
                                                         check=False).returncode != 0:
            self.skipTest("process numbers cannot be had for oneself here (unshare --pid)")
        told, profile = self.network("own", "unshare", "--pid", "--fork")
        self.assertEqual(1, len(told))
        self.assertEqual([], profile.rings("nic"))

    def test_the_cpus_of_a_process_are_those_that_it_may_use(self):
        cpu = min(os.sched_getaffinity(0))
        directory = self.fresh("one")
        self.run_client("workload", directory, "tasks=1", preexec=lambda: os.sched_setaffinity(0, {cpu}))
        self.assertEqual(1, self.profile_in(directory).metadata("host/info.json")["cpuNums"])
