// SPDX-License-Identifier: Apache-2.0
// docs/environment.md and what the simulator does with the variables.
#include "environment_page.h"

#include <gtest/gtest.h>

#include "host/settings.h"

namespace npusim {
namespace {

// A setting by the name of its variable, in the variable's unit.
std::string Value(const Settings& s, const std::string& name) {
  if (name == "NPUSIM_TIME_SCALE") {
    std::string text = std::to_string(s.time_scale_ppm / 1e6);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }
  const std::map<std::string, std::string> values = {
      {"NPUSIM_DEVICES", std::to_string(s.devices)},
      {"NPUSIM_AIC", std::to_string(s.cube_cores)},
      {"NPUSIM_AIV", std::to_string(s.vector_cores)},
      {"NPUSIM_AIC_MHZ", std::to_string(s.core_mhz)},
      {"NPUSIM_CLOCK_MHZ", std::to_string(s.clock_mhz)},
      {"NPUSIM_CLOCK_START", std::to_string(s.clock_start)},
      {"NPUSIM_CLOCK_PPM", std::to_string(s.clock_ppm)},
      {"NPUSIM_CLOCK_OFFSET_NS", std::to_string(s.clock_offset_ns)},
      {"NPUSIM_SEED", std::to_string(s.seed)},
  };
  return values.at(name);
}

Settings Read(const std::string& name, const std::string& text, size_t* complaints) {
  std::vector<std::string> list;
  const Settings settings = ReadSettings(
      [&](const char* asked) { return asked == name ? std::optional(text) : std::nullopt; }, &list);
  *complaints = list.size();
  return settings;
}

// The number next to an end of a range, outside.
std::string Beyond(const std::string& end, bool above) {
  if (end.find('.') != std::string::npos) return above ? end + "1" : "0.0000009";
  if (end == "18446744073709551615") return "18446744073709551616";
  if (end == "0" && !above) return "-1";
  return std::to_string(std::stoll(end) + (above ? 1 : -1));
}

TEST(EnvironmentPage, RangesAndDefaultsOfThePageAreThoseOfTheSimulator) {
  size_t checked = 0;
  for (const auto& [name, range] : npuprof::test::DocumentedRanges(NPUPROF_SOURCE_ROOT)) {
    if (!name.starts_with("NPUSIM_")) continue;
    ++checked;
    size_t complaints = 0;
    EXPECT_EQ(Value(Settings{}, name), range.standard) << name;
    for (const std::string& end : {range.low, range.high}) {
      EXPECT_EQ(Value(Read(name, end, &complaints), name), end) << name;
      EXPECT_EQ(complaints, 0u) << name << " " << end;
    }
    for (const std::string& end : {Beyond(range.low, false), Beyond(range.high, true)}) {
      EXPECT_EQ(Value(Read(name, end, &complaints), name), range.standard) << name << " " << end;
      EXPECT_EQ(complaints, 1u) << name << " " << end;
    }
  }
  EXPECT_EQ(checked, 10u) << "numbers of the simulator on the page";
}

}  // namespace
}  // namespace npusim
