// SPDX-License-Identifier: Apache-2.0
#include "session/plan.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "session/record_request.h"

namespace npuprof {
namespace {

Plan MustPlan(uint64_t types, int metrics, const Settings& settings = {}) {
  Plan plan;
  const Result result = MakePlan({{0}, metrics, CompleteDataTypes(types)}, settings, &plan);
  EXPECT_TRUE(result.ok()) << result.text;
  return plan;
}

TEST(Plan, TaskTimesNeedTheTaskRingsAndCountersTheirEvents) {
  Plan plan = MustPlan(ACL_PROF_ACL_API, ACL_AICORE_PIPE_UTILIZATION);
  EXPECT_FALSE(plan.tasks);
  EXPECT_FALSE(plan.counters);
  plan = MustPlan(ACL_PROF_TASK_TIME_L0, ACL_AICORE_PIPE_UTILIZATION);
  EXPECT_TRUE(plan.tasks && plan.track);
  EXPECT_FALSE(plan.counters || plan.aicpu || plan.l2);
  plan = MustPlan(ACL_PROF_AICORE_METRICS, ACL_AICORE_PIPE_UTILIZATION);
  EXPECT_TRUE(plan.tasks);
  EXPECT_TRUE(plan.counters);
  EXPECT_EQ(JoinEvents(plan.cube_events), "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55");
  EXPECT_EQ(JoinEvents(plan.vector_events), "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55");
  EXPECT_EQ(plan.sample.cube_metrics, "PipeUtilizationExct");
  EXPECT_EQ(plan.sample.vector_metrics, "PipeUtilization");
  EXPECT_TRUE(plan.sample.cube && plan.sample.vector);
}

TEST(Plan, CoresAreSampledByGroupAndByListOfEvents) {
  for (const std::vector<uint16_t>& events : {std::vector<uint16_t>{}, std::vector<uint16_t>{0x8, 0xa}}) {
    Wanted wanted{{0}, ACL_AICORE_PIPE_UTILIZATION, ACL_PROF_AICORE_METRICS, events, 20};
    Plan plan;
    ASSERT_TRUE(MakePlan(wanted, Settings(), &plan).ok());
    EXPECT_EQ(plan.core_period, std::chrono::milliseconds(20));
    EXPECT_TRUE(plan.counters && plan.sample.sample_based);
    EXPECT_FALSE(plan.tasks) << "nobody asked for them";
    EXPECT_EQ(plan.sample.cube_interval_ms, 20u);
    EXPECT_EQ(plan.sample.vector_interval_ms, 20u);
    setenv("NPUPROF_CORE_SAMPLE_HZ", "4", 1);
    plan = {};
    ASSERT_TRUE(MakePlan(wanted, Settings(), &plan).ok());
    EXPECT_EQ(plan.core_period, std::chrono::milliseconds(250)) << "the environment comes first";
    setenv("NPUPROF_CORE_SAMPLE_HZ", "0", 1);
    plan = {};
    ASSERT_TRUE(MakePlan(wanted, Settings(), &plan).ok());
    EXPECT_EQ(plan.core_period, std::chrono::milliseconds(20));
    ASSERT_EQ(plan.not_collected.size(), 1u);
    EXPECT_NE(plan.not_collected[0].find("every 20 ms"), std::string::npos) << plan.not_collected[0];
    unsetenv("NPUPROF_CORE_SAMPLE_HZ");
  }
}

TEST(Plan, TheGroupMattersOnlyWithItsBit) {
  Plan plan;
  const Settings none;
  EXPECT_EQ(MakePlan({{0}, 99, ACL_PROF_TASK_TIME}, none, &plan).code, 0);
  EXPECT_EQ(MakePlan({{0}, 7, ACL_PROF_AICORE_METRICS}, none, &plan).code, 100000);
  EXPECT_EQ(MakePlan({{0}, -1, ACL_PROF_AICORE_METRICS}, none, &plan).code, 100000);
  EXPECT_EQ(MakePlan({{0}, 0xff, ACL_PROF_AICORE_METRICS}, none, &plan).code, 0);
  EXPECT_FALSE(plan.counters);
  const Result refused = MakePlan({{0}, 7, ACL_PROF_AICORE_METRICS}, none, &plan);
  EXPECT_NE(refused.text.find("counter group 7"), std::string::npos);
  EXPECT_NE(refused.text.find("8 (MemoryAccess)"), std::string::npos) << refused.text;
}

TEST(Plan, LevelFollowsTheDeepestTaskTime) {
  EXPECT_EQ(MustPlan(0x800, 255).sample.level, "l0");
  EXPECT_EQ(MustPlan(0x2, 255).sample.level, "l1");
  EXPECT_EQ(MustPlan(0x2000, 255).sample.level, "l2");
  EXPECT_EQ(MustPlan(0x8000, 255).sample.level, "l3");
}

TEST(Plan, SettingsChooseSamplersAndTheRestIsNamed) {
  Settings settings;
  ASSERT_TRUE(settings.Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_LLC_MODE, "write").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_HOST_SYS, "mem,cpu,disk,numa").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_HOST_SYS_USAGE_FREQ, "10").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_DVPP_FREQ, "10").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_STORAGE_LIMIT, "200MB").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_SYS_MEM_SERVICEFLOW, "peers,any,cores,peers").ok());
  ASSERT_TRUE(settings.Set(ACL_PROF_SYS_INTERCONNECTION_FREQ, "50").ok());
  const Plan plan = MustPlan(ACL_PROF_L2CACHE, 255, settings);
  EXPECT_EQ(plan.memory_period, std::chrono::milliseconds(20));
  EXPECT_TRUE(plan.llc_write);
  EXPECT_EQ(plan.sample.llc, "write");
  EXPECT_EQ(plan.sample.hbm_events, "read,write");
  EXPECT_EQ(plan.samples, (std::vector{host::Sample::kProcessCpu, host::Sample::kProcessMemory,
                                       host::Sample::kProcessDisk}));
  EXPECT_EQ(plan.sample.host_disk_hz, 10u);
  EXPECT_EQ(plan.flows, (std::vector<uint32_t>{3, 0}));
  EXPECT_EQ(plan.sample.qos_events, "peers,cores");
  EXPECT_EQ(plan.flow_period, std::chrono::milliseconds(20));
  EXPECT_EQ(plan.media_period, std::chrono::milliseconds(100));
  EXPECT_EQ(plan.link_period, std::chrono::milliseconds(20));
  EXPECT_EQ(plan.network_period.count(), 0);
  EXPECT_TRUE(plan.l2);
  EXPECT_EQ(plan.sample.npu_events, "HA:0xf6,0xfb,0xfc,0xbf,0x90,0x91,0x9c,0x9d");
  EXPECT_EQ(plan.sample.l2_events.size(), 8u);
  EXPECT_EQ(plan.host_period, std::chrono::milliseconds(100));
  std::string named;
  for (const auto& text : plan.not_collected) named += text + '\n';
  for (const char* wanted :
       {"numa", "no DDR", "there is no flow 'any'; there are cores, copies, host, peers, network"}) {
    EXPECT_NE(named.find(wanted), std::string::npos) << wanted << " is not in:\n" << named;
  }
  EXPECT_TRUE(MustPlan(ACL_PROF_TASK_TIME, 255).not_collected.empty());
}

TEST(Plan, FlowsWithoutAFrequencyAreSampledFiftyTimesASecond) {
  Settings settings;
  ASSERT_TRUE(settings.Set(ACL_PROF_SYS_MEM_SERVICEFLOW, "host").ok());
  const Plan plan = MustPlan(ACL_PROF_TASK_TIME, 255, settings);
  EXPECT_EQ(plan.flows, std::vector<uint32_t>{2});
  EXPECT_EQ(plan.flow_period, std::chrono::milliseconds(20));
  EXPECT_EQ(plan.memory_period.count(), 0);
}

TEST(Plan, CoresAreSampledIfTheEnvironmentSaysSo) {
  for (const auto& [hz, ms] : {std::pair{"100", 10u}, {"3", 333u}}) {
    setenv("NPUPROF_CORE_SAMPLE_HZ", hz, 1);
    const Plan plan = MustPlan(ACL_PROF_AICORE_METRICS, 1);
    EXPECT_TRUE(plan.counters);
    EXPECT_FALSE(plan.tasks) << "samples need no tasks";
    EXPECT_TRUE(plan.sample.sample_based);
    EXPECT_EQ(plan.sample.cube_interval_ms, ms);
    EXPECT_EQ(plan.core_period.count(), 1'000'000'000 / std::atoi(hz));
    EXPECT_EQ(MustPlan(ACL_PROF_TASK_TIME, 1).core_period.count(), 0) << "there is nothing to sample";
  }
  setenv("NPUPROF_CORE_SAMPLE_HZ", "101", 1);
  const Plan plan = MustPlan(ACL_PROF_AICORE_METRICS, 1);
  EXPECT_EQ(plan.core_period.count(), 0);
  EXPECT_TRUE(plan.tasks);
  EXPECT_EQ(plan.not_collected,
            std::vector<std::string>{"NPUPROF_CORE_SAMPLE_HZ is \"101\"; allowed is a whole number from "
                                     "1 to 100; taken is counting by task"});
  unsetenv("NPUPROF_CORE_SAMPLE_HZ");
}

TEST(Plan, StorageLimitIsTheSmallerOfSettingAndEnvironment) {
  std::vector<std::string> warnings;
  Settings settings;
  EXPECT_EQ(StorageLimit(settings, &warnings), 0u);
  setenv("NPUPROF_STORAGE_MB", "300", 1);
  EXPECT_EQ(StorageLimit(settings, &warnings), 300'000'000u);
  ASSERT_TRUE(settings.Set(ACL_PROF_STORAGE_LIMIT, "200MB").ok());
  EXPECT_EQ(StorageLimit(settings, &warnings), 200'000'000u);
  setenv("NPUPROF_STORAGE_MB", "50", 1);
  EXPECT_EQ(StorageLimit(settings, &warnings), 50'000'000u);
  EXPECT_TRUE(warnings.empty());
  setenv("NPUPROF_STORAGE_MB", "15", 1);
  EXPECT_EQ(StorageLimit(settings, &warnings), 200'000'000u);
  EXPECT_EQ(warnings,
            std::vector<std::string>{"NPUPROF_STORAGE_MB is \"15\"; allowed is a whole number from 16 to "
                                     "4294967296; taken is 200"});
  unsetenv("NPUPROF_STORAGE_MB");
}

TEST(Plan, EachDataTypeTurnsOnItsRingsAndNoOthers) {
  struct Row {
    uint64_t types;
    bool tasks, track, aicpu, l2;
  };
  const Row rows[] = {{ACL_PROF_ACL_API, false, false, false, false},
                      {ACL_PROF_TASK_TIME, true, true, false, false},
                      {ACL_PROF_AICPU, false, false, true, false},
                      {ACL_PROF_L2CACHE, false, false, false, true},
                      {ACL_PROF_HCCL_TRACE, false, false, false, false},
                      {ACL_PROF_TRAINING_TRACE, false, true, false, false},
                      {ACL_PROF_MSPROFTX, false, true, false, false},
                      {ACL_PROF_RUNTIME_API, false, false, false, false},
                      {ACL_PROF_TASK_TIME_L0, true, true, false, false},
                      {ACL_PROF_TASK_MEMORY, false, false, false, false},
                      {ACL_PROF_OP_ATTR, true, true, false, false},
                      {ACL_PROF_API_STATS | ACL_PROF_TASK_TIME, false, false, false, false}};
  for (const Row& row : rows) {
    const Plan plan = MustPlan(row.types, ACL_AICORE_PIPE_UTILIZATION);
    EXPECT_EQ(plan.tasks, row.tasks) << Hex(row.types);
    EXPECT_EQ(plan.track, row.track) << Hex(row.types);
    EXPECT_EQ(plan.aicpu, row.aicpu) << Hex(row.types);
    EXPECT_EQ(plan.l2, row.l2) << Hex(row.types);
    EXPECT_FALSE(plan.counters) << Hex(row.types);
    EXPECT_EQ(plan.memory_period.count() + plan.network_period.count() + plan.link_period.count() +
                  plan.media_period.count(),
              0)
        << Hex(row.types);
  }
}

TEST(Plan, NetworkDataAreForMachinesOnly) {
  Settings settings;
  ASSERT_TRUE(settings.Set(ACL_PROF_SYS_IO_FREQ, "100").ok());
  setenv("NPUPROF_CONTAINER", "no", 1);
  Plan plan = MustPlan(ACL_PROF_ACL_API, 255, settings);
  EXPECT_EQ(plan.network_period, std::chrono::milliseconds(10));
  EXPECT_TRUE(plan.not_collected.empty());
  setenv("NPUPROF_CONTAINER", "yes", 1);
  plan = MustPlan(ACL_PROF_ACL_API, 255, settings);
  setenv("NPUPROF_CONTAINER", "perhaps", 1);
  const Plan odd = MustPlan(ACL_PROF_ACL_API, 255);
  ASSERT_EQ(odd.not_collected.size(), 1u);
  EXPECT_EQ(odd.not_collected[0],
            "NPUPROF_CONTAINER is 'perhaps'; allowed are auto, yes and no; taken is auto");
  unsetenv("NPUPROF_CONTAINER");
  EXPECT_EQ(plan.network_period.count(), 0);
  ASSERT_EQ(plan.not_collected.size(), 1u);
  EXPECT_NE(plan.not_collected[0].find("not collected in a container"), std::string::npos)
      << plan.not_collected[0];
}

TEST(Plan, RingSizesFromTheEnvironmentAreChecked) {
  const std::pair<const char*, uint32_t> cases[] = {{"16", 16}, {"1024", 1024}, {"4194304", 4194304},
                                                    {"8", 0},   {"1000", 0},    {"x", 0},
                                                    {"16x", 0}, {"8388608", 0}};
  for (const auto& [text, slots] : cases) {
    std::vector<std::string> warnings;
    setenv("NPUPROF_RING_RECORDS", text, 1);
    EXPECT_EQ(TaskRingSlots(&warnings).value_or(0), slots) << text;
    ASSERT_EQ(warnings.size(), slots == 0 ? 1u : 0u) << text;
    if (slots == 0) {
      EXPECT_NE(warnings[0].find(text), std::string::npos) << warnings[0];
      EXPECT_NE(warnings[0].find("from 16 to 4194304; taken is the default"), std::string::npos)
          << warnings[0];
    }
  }
  unsetenv("NPUPROF_RING_RECORDS");
  std::vector<std::string> warnings;
  EXPECT_FALSE(TaskRingSlots(&warnings).has_value());
  EXPECT_TRUE(warnings.empty());
}

TEST(Plan, NumbersOfTheEnvironmentAreDigitsAlone) {
  for (const char* text : {"+5", " 5", "5 ", "0x5", "5.0", "1e2", "-1", "99999999999999999999999"}) {
    std::vector<std::string> warnings;
    setenv("NPUPROF_HOST_RING_MB", text, 1);
    EXPECT_EQ(HostRingBytes(&warnings), size_t{64} << 20) << text;
    EXPECT_EQ(warnings.size(), 1u) << text;
  }
  unsetenv("NPUPROF_HOST_RING_MB");
}

class RecordRequestTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"DIR", "TYPES", "METRICS", "DEVICES", "HOST", "SETTINGS", "DELAY_MS", "DURATION_MS", "NOTES"}) {
      unsetenv((std::string("NPUPROF_RECORD_") + name).c_str());
    }
  }
  void Set(const char* name, const char* value) {
    setenv((std::string("NPUPROF_RECORD_") + name).c_str(), value, 1);
  }
  Result Read() { return ReadRecordRequest(&request_); }
  std::optional<RecordRequest> request_;
};

TEST_F(RecordRequestTest, NothingIsAskedForWithoutADirectory) {
  Set("TYPES", "0x7");
  EXPECT_TRUE(Read().ok());
  EXPECT_FALSE(request_.has_value());
}

TEST_F(RecordRequestTest, DefaultsAndAllVariables) {
  Set("DIR", "/tmp/out");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(request_->output, "/tmp/out");
  EXPECT_EQ(request_->wanted.data_types, CompleteDataTypes(0x7));
  EXPECT_EQ(request_->wanted.metrics, 1);
  EXPECT_TRUE(request_->all_devices);
  Set("TYPES", "0x801");
  Set("METRICS", "Memory");
  Set("DEVICES", "0,3");
  Set("HOST", "cpu");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(request_->wanted.data_types, CompleteDataTypes(0x801));
  EXPECT_EQ(request_->wanted.metrics, 2);
  EXPECT_FALSE(request_->all_devices);
  EXPECT_EQ(request_->wanted.devices, (std::vector<uint32_t>{0, 3}));
  EXPECT_TRUE(request_->settings.Has(ACL_PROF_HOST_SYS, "cpu"));
  EXPECT_EQ(request_->delay.count(), 0);
  EXPECT_EQ(request_->duration.count(), 0);
  Set("SETTINGS", "ACL_PROF_STORAGE_LIMIT=300MB;ACL_PROF_DVPP_FREQ=7");
  Set("METRICS", "Custom:0x8,icache_misses");
  Set("DELAY_MS", "1500");
  Set("DURATION_MS", "4294967295000");
  Set("NOTES", "/tmp/notes");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(request_->settings.StorageLimitMb(), 300u);
  EXPECT_EQ(request_->settings.Hz(ACL_PROF_DVPP_FREQ), 7u);
  EXPECT_EQ(request_->wanted.events, (std::vector<uint16_t>{0x8, 0x55}));
  EXPECT_EQ(request_->delay.count(), 1500);
  EXPECT_EQ(request_->duration.count(), 4294967295000);
  EXPECT_EQ(request_->notes_file, "/tmp/notes");
}

TEST_F(RecordRequestTest, EventsAreCountedOnEveryCoreInsteadOfAGroup) {
  Set("DIR", "/tmp/out");
  Set("METRICS", "Custom:0x9,0x55");
  ASSERT_TRUE(Read().ok());
  Plan plan;
  ASSERT_TRUE(MakePlan(request_->wanted, request_->settings, &plan).ok());
  EXPECT_EQ(plan.cube_events, (std::vector<uint16_t>{0x9, 0x55}));
  EXPECT_EQ(plan.vector_events, plan.cube_events);
  EXPECT_EQ(plan.sample.cube_metrics, "Custom:0x9,0x55");
  request_->wanted.data_types = ACL_PROF_TASK_TIME;
  Plan without;
  ASSERT_TRUE(MakePlan(request_->wanted, request_->settings, &without).ok());
  EXPECT_FALSE(without.counters);
}

TEST_F(RecordRequestTest, AnUnknownGroupIsNamedWithTheKnownOnes) {
  Set("DIR", "/tmp/out");
  Set("METRICS", "PipelineExecuteUtilization");
  const Result result = Read();
  EXPECT_NE(result.text.find("'PipelineExecuteUtilization'"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("ArithmeticUtilization, PipeUtilization"), std::string::npos) << result.text;
}

TEST_F(RecordRequestTest, WhatIsNotUnderstoodIsRefused) {
  const std::pair<const char*, const char*> cases[] = {{"TYPES", "x"},
                                                       {"TYPES", "0x7z"},
                                                       {"TYPES", "0x10000"},
                                                       {"METRICS", "Z"},
                                                       {"DEVICES", "0,,1"},
                                                       {"DEVICES", "64"},
                                                       {"DEVICES", "-1"},
                                                       {"HOST", "gpu"},
                                                       {"METRICS", "Custom:"},
                                                       {"METRICS", "Custom:1,2,3,4,5,6,7,8,9"},
                                                       {"DELAY_MS", "0"},
                                                       {"DELAY_MS", "1s"},
                                                       {"DURATION_MS", "4294967295001"},
                                                       {"SETTINGS", "x=1"},
                                                       {"SETTINGS", "ACL_PROF_DVPP_FREQ"},
                                                       {"SETTINGS", "ACL_PROF_DVPP_FREQ=0"},
                                                       {"SETTINGS", "ACL_PROF_PATH=/tmp"},
                                                       {"SETTINGS", "unknown setting=1"}};
  for (const auto& [name, value] : cases) {
    Set("DIR", "/tmp/out");
    Set(name, value);
    EXPECT_FALSE(Read().ok()) << name << '=' << value;
    EXPECT_FALSE(request_.has_value());
    TearDown();
  }
}

}  // namespace
}  // namespace npuprof
