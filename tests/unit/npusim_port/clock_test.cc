// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/remote_clock.h"

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// The other clock runs at its own rate and began elsewhere.
uint64_t Remote(uint64_t local_ns, double ppm) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(local_ns - 7 * kSecond) * (1 + ppm * 1e-6))) +
         12345;
}

int64_t Off(const npusim::RemoteClock& clock, uint64_t local_ns, double ppm) {
  return static_cast<int64_t>(clock.ToLocal(Remote(local_ns, ppm)) - local_ns);
}

TEST(RemoteClock, OneBracketTellsTheOffset) {
  npusim::RemoteClock clock;
  clock.Add(10 * kSecond, Remote(10 * kSecond + 300, 0), 10 * kSecond + 1000);
  EXPECT_LE(std::abs(Off(clock, 10 * kSecond, 0)), 500);
  EXPECT_EQ(clock.error_ns(), 500u);
}

TEST(RemoteClock, TheTightestBracketOfTheBeginningDecides) {
  npusim::RemoteClock clock;
  uint64_t now = 10 * kSecond;
  for (const uint64_t width : {900'000, 40'000, 300'000, 2'000'000}) {
    clock.Add(now, Remote(now + width - 1, 0), now + width);  // as lopsided as can be
    now += width + 1000;
  }
  EXPECT_EQ(clock.error_ns(), 20'000u);
  EXPECT_LE(std::abs(Off(clock, now, 0)), 20'000);
}

TEST(RemoteClock, BothDirectionsAgree) {
  npusim::RemoteClock clock;
  for (uint64_t now = 10 * kSecond; now < 20 * kSecond; now += kSecond)
    clock.Add(now, Remote(now + 5000, 80), now + 10000);
  for (uint64_t local = 5 * kSecond; local < 25 * kSecond; local += kSecond / 3)
    EXPECT_LE(std::abs(static_cast<int64_t>(clock.ToLocal(clock.ToRemote(local)) - local)), 1);
}

struct ClockDrift : testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Ppm, ClockDrift, testing::Values(-250.0, -20.0, 0.0, 20.0, 250.0));

// Between brackets a second apart the error stays near the brackets' own, however the clocks drift.
TEST_P(ClockDrift, IsFollowed) {
  std::mt19937_64 random(3);
  npusim::RemoteClock clock;
  uint64_t now = 10 * kSecond;
  for (int k = 0; k < 60; ++k) {
    const uint64_t width = 20'000 + random() % 80'000;
    clock.Add(now, Remote(now + random() % width, GetParam()), now + width);
    now += k < 5 ? 1'000'000 : kSecond;
    if (k < 10) continue;
    EXPECT_LE(std::abs(Off(clock, now, GetParam())), 100'000) << k;
  }
}

TEST(RemoteClock, ReadingsThatGoBackAreIgnored) {
  npusim::RemoteClock clock;
  clock.Add(10 * kSecond, Remote(10 * kSecond, 0), 10 * kSecond + 10);
  clock.Add(11 * kSecond, 5, 11 * kSecond + 10);
  clock.Add(13 * kSecond, Remote(12 * kSecond, 0), 12 * kSecond);
  EXPECT_LE(std::abs(Off(clock, 14 * kSecond, 0)), 10);
}

}  // namespace
