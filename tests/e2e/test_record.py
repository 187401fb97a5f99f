# SPDX-License-Identifier: Apache-2.0
"""npuprof record: every option by what it leaves in the directory, and processes that run already."""
import glob
import json
import os
import signal
import subprocess
import time

from harness import CLIENTS, NPUPROF, ClientTest, Profile, environment, rows
from test_refusals import as_nobody

SERVE = os.path.join(CLIENTS, "serve")


class Service:
    """The client `serve`, alone or under a command."""

    def __init__(self, *prefix, late=False, **env):
        self.process = subprocess.Popen([*prefix, SERVE, *["late"] * late], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment(**env))
        assert self.process.stdout.readline() == ("waits\n" if late else "ready\n"), self.process.stderr.read()

    @property
    def pid(self):
        """Of the service itself."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            children = f.read().split()
        with open(f"/proc/{self.process.pid}/comm", encoding="ascii") as f:
            return self.process.pid if f.read().strip() == "serve" else int(children[0])

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        """Its last line, standard error and exit status."""
        out, err = self.process.communicate(timeout=60)
        return out.strip(), err, self.process.returncode


class RecordTest(ClientTest):
    def service(self, *prefix, **env):
        service = Service(*prefix, **env)
        self.addCleanup(lambda: service.process.poll() is None and service.process.kill())
        return service

    def command(self, *arguments, status=0, **options):
        done = subprocess.run([NPUPROF, "record", *map(str, arguments)], capture_output=True, text=True, env=environment(),
                              timeout=120, cwd=self.dir, check=False, **options)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done

    def state(self, pid):
        return json.loads(self.command("--pid", pid, "--status", "--json").stdout)["state"]

    def until(self, pid, state):
        deadline = time.monotonic() + 60
        while self.state(pid) != state:
            self.assertLess(time.monotonic(), deadline, f"never {state}")
            time.sleep(0.05)

    def kernels(self, path):
        """Kernels of a directory that is whole."""
        profile = Profile(path)
        self.assert_readable(profile)
        self.assertEqual((0, True), (profile.lost(), profile.manifest["complete"]), profile.manifest["messages"])
        return profile.export()["rows"].get("op_summary", 0)

    def profiles(self, directory):
        return sorted(glob.glob(os.path.join(directory, "PROF_*")))


class Attach(RecordTest):
    def test_windows_of_a_running_process_hold_what_ran_between_start_and_stop(self):
        service, out = self.service(), self.fresh("out")
        self.assertEqual("done", service.tell("work 5"))
        self.assertEqual("none", self.state(service.pid))
        for count in (7, 11):
            self.command("-o", out, "--pid", service.pid, "--start")
            self.assertEqual("recording", self.state(service.pid))
            self.assertEqual("done", service.tell(f"work {count}"))
            done = self.command("--pid", service.pid, "--stop", "--json")
            directory, = json.loads(done.stdout)["directories"]
            self.assertEqual(count, self.kernels(directory["path"]))
            self.assertEqual("none", self.state(service.pid))
            self.assertEqual("done", service.tell("work 3"))
        self.assertEqual(2, len(self.profiles(out)))
        self.assertEqual(("29", 0), service.end()[::2])

    def attached(self, service, *arguments):
        process = subprocess.Popen([NPUPROF, "record", "--pid", str(service.pid), *arguments], stderr=subprocess.PIPE,
                                   text=True, env=environment(), cwd=self.dir)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertIn("recording process", process.stderr.readline())
        return process

    def test_ctrl_c_ends_the_recording_and_not_the_process(self):
        service, out = self.service(), self.fresh("out")
        process = self.attached(service, "-o", out)
        self.assertEqual("done", service.tell("work 9"))
        process.send_signal(signal.SIGINT)
        self.assertIn("PROF_", process.communicate(timeout=60)[1])
        self.assertEqual(0, process.returncode)
        path, = self.profiles(out)
        self.assertEqual(9, self.kernels(path))
        self.assertEqual("done", service.tell("work 2"))
        self.assertEqual(("11", 0), service.end()[::2])

    def test_a_process_that_has_only_loaded_the_library_is_waited_for(self):
        service, out = self.service(late=True), self.fresh("out")
        self.assertEqual("none", self.state(service.pid))
        process = subprocess.Popen([NPUPROF, "record", "--pid", str(service.pid), "-o", out], stderr=subprocess.PIPE, text=True,
                                   env=environment(), cwd=self.dir)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertIn("has not used a runtime yet; it is recorded from when it does", process.stderr.readline())
        self.assertEqual("ready", service.tell("begin"))
        self.assertIn("recording process", process.stderr.readline())
        self.assertEqual("done", service.tell("work 6"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        path, = self.profiles(out)
        self.assertEqual((0, 6), (process.returncode, self.kernels(path)))
        self.assertEqual(("6", 0), service.end()[::2])

    def test_the_wait_for_a_process_ends_with_it_and_with_a_signal(self):
        for end in ("process", "signal"):
            with self.subTest(end=end):
                service, out = self.service(late=True), self.fresh(end)
                process = subprocess.Popen([NPUPROF, "record", "--pid", str(service.pid), "-o", out], stderr=subprocess.PIPE,
                                           text=True, env=environment(), cwd=self.dir)
                self.addCleanup(lambda process=process: process.poll() is None and process.kill())
                process.stderr.readline()
                if end == "process":
                    service.end()
                else:
                    process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=60)[1]
                self.assertEqual(1, process.returncode, said)
                # What has ended is there until its parent has looked.
                self.assertRegex(said, "it (has ended|does not exist)\n" if end == "process" else
                                 r"interrupted \(SIGINT\) before it had used a runtime\n")
                self.assertEqual([], self.profiles(out))

    def test_it_can_be_looked_at_and_ended_by_another_command(self):
        service, out = self.service(), self.fresh("out")
        process = self.attached(service, "-o", out)
        self.assertEqual("recording", self.state(service.pid))
        self.assertEqual("done", service.tell("work 3"))
        self.command("--pid", service.pid, "--stop")
        self.assertEqual("none", self.state(service.pid))
        path, = self.profiles(out)
        self.assertIn(path, process.communicate(timeout=60)[1])
        self.assertEqual((0, 3), (process.returncode, self.kernels(path)))

    def test_what_was_interrupted_before_it_began_never_begins(self):
        service, out = self.service(), self.fresh("out")
        os.kill(service.pid, signal.SIGSTOP)
        process = subprocess.Popen([NPUPROF, "record", "--pid", str(service.pid), "-o", out], stderr=subprocess.PIPE,
                                   text=True, env=environment(), cwd=self.dir)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            status = f.read()
        while not int(status.split("SigCgt:\t")[1].split("\n", 1)[0], 16) & 1 << signal.SIGINT - 1:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                status = f.read()
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted (SIGINT) before it had begun", process.communicate(timeout=60)[1])
        self.assertEqual(1, process.returncode)
        os.kill(service.pid, signal.SIGCONT)
        self.assertEqual("done", service.tell("work 2"))
        self.assertEqual(("none", []), (self.state(service.pid), self.profiles(out)))

    def test_a_duration_ends_it_while_the_process_is_idle(self):
        service, out = self.service(), self.fresh("out")
        process = self.attached(service, "-o", out, "--duration", "300ms")
        process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)
        path, = self.profiles(out)
        self.assertEqual(0, self.kernels(path))
        self.assertEqual("none", self.state(service.pid))

    def test_a_delay_passes_first_and_may_be_cancelled(self):
        service, out = self.service(), self.fresh("out")
        self.command("-o", out, "--pid", service.pid, "--start", "--delay", "1h")
        self.assertEqual("waiting", self.state(service.pid))
        self.command("-o", out, "--pid", service.pid, "--start", status=1)
        self.assertIn("nothing was written", self.command("--pid", service.pid, "--stop").stderr)
        self.assertEqual("none", self.state(service.pid))
        self.assertEqual([], self.profiles(out))
        self.command("-o", out, "--pid", service.pid, "--start", "--delay", "200ms")
        self.until(service.pid, "recording")
        self.assertEqual("done", service.tell("work 4"))
        self.command("--pid", service.pid, "--stop")
        path, = self.profiles(out)
        self.assertEqual(4, self.kernels(path))

    def test_a_process_that_ends_leaves_a_whole_directory(self):
        service, out = self.service(), self.fresh("out")
        process = self.attached(service, "-o", out)
        self.assertEqual("done", service.tell("work 6"))
        self.assertEqual(("6", 0), service.end()[::2])
        self.assertIn("PROF_", process.communicate(timeout=60)[1])
        self.assertEqual(0, process.returncode)
        path, = self.profiles(out)
        self.assertEqual(6, self.kernels(path))

    def test_a_session_of_the_program_is_left_alone_and_ends_a_recording(self):
        service, out, own = self.service(), self.fresh("out"), self.fresh("own")
        self.assertEqual("0 0", service.tell(f"own {own}"))
        self.assertEqual("own", self.state(service.pid))
        done = self.command("-o", out, "--pid", service.pid, "--start", status=1)
        self.assertIn("the program profiles itself", done.stderr)
        done = self.command("--pid", service.pid, "--stop", status=1)
        self.assertIn("it is not recorded", done.stderr)
        self.assertEqual("done", service.tell("work 3"))
        self.assertEqual("0 0", service.tell("end"))
        process = self.attached(service, "-o", out)
        self.assertEqual("done", service.tell("work 4"))
        self.assertEqual("0 0", service.tell(f"own {own}"))
        said = process.communicate(timeout=60)[1]
        self.assertEqual("done", service.tell("work 5"))
        self.assertEqual("0 0", service.tell("end"))
        self.assertIn(f"the program profiled itself; its session is in {self.profiles(own)[1]}", said)
        self.assertEqual([3, 5, 4], [self.kernels(p) for p in self.profiles(own) + self.profiles(out)])

    def test_who_may_not_and_what_cannot_is_told(self):
        service = self.service()
        done = self.command("--pid", service.pid, "--status", status=1, preexec_fn=as_nobody)
        self.assertIn("attaching takes its user or root", done.stderr)
        broken, out = self.service(NPUSIM_FAULT="refuse_start"), self.fresh("out")
        done = self.command("-o", out, "--pid", broken.pid, "--start", status=1)
        self.assertIn(f"process {broken.pid}: ", done.stderr)
        self.assertEqual(("none", []), (self.state(broken.pid), self.profiles(out)))
        os.kill(service.pid, signal.SIGSTOP)
        done = self.command("--pid", service.pid, "--status", status=1)
        os.kill(service.pid, signal.SIGCONT)
        self.assertIn("it is stopped (SIGSTOP)", done.stderr)
        self.assertEqual("none", self.state(service.pid))

    def threads(self, pid):
        names = []
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as f:
                    names.append(f.read().strip())
            except (FileNotFoundError, ProcessLookupError):
                pass  # it ended meanwhile
        return names

    def named_threads(self, pid):
        """Once none but the first has the name of the program, as a thread has that has not named itself yet."""
        deadline = time.monotonic() + 60
        while (names := self.threads(pid)).count("serve") > 1:
            self.assertLess(time.monotonic(), deadline, names)
        return names

    def test_it_can_be_turned_off_and_then_there_is_no_thread_for_it(self):
        service = self.service(NPUPROF_ATTACH="off")
        self.assertNotIn("npuprof-attach", self.named_threads(service.pid))
        self.assertIn("NPUPROF_ATTACH=off", self.command("--pid", service.pid, "--status", status=1).stderr)
        pid, deadline = self.service().pid, time.monotonic() + 60
        while "npuprof-attach" not in self.threads(pid):  # it names itself
            self.assertLess(time.monotonic(), deadline, self.threads(pid))

    def test_a_process_in_dynamic_mode_waits_to_be_attached_to(self):
        service, out, own = self.service(PROFILING_MODE="dynamic"), self.fresh("out"), self.fresh("own")
        self.assertEqual("none", self.state(service.pid))
        self.assertEqual("done", service.tell("work 3"))
        for count in (5, 2):
            self.assertEqual("200006 100042", service.tell(f"own {own}"))
            self.command("-o", out, "--pid", service.pid, "--start")
            self.assertEqual("recording", self.state(service.pid))
            self.assertEqual("done", service.tell(f"work {count}"))
            self.assertEqual("100042 100042", service.tell("end"))
            self.command("--pid", service.pid, "--stop")
        self.assertEqual(0, service.end()[2])
        self.assertEqual([5, 2], [self.kernels(p) for p in self.profiles(out)])
        self.assertEqual([], self.profiles(own))

    def configured(self, out, **sample):
        return self.service(PROFILING_MODE="delay_or_duration", PROFILER_SAMPLECONFIG=json.dumps({"result_dir": out, **sample}))

    def test_a_configuration_waits_for_its_delay_and_keeps_the_process(self):
        out, own = self.fresh("out"), self.fresh("own")
        service = self.configured(out, delayTime="1")
        self.until(service.pid, "own")
        self.assertEqual("done", service.tell("work 4"))
        self.assertEqual("100042 100042", service.tell(f"own {own}"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        self.assertEqual(4, self.kernels(path))

    def test_a_configuration_ends_after_its_duration_and_keeps_the_process(self):
        out, own = self.fresh("out"), self.fresh("own")
        service = self.configured(out, durationTime=1)
        self.until(service.pid, "none")
        self.assertEqual("done", service.tell("work 4"))
        self.assertEqual("100042 100042", service.tell(f"own {own}"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        self.assertEqual(0, self.kernels(path))
        window = Profile(path).manifest["window"]
        self.assertGreaterEqual(window["end_monotonic_raw_ns"] - window["begin_monotonic_raw_ns"], 10**9)

    def test_a_configuration_whose_delay_does_not_pass_is_told_of(self):
        out = self.fresh("out")
        service = self.configured(out, delayTime=3600)
        self.assertEqual("waiting", self.state(service.pid))
        self.assertIn("it is recorded already", self.command("-o", out, "--pid", service.pid, "--start", status=1).stderr)
        self.assertIn("it is not recorded", self.command("--pid", service.pid, "--stop", status=1).stderr)
        _, err, status = service.end()
        self.assertEqual((0, []), (status, self.profiles(out)))
        self.assertIn("nothing was recorded for PROFILER_SAMPLECONFIG: the end came before its delay of 3600000 ms", err)

    def test_nothing_begins_while_the_process_ends(self):
        out = self.fresh("out")
        service = self.service(NPUPROF, "record", "-o", out, "--delay", "1h", "--")
        pid = service.pid
        self.assertEqual("waiting", self.state(pid))
        self.assertEqual("ending", service.tell("linger"))
        self.assertEqual("none", self.state(pid))
        self.assertIn("the process ends", self.command("-o", out, "--pid", pid, "--start", status=1).stderr)
        self.assertEqual([], self.profiles(out))
        self.assertIn("the program ended before the delay had passed", service.end()[1])

    def test_a_forked_child_is_not_taken_for_its_parent(self):
        service = self.service()
        child = int(service.tell("fork"))
        self.assertIn("has not used a runtime yet", self.command("--pid", child, "--status").stdout)
        self.command("-o", self.fresh("out"), "--pid", service.pid, "--start")
        self.assertEqual("none", self.state(child))
        self.command("--pid", child, "--stop", status=1)
        self.assertEqual("recording", self.state(service.pid))
        self.command("--pid", service.pid, "--stop")


class Record(RecordTest):
    def recorded(self, *options):
        out = self.fresh("out")
        return self.service(NPUPROF, "record", "-o", out, *options, "--"), out

    def five_in_time(self, option, state):
        """A service that ran five kernels before the time of `option` was over; a busy machine gets more time."""
        for milliseconds in (1500, 6000, 24000):
            service, out = self.recorded(option, f"{milliseconds}ms")
            self.assertEqual("done", service.tell("work 5"))
            if self.state(service.pid) == state:
                return service, out
            service.end()
        self.fail(f"{option} was over before five kernels had run")

    def test_a_delay_leaves_out_the_beginning(self):
        service, out = self.five_in_time("--delay", "waiting")
        self.until(service.pid, "recording")
        self.assertEqual("done", service.tell("work 7"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        self.assertEqual(7, self.kernels(path))

    def test_a_duration_leaves_out_the_end(self):
        service, out = self.five_in_time("--duration", "recording")
        self.until(service.pid, "none")
        self.assertEqual("done", service.tell("work 7"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        self.assertEqual(5, self.kernels(path))

    def test_a_program_that_ends_before_the_delay_is_told_of(self):
        service, out = self.recorded("--delay", "1h")
        self.assertEqual("done", service.tell("work 5"))
        _, err, status = service.end()
        self.assertEqual(0, status)
        self.assertIn("the program ended before the delay had passed", err)
        self.assertEqual([], self.profiles(out))

    def test_a_recorded_program_can_be_stopped_from_outside(self):
        service, out = self.recorded()
        self.assertEqual("done", service.tell("work 5"))
        self.command("--pid", service.pid, "--stop")
        self.assertEqual("done", service.tell("work 7"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        self.assertEqual(5, self.kernels(path))

    def test_events_of_a_list_are_columns(self):
        service, out = self.recorded("--metrics", "Custom:cube_busy_cycles,0x9", "--data-types", "task-time,metrics")
        self.assertEqual("done", service.tell("work 5"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        profile = Profile(path)
        found = rows(profile.export()["output"], "op_summary")
        self.assertEqual(5, len(found))
        for row in found:
            self.assertGreater(int(row["aic_cube_busy_cycles"]) + int(row["aic_scalar_busy_cycles"]), 0, row)
            self.assertNotIn("aic_mac_ratio", row)
        self.assertEqual("Custom:0xa,0x9", profile.metadata("device_0/sample.json")["ai_core_metrics"])

    def test_every_data_type_is_taken(self):
        help_page = self.command("--help").stdout
        names = [line.split()[0] for line in help_page.split("Data types:\n")[1].split("\n\n")[0].splitlines()]
        self.assertEqual(18, len(names), names)
        for name in names:
            with self.subTest(name):
                service = self.service(NPUPROF, "record", "-o", self.fresh(name), "--data-types", name, "--")
                self.assertEqual("done", service.tell("work 1"))
                _, err, status = service.end()
                found = self.profiles(os.path.join(self.dir, name))
                self.assertEqual((0, 1), (status, len(found)), err)
                self.assert_readable(Profile(found[0]))

    def test_settings_reach_the_directory(self):
        service, out = self.recorded("--storage-limit", "300MB", "--memory-freq", "50", "--link-freq", "20", "--dvpp-freq", "10",
                                     "--host", "cpu,mem", "--system", "cpu", "--host-freq", "20")
        self.assertEqual("done", service.tell("work 5"))
        self.assertEqual(0, service.end()[2])
        path, = self.profiles(out)
        profile = Profile(path)
        self.assertEqual(300_000_000, profile.manifest["storage"]["limit_bytes"])
        sampled = {k["kind"] for k in profile.manifest["host"]["kinds"]}
        self.assertLessEqual({"host_cpu", "host_mem", "host_sys_cpu"}, sampled)
        channels = {r["channel"] for r in profile.rings()}
        for channel in ("hbm", "llc", "link", "pcie", "dvpp"):
            self.assertIn(channel, channels)
