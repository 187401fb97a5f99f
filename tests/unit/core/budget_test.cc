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

TEST(Budget, UsedBeyondTheLimitAdmitsNothing) {
  __u64 used = NPC_LOAD_MAX + 1;
  __u64 period = kSecond;
  EXPECT_EQ(npc_load_admit(&used, 1, &period), -ERANGE);
  EXPECT_EQ(period, 0u);
  EXPECT_EQ(used, NPC_LOAD_MAX + 1);
}

}  // namespace
