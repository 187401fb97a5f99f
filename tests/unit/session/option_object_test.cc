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

}  // namespace
}  // namespace npuprof
