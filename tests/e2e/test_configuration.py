# SPDX-License-Identifier: Apache-2.0
"""Profiling that is configured by a file or the environment instead of by calls."""
import glob
import json
import os

from harness import ACL_API, HCCL, METRICS, RUNTIME_API, TASK_TIME, ClientTest, Profile

OWNED = {"acl_init": 0, "devices": 2, "init": 100042, "config": 1, "start": 100042, "stop": 100042, "finalize": 100042}
FREE = {"acl_init": 0, "devices": 2, "init": 0, "config": 1, "start": 0, "stop": 0, "finalize": 0}


class Configuration(ClientTest):
    def setUp(self):
        super().setUp()
        self.own = self.fresh("own")
        self.out = os.path.join(self.dir, "made", "out")

    def run_configured(self, config, devices="0,1", tasks=20, **env):
        if isinstance(config, dict):
            path = os.path.join(self.dir, "acl.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(config, f)
            config = path
        done = self.run_client("configured", config, devices, tasks, self.own, **env)
        return json.loads(done.stdout), done.stderr

    def in_own(self):
        return glob.glob(os.path.join(self.own, "PROF_*"))

    def check_tasks(self, profile, device, tasks, allowed=()):
        told = {d["id"]: d["tasks"] for d in profile.manifest["devices"]}
        self.assertEqual((tasks, tasks), (told[device]["started"], told[device]["ended"]))
        counts = self.assert_readable(profile, allowed)["devices"][str(device)]
        self.assertEqual((tasks, tasks, 0), (counts["starts"], counts["ends"], profile.lost()))

    def test_the_profiler_section_of_acl_json_profiles_the_whole_run(self):
        said, _ = self.run_configured({"profiler": {
            "switch": "on", "output": self.out, "hccl": "on", "aic_metrics": "MemoryUB", "storage_limit": "300MB",
            "host_sys": "cpu,mem", "host_sys_usage_freq": 50, "sys_hardware_mem_freq": "100"}})
        self.assertEqual(OWNED, said)
        profile = self.profile_in(self.out)
        self.assertTrue(profile.manifest["complete"])
        for device in (0, 1):
            self.check_tasks(profile, device, 40)
        bits = int(profile.manifest["data_types"], 16)
        wanted = ACL_API | TASK_TIME | METRICS | RUNTIME_API | HCCL
        self.assertEqual(wanted, bits & (wanted | 0x80 | 0x1000))
        self.assertEqual({"ACL_PROF_STORAGE_LIMIT": "300MB", "ACL_PROF_HOST_SYS": "cpu,mem",
                          "ACL_PROF_HOST_SYS_USAGE_FREQ": "50", "ACL_PROF_SYS_HARDWARE_MEM_FREQ": "100"},
                         profile.manifest["settings"])
        self.assertEqual("MemoryUB", profile.metadata("device_0/sample.json")["ai_core_metrics"])
        self.assertEqual([], self.in_own())

    def test_without_output_the_work_path_takes_the_results(self):
        work = self.fresh("work")
        said, _ = self.run_configured({"profiler": {"switch": "on", "task_time": "l0", "ascendcl": "off"}},
                                      ASCEND_WORK_PATH=work)
        self.assertEqual(OWNED, said)
        profile = self.profile_in(os.path.join(work, "profiling_data"))
        self.check_tasks(profile, 0, 40)
        self.assertEqual(0, int(profile.manifest["data_types"], 16) & (ACL_API | TASK_TIME))

    def test_a_switch_that_is_not_on_leaves_profiling_to_the_program(self):
        for config in ({"profiler": {"switch": "off", "output": self.out}}, {"profiler": {"output": self.out}}, {"a": 1}):
            with self.subTest(config):
                said, _ = self.run_configured(config)
                self.assertEqual(FREE, said)
                self.assertFalse(os.path.exists(self.out))
        self.assertEqual(3, len(self.in_own()))

    def test_what_is_not_allowed_is_named_and_ends_acl_init(self):
        for section, words in (({"swich": "on"}, ("unknown key 'swich'", "switch")),
                               ({"task_time": "l9"}, ("task_time", "l9", "l3")),
                               ({"aic_metrics": "Nothing"}, ("aic_metrics", "Nothing", "PipeUtilization")),
                               ({"storage_limit": "50"}, ("storage_limit", "50", "200")),
                               ({"sys_io_sampling_freq": 101}, ("sys_io_sampling_freq", "101", "1 to 100")),
                               ({"l2": 7}, ("l2", "7", "on and off"))):
            with self.subTest(section):
                said, errors = self.run_configured({"profiler": {"switch": "on", "output": self.out, **section}})
                self.assertEqual({"acl_init": 100000}, said)
                for word in words:
                    self.assertIn(word, errors)
                self.assertFalse(os.path.exists(self.out))

    def test_the_sample_config_comes_before_acl_json(self):
        sample = {"result_dir": self.out, "devices": "1", "taskTime": "on", "prof_level": "l0", "acl": "on",
                  "ai_core_profiling": "off", "hbm_profiling_events": "read,write",
                  "hardware_mem_sampling_interval": 20000, "storageLimit": "400MB"}
        said, _ = self.run_configured({"profiler": {"switch": "on", "output": os.path.join(self.dir, "json")}},
                                      PROFILER_SAMPLECONFIG=json.dumps(sample))
        self.assertEqual(OWNED, said)
        profile = self.profile_in(self.out)
        self.assertEqual([1], [d["id"] for d in profile.manifest["devices"]])
        self.check_tasks(profile, 1, 40, allowed=("ids",))  # the host tells of tasks on device 0 too
        self.assertEqual({"ACL_PROF_STORAGE_LIMIT": "400MB", "ACL_PROF_SYS_HARDWARE_MEM_FREQ": "50"},
                         profile.manifest["settings"])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "json")))

    def test_what_comes_too_late_is_in_the_manifest(self):
        _, errors = self.run_configured({"profiler": {"switch": "on", "output": os.path.join(self.dir, "json")}},
                                        PROFILER_SAMPLECONFIG=json.dumps({"result_dir": self.out}))
        text = "acl.json is not looked at: this process is profiled by PROFILER_SAMPLECONFIG"
        self.assertIn(text, errors)
        self.assertIn(text, [m["text"] for m in self.profile_in(self.out).manifest["messages"]])

    def test_events_of_a_list_are_counted(self):
        for name, config, sample in (("acl", {"profiler": {"switch": "on", "output": self.out, "aic_metrics": "Custom:0x8,10"}}, {}),
                                     ("sample", "-", {"result_dir": self.out, "ai_core_profiling": "on",
                                                      "ai_core_profiling_events": "0x8,0xa"})):
            with self.subTest(name):
                self.out = os.path.join(self.dir, name)
                config = json.loads(json.dumps(config).replace(os.path.join(self.dir, "made", "out"), self.out))
                env = {"PROFILER_SAMPLECONFIG": json.dumps({**sample, "result_dir": self.out})} if sample else {}
                said, _ = self.run_configured(config, devices="0", **env)
                self.assertEqual(OWNED, said)
                profile = self.profile_in(self.out)
                self.assertEqual("Custom:0x8,0xa", profile.metadata("device_0/sample.json")["ai_core_metrics"])
                self.assertEqual(40, self.assert_readable(profile, ("pmu-gate",))["devices"]["0"]["context_pmu"])

    def test_the_sample_config_samples_cores(self):
        sample = {"result_dir": self.out, "taskTime": "off", "ai_core_profiling": "on",
                  "ai_core_profiling_mode": "sample-based", "aicore_sampling_interval": 20, "ai_core_metrics": "Memory",
                  "opType": "MatMul", "delayTime": "0"}
        said, errors = self.run_configured("-", devices="0", PROFILER_SAMPLECONFIG=json.dumps(sample))
        self.assertEqual(OWNED, said)
        profile = self.profile_in(self.out)
        self.assert_readable(profile)
        told = profile.metadata("device_0/sample.json")
        self.assertEqual(("sample-based", 20, "Memory"),
                         (told["ai_core_profiling_mode"], told["aicore_sampling_interval"], told["ai_core_metrics"]))
        self.assertEqual(24 + 48, len(profile.rings("core_sample")))
        text = "opType of PROFILER_SAMPLECONFIG is 'MatMul': not collected"
        self.assertIn(text, errors)
        self.assertIn(text, [m["text"] for m in profile.manifest["messages"]])

    def test_in_dynamic_mode_nothing_but_attaching_profiles(self):
        said, errors = self.run_configured(
            {"profiler": {"switch": "on", "output": self.out}}, PROFILING_MODE="dynamic",
            PROFILER_SAMPLECONFIG=json.dumps({"result_dir": self.out}))
        self.assertEqual({**OWNED, "init": 200006}, said)
        for name in ("acl.json", "PROFILER_SAMPLECONFIG"):
            self.assertIn(f"{name} is not looked at: this process is profiled by whoever attaches to it", errors)
        self.assertEqual(([], False), (self.in_own(), os.path.exists(self.out)))
        _, errors = self.run_configured("-", PROFILING_MODE="dynamic", NPUPROF_ATTACH="off")
        self.assertIn("nobody can attach", errors)

    def test_a_mode_that_is_none_is_named_and_changes_nothing(self):
        said, errors = self.run_configured("-", PROFILING_MODE="Dynamic")
        self.assertEqual(FREE, said)
        self.assertIn('PROFILING_MODE is "Dynamic"; allowed are dynamic and delay_or_duration', errors)
        said, errors = self.run_configured("-", PROFILING_MODE="delay_or_duration")
        self.assertEqual(FREE, said)
        self.assertIn("PROFILER_SAMPLECONFIG, which would say what is profiled and when, is not set", errors)

    def test_ids_in_calls_are_the_programs_and_in_files_the_drivers(self):
        for visible, devices, drivers in (("1", "0", [1]), ("3,1", "0,1", [3, 1]), ("2,0,9,1", "1", [0])):
            with self.subTest(visible):
                own = self.own = self.fresh(f"own{visible}")
                said, errors = self.run_configured("-", devices=devices, NPUSIM_DEVICES=4, ASCEND_RT_VISIBLE_DEVICES=visible)
                self.assertEqual({**FREE, "devices": len(visible.split(",")) if "9" not in visible else 2}, said)
                self.assertEqual("9" in visible, "ASCEND_RT_VISIBLE_DEVICES" in errors, errors)
                profile = self.profile_in(own)
                self.assertEqual(sorted(drivers), sorted(d["id"] for d in profile.manifest["devices"]))
                for device in drivers:
                    self.check_tasks(profile, device, 20)
                    self.assertEqual(str(device), profile.metadata(f"device_{device}/info.json.{device}")["devices"])

    def test_a_configuration_of_a_device_that_is_hidden_is_refused(self):
        done = self.run_client("configured", "-", "1", 1, self.own, status=1, NPUSIM_DEVICES=4, ASCEND_RT_VISIBLE_DEVICES="3")
        self.assertIn("device 1 does not exist, allowed are 0 to 0", done.stderr)
        said, errors = self.run_configured("-", ASCEND_RT_VISIBLE_DEVICES="none")
        self.assertEqual({**FREE, "devices": 0, "config": 0, "start": 100000}, said)
        self.assertIn('ASCEND_RT_VISIBLE_DEVICES is "none"; allowed are different ids from 0 to 1', errors)
        self.assertIn('ASCEND_RT_VISIBLE_DEVICES is "none", which shows none of devices 0 to 1', errors)

    def test_a_program_without_acl_init_is_profiled_from_its_first_device_on(self):
        said, _ = self.run_configured("never", devices="1", PROFILER_SAMPLECONFIG=json.dumps(
            {"result_dir": self.out, "taskTime": "on"}))
        self.assertEqual(OWNED, said)
        self.check_tasks(Profile(glob.glob(os.path.join(self.out, "PROF_*"))[0]), 1, 40)
