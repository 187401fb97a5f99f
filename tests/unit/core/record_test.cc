// SPDX-License-Identifier: Apache-2.0
#include "core/record.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

template <class T>
T Dirty() {
  T record;
  std::memset(&record, 0xee, sizeof record);
  return record;
}

template <class T>
T At(const void* record, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(record) + offset, sizeof value);
  return value;
}

npc_slots InOrder(uint8_t count) {
  npc_slots slots{};
  slots.count = count;
  for (uint8_t k = 0; k < count; ++k) slots.slot[k] = k;
  return slots;
}

TEST(Record, TaskLogBytesAreThoseOfTheFile) {
  npc_task_mark mark{};
  mark.func = NPUPROF_FUNC_TASK_END;
  mark.type = NPUPROF_SQE_SDMA;
  mark.stream_id = 0x1234;
  mark.task_id = 0xfffe;
  mark.clock = 0x1122334455667788;
  mark.subtask_type = 6;  // ignored: this is a task
  mark.ffts_type = 4;
  mark.subtask_id = 9;
  auto record = Dirty<npuprof_rec_task_log>();
  npc_record_task_log(&record, &mark);
  EXPECT_EQ(At<uint16_t>(&record, 0), 1 | 11 << 10);
  EXPECT_EQ(At<uint16_t>(&record, 2), 0x6bd3);
  EXPECT_EQ(At<uint16_t>(&record, 4), 0x1234);
  EXPECT_EQ(At<uint16_t>(&record, 6), 0xfffe);
  EXPECT_EQ(At<uint64_t>(&record, 8), 0x1122334455667788u);
  for (size_t k = 16; k < sizeof record; ++k) EXPECT_EQ(At<uint8_t>(&record, k), 0) << k;
}

TEST(Record, SubTaskLogCarriesItsContext) {
  npc_task_mark mark{};
  mark.func = NPUPROF_FUNC_SUBTASK_START;
  mark.type = NPUPROF_SQE_AI_CORE;
  mark.subtask_type = NPUPROF_SUBTASK_MIX_AIC;
  mark.subtask_id = 77;
  mark.ffts_type = NPUPROF_FFTS_PLUS;
  mark.thread_id = 3;
  auto record = Dirty<npuprof_rec_task_log>();
  npc_record_task_log(&record, &mark);
  EXPECT_EQ(At<uint16_t>(&record, 0), 0x22);
  EXPECT_EQ(At<uint16_t>(&record, 16), 6);
  EXPECT_EQ(At<uint16_t>(&record, 18), 77);
  EXPECT_EQ(At<uint16_t>(&record, 20), 4 << 13);
  EXPECT_EQ(At<uint16_t>(&record, 22), 3);
}

TEST(Record, TaskPmuPicksTheRingsEvents) {
  npc_counts counts{};
  for (uint64_t k = 0; k < 8; ++k) counts.counters[k] = 100 + k;
  counts.cycles = ~uint64_t{0};
  counts.start = 5;
  counts.end = 9;
  counts.stream_id = 2;
  counts.task_id = 3;
  counts.subtask_type = NPUPROF_SUBTASK_MIX_AIV;
  counts.subtask_id = 4;
  counts.ffts_type = NPUPROF_FFTS_PLUS;
  npc_slots slots{};
  slots.count = 3;
  slots.slot[0] = 6;
  slots.slot[1] = 0;
  slots.slot[2] = 7;
  auto record = Dirty<npuprof_rec_task_pmu>();
  npc_record_task_pmu(&record, &counts, &slots);
  EXPECT_EQ(At<uint16_t>(&record, 0), 0x28);
  EXPECT_EQ(At<uint16_t>(&record, 4), 2);
  EXPECT_EQ(At<uint16_t>(&record, 6), 3);
  EXPECT_EQ(At<uint16_t>(&record, 16), 7);
  EXPECT_EQ(At<uint16_t>(&record, 18), 4);
  EXPECT_EQ(At<uint16_t>(&record, 20), 4 << 13);
  EXPECT_EQ(At<uint64_t>(&record, 32), ~uint64_t{0});
  EXPECT_EQ(At<uint64_t>(&record, 48), 106u);
  EXPECT_EQ(At<uint64_t>(&record, 56), 100u);
  EXPECT_EQ(At<uint64_t>(&record, 64), 107u);
  for (size_t k = 72; k < 112; k += 8) EXPECT_EQ(At<uint64_t>(&record, k), 0u);
  EXPECT_EQ(At<uint64_t>(&record, 112), 5u);
  EXPECT_EQ(At<uint64_t>(&record, 120), 9u);
}

TEST(Record, BlockPmuPacksCoreAndTypes) {
  npc_counts counts{};
  counts.core_kind = NPUPROF_CORE_VECTOR;
  counts.core = 47;
  counts.ffts_type = NPUPROF_FFTS_MIX;
  counts.block_id = 11;
  counts.subblock_id = 1;
  counts.cycles = 12;
  auto record = Dirty<npuprof_rec_block_pmu>();
  const npc_slots none = InOrder(0);
  npc_record_block_pmu(&record, &counts, &none);
  EXPECT_EQ(At<uint16_t>(&record, 0), 0x29);
  EXPECT_EQ(At<uint8_t>(&record, 20), 47 << 1 | 1);
  EXPECT_EQ(At<uint8_t>(&record, 21), 5 << 5);
  EXPECT_EQ(At<uint16_t>(&record, 28), 1);
  EXPECT_EQ(At<uint16_t>(&record, 30), 11);
  EXPECT_EQ(At<uint64_t>(&record, 32), 12u);
  counts.core_kind = NPUPROF_CORE_CUBE;
  counts.core = 127;
  npc_record_block_pmu(&record, &counts, &none);
  EXPECT_EQ(At<uint8_t>(&record, 20), 127 << 1);
}

TEST(Record, Track) {
  auto record = Dirty<npuprof_rec_ts_track>();
  npc_record_step(&record, 10, 20, 0xffffffff, 1, 2, 60000);
  EXPECT_EQ(At<uint8_t>(&record, 1), 10);
  EXPECT_EQ(At<uint16_t>(&record, 2), 40);
  EXPECT_EQ(At<uint64_t>(&record, 8), 10u);
  EXPECT_EQ(At<uint64_t>(&record, 16), 20u);
  EXPECT_EQ(At<uint64_t>(&record, 24), 0xffffffffu);
  EXPECT_EQ(At<uint16_t>(&record, 32), 1);
  EXPECT_EQ(At<uint16_t>(&record, 34), 2);
  EXPECT_EQ(At<uint16_t>(&record, 36), 60000);
  npc_record_flip(&record, 11, 5, 6, 7);
  EXPECT_EQ(At<uint8_t>(&record, 1), 14);
  EXPECT_EQ(At<uint16_t>(&record, 16), 5);
  EXPECT_EQ(At<uint16_t>(&record, 18), 6);
  EXPECT_EQ(At<uint16_t>(&record, 22), 7);
  EXPECT_EQ(At<uint64_t>(&record, 32), 0u);
}

TEST(Record, BandwidthAndAicpu) {
  auto record = Dirty<npuprof_rec_bandwidth>();
  npc_record_bandwidth(&record, 1, 2, 3, 4);
  EXPECT_EQ(record.clock, 1u);
  EXPECT_EQ(record.unit, 2u);
  EXPECT_EQ(record.event, 3u);
  EXPECT_EQ(record.value, 4u);
  EXPECT_EQ(record.reserved, 0u);
  auto aicpu = Dirty<npuprof_rec_aicpu>();
  const __u64 times[4] = {1, 2, 3, 4};
  npc_record_aicpu(&aicpu, 8, 9, times);
  EXPECT_EQ(aicpu.stream_id, 8);
  EXPECT_EQ(aicpu.task_id, 9);
  EXPECT_EQ(aicpu.submitted, 1u);
  EXPECT_EQ(aicpu.scheduled, 2u);
  EXPECT_EQ(aicpu.start, 3u);
  EXPECT_EQ(aicpu.end, 4u);
  EXPECT_EQ(aicpu.reserved[2], 0u);
}

TEST(Record, SamplesAreDifferencesAndAddUp) {
  npc_core core;
  npc_core_reading reading{};
  reading.counters[0] = 0xfffffff0;
  reading.counters[1] = 5;
  reading.cycles = npc_counter_mask(48) - 1;
  npc_core_start(&core, 2, 32, 48, &reading);
  const npc_slots slots = InOrder(2);
  auto record = Dirty<npuprof_rec_core_sample>();

  reading.counters[0] = 0x10;
  reading.counters[1] = 6;
  reading.cycles = 8;
  reading.overflowed = 1 | 1u << NPUPROF_MAX_COUNTERS;
  npc_core_update(&core, &reading);
  npc_record_core_sample(&record, &core, &slots, 24, 1000);
  EXPECT_EQ(At<uint8_t>(&record, 0), 1);
  EXPECT_EQ(At<uint64_t>(&record, 8), 0x20u);
  EXPECT_EQ(At<uint64_t>(&record, 16), 1u);
  EXPECT_EQ(At<uint64_t>(&record, 24), 0u);
  EXPECT_EQ(At<uint64_t>(&record, 72), 10u);
  EXPECT_EQ(At<uint64_t>(&record, 80), 1000u);
  EXPECT_EQ(At<uint8_t>(&record, 88), 2);
  EXPECT_EQ(At<uint8_t>(&record, 89), 24);

  // An overflow between two samples is read once for itself, and once more with the sample.
  reading.overflowed = 1;
  npc_core_update(&core, &reading);
  reading.overflowed = 0;
  reading.counters[0] = 0x11;
  npc_core_update(&core, &reading);
  npc_record_core_sample(&record, &core, &slots, 24, 2000);
  EXPECT_EQ(At<uint64_t>(&record, 8), 0x100000001u);
  EXPECT_EQ(At<uint64_t>(&record, 72), 0u);
}

TEST(Record, UnusedCountersStayOut) {
  npc_core core;
  npc_core_reading reading{};
  npc_core_start(&core, 0, 32, 48, &reading);
  for (auto& counter : reading.counters) counter = 7;
  reading.cycles = 3;
  reading.overflowed = 0xff;
  npc_core_update(&core, &reading);
  npuprof_rec_core_sample record;
  const npc_slots none = InOrder(0);
  npc_record_core_sample(&record, &core, &none, 0, 1);
  for (uint64_t counter : record.counters) EXPECT_EQ(counter, 0u);
  EXPECT_EQ(record.cycles, 3u);
  EXPECT_EQ(record.count, 0);
}

}  // namespace
