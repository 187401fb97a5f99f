// SPDX-License-Identifier: Apache-2.0
#include "session/option_object.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace npuprof {
namespace {

std::optional<RecordRequest> Read(OptionSource source, std::string_view text) {
  std::optional<RecordRequest> request;
  const Result result = ReadOptions(source, text, &request);
  EXPECT_TRUE(result.ok()) << result.text;
  return request;
}

std::string Refused(OptionSource source, std::string_view text) {
  std::optional<RecordRequest> request;
  const Result result = ReadOptions(source, text, &request);
  EXPECT_EQ(result.code, code::kInvalidConfig) << text;
  EXPECT_FALSE(request);
  return result.text;
}

constexpr uint64_t kAlways =
    ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TRAINING_TRACE | kAicpuModel;

TEST(OptionObject, AclJsonHasTheDefaultsOfItsTable) {
  const auto request = Read(OptionSource::kAclJson, R"({"profiler":{"switch":"on"},"other":1})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->wanted.data_types,
            kAlways | ACL_PROF_ACL_API | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  EXPECT_EQ(request->wanted.metrics, ACL_AICORE_PIPE_UTILIZATION);
  EXPECT_TRUE(request->all_devices);
  EXPECT_TRUE(request->settings.All().empty());
  EXPECT_EQ(request->output, DefaultOutput());
  EXPECT_TRUE(Read(OptionSource::kAclJson, R"({"switch":"on","task_time":"l2"})")) << "the object alone";
  EXPECT_FALSE(Read(OptionSource::kAclJson, R"({"profiler":{"switch":"ON"}})"));
  EXPECT_FALSE(Read(OptionSource::kAclJson, R"({"profiler":{}})"));
}

TEST(OptionObject, EachSwitchOfAclJsonIsADataType) {
  const std::pair<const char*, uint64_t> switches[] = {{"aicpu", ACL_PROF_AICPU},
                                                       {"l2", ACL_PROF_L2CACHE},
                                                       {"hccl", ACL_PROF_HCCL_TRACE},
                                                       {"msproftx", ACL_PROF_MSPROFTX},
                                                       {"task_memory", ACL_PROF_TASK_MEMORY}};
  const uint64_t none = Read(OptionSource::kAclJson, R"({"switch":"on"})")->wanted.data_types;
  for (const auto& [key, bit] : switches) {
    const auto request =
        Read(OptionSource::kAclJson, std::string(R"({"switch":"on",")") + key + "\":\"on\"}");
    EXPECT_EQ(request->wanted.data_types, none | bit) << key;
  }
  const auto off =
      Read(OptionSource::kAclJson,
           R"({"switch":"on","ascendcl":"off","task_time":"off","runtime_api":"off","ge_api":"l1"})");
  EXPECT_EQ(off->wanted.data_types,
            ACL_PROF_AICORE_METRICS | ACL_PROF_GE_API_L0 | ACL_PROF_GE_API_L1 | kAicpuModel);
}

TEST(OptionObject, WhatIsNotAllowedIsNamed) {
  EXPECT_EQ(Refused(OptionSource::kAclJson, "[1]"), "the text of acl.json is no JSON object");
  EXPECT_EQ(Refused(OptionSource::kAclJson, R"({"profiler":3})"), "profiler of acl.json is no JSON object");
  EXPECT_EQ(Refused(OptionSource::kAclJson, R"({"switch":"on","hccl":"yes"})"),
            "hccl of acl.json is 'yes'; allowed are on and off");
  EXPECT_EQ(Refused(OptionSource::kAclJson, R"({"switch":"on","instr_profiling_freq":299})"),
            "instr_profiling_freq of acl.json is '299'; allowed are integers from 300 to 30000");
  EXPECT_NE(Refused(OptionSource::kAclJson, R"({"switch":"on","training_trace":"on"})")
                .find("unknown key 'training_trace'"),
            std::string::npos)
      << "that is for GE";
  EXPECT_NE(Refused(OptionSource::kAclJson, std::string((1 << 20) + 1, ' ')).find("at most 1048576"),
            std::string::npos);
  EXPECT_NE(Refused(OptionSource::kAclJson, R"({"switch":"on","output":"a|b"})").find("position 1"),
            std::string::npos);
}

TEST(OptionObject, GeNeedsAnOutputAndHasNoSwitch) {
  unsetenv("ASCEND_WORK_PATH");
  EXPECT_NE(Refused(OptionSource::kGeOptions, "{}").find("output"), std::string::npos);
  EXPECT_NE(
      Refused(OptionSource::kGeOptions, R"({"output":"/x","switch":"on"})").find("unknown key 'switch'"),
      std::string::npos);
  const auto request = Read(OptionSource::kGeOptions,
                            R"({"output":"/x","training_trace":"on","fp_point":"a","bp_point":"b"})");
  EXPECT_EQ(request->output, "/x");
  EXPECT_EQ(request->wanted.data_types, kAlways | ACL_PROF_AICORE_METRICS);
  setenv("ASCEND_WORK_PATH", "/work path", 1);
  EXPECT_EQ(Read(OptionSource::kGeOptions, "{}")->output, "/work path/profiling_data");
  unsetenv("ASCEND_WORK_PATH");
}

TEST(OptionObject, TheSampleConfigTakesIntervalsAndForeignKeys) {
  const auto request =
      Read(OptionSource::kSampleConfig,
           R"({"result_dir":"/x","devices":"0,3","prof_level":"l2","acl":"on","msproftx":"on",
                               "ai_core_profiling":"on","ai_core_metrics":"Memory","io_profiling":"on",
                               "io_sampling_interval":20,"llc_profiling":"write","foreign":"kept out"})");
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->all_devices);
  EXPECT_EQ(request->wanted.devices, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(request->wanted.metrics, ACL_AICORE_MEMORY_BANDWIDTH);
  EXPECT_EQ(request->wanted.data_types,
            kAlways | ACL_PROF_TASK_TIME_L2 | ACL_PROF_ACL_API | ACL_PROF_MSPROFTX | ACL_PROF_AICORE_METRICS);
  EXPECT_EQ(request->settings.Hz(ACL_PROF_SYS_IO_FREQ), 50u);
  EXPECT_EQ(request->settings.Hz(ACL_PROF_SYS_HARDWARE_MEM_FREQ), 50u);
  EXPECT_EQ(request->settings.Text(ACL_PROF_LLC_MODE), "write");
  EXPECT_NE(Refused(OptionSource::kSampleConfig, R"({"devices":"64,65"})").find("65"), std::string::npos);
}

constexpr const char* kSampled =
    R"({"result_dir":"/x","ai_core_profiling":"on","ai_core_profiling_mode":"sample-based",)";

std::optional<RecordRequest> ReadSampled(const std::string& rest) {
  return Read(OptionSource::kSampleConfig, kSampled + rest + "}");
}

TEST(OptionObject, ListsOfEventsAreTakenWhereverAGroupIs) {
  const std::vector<uint16_t> events = {0x8, 0xa, 84};
  for (const auto& [source, text] :
       {std::pair{OptionSource::kAclJson, R"({"switch":"on","aic_metrics":"Custom:0x8,0xa,84"})"},
        {OptionSource::kGeOptions, R"({"output":"/x","aic_metrics":"Custom:0x8,0xa,84"})"},
        {OptionSource::kSampleConfig, R"({"ai_core_profiling":"on","ai_core_metrics":"Custom:0x8,0xa,84"})"},
        {OptionSource::kSampleConfig,
         R"({"ai_core_profiling":"on","ai_core_profiling_events":"0x8,0xa,0x54"})"},
        {OptionSource::kSampleConfig, R"({"aiv_profiling":"on","aiv_metrics":"Custom:0x8,0xa,84"})"}}) {
    const auto request = Read(source, text);
    EXPECT_EQ(request->wanted.events, events) << text;
    EXPECT_TRUE(request->wanted.data_types & ACL_PROF_AICORE_METRICS) << text;
    EXPECT_TRUE(request->notes.empty()) << request->notes[0];
  }
  EXPECT_NE(Refused(OptionSource::kAclJson, R"({"switch":"on","aic_metrics":"Custom:0x8,what"})")
                .find("aic_metrics of acl.json: 'what'"),
            std::string::npos);
  EXPECT_NE(Refused(OptionSource::kSampleConfig,
                    R"({"ai_core_profiling":"on","ai_core_profiling_events":"1,2,3,4,5,6,7,8,9"})")
                .find("at most 8"),
            std::string::npos);
}

TEST(OptionObject, TheSampleConfigChoosesBetweenTasksAndTimes) {
  EXPECT_EQ(ReadSampled(R"("aicore_sampling_interval":20)")->wanted.core_interval_ms, 20u);
  EXPECT_EQ(ReadSampled(R"("ai_core_metrics":"Memory")")->wanted.core_interval_ms, 10u) << "the default";
  EXPECT_EQ(
      Read(
          OptionSource::kSampleConfig,
          R"({"ai_core_profiling":"on","ai_core_profiling_mode":"task-based","aicore_sampling_interval":20})")
          ->wanted.core_interval_ms,
      0u);
  EXPECT_NE(Refused(OptionSource::kSampleConfig, std::string(kSampled) + R"("aicore_sampling_interval":9})")
                .find("aicore_sampling_interval of PROFILER_SAMPLECONFIG is '9'; allowed are integers from "
                      "10 to 1000"),
            std::string::npos);
  EXPECT_NE(
      Refused(OptionSource::kSampleConfig, R"({"ai_core_profiling":"on","ai_core_profiling_mode":"never"})")
          .find("'never'"),
      std::string::npos);
}

TEST(OptionObject, TheSampleConfigSaysWhenItBeginsAndEnds) {
  const auto request = Read(OptionSource::kSampleConfig, R"({"delayTime":"3","durationTime":20})");
  EXPECT_EQ(request->delay, std::chrono::seconds(3));
  EXPECT_EQ(request->duration, std::chrono::seconds(20));
  for (const char* none : {R"({})", R"({"delayTime":"","durationTime":0})"}) {
    EXPECT_EQ(Read(OptionSource::kSampleConfig, none)->delay.count(), 0) << none;
    EXPECT_EQ(Read(OptionSource::kSampleConfig, none)->duration.count(), 0) << none;
  }
  EXPECT_NE(Refused(OptionSource::kSampleConfig, R"({"delayTime":"-1"})").find("1 to 4294967295"),
            std::string::npos);
  EXPECT_NE(Refused(OptionSource::kSampleConfig, R"({"durationTime":"4294967296"})").find("4294967296"),
            std::string::npos);
}

TEST(OptionObject, WhatTheSampleConfigCannotHaveIsNamedWithItsValue) {
  const auto request =
      Read(OptionSource::kSampleConfig,
           R"({"opType":"MatMul","cpu_profiling":"on","sys_profiling":"off","pid_profiling":"",
                                "ai_core_profiling":"on","ai_core_metrics":"Memory","ai_core_profiling_events":"0x1",
                                "aiv_profiling":"on","aiv_metrics":"MemoryUB",
                                "app_dir":"/bin","foreign":"kept out","number":7,"silent":"off","nothing":null})");
  const std::string of = " of PROFILER_SAMPLECONFIG is ";
  EXPECT_EQ(request->notes,
            (std::vector<std::string>{
                "ai_core_profiling_events" + of +
                    "'0x1': not these are counted, but those of ai_core_metrics of "
                    "PROFILER_SAMPLECONFIG",
                "aiv_metrics" + of + "'MemoryUB': all cores count what the keys of ai_core say",
                "opType" + of + "'MatMul': not collected", "cpu_profiling" + of + "'on': not collected",
                "PROFILER_SAMPLECONFIG has keys that mean nothing here: foreign='kept out', number='7'"}));
  EXPECT_EQ(request->wanted.metrics, ACL_AICORE_MEMORY_BANDWIDTH);
  const auto plain = Read(OptionSource::kSampleConfig,
                          R"({"ai_core_profiling":"on","ai_core_metrics":"PipeUtilizationExct",
                              "ai_core_profiling_events":"0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55",
                              "aiv_profiling":"on","aiv_metrics":"PipeUtilization",
                              "aiv_profiling_events":"0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55","jobInfo":"seven"})");
  EXPECT_TRUE(plain->notes.empty()) << plain->notes[0];
  EXPECT_EQ(plain->job, "seven");
  const std::string l2 = "0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d";
  EXPECT_TRUE(Read(OptionSource::kSampleConfig, R"({"l2CacheTaskProfiling":"on","npuEvents":"HA:)" + l2 +
                                                    R"(","l2CacheTaskProfilingEvents":")" + l2 + "\"}")
                  ->notes.empty());
  const auto others = Read(OptionSource::kSampleConfig, R"({"npuEvents":"SMMU:0x2"})");
  ASSERT_EQ(others->notes.size(), 1u);
  EXPECT_NE(others->notes[0].find("npuEvents of PROFILER_SAMPLECONFIG is 'SMMU:0x2'"), std::string::npos);
}

}  // namespace
}  // namespace npuprof
