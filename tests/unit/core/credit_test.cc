// SPDX-License-Identifier: Apache-2.0
#include "core/credit.h"

#include <gtest/gtest.h>

#include "ring_fixture.h"

namespace {

TEST(Credit, FreshRingMayBeFilledOnce) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  EXPECT_EQ(credit.limit, 64u);
  EXPECT_EQ(credit.step, 8u);
  EXPECT_FALSE(npc_credit_renew(&credit, &s.ring.ring));
}

TEST(Credit, SmallestRingHasAStep) {
  TestSession s(4);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  EXPECT_EQ(credit.step, 1u);
}

TEST(Credit, IsRenewedFromTheTailInSteps) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 40), 0);
  s.ring.tail.tail = 7;
  EXPECT_FALSE(npc_credit_renew(&credit, &s.ring.ring));
  s.ring.tail.tail = 8;
  EXPECT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
  EXPECT_EQ(credit.limit, 72u);
}

TEST(Credit, ExhaustedDeviceGetsEvenOneSlot) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 64), 0);
  s.ring.tail.tail = 1;
  EXPECT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
  EXPECT_EQ(credit.limit, 65u);
}

// A reader that came back after a long time made one look prepare a whole ring for the device.
TEST(Credit, GrowsByNoMoreThanItMayAtATime) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  EXPECT_EQ(credit.most, 64u);
  credit.most = 20;
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 64), 0);
  s.ring.tail.tail = 64;
  for (uint64_t limit : {84u, 104u, 124u}) {
    EXPECT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
    EXPECT_EQ(credit.limit, limit);
  }
  EXPECT_FALSE(npc_credit_renew(&credit, &s.ring.ring)) << "the rest is not worth it";
  s.ring.tail.tail = 64;
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 124), 0);
  EXPECT_TRUE(npc_credit_renew(&credit, &s.ring.ring)) << "but to a device that has none";
  EXPECT_EQ(credit.limit, 128u);
}

TEST(Credit, NoWordOfTheReaderGivesMoreThanTheRing) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 50), 0);
  uint64_t random = 99;
  for (int k = 0; k < 100000; ++k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    s.ring.tail.tail = k % 3 ? random : random % 80;
    npc_credit_renew(&credit, &s.ring.ring);
    ASSERT_LE(credit.limit, 50u + 64u);
    ASSERT_GE(credit.limit, 64u);
  }
}

TEST(Credit, TailGoingBackTakesNothingAway) {
  TestSession s(64);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 60), 0);
  s.ring.tail.tail = 40;
  ASSERT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
  s.ring.tail.tail = 10;
  EXPECT_FALSE(npc_credit_renew(&credit, &s.ring.ring));
  EXPECT_EQ(credit.limit, 104u);
}

// What the device wrote within its credit was refused for as long as the reader's tail stayed back, and never shown.
TEST(Credit, WhatTheDeviceWritesWithinItsCreditIsBelievedAlthoughTheTailWentBack) {
  for (uint64_t back : {uint64_t{0}, uint64_t{10}, ~uint64_t{0}}) {
    TestSession s(64);
    npc_credit credit;
    npc_credit_init(&credit, &s.ring.ring, 0);
    ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 60), 0);
    s.ring.tail.tail = 40;
    ASSERT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
    ASSERT_EQ(credit.limit, 104u);
    s.ring.tail.tail = back;
    for (uint64_t head : {64u, 70u, 104u})
      EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, head), 0) << back << ", " << head;
    EXPECT_EQ(s.ring.ring.head, 104u);
    EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 105), -EINVAL) << "beyond its credit";
    EXPECT_FALSE(npc_credit_renew(&credit, &s.ring.ring)) << "and it gets no more";
    EXPECT_EQ(credit.limit, 104u);
  }
}

TEST(Credit, WrapsAt64Bits) {
  TestSession s(64);
  s.ring.StartAt(~uint64_t{0} - 9);
  npc_credit credit;
  npc_credit_init(&credit, &s.ring.ring, 0);
  EXPECT_EQ(credit.limit, 54u);
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 20), 0);
  s.ring.tail.tail = 20;
  EXPECT_TRUE(npc_credit_renew(&credit, &s.ring.ring));
  EXPECT_EQ(credit.limit, 84u);
}

}  // namespace
