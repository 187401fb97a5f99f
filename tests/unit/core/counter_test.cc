// SPDX-License-Identifier: Apache-2.0
#include "core/counter.h"

#include <gtest/gtest.h>

namespace {

TEST(Counter, Masks) {
  EXPECT_EQ(npc_counter_mask(1), 1u);
  EXPECT_EQ(npc_counter_mask(32), 0xffffffffu);
  EXPECT_EQ(npc_counter_mask(48), 0xffffffffffffu);
  EXPECT_EQ(npc_counter_mask(64), ~uint64_t{0});
  EXPECT_EQ(npc_counter_preset(32), 0x80000000u);
  EXPECT_EQ(npc_counter_preset(48), uint64_t{1} << 47);
  EXPECT_EQ(npc_counter_preset(64), uint64_t{1} << 63);
}

TEST(Counter, CountsFromWhereItStood) {
  npc_counter c;
  npc_counter_start(&c, 32, 1000);
  EXPECT_EQ(npc_counter_update(&c, 1500, false), 500u);
  EXPECT_EQ(npc_counter_update(&c, 1500, false), 0u);
  EXPECT_EQ(c.total, 500u);
}

TEST(Counter, JustBelowTheWidthAndOver) {
  for (unsigned bits : {8u, 32u, 48u}) {
    npc_counter c;
    const uint64_t top = npc_counter_mask(bits);
    npc_counter_start(&c, bits, top - 1);
    EXPECT_EQ(npc_counter_update(&c, top, false), 1u) << bits;
    EXPECT_EQ(npc_counter_update(&c, 0, true), 1u) << bits;
    EXPECT_EQ(npc_counter_update(&c, 5, false), 5u) << bits;
    EXPECT_EQ(c.total, 7u) << bits;
  }
}

TEST(Counter, VisibleWrapNeedsNoFlag) {
  npc_counter c;
  npc_counter_start(&c, 32, 0xfffffff0u);
  EXPECT_EQ(npc_counter_update(&c, 0x10, false), 0x20u);
}

TEST(Counter, FlagTellsOfAFullRound) {
  npc_counter c;
  npc_counter_start(&c, 32, 100);
  EXPECT_EQ(npc_counter_update(&c, 150, true), 0x100000032u);
  npc_counter_start(&c, 32, 100);
  EXPECT_EQ(npc_counter_update(&c, 100, true), 0x100000000u);
}

TEST(Counter, HalfRangeStartWithALostInterruptStillSums) {
  // The interrupt at the wrap is lost; the sticky flag is still there at the next regular reading.
  npc_counter c;
  const uint64_t preset = npc_counter_preset(32);
  npc_counter_start(&c, 32, preset);
  uint64_t real = preset;
  bool sticky = false;
  uint64_t expected = 0, random = 7;
  for (int k = 0; k < 10000; ++k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t step = random >> 32;  // up to a whole range between readings
    sticky = sticky || (real & 0xffffffffu) + step > 0xffffffffu;
    real += step;
    expected += step;
    npc_counter_update(&c, real & 0xffffffffu, sticky);
    sticky = false;
    ASSERT_EQ(c.total, expected) << k;
  }
}

TEST(Counter, BitsAboveTheWidthAreIgnored) {
  npc_counter c;
  npc_counter_start(&c, 32, 0xabcd00000001u);
  EXPECT_EQ(npc_counter_update(&c, 0xffff00000003u, false), 2u);
}

TEST(Counter, SixtyFourBitsAreTakenAsTheyAre) {
  npc_counter c;
  npc_counter_start(&c, 64, ~uint64_t{0} - 1);
  EXPECT_EQ(npc_counter_update(&c, 3, true), 5u);
}

TEST(Counter, DeadlineIsHalfARange) {
  EXPECT_EQ(npc_counter_deadline_ns(32, 1800000000), 1193046471u);  // 2^31 / 1.8 GHz
  EXPECT_EQ(npc_counter_deadline_ns(32, 0), NPC_TIME_NEVER);
  EXPECT_EQ(npc_counter_deadline_ns(64, 1), NPC_TIME_NEVER);
  EXPECT_EQ(npc_counter_deadline_ns(8, 1000000000), 128u);
  // 2^47 / 1.8 GHz, about 21.7 hours
  EXPECT_EQ(npc_counter_deadline_ns(48, 1800000000), 78187493530737u);
  // A rate so high that the product has to give up precision
  const uint64_t deadline = npc_counter_deadline_ns(48, 100000000000);
  EXPECT_NEAR(static_cast<double>(deadline), 1407374883553.28, 1000);
}

}  // namespace
