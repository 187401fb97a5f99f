// SPDX-License-Identifier: Apache-2.0
// docs/environment.md and what the library does with the variables.
#include "environment_page.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "drain/drain.h"
#include "session/keeping.h"
#include "session/log.h"
#include "session/plan.h"
#include "session/profiling_mode.h"

namespace npuprof {
namespace {

using Warnings = std::vector<std::string>;

TEST(EnvironmentPage, RangesAndDefaultsOfThePageAreThoseOfTheLibrary) {
  const std::map<std::string, std::function<uint64_t(Warnings*)>> readers = {
      {"NPUPROF_STAGING_MB",
       [](Warnings* w) { return drain::Options::FromEnvironment(w).staging_bytes >> 20; }},
      {"NPUPROF_HOST_RING_MB", [](Warnings* w) { return HostRingBytes(w) >> 20; }},
      {"NPUPROF_ROTATE_SECONDS", [](Warnings* w) { return ReadKeeping(w).rotate_seconds; }},
      {"NPUPROF_ROTATE_MB", [](Warnings* w) { return ReadKeeping(w).rotate_bytes / 1'000'000; }},
      {"NPUPROF_KEEP_COUNT", [](Warnings* w) { return ReadKeeping(w).keep_count; }},
      {"NPUPROF_KEEP_MB", [](Warnings* w) { return ReadKeeping(w).keep_bytes / 1'000'000; }},
      {"NPUPROF_KEEP_SECONDS", [](Warnings* w) { return ReadKeeping(w).keep_seconds; }},
      {"NPUPROF_STORAGE_MB", [](Warnings* w) { return StorageLimit(Settings(), w) / 1'000'000; }},
      {"NPUPROF_RING_RECORDS", [](Warnings* w) { return TaskRingSlots(w).value_or(0); }},
      {"NPUPROF_CORE_SAMPLE_HZ",
       [](Warnings* w) {
         Plan plan;
         EXPECT_TRUE(MakePlan({{0}, 1, ACL_PROF_AICORE_METRICS}, Settings(), &plan).ok());
         w->insert(w->end(), plan.not_collected.begin(), plan.not_collected.end());
         const auto period = plan.core_period.count();
         return period == 0 ? 0 : 1'000'000'000 / static_cast<uint64_t>(period);
       }},
  };
  const auto ranges = test::DocumentedRanges(NPUPROF_SOURCE_ROOT);
  size_t library = 0;
  for (const auto& [name, range] : ranges) library += name.starts_with("NPUPROF_");
  EXPECT_EQ(library, readers.size()) << "each documented number has a reader here";
  for (const auto& [name, read] : readers) {
    ASSERT_TRUE(ranges.contains(name)) << name;
    const test::DocumentedRange& range = ranges.at(name);
    const uint64_t low = std::stoull(range.low), high = std::stoull(range.high);
    unsetenv(name.c_str());
    Warnings warnings;
    const uint64_t standard = read(&warnings);
    if (range.standard != "by ring") {
      EXPECT_EQ(standard, range.standard == "none" ? 0 : std::stoull(range.standard)) << name;
    }
    for (const uint64_t value : {low, high}) {
      setenv(name.c_str(), std::to_string(value).c_str(), 1);
      EXPECT_EQ(read(&warnings), value) << name;
      EXPECT_TRUE(warnings.empty()) << warnings[0];
    }
    for (const uint64_t value : {low - 1, high + 1}) {
      setenv(name.c_str(), std::to_string(value).c_str(), 1);
      warnings.clear();
      EXPECT_EQ(read(&warnings), standard) << name;
      ASSERT_EQ(warnings.size(), 1u) << name << " " << value;
      for (const std::string& part : {name, std::to_string(value), range.low, range.high}) {
        EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
      }
    }
    unsetenv(name.c_str());
  }
}

TEST(ProfilingModeTest, OnlyWhatIsNotAllowedIsNamed) {
  const std::tuple<const char*, ProfilingMode, bool> values[] = {
      {"dynamic", ProfilingMode::kDynamic, false}, {"delay_or_duration", ProfilingMode::kTimed, false},
      {"true", ProfilingMode::kUnset, false},      {"false", ProfilingMode::kUnset, false},
      {"", ProfilingMode::kUnset, false},          {"Dynamic", ProfilingMode::kUnset, true}};
  for (const auto& [text, expected, complains] : values) {
    setenv("PROFILING_MODE", text, 1);
    std::string complaint;
    EXPECT_EQ(ReadProfilingMode(&complaint), expected) << text;
    EXPECT_EQ(!complaint.empty(), complains) << complaint;
    if (complains) {
      for (const char* part : {text, "dynamic", "delay_or_duration"})
        EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
    }
  }
  unsetenv("PROFILING_MODE");
}

TEST(EnvironmentPage, UnknownWishesForMessagesAreNamed) {
  for (const auto& [text, complaints] : {std::pair{"0", 0u}, {"1", 0u}, {"", 0u}, {"yes", 1u}, {"2", 1u}}) {
    setenv("NPUPROF_LOG", text, 1);
    Warnings warnings;
    CheckLogWish(&warnings);
    EXPECT_EQ(warnings.size(), complaints) << text;
  }
  unsetenv("NPUPROF_LOG");
}

}  // namespace
}  // namespace npuprof
