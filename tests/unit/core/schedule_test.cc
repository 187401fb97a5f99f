// SPDX-License-Identifier: Apache-2.0
#include "core/schedule.h"

#include <gtest/gtest.h>

namespace {

const uint16_t kGroup[8] = {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55};

TEST(Schedule, ListTakesCountersInItsOrder) {
  npc_schedule schedule;
  npc_slots slots;
  npc_schedule_init(&schedule, 8);
  EXPECT_EQ(schedule.used, 0u);  // no event, no counter
  ASSERT_EQ(npc_schedule_add(&schedule, kGroup, 8, &slots), 0);
  EXPECT_EQ(schedule.used, 8u);
  EXPECT_TRUE(npc_slots_in_order(&slots));
}

TEST(Schedule, SecondListSharesEvents) {
  npc_schedule schedule;
  npc_slots slots;
  npc_schedule_init(&schedule, 8);
  ASSERT_EQ(npc_schedule_add(&schedule, kGroup, 6, &slots), 0);
  const uint16_t second[3] = {0x303, 0x777, 0x416};
  ASSERT_EQ(npc_schedule_add(&schedule, second, 3, &slots), 0);
  EXPECT_EQ(slots.slot[0], 5);
  EXPECT_EQ(slots.slot[1], 6);
  EXPECT_EQ(slots.slot[2], 0);
  EXPECT_FALSE(npc_slots_in_order(&slots));
  EXPECT_EQ(schedule.used, 7u);
}

TEST(Schedule, MoreThanThereAreIsRefusedAsAWhole) {
  npc_schedule schedule;
  npc_slots slots{};
  npc_schedule_init(&schedule, 8);
  ASSERT_EQ(npc_schedule_add(&schedule, kGroup, 7, &slots), 0);
  const uint16_t second[2] = {0x701, 0x702};
  const npc_schedule before = schedule;
  slots.count = 99;
  EXPECT_EQ(npc_schedule_add(&schedule, second, 2, &slots), -ENOSPC);
  EXPECT_EQ(schedule.used, before.used);
  EXPECT_EQ(slots.count, 99);
  EXPECT_EQ(npc_schedule_add(&schedule, second, 1, &slots), 0);
}

TEST(Schedule, CoreWithFewerCounters) {
  npc_schedule schedule;
  npc_slots slots;
  npc_schedule_init(&schedule, 4);
  EXPECT_EQ(npc_schedule_add(&schedule, kGroup, 5, &slots), -ENOSPC);
  EXPECT_EQ(npc_schedule_add(&schedule, kGroup, 4, &slots), 0);
  npc_schedule_init(&schedule, 0);
  EXPECT_EQ(npc_schedule_add(&schedule, kGroup, 1, &slots), -ENOSPC);
  npc_schedule_init(&schedule, 1000);
  EXPECT_EQ(schedule.counters, 8);
}

TEST(Schedule, EmptyListTakesNothing) {
  npc_schedule schedule;
  npc_slots slots;
  npc_schedule_init(&schedule, 8);
  EXPECT_EQ(npc_schedule_add(&schedule, kGroup, 0, &slots), 0);
  EXPECT_EQ(slots.count, 0);
  EXPECT_EQ(schedule.used, 0u);
}

}  // namespace
