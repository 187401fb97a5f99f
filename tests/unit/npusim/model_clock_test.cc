// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model_device.h"

namespace npusim_test {
namespace {

TEST(ModelClock, TicksAreExactForFrequencyStartOffsetAndDrift) {
  npusim_model_config c = Defaults();
  c.origin_ns = 1'000'000'000;
  c.clock_start = 77;
  c.clock_offset_ns = 500;
  c.clock_ppm = 20;
  Device d(c);
  for (uint64_t elapsed : {0ull, 1ull, 19ull, 20ull, 999'999'937ull, 86'400'000'000'000ull, 1ull << 55}) {
    const auto exact = static_cast<unsigned __int128>(elapsed + 500) * 50 * 1'000'020 / 1'000'000'000;
    EXPECT_EQ(npusim_model_clock_at(d.model(), c.origin_ns + elapsed), 77 + static_cast<uint64_t>(exact))
        << elapsed;
  }
}

TEST(ModelClock, UnevenFrequenciesAreExactOverYears) {
  npusim_model_config c = Defaults();
  c.clock_hz = 38'400'001;
  c.clock_ppm = -99'999;
  Device d(c);
  const uint64_t ns = 300'000'000'000'000'000;  // nine years
  const auto exact = static_cast<unsigned __int128>(ns) * 38'400'001 / 1'000'000'000 * 1;
  const auto drifted = static_cast<unsigned __int128>(ns) * 38'400'001 * 900'001 /
                       (static_cast<unsigned __int128>(1'000'000'000) * 1'000'000);
  EXPECT_NE(static_cast<uint64_t>(exact), static_cast<uint64_t>(drifted));
  EXPECT_EQ(npusim_model_clock_at(d.model(), ns), static_cast<uint64_t>(drifted));
}

TEST(ModelClock, RegisterShowsTheTimeOfTheLastAdvance) {
  Device d;
  d.Advance(123'456'789);
  EXPECT_EQ(d.R64(REFNPU_CLOCK), 123'456'789u / 20);
  EXPECT_EQ(d.R64(REFNPU_MONO_NS), 123'456'789u / 20 * 20);
}

TEST(ModelClock, LowHalfHoldsTheHighHalf) {
  npusim_model_config c = Defaults();
  c.clock_start = 0xffffffff;
  Device d(c);
  EXPECT_EQ(d.R32(REFNPU_CLOCK), 0xffffffffu);
  d.Advance(20);
  EXPECT_EQ(d.R32(REFNPU_CLOCK + 4), 0u);
  EXPECT_EQ(d.R32(REFNPU_CLOCK), 0u);
  EXPECT_EQ(d.R32(REFNPU_CLOCK + 4), 1u);
}

TEST(ModelClock, StandsStillUntilANegativeOffsetHasPassed) {
  npusim_model_config c = Defaults();
  c.clock_offset_ns = -1000;
  c.clock_start = 5;
  Device d(c);
  EXPECT_EQ(npusim_model_clock_at(d.model(), 999), 5u);
  EXPECT_EQ(npusim_model_clock_at(d.model(), 1020), 6u);
}

TEST(ModelClock, TimeNeverRunsBackwards) {
  Device d;
  d.Advance(1000);
  d.Advance(400);
  EXPECT_EQ(d.Now(), 1000u);
}

}  // namespace
}  // namespace npusim_test
