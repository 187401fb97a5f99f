// SPDX-License-Identifier: Apache-2.0
#include "core/wakeup.h"

#include <gtest/gtest.h>

#include "ring_fixture.h"

namespace {

struct Wakeup : testing::Test {
  TestSession s{64};
  npc_wakeup wakeup{};
  void SetUp() override { npc_wakeup_init(&wakeup, 8, 1000); }
  void Write(int count) {
    for (int k = 0; k < count; ++k) s.ring.Write(1, 1);
  }
  bool Due(uint64_t now) { return npc_wakeup_due(&wakeup, &s.ring.ring, now); }
};

TEST_F(Wakeup, NothingWaitingWakesNobody) {
  EXPECT_FALSE(Due(5));
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), NPC_TIME_NEVER);
}

TEST_F(Wakeup, WatermarkWakesOnce) {
  Write(7);
  EXPECT_FALSE(Due(10));
  Write(1);
  EXPECT_TRUE(Due(11));
  EXPECT_FALSE(Due(12));
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), NPC_TIME_NEVER);
}

TEST_F(Wakeup, SlowReaderIsNotWokenPerRecord) {
  int wakeups = 0;
  for (uint64_t k = 0; k < 64; ++k) {
    Write(1);
    wakeups += Due(k);
  }
  EXPECT_EQ(wakeups, 8);
  for (uint64_t k = 64; k < 1000; ++k) {  // full: nothing new to tell
    Write(1);
    wakeups += Due(k);
  }
  EXPECT_EQ(wakeups, 8);
}

TEST_F(Wakeup, LatencyWakesForOneRecord) {
  Write(1);
  EXPECT_FALSE(Due(500));
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), 1500u);
  EXPECT_FALSE(Due(1499));
  EXPECT_TRUE(Due(1500));
  EXPECT_FALSE(Due(9999));
}

TEST_F(Wakeup, ReaderThatCameByItselfIsNotWoken) {
  Write(5);
  EXPECT_FALSE(Due(1));
  s.ring.tail.tail = 5;
  EXPECT_FALSE(Due(5000));
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), NPC_TIME_NEVER);
  Write(1);
  EXPECT_FALSE(Due(6000));  // its latency begins now
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), 7000u);
}

TEST_F(Wakeup, HostileTailNeitherSilencesNorFloods) {
  s.ring.tail.tail = 1u << 20;
  int wakeups = 0;
  for (uint64_t k = 0; k < 64; ++k) {
    Write(1);
    wakeups += Due(k);
  }
  EXPECT_GE(wakeups, 1);
  EXPECT_LE(wakeups, 8);
}

TEST_F(Wakeup, EndlessLatencyNeverWakesEarly) {
  npc_wakeup_init(&wakeup, 8, NPC_TIME_NEVER);
  Write(1);
  EXPECT_FALSE(Due(100));
  EXPECT_EQ(npc_wakeup_deadline(&wakeup), NPC_TIME_NEVER);
}

TEST(WakeupOverwrite, NeverWakes) {
  TestSession s(16, true);
  npc_wakeup wakeup;
  npc_wakeup_init(&wakeup, 1, 1);
  for (uint64_t k = 0; k < 40; ++k) {
    s.ring.Write(k, k);
    EXPECT_FALSE(npc_wakeup_due(&wakeup, &s.ring.ring, k * 100));
  }
}

}  // namespace
