// SPDX-License-Identifier: Apache-2.0
#include "host/dictionary.h"

#include <gtest/gtest.h>

#include "host/clock.h"

namespace npuprof::host {
namespace {

TEST(Dictionary, HashIsTwoPolynomialsOverSignedBytes) {
  EXPECT_EQ(Dictionary::Hash(""), 0u);
  EXPECT_EQ(Dictionary::Hash("a"), (uint64_t{97} << 32) | 97);
  EXPECT_EQ(Dictionary::Hash("ab"), (uint64_t{97 * 29 + 98} << 32) | (97 * 131 + 98));
  // 0xff counts as -1.
  EXPECT_EQ(Dictionary::Hash("\xff"), 0xffffffffffffffffu);
  uint32_t high = 0, low = 0;
  for (char c : std::string("MatMulV2")) {
    high = high * 29 + static_cast<uint32_t>(c);
    low = low * 131 + static_cast<uint32_t>(c);
  }
  EXPECT_EQ(Dictionary::Hash("MatMulV2"), uint64_t{high} << 32 | low);
}

TEST(Dictionary, NumbersThatMeanFailureAreNeverGiven) {
  Dictionary dictionary;
  const uint64_t all_ones = dictionary.Id("\xff");
  EXPECT_NE(all_ones, UINT64_MAX);
  EXPECT_NE(all_ones, 0u);
  EXPECT_EQ(dictionary.Id("\xff"), all_ones);
  EXPECT_STREQ(dictionary.Find(all_ones), "\xff");
  EXPECT_EQ(dictionary.Find(12345), nullptr);
}

TEST(Dictionary, EveryTextIsVisitedOnceInOrder) {
  Dictionary dictionary;
  dictionary.Id("one");
  dictionary.Id("two");
  dictionary.Id("one");
  dictionary.Id("three");
  std::string all;
  size_t next = dictionary.ForEachText(0, 2, [&](const Dictionary::Text& t) {
    all += t.text + ' ';
    return true;
  });
  EXPECT_EQ(next, 2u);
  next = dictionary.ForEachText(next, 100, [&](const Dictionary::Text& t) {
    all += t.text + ' ';
    return true;
  });
  EXPECT_EQ(next, 3u);
  EXPECT_EQ(all, "one two three ");
}

TEST(Dictionary, ANameIsKeptOnceAndMayBeReplaced) {
  Dictionary dictionary;
  dictionary.Name(10000, 5, "launch");
  dictionary.Name(10000, 5, "launch");
  EXPECT_EQ(dictionary.types(), 1u);
  EXPECT_EQ(dictionary.TypeName(10000, 5), "launch");
  EXPECT_EQ(dictionary.TypeName(10000, 6), "");
  dictionary.Name(10000, 5, "start");
  EXPECT_EQ(dictionary.TypeName(10000, 5), "start");
}

TEST(Clock, CounterAndRateAgreeWithMonotonicRaw) {
  const ClockPair a = ReadPair();
  const double hz = MeasureHz();
  ASSERT_GT(hz, 1e6);
  ClockPair b = ReadPair();
  while (b.monotonic_raw_ns - a.monotonic_raw_ns < 50'000'000) b = ReadPair();
  const uint64_t expected = CyclesAt(b.monotonic_raw_ns, a, hz);
  const double error = std::abs(static_cast<double>(expected) - static_cast<double>(b.cycles)) /
                       static_cast<double>(b.cycles - a.cycles);
  // The readings themselves are as wide as they say.
  const double width = static_cast<double>(a.width_ns + b.width_ns) / 50e6;
  EXPECT_LT(error, width + 1e-3);
  EXPECT_GT(Cycles(), a.cycles);
  for (const int64_t away : {-5'000'000, 0, 5'000'000}) {
    const uint64_t moment = b.monotonic_raw_ns + static_cast<uint64_t>(away);
    const uint64_t back = MonotonicRawNsAt(CyclesAt(moment, b, hz), b, hz);
    EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(back - moment)), 0, 2) << away;
  }
}

}  // namespace
}  // namespace npuprof::host
