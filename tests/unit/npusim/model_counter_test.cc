// SPDX-License-Identifier: Apache-2.0
// Counters of cores: LATCH, widths, overflow, sampling.
#include <gtest/gtest.h>

#include "model_device.h"

namespace npusim_test {
namespace {

constexpr uint32_t kCore0 = REFNPU_CORE(0, 0);

void Select(Device& d, uint32_t core, const std::vector<uint32_t>& events,
            uint32_t control = REFNPU_CORE_ENABLE) {
  for (size_t i = 0; i < events.size(); ++i)
    d.W32(static_cast<uint32_t>(REFNPU_CORE(core, REFNPU_CORE_EVENT(i))), events[i]);
  d.W32(REFNPU_CORE(core, REFNPU_CORE_CTRL), control);
}

npusim_task Cube(uint16_t id, uint32_t blocks, uint64_t macs) {
  npusim_task t = Task(NPUSIM_TASK_CUBE, id, blocks);
  t.work.macs_fp16 = macs;
  t.work.read_bytes = macs / 100;
  t.work.write_bytes = macs / 500;
  t.work.l2_hit_ppm = 700'000;
  return t;
}

TEST(ModelCounter, CapabilitiesDescribeTheDevice) {
  npusim_model_config c = Defaults();
  c.cube_cores = 3;
  c.vector_cores = 6;
  Device d(c);
  EXPECT_EQ(d.R32(REFNPU_ID), REFNPU_ID_VALUE);
  EXPECT_EQ(d.R32(REFNPU_CAP_CORES), 3u | 6u << 16);
  EXPECT_EQ(d.R32(REFNPU_CAP_COUNTERS), 8u | 32u << 8 | 48u << 16);
  EXPECT_EQ(d.R64(REFNPU_CAP_CORE_HZ), 1'800'000'000u);
  EXPECT_EQ(d.R32(REFNPU_CORE(2, REFNPU_CORE_KIND)), 1u);
  EXPECT_EQ(d.R32(REFNPU_CORE(3, REFNPU_CORE_KIND)), 2u);
  EXPECT_EQ(d.R32(REFNPU_CORE(9, REFNPU_CORE_KIND)), 0u) << "no such core";
  EXPECT_EQ(d.R32(REFNPU_REGION_SIZE), UINT32_MAX);
  EXPECT_EQ(d.R32(2), UINT32_MAX) << "not aligned";
  EXPECT_EQ(d.R32(0xfffffffc), UINT32_MAX);
}

TEST(ModelCounter, UnknownEventIsRefusedOnReadBack) {
  Device d;
  d.W32(kCore0 + REFNPU_CORE_EVENT(0), 0x49);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_EVENT(0)), 0x49u);
  d.W32(kCore0 + REFNPU_CORE_EVENT(0), 0x7777);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_EVENT(0)), 0u);
  d.W32(REFNPU_TRACE_EVENT(1, 7), 0x10049);
  EXPECT_EQ(d.R32(REFNPU_TRACE_EVENT(1, 7)), 0u);
  EXPECT_EQ(npusim_model_event_known(0x49), 1);
  EXPECT_EQ(npusim_model_event_known(0x7777), 0);
}

TEST(ModelCounter, EveryEventOfThePublishedGroupsIsKnown) {
  for (uint16_t event :
       {0x08, 0x0a, 0x09,  0x0b,  0x0c,  0x0d,  0x54,  0x55,  0x416, 0x417, 0x302, 0x303, 0x49,  0x4a,
        0x4b, 0x4c, 0x4d,  0x4e,  0x4f,  0x15,  0x16,  0x31,  0x32,  0x0f,  0x10,  0x12,  0x13,  0x1b,
        0x1c, 0x21, 0x22,  0x27,  0x28,  0x29,  0x2a,  0x37,  0x38,  0x3d,  0x3e,  0x43,  0x44,  0x64,
        0x65, 0x66, 0x500, 0x502, 0x504, 0x506, 0x508, 0x50a, 0x206, 0x20c, 0x50c, 0x50d, 0x50e, 0x12c})
    EXPECT_EQ(npusim_model_event_known(event), 1) << std::hex << event;
}

TEST(ModelCounter, LatchDifferencesSumToTheTotalsOfTheTasks) {
  Device d;
  const std::vector<uint32_t> events = {0x49, 0x302, 0x0c, 0x303, 0x54, 0x31, 0x12, 0x500};
  for (uint32_t c = 0; c < 24; ++c) Select(d, c, events);
  std::vector<uint64_t> sum(8);
  std::vector<std::vector<uint32_t>> last(24, std::vector<uint32_t>(8));
  uint64_t cycles = 0;
  std::vector<uint64_t> last_cycles(24);
  for (uint16_t i = 0; i < 40; ++i) {
    npusim_task t = Cube(i, 1 + i * 7 % 60, 1'000'003ull * (i + 1));
    t.stream = i % 3;
    d.Submit(t);
  }
  for (int step = 0; step < 3000 && d.Totals().ended < 40; ++step) {
    d.Advance(d.Now() + 1237);
    d.W32(REFNPU_LATCH_ALL, 1);
    for (uint32_t c = 0; c < 24; ++c) {
      for (size_t i = 0; i < 8; ++i) {
        const uint32_t now = d.R32(static_cast<uint32_t>(REFNPU_CORE(c, REFNPU_CORE_COUNTER(i))));
        sum[i] += now - last[c][i];
        last[c][i] = now;
      }
      const uint64_t now = d.R64(REFNPU_CORE(c, REFNPU_CORE_CYCLES));
      ASSERT_GE(now, last_cycles[c]);
      ASSERT_LE((now - last_cycles[c]) * 10, 1238u * 18) << "no core is faster than its clock";
      cycles += now - last_cycles[c];
      last_cycles[c] = now;
    }
  }
  ASSERT_EQ(d.Totals().ended, 40u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(sum[i], npusim_model_event_total(d.model(), 0, static_cast<uint16_t>(events[i])))
        << std::hex << events[i];
  EXPECT_EQ(cycles, d.Totals().cycles[0]);
}

TEST(ModelCounter, ValuesStayFrozenUntilTheNextLatch) {
  Device d;
  Select(d, 0, {0x49});
  d.Submit(Cube(1, 1, 4096ull * 100'000));
  d.Advance(20'000);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  const uint32_t value = d.R32(kCore0 + REFNPU_CORE_COUNTER(0));
  EXPECT_GT(value, 0u);
  d.Advance(30'000);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), value);
  EXPECT_EQ(d.R64(kCore0 + REFNPU_CORE_TIME), 1000u);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_GT(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), value);
}

TEST(ModelCounter, OnlyWhatHappensWhileEnabledIsCounted) {
  Device d;
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 180'000));  // 100 us from 300 ns on
  d.Advance(25'300);
  Select(d, 0, {0x0e});
  d.Advance(75'300);
  d.W32(kCore0 + REFNPU_CORE_CTRL, 0);
  d.Finish();
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R64(kCore0 + REFNPU_CORE_CYCLES), 90'000u);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), 90'000u);
}

TEST(ModelCounter, OverflowIsFlaggedAndInterruptsWhenItHappens) {
  Device d;
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_OVERFLOW);
  Select(d, 0, {0x0e, 0x49}, REFNPU_CORE_ENABLE | REFNPU_CORE_INT);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 9'000'000'000));  // 5 s: the total passes 2^32 twice
  // Cycle 2^32 comes at ceil(2^32 / 1.8) ns after the start.
  const uint64_t first = 300 + (static_cast<uint64_t>(4294967296.0 / 1.8) + 1);
  d.Advance(first - 1);
  EXPECT_EQ(d.irqs[1], 0);
  d.Advance(first);
  EXPECT_EQ(d.irqs[1], 1);
  EXPECT_EQ(d.R32(REFNPU_OVERFLOW_PENDING(0)), 1u);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_OVERFLOW), 1u);
  d.W32(kCore0 + REFNPU_CORE_OVERFLOW, 1);
  d.W32(REFNPU_INT_STATUS, REFNPU_INT_OVERFLOW);
  EXPECT_EQ(d.R32(REFNPU_OVERFLOW_PENDING(0)), 0u);
  d.Finish();
  EXPECT_EQ(d.irqs[1], 2) << "counter 0 again, and counter 1 once in the meantime";
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), static_cast<uint32_t>(9'000'000'000));
  EXPECT_EQ(d.R64(kCore0 + REFNPU_CORE_CYCLES), 9'000'000'000u);
}

TEST(ModelCounter, OverflowWithoutInterruptIsStillFlagged) {
  Device d;
  Select(d, 0, {0x0e});
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 5'000'000'000));
  d.Finish();
  EXPECT_EQ(d.irqs[1], 0);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_OVERFLOW), 1u);
}

// A flag that is newer than the value beside it makes a driver add a whole range too much.
TEST(ModelCounter, OverflowAfterTheLatchIsNotShownWithTheValueBeforeIt) {
  Device d;
  Select(d, 0, {0x0e});
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 5'000'000'000));
  d.Advance(2'000'000'000);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  const uint32_t before = d.R32(kCore0 + REFNPU_CORE_COUNTER(0));
  EXPECT_GT(before, 3'000'000'000u);
  d.Finish();
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), before);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_OVERFLOW), 0u);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), static_cast<uint32_t>(5'000'000'000));
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_OVERFLOW), 1u);
}

TEST(ModelCounter, CountersStartWhereTheDriverSetsThem) {
  Device d;
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_OVERFLOW);
  Select(d, 0, {0x0e}, REFNPU_CORE_ENABLE | REFNPU_CORE_INT);
  d.W32(kCore0 + REFNPU_CORE_COUNTER(0), 0xffffff00);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 1000));
  d.Finish();
  EXPECT_EQ(d.irqs[1], 1);
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), 1000u - 0x100);
}

TEST(ModelCounter, ResetZeroesCountersWhileABlockRuns) {
  Device d;
  Select(d, 0, {0x0e});
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 180'000));
  d.Advance(50'300);
  d.W32(kCore0 + REFNPU_CORE_CTRL, REFNPU_CORE_ENABLE | REFNPU_CORE_RESET);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_BUSY), 1u);
  d.Finish();
  d.W32(kCore0 + REFNPU_CORE_LATCH, 1);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_COUNTER(0)), 90'000u);
  EXPECT_EQ(d.R64(kCore0 + REFNPU_CORE_CYCLES), 90'000u);
  EXPECT_EQ(d.R32(kCore0 + REFNPU_CORE_BUSY), 0u);
}

TEST(ModelCounter, SampledRecordsSumToTheTotalsAndKeepTheirPeriod) {
  npusim_model_config c = Defaults();
  c.clock_ppm = 100;
  Device d(c, 1 << 20);
  Select(d, 30, {0x4b, 0x0e, 0x0c});
  d.AddQueue(0, NPUPROF_CHANNEL_CORE_SAMPLE, 30, 0x1000, 1024, 1024, 10'000);
  for (uint16_t i = 0; i < 30; ++i) {
    npusim_task t = Task(NPUSIM_TASK_VECTOR, i, 48);
    t.work.vec_fp32 = 48 * 64 * 7001ull;
    t.work.read_bytes = 48 * 1024;
    d.Submit(t);
  }
  while (d.Totals().ended < 30) d.Advance(d.Now() + 50'000);
  d.Advance(d.Now() + 10'000);
  const uint64_t n = d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER));
  uint64_t vec = 0, cycles = 0, busy = 0;
  const auto records = d.Records<npuprof_rec_core_sample>(0x1000, n);
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(records[i].core_id, 30);
    EXPECT_EQ(records[i].count, 3);
    EXPECT_EQ(records[i].mode, 1);
    EXPECT_LE(records[i].counters[0], records[i].cycles);
    EXPECT_EQ(records[i].counters[1], records[i].cycles);
    // Device ticks are 20 ns; each sample falls into the tick of its period.
    EXPECT_NEAR(static_cast<double>(records[i].time_ns), 10'000.0 * static_cast<double>(i + 1), 20.0);
    vec += records[i].counters[0];
    cycles += records[i].cycles;
    busy += records[i].counters[1];
  }
  EXPECT_EQ(vec, 30 * 7001u);
  EXPECT_EQ(cycles, d.Totals().cycles[1] / 48);
}

}  // namespace
}  // namespace npusim_test
