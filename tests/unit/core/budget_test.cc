// SPDX-License-Identifier: Apache-2.0
#include "core/budget.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(Budget, LoadIsCostOverPeriodRoundedUp) {
  EXPECT_EQ(npc_load(0, 1), 0u);
  EXPECT_EQ(npc_load(1000, 1'000'000), 1'000'000u);
  EXPECT_EQ(npc_load(1, 3), 333'333'334u);
  EXPECT_EQ(npc_load(uint64_t{1} << 32, 1), (uint64_t{1} << 32) * kSecond);
}

TEST(Budget, AdmitsUpToTheLimitAndNoFurther) {
  __u64 used = 0;
  __u64 period = 100'000;  // 5 us in 100 us: exactly the limit
  EXPECT_EQ(npc_load_admit(&used, 5000, &period), 0);
  EXPECT_EQ(used, NPC_LOAD_MAX);
  EXPECT_EQ(period, 100'000u);
  period = kSecond;
  EXPECT_EQ(npc_load_admit(&used, 1, &period), -ERANGE);
  EXPECT_EQ(period, 0u);
  EXPECT_EQ(used, NPC_LOAD_MAX);
}

TEST(Budget, RefusalNamesThePeriodThatWouldDo) {
  __u64 used = NPC_LOAD_MAX / 2;
  __u64 period = 100'000;
  EXPECT_EQ(npc_load_admit(&used, 5000, &period), -ERANGE);
  EXPECT_EQ(period, 200'000u);
  EXPECT_EQ(used, NPC_LOAD_MAX / 2);
  __u64 shorter = period - 1;
  EXPECT_EQ(npc_load_admit(&used, 5000, &shorter), -ERANGE);
  EXPECT_EQ(shorter, period);
  EXPECT_EQ(npc_load_admit(&used, 5000, &period), 0);
  EXPECT_EQ(used, NPC_LOAD_MAX);
}

TEST(Budget, WhatCannotBeRefusedIsStretchedUntilItFits) {
  EXPECT_EQ(npc_load_stretch(0, NPC_LOAD_MAX), 1u);
  EXPECT_EQ(npc_load_stretch(0, NPC_LOAD_MAX + 1), 2u);
  EXPECT_EQ(npc_load_stretch(NPC_LOAD_MAX / 2, NPC_LOAD_MAX), 2u);
  EXPECT_EQ(npc_load_stretch(NPC_LOAD_MAX / 2, NPC_LOAD_MAX + 1), 3u);
  EXPECT_EQ(npc_load_stretch(NPC_LOAD_MAX, 0), 1u);
  EXPECT_EQ(npc_load_stretch(NPC_LOAD_MAX, 1), UINT64_MAX);
  EXPECT_EQ(npc_load_stretch(NPC_LOAD_MAX + 1, 1), UINT64_MAX);
  // 72 cores at 1 kHz, 10 us each.
  __u64 stretched = 0;
  const __u64 factor = npc_load_stretch(0, 72 * npc_load(10'000, 1'000'000));
  for (int k = 0; k < 72; ++k) stretched += npc_load(10'000, 1'000'000 * factor);
  EXPECT_LE(stretched, NPC_LOAD_MAX);
  EXPECT_GT(stretched * 2, NPC_LOAD_MAX);
}

TEST(Budget, UsedBeyondTheLimitAdmitsNothing) {
  __u64 used = NPC_LOAD_MAX + 1;
  __u64 period = kSecond;
  EXPECT_EQ(npc_load_admit(&used, 1, &period), -ERANGE);
  EXPECT_EQ(period, 0u);
  EXPECT_EQ(used, NPC_LOAD_MAX + 1);
}

}  // namespace
