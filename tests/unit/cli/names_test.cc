// SPDX-License-Identifier: Apache-2.0
#include "npuprof/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/data_types.h"
#include "metrics/metrics.h"
#include "npuprof/error.h"

namespace npuprof::cli {
namespace {

template <typename F>
std::string Refusal(F&& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.status, kUsage);
    return e.what();
  }
  return "accepted";
}

TEST(DataTypes, NamesAndMasksAreJoined) {
  EXPECT_EQ(ParseDataTypes("acl-api"), 0x1u);
  EXPECT_EQ(ParseDataTypes("acl-api,task-time,metrics"), 0x7u);
  EXPECT_EQ(ParseDataTypes("task-time,0x800000000"), 0x800000002u);
  EXPECT_EQ(ParseDataTypes("0x4000000000000000"), 0x4000000000000000u);
}

TEST(DataTypes, EveryNameGivesItsBitAndBack) {
  for (const DataType& type : DataTypes()) {
    EXPECT_EQ(ParseDataTypes(type.name), type.bit);
    EXPECT_EQ(DataTypeNames(type.bit), type.name);
  }
}

TEST(DataTypes, BitsWithoutNameAreShownInHexadecimal) {
  EXPECT_EQ(DataTypeNames(0x4000000000000003), "acl-api,task-time,0x4000000000000000");
}

TEST(DataTypes, DefaultIsAccepted) {
  EXPECT_EQ(ParseDataTypes(kDefaultDataTypes), 0x1a7u);
}

TEST(DataTypes, RefusalNamesTheWordAndTheKnownOnes) {
  for (const char* bad : {"acl_api", "", "acl-api,", "7", "0x", "0x1g", "0x10000000000000000", "-1"}) {
    const std::string text = Refusal([&] { ParseDataTypes(bad); });
    EXPECT_NE(text.find("is no data type; known are acl-api"), std::string::npos) << bad << ": " << text;
  }
  EXPECT_NE(Refusal([] { ParseDataTypes("acl-api,frob"); }).find("'frob'"), std::string::npos);
  EXPECT_NE(Refusal([] { ParseDataTypes("0x0"); }).find("select nothing"), std::string::npos);
}

TEST(DataTypes, BitsThatNoSessionAcceptsAreRefusedBeforeTheProgramRuns) {
  for (int bit = 0; bit < 64; bit++) {
    const uint64_t mask = uint64_t{1} << bit;
    const std::string text = fmt::format("{:#x}", mask);
    EXPECT_EQ(Refusal([&] { ParseDataTypes(text); }) == "accepted", (kKnownDataTypes & mask) != 0) << text;
  }
  const std::string text = Refusal([] { ParseDataTypes("acl-api,0x40400"); });
  EXPECT_NE(
      text.find(
          "'acl-api,0x40400' has bits that are no data type (0x40400); allowed are those of 0xc0100fbff"),
      std::string::npos)
      << text;
}

TEST(MetricGroups, AnyCaseIsAcceptedAndSpelledAsPublished) {
  EXPECT_EQ(ParseMetricGroup("pipeutilization"), "PipeUtilization");
  EXPECT_EQ(ParseMetricGroup("MEMORYL0"), "MemoryL0");
  EXPECT_NE(Refusal([] { ParseMetricGroup("Pipe"); }).find("'Pipe' is no counter group; known are Arith"),
            std::string::npos);
}

// The library would refuse the rest only when the program runs already, and leave it without a profile.
TEST(MetricGroups, OnlyThoseThatTheChipCountsAreOffered) {
  ASSERT_EQ(MetricGroups().size(), A2().groups.size());
  for (const std::string& name : MetricGroups()) {
    const MetricGroup* group = A2().Find(name);
    ASSERT_NE(group, nullptr) << name;
    EXPECT_EQ(group->name, name);
  }
  EXPECT_NE(Refusal([] { ParseMetricGroup("PipelineExecuteUtilization"); }).find("known are Arith"),
            std::string::npos);
}

TEST(Devices, IdsAreSortedAndChecked) {
  EXPECT_EQ(ParseDevices("all"), "all");
  EXPECT_EQ(ParseDevices("0"), "0");
  EXPECT_EQ(ParseDevices("10,2,63"), "2,10,63");
  EXPECT_NE(Refusal([] { ParseDevices("64"); }).find("'64' is no device id; allowed are 0 to 63"),
            std::string::npos);
  EXPECT_NE(Refusal([] { ParseDevices("1,1"); }).find("device 1 is named twice"), std::string::npos);
  for (const char* bad : {"", "-1", "0x1", "1,", "1 ", "a", "99999999999"}) {
    EXPECT_NE(Refusal([&] { ParseDevices(bad); }).find("is no device id"), std::string::npos) << bad;
  }
}

TEST(Events, NumbersAndNamesOfAListBecomeNumbers) {
  EXPECT_EQ(ParseMetricGroup("Custom:0x8"), "Custom:0x8");
  EXPECT_EQ(ParseMetricGroup("Custom:8,icache_misses,0x500"), "Custom:0x8,0x55,0x500");
  EXPECT_EQ(ParseMetricGroup("Custom:1,2,3,4,5,6,7,65535"), "Custom:0x1,0x2,0x3,0x4,0x5,0x6,0x7,0xffff");
  for (const auto& [number, name] : EventNames())
    EXPECT_EQ(ParseMetricGroup("Custom:" + name), "Custom:" + number);
  const std::pair<const char*, const char*> refused[] = {
      {"Custom:", "is no event"},         {"Custom:0x8,", "is no event"},
      {"Custom:0x10000", "'0x10000' in"}, {"Custom:vec", "'vec' in"},
      {"Custom:-1", "'-1' in"},           {"Custom:8,0x8", "event 0x8 twice"},
      {"Custom:0x", "is no event"},       {"Custom:1,2,3,4,5,6,7,8,9", "at most 8"},
      {"custom:8", "is no counter group"}};
  for (const auto& [text, words] : refused) {
    const std::string sentence = Refusal([&] { ParseMetricGroup(text); });
    EXPECT_NE(sentence.find(words), std::string::npos) << text << ": " << sentence;
  }
}

TEST(Times, HaveUnitsAndLimits) {
  EXPECT_EQ(ParseTime("--delay", "2"), 2000u);
  EXPECT_EQ(ParseTime("--delay", "0.5"), 500u);
  EXPECT_EQ(ParseTime("--delay", "1.5s"), 1500u);
  EXPECT_EQ(ParseTime("--delay", "1ms"), 1u);
  EXPECT_EQ(ParseTime("--delay", "3m"), 180'000u);
  EXPECT_EQ(ParseTime("--delay", "1h"), 3'600'000u);
  EXPECT_EQ(ParseTime("--delay", "4294967295"), 4294967295000u);
  for (const char* bad : {"", "x", "0", "-1", "0.0001", "1d", "1 s", "4294967296", "nan", "inf", "1e99"}) {
    const std::string sentence = Refusal([&] { ParseTime("--delay", bad); });
    EXPECT_NE(sentence.find("--delay is '" + std::string(bad) + "'; allowed are"), std::string::npos)
        << bad << sentence;
  }
}

}  // namespace
}  // namespace npuprof::cli
