// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ring_fixture.h"

namespace {

TEST(Ring, StartsEmptyAndIdle) {
  TestSession s;
  EXPECT_EQ(s.ring.ctrl.head, 0u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 0u);
  EXPECT_EQ(s.ring.ctrl.state, uint32_t{NPUPROF_RING_IDLE});
  EXPECT_EQ(s.ring.ctrl.slots, 16u);
  EXPECT_EQ(s.ring.ctrl.record_size, 64u);
  EXPECT_EQ(npc_ring_pending(&s.ring.ring), 0u);
}

TEST(Ring, CommittedRecordsShowOnlyAfterPublish) {
  TestSession s;
  uint64_t record[8] = {7};
  EXPECT_TRUE(npc_ring_write(&s.ring.ring, record, 1));
  EXPECT_TRUE(npc_ring_write(&s.ring.ring, record, 2));
  EXPECT_EQ(s.ring.ctrl.head, 0u);
  npc_ring_publish(&s.ring.ring);
  EXPECT_EQ(s.ring.ctrl.head, 2u);
  EXPECT_EQ(s.ring.At(1), 7u);
}

TEST(Ring, ReserveWithoutCommitGivesTheSameSlot) {
  TestSession s;
  void* first = npc_ring_reserve(&s.ring.ring, 1);
  EXPECT_EQ(npc_ring_reserve(&s.ring.ring, 2), first);
  npc_ring_commit(&s.ring.ring);
  EXPECT_NE(npc_ring_reserve(&s.ring.ring, 3), first);
}

TEST(Ring, FullRingKeepsTheOldestAndCountsTheNew) {
  TestSession s;
  for (uint64_t k = 0; k < 20; ++k) EXPECT_EQ(s.ring.Write(k, 100 + k), k < 16);
  EXPECT_EQ(s.ring.ctrl.head, 16u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 4u);
  EXPECT_EQ(s.ring.ctrl.lost_bytes, 4u * 64);
  EXPECT_EQ(s.ring.ctrl.lost_by_cause[NPUPROF_LOSS_RING_FULL], 4u);
  for (uint64_t k = 0; k < 16; ++k) EXPECT_EQ(s.ring.At(k), k);
}

TEST(Ring, GapIsToldWhenTheRingTakesRecordsAgain) {
  TestSession s;
  for (uint64_t k = 0; k < 19; ++k) s.ring.Write(k, 100 + k);
  EXPECT_EQ(s.events.ctrl.head, 0u);
  s.ring.tail.tail = 1;
  s.ring.Write(19, 119);
  ASSERT_EQ(s.events.ctrl.head, 1u);
  const npuprof_rec_event gap = s.Event(0);
  EXPECT_EQ(gap.kind, uint32_t{NPUPROF_EVENT_GAP});
  EXPECT_EQ(gap.ring, 1u);
  EXPECT_EQ(gap.cause, uint32_t{NPUPROF_LOSS_RING_FULL});
  EXPECT_EQ(gap.position, 16u);
  EXPECT_EQ(gap.count, 3u);
  EXPECT_EQ(gap.first, 116u);
  EXPECT_EQ(gap.last, 118u);
  EXPECT_EQ(s.ring.At(16), 19u);
}

TEST(Ring, DriverIsToldOfEachGapBeforeItIsForgotten) {
  TestSession s;
  static std::vector<std::pair<npuprof_loss_cause, npc_gap>> told;
  told.clear();
  s.ring.ring.gap_closed = [](const npc_ring*, npuprof_loss_cause cause, const npc_gap* gap) {
    told.emplace_back(cause, *gap);
  };
  for (uint64_t k = 0; k < 19; ++k) s.ring.Write(k, 100 + k);
  npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_RESET, 2, 15, 16);
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(npc_ring_close_gaps(&s.ring.ring));
  EXPECT_TRUE(npc_ring_close_gaps(&s.ring.ring));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].first, NPUPROF_LOSS_RING_FULL);
  EXPECT_EQ(told[0].second.count, 3u);
  EXPECT_EQ(told[0].second.position, 16u);
  EXPECT_EQ(told[1].first, NPUPROF_LOSS_RESET);
  EXPECT_EQ(told[1].second.count, 2u);
}

TEST(Ring, GapsOfDifferentCausesStayApart) {
  TestSession s;
  npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_FIFO_OVERFLOW, 5, 10, 14);
  npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_RESET, 2, 15, 16);
  npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_FIFO_OVERFLOW, 1, 17, 17);
  EXPECT_TRUE(npc_ring_close_gaps(&s.ring.ring));
  ASSERT_EQ(s.events.ctrl.head, 2u);
  EXPECT_EQ(s.Event(0).cause, uint32_t{NPUPROF_LOSS_FIFO_OVERFLOW});
  EXPECT_EQ(s.Event(0).count, 6u);
  EXPECT_EQ(s.Event(0).first, 10u);
  EXPECT_EQ(s.Event(0).last, 17u);
  EXPECT_EQ(s.Event(1).count, 2u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 8u);
  EXPECT_EQ(s.ring.ctrl.lost_by_cause[NPUPROF_LOSS_FIFO_OVERFLOW], 6u);
  EXPECT_EQ(s.ring.ctrl.lost_by_cause[NPUPROF_LOSS_RESET], 2u);
}

TEST(Ring, LosingNothingOpensNoGap) {
  TestSession s;
  npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_RESET, 0, 1, 2);
  EXPECT_TRUE(npc_ring_close_gaps(&s.ring.ring));
  EXPECT_EQ(s.events.ctrl.head, 0u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 0u);
}

TEST(Ring, FullEventRingLosesNoCountOfTheGaps) {
  TestSession s;
  // 40 gaps of one record each: 16 fit, the others merge into the one that stays open.
  for (uint64_t k = 0; k < 40; ++k) {
    npc_ring_lose(&s.ring.ring, NPUPROF_LOSS_FIFO_OVERFLOW, 1, k, k);
    s.ring.Write(k, k);
    s.ring.tail.tail = s.ring.ctrl.head;
  }
  EXPECT_EQ(s.events.ctrl.head, 16u);
  EXPECT_EQ(s.events.ctrl.lost_records, 0u);
  EXPECT_FALSE(npc_ring_close_gaps(&s.ring.ring));
  EXPECT_EQ(s.CountInGaps() + s.ring.ring.gaps[NPUPROF_LOSS_FIFO_OVERFLOW].count, 40u);
  EXPECT_EQ(s.ring.ring.gaps[NPUPROF_LOSS_FIFO_OVERFLOW].position, 16u);
  s.events.tail.tail = 16;
  EXPECT_TRUE(npc_ring_close_gaps(&s.ring.ring));
  ASSERT_EQ(s.events.ctrl.head, 17u);
  EXPECT_EQ(s.Event(16).count, 24u);
  EXPECT_EQ(s.Event(16).first, 16u);
  EXPECT_EQ(s.Event(16).last, 39u);
}

TEST(Ring, TailAheadOfHeadCountsAsFull) {
  TestSession s;
  s.ring.StartAt(100);
  s.ring.ring.tail_seen = 84;  // what was last believed leaves no room, so the tail is read again
  s.ring.tail.tail = 101;
  EXPECT_FALSE(s.ring.Write(1, 1));
  EXPECT_EQ(npc_ring_pending(&s.ring.ring), 16u);
  s.ring.tail.tail = ~uint64_t{0};
  EXPECT_FALSE(s.ring.Write(1, 2));
  EXPECT_EQ(s.ring.ctrl.lost_by_cause[NPUPROF_LOSS_RING_FULL], 2u);
}

TEST(Ring, TailFarBehindCountsAsFull) {
  TestSession s;
  s.ring.StartAt(1000);
  s.ring.ring.tail_seen = 984;
  for (uint64_t tail : {uint64_t{0}, uint64_t{983}, uint64_t{1} << 63}) {
    s.ring.tail.tail = tail;
    EXPECT_FALSE(s.ring.Write(1, 1)) << tail;
  }
  s.ring.tail.tail = 985;
  EXPECT_TRUE(s.ring.Write(1, 1));
}

TEST(Ring, TailGoingBackNeverLetsUnreadRecordsBeOverwritten) {
  TestSession s;
  for (uint64_t k = 0; k < 16; ++k) s.ring.Write(k, k);
  s.ring.tail.tail = 8;
  s.ring.Write(16, 16);  // believes 8
  s.ring.tail.tail = 2;
  uint64_t kept = 0;
  for (uint64_t k = 17; k < 40; ++k) kept += s.ring.Write(k, k);
  EXPECT_EQ(kept, 7u);  // up to tail 8 plus 16 slots, no further
  EXPECT_EQ(s.ring.ctrl.head, 24u);
}

TEST(Ring, AHostileTailCannotBreakTheSum) {
  TestSession s;
  uint64_t random = 12345, kept = 0;
  for (uint64_t k = 0; k < 100000; ++k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    switch (random >> 62) {
      case 0:
        s.ring.tail.tail = random;
        break;
      case 1:
        s.ring.tail.tail = s.ring.ctrl.head;
        break;
      case 2:
        s.ring.tail.tail = s.ring.ctrl.head - (random >> 40) % 20;
        break;
      default:
        break;
    }
    kept += s.ring.Write(k, k);
    s.events.tail.tail = s.events.ctrl.head;
  }
  EXPECT_EQ(s.ring.ctrl.head, kept);
  EXPECT_EQ(kept + s.ring.ctrl.lost_records, 100000u);
  EXPECT_GT(kept, 1000u);
  EXPECT_GT(s.ring.ctrl.lost_records, 1000u);
}

TEST(Ring, IndicesWrapAt64Bits) {
  TestSession s;
  s.ring.StartAt(~uint64_t{0} - 4);
  for (uint64_t k = 0; k < 16; ++k) EXPECT_TRUE(s.ring.Write(k, k)) << k;
  EXPECT_EQ(s.ring.ctrl.head, 11u);
  EXPECT_EQ(npc_ring_pending(&s.ring.ring), 16u);
  EXPECT_FALSE(s.ring.Write(16, 16));
  for (uint64_t k = 0; k < 16; ++k) EXPECT_EQ(s.ring.At(~uint64_t{0} - 4 + k), k);
  s.ring.tail.tail = 3;
  for (uint64_t k = 0; k < 8; ++k) EXPECT_TRUE(s.ring.Write(k, k)) << k;
  EXPECT_FALSE(s.ring.Write(8, 8));
}

TEST(Ring, TailJustBehindTheWrapIsStillChecked) {
  TestSession s;
  s.ring.StartAt(3);
  s.ring.ring.tail_seen = 3 - uint64_t{16};
  s.ring.tail.tail = 3 - uint64_t{17};  // one too many
  EXPECT_FALSE(s.ring.Write(1, 1));
  s.ring.tail.tail = 3 - uint64_t{15};
  EXPECT_TRUE(s.ring.Write(1, 1));
}

TEST(RingOverwrite, KeepsTheNewest) {
  TestSession s(16, true);
  for (uint64_t k = 0; k < 1000; ++k) EXPECT_TRUE(s.ring.Write(k, k));
  EXPECT_EQ(s.ring.ctrl.head, 1000u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 0u);
  for (uint64_t k = 984; k < 1000; ++k) EXPECT_EQ(s.ring.At(k), k);
}

TEST(RingOverwrite, FrozenRingStandsStillAndCounts) {
  TestSession s(16, true);
  for (uint64_t k = 0; k < 20; ++k) s.ring.Write(k, k);
  npc_ring_freeze(&s.ring.ring, true);
  EXPECT_EQ(s.ring.ctrl.state, uint32_t{NPUPROF_RING_FROZEN});
  for (uint64_t k = 20; k < 25; ++k) EXPECT_FALSE(s.ring.Write(k, k));
  EXPECT_EQ(s.ring.ctrl.head, 20u);
  EXPECT_EQ(s.ring.ctrl.lost_records, 5u);
  for (uint64_t k = 4; k < 20; ++k) EXPECT_EQ(s.ring.At(k), k);
  npc_ring_freeze(&s.ring.ring, false);
  EXPECT_EQ(s.ring.ctrl.state, uint32_t{NPUPROF_RING_RUNNING});
  EXPECT_TRUE(s.ring.Write(25, 25));
  EXPECT_EQ(s.CountInGaps(), 5u);
  EXPECT_EQ(s.ring.ctrl.head, 21u);
}

TEST(RingOverwrite, FreezeLeavesDiscardRingsAlone) {
  TestSession s;
  npc_ring_set_state(&s.ring.ring, NPUPROF_RING_RUNNING);
  npc_ring_freeze(&s.ring.ring, true);
  EXPECT_EQ(s.ring.ctrl.state, uint32_t{NPUPROF_RING_RUNNING});
  EXPECT_TRUE(s.ring.Write(1, 1));
}

TEST(RingDevice, FollowsTheDevice) {
  TestSession s;
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 16), 0);
  EXPECT_EQ(npc_ring_pending(&s.ring.ring), 16u);
  s.ring.tail.tail = 10;
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 26), 0);
  EXPECT_EQ(s.ring.ring.head, 26u);
}

TEST(RingDevice, ReaderAheadOfTheDriverIsNoError) {
  TestSession s;
  s.ring.tail.tail = 12;  // consumed what the device published, before the driver looked
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 14), 0);
  EXPECT_EQ(npc_ring_pending(&s.ring.ring), 2u);
}

TEST(RingDevice, ImpossibleHeadsAreRefused) {
  TestSession s;
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 17), -EINVAL);
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 8), 0);
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 7), -EINVAL);
  EXPECT_EQ(npc_ring_follow_device(&s.ring.ring, 17), -EINVAL);  // no room was given beyond 16
  EXPECT_EQ(s.ring.ring.head, 8u);
}

TEST(RingDevice, GapGoesOutWithThePositionTheDeviceNoted) {
  TestSession s;
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 16), 0);
  npc_ring_lose_at(&s.ring.ring, NPUPROF_LOSS_NO_CREDIT, 16, 9, 50, 58);
  s.ring.tail.tail = 16;
  ASSERT_EQ(npc_ring_follow_device(&s.ring.ring, 20), 0);
  ASSERT_EQ(s.events.ctrl.head, 1u);
  EXPECT_EQ(s.Event(0).position, 16u);
  EXPECT_EQ(s.Event(0).count, 9u);
  EXPECT_EQ(s.Event(0).cause, uint32_t{NPUPROF_LOSS_NO_CREDIT});
}

TEST(RingEvents, RecordsSayWhatTheyMean) {
  npuprof_rec_event event;
  npc_event_epoch(&event, 3, NPUPROF_LOSS_RESET, 77);
  EXPECT_EQ(event.kind, uint32_t{NPUPROF_EVENT_EPOCH});
  EXPECT_EQ(event.ring, 0xffffffffu);
  EXPECT_EQ(event.epoch, 3u);
  EXPECT_EQ(event.first, 77u);
  npc_event_throttle(&event, 6, 3, 1000, 78);
  EXPECT_EQ(event.kind, uint32_t{NPUPROF_EVENT_THROTTLE});
  EXPECT_EQ(event.ring, 6u);
  EXPECT_EQ(event.cause, uint32_t{NPUPROF_LOSS_THROTTLED});
  EXPECT_EQ(event.count, 1000u);
  EXPECT_EQ(event.first, 78u);
  npuprof_clock clock{};
  clock.host_before_ns = 1000;
  clock.device_clock = 5;
  clock.host_after_ns = 1041;
  npc_event_clock(&event, 3, &clock);
  EXPECT_EQ(event.kind, uint32_t{NPUPROF_EVENT_CLOCK});
  EXPECT_EQ(event.count, 1020u);
  EXPECT_EQ(event.first, 5u);
  EXPECT_EQ(event.last, 41u);
}

}  // namespace
