// SPDX-License-Identifier: Apache-2.0
#include "core/entry.h"

#include <gtest/gtest.h>

#include <cstring>

#include "npuprof.h"

namespace {

__u64 Word0(unsigned type, unsigned sqe, unsigned stream, unsigned task, unsigned sub = 0, unsigned ffts = 0,
            unsigned vector = 0) {
  return type | __u64{sqe} << 8 | __u64{stream} << 16 | __u64{task} << 32 | __u64{sub} << 48 |
         __u64{ffts} << 56 | __u64{vector} << 59;
}

struct Entry : testing::Test {
  npc_entry_context context{};
  __u64 words[REFNPU_FIFO_WORDS] = {};
  void SetUp() override {
    for (int kind = 0; kind < 2; ++kind) {
      context.slots[kind].count = static_cast<__u8>(2 - kind);  // two cube events, one vector event
      context.slots[kind].slot[0] = static_cast<__u8>(3 + kind);
      context.slots[kind].slot[1] = 0;
    }
    for (__u64 k = 1; k < REFNPU_FIFO_WORDS; ++k) words[k] = 1000 + k;
  }
};

TEST_F(Entry, StartAndEnd) {
  npuprof_rec_task_log record;
  words[0] = Word0(REFNPU_ENTRY_START, NPUPROF_SQE_AIV, 0xffff, 0xfffe, 6, 4);
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_TASK_LOG, words, &context), 0);
  EXPECT_EQ(record.head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_START, NPUPROF_SQE_AIV));
  EXPECT_EQ(record.stream_id, 0xffff);
  EXPECT_EQ(record.task_id, 0xfffe);
  EXPECT_EQ(record.clock, 1001u);
  EXPECT_EQ(record.subtask_type, 0);
  EXPECT_EQ(npc_entry_words(words[0]), 2u);
  EXPECT_EQ(npc_entry_clock(words), 1001u);
  words[0] = Word0(REFNPU_ENTRY_SUB_END, 0, 1, 2, 6, 4);
  words[2] = 0x00050007;
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_TASK_LOG, words, &context), 0);
  EXPECT_EQ(record.head, NPUPROF_HEAD(NPUPROF_FUNC_SUBTASK_END, 0));
  EXPECT_EQ(record.subtask_type, 6);
  EXPECT_EQ(record.subtask_id, 7);
  EXPECT_EQ(record.thread_id, 5);
  EXPECT_EQ(record.ffts_type, 4 << 13);
}

TEST_F(Entry, CountersFollowTheCoreKind) {
  npuprof_rec_task_pmu record;
  words[0] = Word0(REFNPU_ENTRY_PMU, 0, 1, 2, 0, 0, 0);
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_TASK_PMU, words, &context), 0);
  EXPECT_EQ(record.start, 1001u);
  EXPECT_EQ(record.end, 1002u);
  EXPECT_EQ(record.cycles, 1003u);
  EXPECT_EQ(record.counters[0], 1005u + 3);
  EXPECT_EQ(record.counters[1], 1005u);
  words[0] = Word0(REFNPU_ENTRY_PMU, 0, 1, 2, 1, 1, 1);
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_TASK_PMU, words, &context), 0);
  EXPECT_EQ(record.counters[0], 1005u + 4);
  EXPECT_EQ(record.counters[1], 0u);
  EXPECT_EQ(npc_entry_words(words[0]), 13u);
}

TEST_F(Entry, Block) {
  npuprof_rec_block_pmu record;
  context.core = 31;
  words[0] = Word0(REFNPU_ENTRY_BLOCK, 0, 1, 2, 6, 4, 1);
  words[4] = 0x9 | __u64{0x1234} << 16 | __u64{1} << 32;
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_BLOCK_PMU, words, &context), 0);
  EXPECT_EQ(record.core, 31 << 1 | 1);
  EXPECT_EQ(record.subtask_id, 9);
  EXPECT_EQ(record.block_id, 0x1234);
  EXPECT_EQ(record.subblock_id, 1);
  EXPECT_EQ(record.ffts_type, 4 << 5);
}

TEST_F(Entry, TrackAndAicpu) {
  npuprof_rec_ts_track track;
  words[0] = Word0(REFNPU_ENTRY_STEP, 0, 3, 4);
  words[4] = 60001;
  ASSERT_EQ(npc_entry_record(&track, NPUPROF_CHANNEL_TS_TRACK, words, &context), 0);
  EXPECT_EQ(track.step.tag_id, 60001);
  EXPECT_EQ(track.step.index_id, 1002u);
  EXPECT_EQ(track.step.model_id, 1003u);
  words[0] = Word0(REFNPU_ENTRY_FLIP, 0, 3, 0);
  words[2] = 2;
  ASSERT_EQ(npc_entry_record(&track, NPUPROF_CHANNEL_TS_TRACK, words, &context), 0);
  EXPECT_EQ(track.tag, NPUPROF_TS_FLIP);
  EXPECT_EQ(track.flip.flip_count, 2);
  EXPECT_EQ(track.flip.stream_id, 3);
  npuprof_rec_aicpu aicpu;
  words[0] = Word0(REFNPU_ENTRY_AICPU, 1, 3, 4);
  ASSERT_EQ(npc_entry_record(&aicpu, NPUPROF_CHANNEL_AICPU, words, &context), 0);
  EXPECT_EQ(aicpu.submitted, 1001u);
  EXPECT_EQ(aicpu.end, 60001u);
  EXPECT_EQ(npc_entry_clock(words), 1003u);
}

TEST_F(Entry, L2EventsOfATask) {
  words[0] = Word0(REFNPU_ENTRY_SOC, NPUPROF_SQE_AIV, 3, 4);
  EXPECT_EQ(npc_entry_words(words[0]), 10u);
  npuprof_rec_soc_pmu record;
  std::memset(&record, 0xee, sizeof record);
  ASSERT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_SOC_PMU, words, &context), 0);
  EXPECT_EQ(record.reserved, 0u);
  EXPECT_EQ(record.task_type, NPUPROF_SQE_AIV);
  EXPECT_EQ(record.stream_id, 3);
  EXPECT_EQ(record.task_id, 4);
  EXPECT_EQ(record.data_type, NPUPROF_SOC_L2);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(record.counters[i], words[2 + i]);
  EXPECT_EQ(npc_entry_clock(words), words[1]);
}

TEST_F(Entry, ForeignEntriesAreRefused) {
  npuprof_rec_task_log record;
  std::memset(&record, 0xee, sizeof record);
  const npuprof_rec_task_log before = record;
  for (unsigned type = 0; type < 64; ++type) {
    words[0] = Word0(type, 0, 0, 0);
    if (type >= REFNPU_ENTRY_START && type <= REFNPU_ENTRY_SUB_END) continue;
    EXPECT_EQ(npc_entry_record(&record, NPUPROF_CHANNEL_TASK_LOG, words, &context), -EINVAL) << type;
    if (type == 0 || type > REFNPU_ENTRY_SOC) {
      EXPECT_EQ(npc_entry_words(words[0]), 0u) << type;
    }
  }
  EXPECT_EQ(std::memcmp(&record, &before, sizeof record), 0);
}

// What the driver cannot understand is missing from the ring all the same, and counted there.
TEST_F(Entry, WhatIsNoRecordOfTheChannelIsCountedAsLost) {
  npuprof_ring_ctrl ctrl{}, events_ctrl{};
  npuprof_ring_tail tail{}, events_tail{};
  alignas(8) char data[2 * sizeof(npuprof_rec_task_log)] = {};
  alignas(8) char events_data[4 * sizeof(npuprof_rec_event)] = {};
  npc_ring events, ring;
  npc_ring_setup setup{};
  setup.ctrl = &events_ctrl;
  setup.tail = &events_tail;
  setup.data = events_data;
  setup.slots = 4;
  setup.record_size = sizeof(npuprof_rec_event);
  npc_ring_init(&events, &setup);
  setup.ctrl = &ctrl;
  setup.tail = &tail;
  setup.data = data;
  setup.events = &events;
  setup.slots = 2;
  setup.record_size = sizeof(npuprof_rec_task_log);
  setup.index = 1;
  npc_ring_init(&ring, &setup);
  const auto put = [&](unsigned type, __u64 clock) {
    words[0] = Word0(type, 0, 1, 2);
    npc_entry_put(&ring, NPUPROF_CHANNEL_TASK_LOG, words, &context, clock);
  };
  put(REFNPU_ENTRY_START, 1);
  put(63, 2);                  // no type that there is
  put(REFNPU_ENTRY_AICPU, 3);  // of another channel
  put(REFNPU_ENTRY_END, 4);
  put(REFNPU_ENTRY_END, 5);  // finds the ring full
  EXPECT_EQ(ring.head, 2u);
  EXPECT_EQ(ctrl.lost_records, 3u);
  EXPECT_EQ(ctrl.lost_by_cause[NPUPROF_LOSS_UNKNOWN], 2u);
  EXPECT_EQ(ctrl.lost_by_cause[NPUPROF_LOSS_RING_FULL], 1u);
  npuprof_rec_event gap;
  std::memcpy(&gap, events_data, sizeof gap);
  EXPECT_EQ(gap.cause, __u32{NPUPROF_LOSS_UNKNOWN});
  EXPECT_EQ(gap.position, 1u);
  EXPECT_EQ(gap.count, 2u);
  EXPECT_EQ(gap.first, 2u);
  EXPECT_EQ(gap.last, 3u);
}

}  // namespace
