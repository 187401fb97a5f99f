// SPDX-License-Identifier: Apache-2.0
#include "host/settings.h"

#include <gtest/gtest.h>

#include <map>

namespace {

using npusim::ReadSettings;
using npusim::Settings;

struct Environment : testing::Test {
  std::map<std::string, std::string> values;
  std::vector<std::string> complaints;
  Settings Read() {
    complaints.clear();
    return ReadSettings(
        [&](const char* name) -> std::optional<std::string> {
          const auto found = values.find(name);
          return found == values.end() ? std::nullopt : std::optional(found->second);
        },
        &complaints);
  }
};

TEST_F(Environment, NothingSetMeansTheReferenceDevice) {
  const Settings settings = Read();
  EXPECT_TRUE(complaints.empty());
  EXPECT_EQ(settings.devices, 2u);
  EXPECT_EQ(settings.cube_cores, 24u);
  EXPECT_EQ(settings.vector_cores, 48u);
  EXPECT_EQ(settings.core_mhz, 1800u);
  EXPECT_EQ(settings.clock_mhz, 50u);
  EXPECT_EQ(settings.time_scale_ppm, 1000000u);
  EXPECT_FALSE(settings.faults.refuse_start);
}

TEST_F(Environment, EverySettingIsRead) {
  values = {{"NPUSIM_DEVICES", "8"},
            {"NPUSIM_AIC", "20"},
            {"NPUSIM_AIV", "40"},
            {"NPUSIM_AIC_MHZ", "1500"},
            {"NPUSIM_CLOCK_MHZ", "48"},
            {"NPUSIM_CLOCK_START", "18446744073709551615"},
            {"NPUSIM_CLOCK_PPM", "-80"},
            {"NPUSIM_CLOCK_OFFSET_NS", "-5000"},
            {"NPUSIM_TIME_SCALE", "0.25"},
            {"NPUSIM_SEED", "77"},
            {"NPUSIM_FAULT", "stall_drain,refuse_start,reset_at=5,drop_irq=3,surprise_remove_at=0"}};
  const Settings settings = Read();
  EXPECT_TRUE(complaints.empty()) << complaints[0];
  EXPECT_EQ(settings.devices, 8u);
  EXPECT_EQ(settings.cube_cores, 20u);
  EXPECT_EQ(settings.vector_cores, 40u);
  EXPECT_EQ(settings.core_mhz, 1500u);
  EXPECT_EQ(settings.clock_mhz, 48u);
  EXPECT_EQ(settings.clock_start, ~uint64_t{0});
  EXPECT_EQ(settings.clock_ppm, -80);
  EXPECT_EQ(settings.clock_offset_ns, -5000);
  EXPECT_EQ(settings.time_scale_ppm, 250000u);
  EXPECT_EQ(settings.seed, 77u);
  EXPECT_TRUE(settings.faults.stall_drain);
  EXPECT_TRUE(settings.faults.refuse_start);
  EXPECT_EQ(settings.faults.drop_irq, 3u);
  EXPECT_EQ(settings.faults.reset_at_ms, 5u);
  EXPECT_EQ(settings.faults.surprise_remove_at_ms, 0u);
}

TEST_F(Environment, BadValuesGetOneSentenceAndTheDefault) {
  const std::map<std::string, std::vector<std::string>> bad = {
      {"NPUSIM_DEVICES", {"0", "17", "-1", "two", "2 ", " 2", "2.0", "0x2", "99999999999999999999"}},
      {"NPUSIM_AIC", {"0", "129"}},
      {"NPUSIM_AIV", {"0", "129"}},
      {"NPUSIM_AIC_MHZ", {"0", "10001"}},
      {"NPUSIM_CLOCK_MHZ", {"0"}},
      {"NPUSIM_CLOCK_START", {"-1", "18446744073709551616"}},
      {"NPUSIM_CLOCK_PPM", {"100001", "+5", "1e3"}},
      {"NPUSIM_CLOCK_OFFSET_NS", {"315360000000000001"}},
      {"NPUSIM_TIME_SCALE", {"0", "-1", "1001", "nan", "inf", "1,5"}},
      {"NPUSIM_SEED", {"-1"}},
      {"NPUSIM_FAULT",
       {"stall", "stall_drain,", ",", "drop_irq", "drop_irq=", "drop_irq=0", "drop_irq=x", "reset_at=-1",
        "reset_at=86400001", "refuse_start=1", "stall_drain;refuse_start"}}};
  for (const auto& [name, texts] : bad) {
    for (const std::string& text : texts) {
      values = {{name, text}};
      const Settings settings = Read();
      ASSERT_EQ(complaints.size(), 1u) << name << "=" << text;
      EXPECT_NE(complaints[0].find(name + "=\"" + text + "\""), std::string::npos) << complaints[0];
      EXPECT_EQ(complaints[0].find('\n'), std::string::npos);
      EXPECT_EQ(settings.devices, 2u);
      EXPECT_EQ(settings.time_scale_ppm, 1000000u);
      EXPECT_FALSE(settings.faults.stall_drain) << text;
      EXPECT_FALSE(settings.faults.refuse_start) << text;
    }
  }
}

TEST_F(Environment, EmptyCountsAsNotSet) {
  values = {{"NPUSIM_DEVICES", ""}, {"NPUSIM_FAULT", ""}};
  EXPECT_EQ(Read().devices, 2u);
  EXPECT_TRUE(complaints.empty());
}

}  // namespace
