// SPDX-License-Identifier: Apache-2.0
// Every key and type that readers of the directory insist on. A missing one makes them export nothing.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support.h"
#include "trace/metadata.h"

namespace npuprof::trace {
namespace {

using drain::ReadFile;
using nlohmann::json;

TEST(HostFactsTest, CpusAreThoseThatTheProcessMayRunOn) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const uint32_t cpus = HostFacts::Probe().cpus;
  EXPECT_GE(cpus, 1u);
  EXPECT_LE(cpus, static_cast<uint32_t>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(HostFacts::Probe().cpus, 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

class MetadataTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ProfDirectory::Create(dir_.path(), 1, &prof_).ok());
    ASSERT_TRUE(prof_.AddDevice(2).ok());
    host_ = HostFacts::Probe();
    host_.cycle_mhz = 2449.998712;
    host_.cann_version = "9.0.0";
    device_.id = 2;
  }
  // One line, parsed, with its .done beside it.
  json Load(const std::string& path) {
    const std::string text = ReadFile(path);
    EXPECT_EQ(text.find('\n'), std::string::npos) << path;
    EXPECT_EQ(ReadFile(path + ".done"), fmt::format("filesize:{}\n", text.size()));
    return json::parse(text);
  }
  static void ExpectStrings(const json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) EXPECT_TRUE(object.contains(key) && object[key].is_string()) << key;
  }
  static void ExpectIntegers(const json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) EXPECT_TRUE(object.contains(key) && object[key].is_number_integer()) << key;
  }

  drain::TempDir dir_;
  ProfDirectory prof_;
  HostFacts host_;
  DeviceFacts device_;
};

TEST_F(MetadataTest, InfoOfTheHost) {
  ASSERT_TRUE(WriteInfo(prof_, host_, std::nullopt).ok());
  const json info = Load(prof_.host() + "/info.json");
  ExpectStrings(info, {"platform_version", "devices", "pid", "pid_name", "hostname", "version", "cannVersion",
                       "hwtype", "OS", "upTime", "jobInfo", "hostUid", "platform"});
  ExpectIntegers(
      info, {"drvVersion", "memoryTotal", "cpuNums", "sysClockFreq", "cpuCores", "netCardNums", "rank_id"});
  EXPECT_EQ(info["devices"], "64");
  EXPECT_EQ(info["platform_version"], "5");
  EXPECT_EQ(info["version"], "1.0");
  EXPECT_EQ(info["pid"], std::to_string(getpid()));
  EXPECT_GE(info["drvVersion"], 467473);
  EXPECT_GT(info["memoryTotal"], 1000);
  EXPECT_EQ(info["rank_id"], -1);
  EXPECT_TRUE(info["DeviceInfo"].is_array() && info["DeviceInfo"].empty())
      << "emptiness marks a host directory";
  EXPECT_TRUE(info["netCard"].is_array());
  EXPECT_EQ(info["netCardNums"], info["netCard"].size());
  ASSERT_EQ(info["CPU"].size(), 1u);
  EXPECT_EQ(info["CPU"][0]["Frequency"], "2449.998712000");
}

TEST_F(MetadataTest, InfoOfADevice) {
  device_.clock_mhz = 50;
  ASSERT_TRUE(WriteInfo(prof_, host_, device_).ok());
  const json info = Load(prof_.device(2) + "/info.json.2");
  EXPECT_EQ(info["devices"], "2");
  ExpectStrings(info, {"platform_version", "pid", "hostname"});
  ASSERT_EQ(info["DeviceInfo"].size(), 1u);
  const json& device = info["DeviceInfo"][0];
  ExpectStrings(device, {"hwts_frequency", "aic_frequency", "aiv_frequency", "ctrl_cpu", "ai_cpu"});
  ExpectIntegers(device, {"id", "ai_core_num", "aiv_num", "ai_cpu_core_num"});
  EXPECT_EQ(device["hwts_frequency"], "50.000000");
  EXPECT_EQ(device["aic_frequency"], "1800") << "an integer in text";
  EXPECT_EQ(device["ai_cpu"], "1,2,3,4,5,6");
  EXPECT_EQ(device["ai_core_num"], 24);
  EXPECT_EQ(device["aiv_num"], 48);
}

TEST_F(MetadataTest, CountersInNanosecondsHaveNoFrequency) {
  host_.cycle_mhz = 0;
  ASSERT_TRUE(WriteInfo(prof_, host_, std::nullopt).ok());
  EXPECT_EQ(Load(prof_.host() + "/info.json")["CPU"][0]["Frequency"], "");
}

TEST_F(MetadataTest, StrangeBytesInNamesStayOneLineOfJson) {
  host_.hostname = "a\nb\"\xff";
  ASSERT_TRUE(WriteInfo(prof_, host_, std::nullopt).ok());
  EXPECT_EQ(Load(prof_.host() + "/info.json")["hostname"], "a\nb\"\xef\xbf\xbd");
}

TEST_F(MetadataTest, SampleHasAllKeysEvenWhenEverythingIsOff) {
  ASSERT_TRUE(WriteSample(prof_, SampleFacts{}, std::nullopt).ok());
  ASSERT_TRUE(WriteSample(prof_, SampleFacts{}, 2).ok());
  const json host = Load(prof_.host() + "/sample.json");
  const json device = Load(prof_.device(2) + "/sample.json");
  for (const json& sample : {host, device}) {
    ExpectStrings(sample,
                  {"devices", "ai_core_profiling", "ai_core_profiling_mode", "ai_core_metrics",
                   "ai_core_profiling_events", "aiv_profiling", "aiv_profiling_mode", "aiv_metrics",
                   "aiv_profiling_events", "llc_profiling", "hbm_profiling_events", "ddr_profiling_events",
                   "l2CacheTaskProfilingEvents", "npuEvents", "qosEvents", "prof_level", "profLevel"});
    ExpectIntegers(sample, {"aicore_sampling_interval", "aiv_sampling_interval", "host_sys_pid"});
    EXPECT_EQ(sample["ai_core_profiling"], "off");
    EXPECT_EQ(sample["ai_core_profiling_mode"], "task-based");
  }
  EXPECT_EQ(host["devices"], "64");
  EXPECT_EQ(device["devices"], "2");
}

TEST_F(MetadataTest, SampleListsEventsInOrder) {
  SampleFacts sample;
  sample.cube = sample.vector = true;
  sample.cube_metrics = "PipeUtilizationExct";
  sample.cube_events = {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55};
  sample.vector_metrics = "PipeUtilization";
  sample.vector_events = {0x8, 0xa};
  ASSERT_TRUE(WriteSample(prof_, sample, 2).ok());
  const json loaded = Load(prof_.device(2) + "/sample.json");
  EXPECT_EQ(loaded["ai_core_profiling"], "on");
  EXPECT_EQ(loaded["ai_core_profiling_events"], "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55");
  EXPECT_EQ(loaded["aiv_profiling_events"], "0x8,0xa");
}

TEST_F(MetadataTest, StartAndEndAreStringsOfMicrosecondsAndNanoseconds) {
  setenv("TZ", "UTC", 1);
  const Instant instant{1767225600000123, 1000000000456};
  ASSERT_TRUE(WriteStartInfo(prof_, instant, std::nullopt).ok());
  ASSERT_TRUE(WriteEndInfo(prof_, instant, 2).ok());
  const json start = Load(prof_.host() + "/start_info");
  EXPECT_EQ(start["collectionTimeBegin"], "1767225600000123");
  EXPECT_EQ(start["collectionDateBegin"], "2026-01-01 00:00:00.000123");
  EXPECT_EQ(start["clockMonotonicRaw"], "1000000000456");
  EXPECT_EQ(start["collectionTimeEnd"], "");
  const json end = Load(prof_.device(2) + "/end_info.2");
  EXPECT_EQ(end["collectionTimeEnd"], "1767225600000123");
  EXPECT_EQ(end["collectionTimeBegin"], "");
}

TEST_F(MetadataTest, StartLogs) {
  ASSERT_TRUE(WriteHostStart(prof_, {1000, 2000}, std::nullopt).ok());
  ASSERT_TRUE(WriteHostStart(prof_, {1000, 2000}, 2).ok());
  ASSERT_TRUE(WriteDeviceStart(prof_, 2, 3000, 4000).ok());
  EXPECT_EQ(ReadFile(prof_.host() + "/host_start.log"),
            "[Host]\nclock_monotonic_raw: 1000\ncntvct: 2000\ncntvct_diff: 0\n");
  EXPECT_EQ(ReadFile(prof_.device(2) + "/host_start.log.2"),
            "[Device2]\nclock_monotonic_raw: 1000\ncntvct: 2000\ncntvct_diff: 0\n");
  EXPECT_EQ(ReadFile(prof_.device(2) + "/dev_start.log.2"), "clock_monotonic_raw: 3000\ncntvct: 4000\n");
}

TEST_F(MetadataTest, ExactlyOneFilePerPrefix) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(WriteInfo(prof_, host_, device_).ok());
    ASSERT_TRUE(WriteSample(prof_, SampleFacts{}, 2).ok());
    ASSERT_TRUE(WriteStartInfo(prof_, Instant::Now(), 2).ok());
    ASSERT_TRUE(WriteEndInfo(prof_, Instant::Now(), 2).ok());
    ASSERT_TRUE(WriteHostStart(prof_, {1, 2}, 2).ok());
    ASSERT_TRUE(WriteDeviceStart(prof_, 2, 3, 4).ok());
  }
  for (const std::string prefix :
       {"info.json", "sample.json", "start_info", "end_info", "host_start.log", "dev_start.log"}) {
    unsigned matches = 0;
    for (const auto& entry : std::filesystem::directory_iterator(prof_.device(2))) {
      const std::string name = entry.path().filename();
      if (name.compare(0, prefix.size(), prefix) == 0 && entry.path().extension() != ".done") ++matches;
    }
    EXPECT_EQ(matches, 1u) << prefix;
  }
}

TEST_F(MetadataTest, BothClocksOfAnInstantAreOfTheSameMoment) {
  timespec raw{}, wall{};
  const Instant first = Instant::Now();
  clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
  clock_gettime(CLOCK_REALTIME, &wall);
  const Instant second = Instant::Now();
  const auto raw_ns = static_cast<uint64_t>(raw.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(raw.tv_nsec);
  const auto wall_us =
      static_cast<uint64_t>(wall.tv_sec) * 1'000'000u + static_cast<uint64_t>(wall.tv_nsec) / 1000;
  EXPECT_LE(first.monotonic_raw_ns, raw_ns);
  // An instant is of the beginning of its microsecond.
  EXPECT_GE(second.monotonic_raw_ns + 1000, raw_ns);
  EXPECT_LE(first.realtime_us, wall_us);
  EXPECT_GE(second.realtime_us, wall_us);
}

TEST_F(MetadataTest, LaterInstantsKeepTheDistanceOfTheClocksExactly) {
  const Instant begin = Instant::Now();
  // Truncated microseconds would put directories of a run up to one apart, and a step of the wall clock any distance.
  for (uint64_t later : {uint64_t{0}, uint64_t{999}, uint64_t{1'000}, uint64_t{123'456'789}}) {
    const Instant instant = begin.Later(begin.monotonic_raw_ns + later);
    EXPECT_EQ(instant.realtime_us - begin.realtime_us, later / 1000);
    EXPECT_EQ(instant.realtime_us * 1000 - instant.monotonic_raw_ns,
              begin.realtime_us * 1000 - begin.monotonic_raw_ns);
  }
  EXPECT_EQ(begin.Later(0).monotonic_raw_ns, begin.monotonic_raw_ns);
}

}  // namespace
}  // namespace npuprof::trace
