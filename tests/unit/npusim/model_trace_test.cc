// SPDX-License-Identifier: Apache-2.0
// The tracing window, task FIFOs, device-written queues and interrupts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
#include <utility>
#include <vector>

#include "model_device.h"

namespace npusim_test {
namespace {

constexpr uint32_t kLogFifo = REFNPU_FIFO(REFNPU_FIFO_LOG, 0);
constexpr uint32_t kPmuFifo = REFNPU_FIFO(REFNPU_FIFO_PMU, 0);
constexpr uint32_t kAllCores = 0xffff;

void OpenWindow(Device& d, uint32_t what = REFNPU_TRACE_LOG | REFNPU_TRACE_PMU | REFNPU_TRACE_TRACK |
                                           REFNPU_TRACE_AICPU) {
  d.W32(REFNPU_TRACE_ENABLE, what);
  d.W32(REFNPU_TRACE_WINDOW, 1);
}

TEST(ModelTrace, FifoHoldsStartAndEndOfEveryTaskAndOneSnapshotPerKernel) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  d.EnableFifo(REFNPU_FIFO_PMU);
  d.TraceEvents(1, {0x4b, 0x8});
  OpenWindow(d);
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 7, 48, 0);
  t.stream = 3;
  t.work.vec_fp32 = 48 * 64 * 1000;
  d.Submit(t);
  t = Task(NPUSIM_TASK_EVENT_RECORD, 8);
  t.stream = 3;
  d.Submit(t);
  d.Finish();
  const auto log = d.PopAll(kLogFifo);
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(REFNPU_W0_TYPE(log[0][0]), static_cast<unsigned>(REFNPU_ENTRY_START));
  EXPECT_EQ(REFNPU_W0_TYPE(log[1][0]), static_cast<unsigned>(REFNPU_ENTRY_END));
  EXPECT_EQ(REFNPU_W0_SQE(log[0][0]), static_cast<unsigned>(NPUPROF_SQE_AIV));
  EXPECT_EQ(REFNPU_W0_SQE(log[3][0]), static_cast<unsigned>(NPUPROF_SQE_EVENT_RECORD));
  EXPECT_EQ(REFNPU_W0_STREAM(log[0][0]), 3u);
  EXPECT_EQ(REFNPU_W0_TASK(log[0][0]), 7u);
  const auto pmu = d.PopAll(kPmuFifo);
  ASSERT_EQ(pmu.size(), 1u);
  EXPECT_EQ(REFNPU_W0_VECTOR(pmu[0][0]), 1u);
  EXPECT_EQ(pmu[0][1], log[0][1]);
  EXPECT_EQ(pmu[0][2], log[1][1]);
  EXPECT_EQ(pmu[0][3], d.Totals().task_cycles);
  EXPECT_EQ(pmu[0][5], 48'000u);
  EXPECT_EQ(pmu[0][6], 48'000u);
}

// An FFTS+ task of a cube, a vector and a mixed kernel, each of a microsecond.
void SubmitContexts(Device& d, uint16_t task_id) {
  const npusim_task_kind kinds[] = {NPUSIM_TASK_CUBE, NPUSIM_TASK_VECTOR, NPUSIM_TASK_MIX_AIC};
  for (uint16_t i = 0; i < 3; ++i) {
    npusim_task t = Task(kinds[i], task_id, 2, 1800);
    t.mix_ratio = 2;
    t.context = i;
    t.part = static_cast<uint16_t>(NPUSIM_PART | (i == 0 ? NPUSIM_PART_FIRST : 0) |
                                   (i == 2 ? NPUSIM_PART_LAST : 0));
    d.Submit(t);
  }
}

TEST(ModelTrace, ContextsOfAnFftsTaskAreSubTasksOfOneTask) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  d.EnableFifo(REFNPU_FIFO_PMU);
  OpenWindow(d);
  SubmitContexts(d, 7);
  d.Finish();
  const auto log = d.PopAll(kLogFifo);
  std::vector<std::pair<unsigned, unsigned>> told;
  for (const auto& entry : log) {
    EXPECT_EQ(REFNPU_W0_TASK(entry[0]), 7u);
    EXPECT_EQ(REFNPU_W0_SQE(entry[0]), static_cast<unsigned>(NPUPROF_SQE_AI_CORE));
    told.emplace_back(REFNPU_W0_TYPE(entry[0]), static_cast<unsigned>(entry[2]));
  }
  std::vector<std::pair<unsigned, unsigned>> expected = {{REFNPU_ENTRY_START, 0}};
  for (unsigned i = 0; i < 3; ++i) {
    expected.emplace_back(REFNPU_ENTRY_SUB_START, i);
    expected.emplace_back(REFNPU_ENTRY_SUB_END, i);
  }
  expected.emplace_back(REFNPU_ENTRY_END, 0);
  EXPECT_EQ(told, expected);
  const auto pmu = d.PopAll(kPmuFifo);
  ASSERT_EQ(pmu.size(), 3u);
  const unsigned subtasks[] = {NPUPROF_SUBTASK_AIC, NPUPROF_SUBTASK_AIV, NPUPROF_SUBTASK_MIX_AIC};
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(pmu[i][4], i);
    EXPECT_EQ(REFNPU_W0_SUBTASK(pmu[i][0]), subtasks[i]);
    EXPECT_EQ(REFNPU_W0_FFTS(pmu[i][0]), static_cast<unsigned>(NPUPROF_FFTS_PLUS));
    EXPECT_EQ(pmu[i][1], log[1 + 2 * i][1]) << "counted from the begin of its context";
    EXPECT_EQ(pmu[i][2], log[2 + 2 * i][1]);
  }
  const npusim_totals t = d.Totals();
  EXPECT_EQ(std::make_tuple(t.submitted, t.started, t.ended, t.kernels_ended),
            std::make_tuple(1u, 1u, 1u, 3u));
  EXPECT_EQ(t.busy_ticks, log.back()[1] - log.front()[1]);
}

TEST(ModelTrace, ContextsBelongToTheWindowInWhichTheirTaskStarted) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  SubmitContexts(d, 1);
  d.Advance(900);  // within the first context
  OpenWindow(d);
  SubmitContexts(d, 2);
  while (d.R32(REFNPU_TRACE_RUNNING) == 0) d.Advance(d.Now() + 100);
  d.W32(REFNPU_TRACE_WINDOW, 0);
  d.Finish();
  const auto log = d.PopAll(kLogFifo);
  EXPECT_EQ(log.size(), 8u);
  for (const auto& entry : log) EXPECT_EQ(REFNPU_W0_TASK(entry[0]), 2u);
  const npusim_totals t = d.Totals();
  EXPECT_EQ(std::make_pair(t.recorded_started, t.recorded_ended), std::make_pair(uint64_t{1}, uint64_t{1}));
}

TEST(ModelTrace, PartsThatAreNoneAreRefused) {
  Device d;
  npusim_task t = Task(NPUSIM_TASK_CUBE, 1, 1, 1800);
  t.part = NPUSIM_PART_FIRST;  // of what
  EXPECT_EQ(npusim_model_check_task(&t), -EINVAL);
  t.part = 8;
  EXPECT_EQ(npusim_model_check_task(&t), -EINVAL);
  t = Task(NPUSIM_TASK_SDMA, 1);
  t.part = NPUSIM_PART;
  EXPECT_EQ(npusim_model_check_task(&t), -EINVAL);
}

TEST(ModelTrace, FullFifoLosesTheNewestAndCountsThemExactly) {
  npusim_model_config c = Defaults();
  c.fifo_depth = 10;
  Device d(c);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_FIFO);
  d.EnableFifo(REFNPU_FIFO_LOG);
  OpenWindow(d, REFNPU_TRACE_LOG);
  for (uint16_t i = 0; i < 20; ++i) d.Submit(Task(NPUSIM_TASK_CUBE, i, 1, 1800));
  d.Finish();
  EXPECT_EQ(d.irqs[0], 1) << "one interrupt for the whole loss";
  EXPECT_EQ(d.R64(kLogFifo + REFNPU_FIFO_LOST), 30u);
  // The eleventh entry is the start of the sixth task: 1300 ns per task.
  EXPECT_EQ(d.R64(kLogFifo + REFNPU_FIFO_LOST_FIRST), (300u + 5 * 1300) / 20);
  EXPECT_EQ(d.R64(kLogFifo + REFNPU_FIFO_LOST_LAST), 20u * 1300 / 20);
  const auto kept = d.PopAll(kLogFifo);
  ASSERT_EQ(kept.size(), 10u);
  EXPECT_EQ(REFNPU_W0_TASK(kept[9][0]), 4u);
  const npusim_totals t = d.Totals();
  EXPECT_EQ(t.fifo_produced[REFNPU_FIFO_LOG], 40u);
  EXPECT_EQ(t.fifo_lost[REFNPU_FIFO_LOG], 30u);
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_TASK_LOG), std::make_pair(uint64_t{10}, uint64_t{30}));
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_TASK_PMU), std::make_pair(uint64_t{0}, uint64_t{0}));
}

TEST(ModelTrace, WatermarkInterruptsOncePerAcknowledgement) {
  Device d;
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_FIFO);
  d.EnableFifo(REFNPU_FIFO_LOG, 4);
  OpenWindow(d, REFNPU_TRACE_LOG);
  for (uint16_t i = 0; i < 8; ++i) d.Submit(Task(NPUSIM_TASK_CUBE, i, 1, 1800));
  d.Advance(300 + 1300 + 999);
  EXPECT_EQ(d.irqs[0], 0);
  d.Advance(300 + 1300 + 1000);
  EXPECT_EQ(d.irqs[0], 1);
  d.Advance(5200);
  EXPECT_EQ(d.irqs[0], 1);
  EXPECT_EQ(d.R32(REFNPU_FIFO_PENDING), 1u << REFNPU_FIFO_LOG);
  d.W32(REFNPU_INT_STATUS, REFNPU_INT_FIFO);
  d.W32(REFNPU_FIFO_PENDING, 1u << REFNPU_FIFO_LOG);
  EXPECT_EQ(d.PopAll(kLogFifo).size(), 8u);
  d.Finish();
  EXPECT_EQ(d.irqs[0], 2);
}

TEST(ModelTrace, CauseThatIsPendingInterruptsWhenItIsEnabled) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG, 1);
  OpenWindow(d, REFNPU_TRACE_LOG);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 1800));
  d.Finish();
  EXPECT_EQ(d.irqs[0], 0);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_FIFO);
  EXPECT_EQ(d.irqs[0], 1);
}

TEST(ModelTrace, TaskBelongsToTheWindowInWhichItStarted) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  d.EnableFifo(REFNPU_FIFO_PMU);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_DRAINED);
  for (uint16_t i = 0; i < 4; ++i) d.Submit(Task(NPUSIM_TASK_CUBE, i, 1, 1800));
  // Task 0 runs from 300 to 1300, 1 from 1600 to 2600, 2 from 2900 to 3900, 3 from 4200.
  d.Advance(1000);
  OpenWindow(d);
  EXPECT_EQ(d.R32(REFNPU_TRACE_AT_OPEN), 1u);
  EXPECT_EQ(d.R64(REFNPU_TRACE_T0), 50u);
  d.Advance(3000);
  d.W32(REFNPU_TRACE_WINDOW, 0);
  EXPECT_EQ(d.R32(REFNPU_TRACE_AT_CLOSE), 1u);
  EXPECT_EQ(d.R64(REFNPU_TRACE_T1), 150u);
  EXPECT_EQ(d.irqs[4], 0);
  d.Finish();
  EXPECT_EQ(d.irqs[4], 1) << "drained when task 2 ended";
  EXPECT_EQ(d.R32(REFNPU_TRACE_RUNNING), 0u);
  EXPECT_EQ(d.R64(REFNPU_TRACE_STARTED), 2u);
  EXPECT_EQ(d.R64(REFNPU_TRACE_ENDED), 2u);
  const auto log = d.PopAll(kLogFifo);
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(REFNPU_W0_TASK(log[0][0]), 1u);
  EXPECT_EQ(REFNPU_W0_TASK(log[3][0]), 2u);
  EXPECT_EQ(d.PopAll(kPmuFifo).size(), 2u);
  const npusim_totals t = d.Totals();
  EXPECT_EQ(t.ended, 4u);
  EXPECT_EQ(t.recorded_started, 2u);
  EXPECT_EQ(t.recorded_ended, 2u);
  EXPECT_EQ(t.straddled_open, 1u);
}

TEST(ModelTrace, EmptyWindowDrainsAtOnce) {
  Device d;
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_DRAINED);
  OpenWindow(d);
  d.W32(REFNPU_TRACE_WINDOW, 0);
  EXPECT_EQ(d.irqs[4], 1);
}

TEST(ModelTrace, MarksGoToTheTrackAndNotToTheLog) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  d.EnableFifo(REFNPU_FIFO_TRACK);
  OpenWindow(d);
  npusim_task step = Task(NPUSIM_TASK_STEP, 5);
  step.step_tag = 60000;
  step.step_index = 42;
  step.step_model = 0xffffffff;
  d.Submit(step);
  d.Submit(Task(NPUSIM_TASK_CUBE, 6, 1, 1800));
  npusim_task flip = Task(NPUSIM_TASK_FLIP, 0);
  flip.flip_count = 3;
  d.Submit(flip);
  d.Finish();
  EXPECT_EQ(d.PopAll(kLogFifo).size(), 2u);
  const auto track = d.PopAll(REFNPU_FIFO(REFNPU_FIFO_TRACK, 0));
  ASSERT_EQ(track.size(), 2u);
  EXPECT_EQ(track[0][1], 0u);
  EXPECT_EQ(track[0][2], 42u);
  EXPECT_EQ(track[0][3], 0xffffffffu);
  EXPECT_EQ(track[0][4], 60000u);
  EXPECT_EQ(track[1][1], 1300u / 20) << "in order behind the kernel";
  EXPECT_EQ(track[1][2], 3u);
  EXPECT_EQ(d.Totals().marks, 2u);
}

TEST(ModelTrace, QueueRecordsCarryWhatTheFifoCarries) {
  Device d(Defaults(), 1 << 16);
  d.TraceEvents(0, {0x49, 0x416});
  d.AddQueue(0, NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 64, 64);
  d.AddQueue(1, NPUPROF_CHANNEL_TASK_PMU, 0, 0x3000, 64, 64);
  d.AddQueue(2, NPUPROF_CHANNEL_TS_TRACK, 0, 0x6000, 16, 16);
  d.AddQueue(3, NPUPROF_CHANNEL_AICPU, 0, 0x7000, 16, 16);
  OpenWindow(d);
  npusim_task cube = Task(NPUSIM_TASK_CUBE, 5, 24);
  cube.work.macs_fp16 = 24ull * 4096 * 500;
  d.Submit(cube);
  d.Submit(Task(NPUSIM_TASK_AICPU, 6));
  npusim_task step = Task(NPUSIM_TASK_STEP, 7);
  step.step_tag = 60001;
  d.Submit(step);
  d.Finish();
  EXPECT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 4u);
  const auto log = d.Records<npuprof_rec_task_log>(0x1000, 4);
  EXPECT_EQ(log[0].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_START, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(log[1].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_END, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(log[2].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_START, NPUPROF_SQE_AI_CPU));
  EXPECT_EQ(log[0].magic, NPUPROF_STARS_MAGIC);
  EXPECT_EQ(log[0].clock, 300u / 20);
  EXPECT_EQ(log[0].task_id, 5u);
  const auto pmu = d.Records<npuprof_rec_task_pmu>(0x3000, 1);
  EXPECT_EQ(pmu[0].counters[0], 12'000u);
  EXPECT_EQ(pmu[0].counters[1], 12'000u);
  EXPECT_EQ(pmu[0].counters[2], 0u);
  EXPECT_EQ(pmu[0].cycles, d.Totals().task_cycles);
  EXPECT_EQ(pmu[0].start, log[0].clock);
  EXPECT_EQ(pmu[0].end, log[1].clock);
  const auto track = d.Records<npuprof_rec_ts_track>(0x6000, 1);
  EXPECT_EQ(track[0].tag, NPUPROF_TS_STEP);
  EXPECT_EQ(track[0].length, 40u);
  EXPECT_EQ(track[0].step.tag_id, 60001u);
  const auto aicpu = d.Records<npuprof_rec_aicpu>(0x7000, 1);
  EXPECT_EQ(aicpu[0].task_id, 6u);
  EXPECT_EQ(aicpu[0].submitted, 0u);
  EXPECT_EQ(aicpu[0].start, log[2].clock);
  EXPECT_EQ(aicpu[0].end, log[3].clock);
}

TEST(ModelTrace, QueueStopsAtItsCreditAndKeptPlusDroppedIsProduced) {
  Device d(Defaults(), 1 << 16);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_QUEUE);
  d.AddQueue(0, NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 16, 16);
  OpenWindow(d, REFNPU_TRACE_LOG);
  uint64_t submitted = 0;
  auto burst = [&](uint16_t n) {
    for (uint16_t i = 0; i < n; ++i)
      d.Submit(Task(NPUSIM_TASK_CUBE, static_cast<uint16_t>(submitted++), 1, 1800));
    d.Finish();
  };
  const uint32_t q = REFNPU_QUEUE(0, 0);
  burst(10);  // 20 records for 16 credits
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_PRODUCER), 16u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_DROPPED), 4u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_COUNT), 4u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_POSITION), 16u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_FIRST), (300u + 8 * 1300) / 20);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_LAST), 13'000u / 20);
  EXPECT_EQ(d.irqs[2], 1);
  d.W32(REFNPU_INT_STATUS, REFNPU_INT_QUEUE);
  EXPECT_EQ(d.R32(REFNPU_QUEUE_PENDING(0)), 1u);
  d.W32(REFNPU_QUEUE_PENDING(0), 1);
  d.W32(q + REFNPU_QUEUE_GAP_ACK, 1);
  d.W64(q + REFNPU_QUEUE_CREDIT, 18);
  burst(3);  // 6 records, 2 credits
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_PRODUCER), 18u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_DROPPED), 8u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_COUNT), 4u);
  EXPECT_EQ(d.R64(q + REFNPU_QUEUE_GAP_POSITION), 18u);
  EXPECT_EQ(d.irqs[2], 2);
  const npusim_totals t = d.Totals();
  EXPECT_EQ(t.queue_written + t.queue_dropped, 2 * submitted);
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_TASK_LOG), std::make_pair(uint64_t{18}, uint64_t{8}));
  // Records 16 and 17 reuse slots 0 and 1.
  EXPECT_EQ(d.Records<npuprof_rec_task_log>(0x1000, 1)[0].task_id, 10u);
}

TEST(ModelTrace, WakeIndexInterruptsOnceUntilItIsMoved) {
  Device d(Defaults(), 1 << 16);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_QUEUE);
  d.AddQueue(3, NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 64, 64);
  d.W64(REFNPU_QUEUE(3, REFNPU_QUEUE_WAKE), 4);
  OpenWindow(d, REFNPU_TRACE_LOG);
  for (uint16_t i = 0; i < 8; ++i) d.Submit(Task(NPUSIM_TASK_CUBE, i, 1, 1800));
  d.Advance(2599);
  EXPECT_EQ(d.irqs[2], 0);
  d.Finish();
  EXPECT_EQ(d.irqs[2], 1);
  EXPECT_EQ(d.R32(REFNPU_QUEUE_PENDING(0)), 1u << 3);
  d.W32(REFNPU_INT_STATUS, REFNPU_INT_QUEUE);
  d.W64(REFNPU_QUEUE(3, REFNPU_QUEUE_WAKE), 17);
  EXPECT_EQ(d.irqs[2], 1);
  d.W64(REFNPU_QUEUE(3, REFNPU_QUEUE_WAKE), 16);
  EXPECT_EQ(d.irqs[2], 2) << "reached already";
}

TEST(ModelTrace, HeadIsPublishedAfterTheRecords) {
  Device d(Defaults(), 1 << 16);
  d.W64(REFNPU_QUEUE(0, REFNPU_QUEUE_HEAD_ADDRESS), 0x9000);
  d.AddQueue(0, NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 64, 64);
  OpenWindow(d, REFNPU_TRACE_LOG);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 1800));
  d.Advance(300);
  EXPECT_EQ(d.Records<uint64_t>(0x9000, 1)[0], 1u);
  d.Finish();
  EXPECT_EQ(d.Records<uint64_t>(0x9000, 1)[0], 2u);
}

TEST(ModelTrace, RecordsCrossThePagesOfAList) {
  Device d(Defaults(), 1 << 16);
  const uint32_t q = REFNPU_QUEUE(0, 0);
  d.W32(q + REFNPU_QUEUE_PAGE_SHIFT, 12);
  d.W32(q + REFNPU_QUEUE_PAGE_INDEX, 0);
  for (uint64_t page : {0x5000ull, 0x2000ull, 0x8000ull}) d.W64(q + REFNPU_QUEUE_PAGE_ADDRESS, page);
  d.AddQueue(0, NPUPROF_CHANNEL_TS_TRACK, 0, 0, 256, 256);
  ASSERT_EQ(d.R32(q + REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
  OpenWindow(d);
  for (uint16_t i = 0; i < 256; ++i) {
    npusim_task step = Task(NPUSIM_TASK_STEP, i);
    step.step_index = i;
    d.Submit(step);
  }
  // Record 102 begins at byte 4080: 16 bytes on the first page, 24 on the second.
  std::vector<unsigned char> flat(256 * 40);
  const uint64_t pages[] = {0x5000, 0x2000, 0x8000};
  for (size_t p = 0; p < 3; ++p) {
    const auto bytes = d.Records<unsigned char>(pages[p], 4096);
    for (size_t i = 0; i < 4096 && p * 4096 + i < flat.size(); ++i) flat[p * 4096 + i] = bytes[i];
  }
  for (uint16_t i = 0; i < 256; ++i) {
    npuprof_rec_ts_track r;
    std::memcpy(&r, &flat[i * 40u], sizeof(r));
    ASSERT_EQ(r.step.index_id, i);
    ASSERT_EQ(r.tag, NPUPROF_TS_STEP);
  }
}

TEST(ModelTrace, QueueWithoutSoundSetupIsRefused) {
  Device d(Defaults(), 1 << 16);
  auto refused = [&](uint32_t channel, uint32_t core, uint64_t address, uint32_t slots, uint64_t period) {
    d.AddQueue(9, channel, core, address, slots, slots, period);
    const bool error = d.R32(REFNPU_QUEUE(9, REFNPU_QUEUE_CTRL)) == REFNPU_QUEUE_ERROR;
    d.W32(REFNPU_QUEUE(9, REFNPU_QUEUE_CTRL), 0);
    return error;
  };
  EXPECT_FALSE(refused(NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 64, 0));
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_EVENTS, 0, 0x1000, 64, 0)) << "no such device channel";
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 48, 0)) << "slots not a power of two";
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_TASK_LOG, 0, 0, 64, 0)) << "no memory";
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_HBM, 0, 0x1000, 64, 0)) << "no period";
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_CORE_SAMPLE, 72, 0x1000, 64, 1000)) << "no such core";
  d.AddQueue(0, NPUPROF_CHANNEL_TASK_LOG, 0, 0x1000, 64, 64);
  EXPECT_TRUE(refused(NPUPROF_CHANNEL_TASK_LOG, 0, 0x3000, 64, 0)) << "channel is taken";
}

TEST(ModelTrace, BlockRecordsAddUpToTheTask) {
  Device d(Defaults(), 1 << 20);
  d.TraceEvents(1, {0x4b, 0xc, 0x54, 0x43});
  d.AddQueue(0, NPUPROF_CHANNEL_BLOCK_PMU, kAllCores, 0x1000, 1024, 1024);
  d.AddQueue(1, NPUPROF_CHANNEL_TASK_PMU, 0, 0x40000, 64, 64);
  OpenWindow(d, REFNPU_TRACE_BLOCK | REFNPU_TRACE_PMU);
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 7, 100);
  t.work.vec_fp32 = 64 * 1'000'003;
  t.work.read_bytes = 999'999;
  d.Submit(t);
  d.Finish();
  ASSERT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 100u);
  const auto blocks = d.Records<npuprof_rec_block_pmu>(0x1000, 100);
  const auto task = d.Records<npuprof_rec_task_pmu>(0x40000, 1)[0];
  uint64_t sum[8] = {}, cycles = 0;
  std::vector<bool> seen(100);
  uint64_t last_end = 0;
  for (const auto& b : blocks) {
    EXPECT_EQ(b.core & 1, 1);
    EXPECT_LT(b.core >> 1, 48);
    EXPECT_GE(b.start, task.start);
    EXPECT_LE(b.end, task.end);
    EXPECT_GE(b.end, last_end) << "records come in the order of ends";
    last_end = b.end;
    seen.at(b.block_id) = true;
    cycles += b.cycles;
    for (int i = 0; i < 8; ++i) sum[i] += b.counters[i];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 100);
  EXPECT_EQ(cycles, task.cycles);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(sum[i], task.counters[i]) << i;
  EXPECT_EQ(task.counters[0], 1'000'003u);
}

TEST(ModelTrace, MixedKernelReportsItsMainKindAndTheOtherKindsBlocks) {
  Device d(Defaults(), 1 << 20);
  d.TraceEvents(0, {0x49});
  d.TraceEvents(1, {0x4b});
  d.AddQueue(0, NPUPROF_CHANNEL_BLOCK_PMU, kAllCores, 0x1000, 1024, 1024);
  d.AddQueue(1, NPUPROF_CHANNEL_TASK_PMU, 0, 0x40000, 64, 64);
  d.AddQueue(2, NPUPROF_CHANNEL_TASK_LOG, 0, 0x50000, 64, 64);
  OpenWindow(d, REFNPU_TRACE_MIX_BLOCK | REFNPU_TRACE_PMU | REFNPU_TRACE_LOG);
  npusim_task t = Task(NPUSIM_TASK_MIX_AIC, 7, 30);
  t.work.macs_fp16 = 4096 * 30'000ull;
  t.work.vec_fp32 = 64 * 6000;
  d.Submit(t);
  d.Finish();
  ASSERT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 60u);
  uint64_t vector = 0;
  for (const auto& b : d.Records<npuprof_rec_block_pmu>(0x1000, 60)) {
    EXPECT_EQ(b.core & 1, 1);
    EXPECT_EQ(b.subblock_id, b.block_id % 2);
    EXPECT_EQ(b.subtask_type, NPUPROF_SUBTASK_MIX_AIC);
    vector += b.counters[0];
  }
  EXPECT_EQ(vector, 6000u);
  const auto task = d.Records<npuprof_rec_task_pmu>(0x40000, 1)[0];
  EXPECT_EQ(task.counters[0], 30'000u);
  EXPECT_EQ(task.ffts_type, NPUPROF_FFTS_PLUS << NPUPROF_FFTS_SHIFT);
  const auto log = d.Records<npuprof_rec_task_log>(0x50000, 4);
  EXPECT_EQ(NPUPROF_HEAD_FUNC(log[1].head), NPUPROF_FUNC_SUBTASK_START);
  EXPECT_EQ(NPUPROF_HEAD_FUNC(log[2].head), NPUPROF_FUNC_SUBTASK_END);
  EXPECT_EQ(log[1].subtask_type, NPUPROF_SUBTASK_MIX_AIC);
}

TEST(ModelTrace, CoreFifoHoldsItsBlocksAndCountsTheRest) {
  npusim_model_config c = Defaults();
  c.block_fifo_depth = 3;
  Device d(c);
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_BLOCK);
  const uint32_t fifo = REFNPU_CORE(2, REFNPU_CORE_FIFO);
  d.W32(fifo + REFNPU_FIFO_CTRL, REFNPU_FIFO_ENABLE);
  OpenWindow(d, REFNPU_TRACE_BLOCK);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 24 * 5, 1800));
  d.Finish();
  EXPECT_EQ(d.R64(fifo + REFNPU_FIFO_LOST), 2u);
  EXPECT_EQ(d.irqs[3], 1);
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_BLOCK_PMU, 2), std::make_pair(uint64_t{3}, uint64_t{2}));
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_BLOCK_PMU, 3), std::make_pair(uint64_t{0}, uint64_t{0}))
      << "no FIFO was on";
  EXPECT_EQ(d.R32(REFNPU_BLOCK_PENDING(0)), 1u << 2);
  const auto blocks = d.PopAll(fifo);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(REFNPU_W0_TYPE(blocks[0][0]), static_cast<unsigned>(REFNPU_ENTRY_BLOCK));
  EXPECT_EQ(blocks[1][4] >> 16 & 0xffff, 26u) << "block 26 is core 2's second";
  EXPECT_EQ(blocks[0][3], 1800u);
}

TEST(ModelTrace, RecordCountsOfNoSuchChannelOrCoreAreRefusedAndAResetKeepsTheOthers) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  OpenWindow(d);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 1800));
  d.Finish();
  npusim_model_reset(d.model());
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_TASK_LOG), std::make_pair(uint64_t{2}, uint64_t{0}));
  npusim_record_counts counts;
  EXPECT_EQ(npusim_model_record_counts(d.model(), NPUPROF_CHANNEL_COUNT, NPUSIM_NO_CORE, &counts), -EINVAL);
  EXPECT_EQ(npusim_model_record_counts(d.model(), NPUPROF_CHANNEL_TASK_LOG, 0, &counts), -EINVAL);
  EXPECT_EQ(npusim_model_record_counts(d.model(), NPUPROF_CHANNEL_CORE_SAMPLE, 72, &counts), -EINVAL);
  EXPECT_EQ(npusim_model_record_counts(d.model(), NPUPROF_CHANNEL_CORE_SAMPLE, 71, &counts), 0);
}

// What the device tells of a busy time of all kinds of tasks, per task FIFO and then of all blocks.
struct Told {
  std::array<uint64_t, REFNPU_FIFOS + 1> made{}, cut{};
};

// The window closes at @p ns, or with @p cut recording itself.
Told RunUntil(uint64_t ns, bool cut) {
  Device d;
  const uint32_t cores = Defaults().cube_cores + Defaults().vector_cores;
  for (uint32_t fifo = 0; fifo < REFNPU_FIFOS; ++fifo) d.EnableFifo(fifo);
  for (uint32_t core = 0; core < cores; ++core)
    d.W32(REFNPU_CORE(core, REFNPU_CORE_FIFO) + REFNPU_FIFO_CTRL, REFNPU_FIFO_ENABLE);
  OpenWindow(d, 0x7f & ~REFNPU_TRACE_MIX_BLOCK);
  uint16_t stream = 0;
  for (const auto kind : {NPUSIM_TASK_CUBE, NPUSIM_TASK_VECTOR, NPUSIM_TASK_MIX_AIC, NPUSIM_TASK_AICPU}) {
    ++stream;
    for (uint16_t k = 0; k < 3; ++k) {
      npusim_task t = Task(kind, k, kind == NPUSIM_TASK_AICPU ? 1 : 60, kind == NPUSIM_TASK_AICPU ? 0 : 1800);
      t.stream = stream;
      if (kind == NPUSIM_TASK_MIX_AIC) t.mix_ratio = 2;
      EXPECT_EQ(d.Submit(t), 0);
    }
  }
  d.Advance(ns);
  d.W32(cut ? REFNPU_TRACE_ENABLE : REFNPU_TRACE_WINDOW, 0);
  Told told;
  for (uint32_t fifo = 0; fifo < REFNPU_FIFOS; ++fifo) told.cut[fifo] = d.R32(REFNPU_TRACE_CUT(fifo));
  d.Finish();
  const npusim_totals totals = d.Totals();
  for (uint32_t fifo = 0; fifo < REFNPU_FIFOS; ++fifo) told.made[fifo] = totals.fifo_produced[fifo];
  for (uint32_t core = 0; core < cores; ++core) {
    const uint32_t fifo = REFNPU_CORE(core, REFNPU_CORE_FIFO);
    told.made[REFNPU_FIFOS] += d.R32(fifo + REFNPU_FIFO_COUNT) + d.R64(fifo + REFNPU_FIFO_LOST);
    told.cut[REFNPU_FIFOS] += d.R32(REFNPU_CORE(core, REFNPU_CORE_CUT));
  }
  return told;
}

TEST(ModelTrace, WhatIsCutOffIsWhatRunningTasksWouldStillHaveTold) {
  std::array<uint64_t, REFNPU_FIFOS + 1> most{};
  for (uint64_t ns = 0; ns < 30'000; ns += 700) {
    const Told whole = RunUntil(ns, false), part = RunUntil(ns, true);
    for (size_t k = 0; k < whole.made.size(); ++k) {
      EXPECT_EQ(part.made[k] + part.cut[k], whole.made[k]) << "FIFO " << k << " at " << ns;
      EXPECT_EQ(whole.cut[k], 0u) << "FIFO " << k << " at " << ns;
      most[k] = std::max(most[k], part.cut[k]);
    }
  }
  EXPECT_GE(most[REFNPU_FIFO_LOG], 4u);
  EXPECT_GE(most[REFNPU_FIFO_PMU], 2u);
  EXPECT_EQ(most[REFNPU_FIFO_TRACK], 0u);
  EXPECT_EQ(most[REFNPU_FIFO_AICPU], 1u);
  EXPECT_EQ(most[REFNPU_FIFO_SOC], most[REFNPU_FIFO_PMU]);
  EXPECT_GT(most[REFNPU_FIFOS], 60u);
}

TEST(ModelTrace, ANewWindowForgetsWhatWasCutOff) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  OpenWindow(d, REFNPU_TRACE_LOG);
  d.Submit(Task(NPUSIM_TASK_CUBE, 1, 1, 180'000));
  d.Advance(1000);
  d.W32(REFNPU_TRACE_ENABLE, 0);
  d.W32(REFNPU_TRACE_ENABLE, 0);
  EXPECT_EQ(d.R32(REFNPU_TRACE_CUT(REFNPU_FIFO_LOG)), 1u);
  d.W32(REFNPU_TRACE_WINDOW, 0);
  EXPECT_EQ(d.R32(REFNPU_TRACE_CUT(REFNPU_FIFO_LOG)), 1u);
  OpenWindow(d, REFNPU_TRACE_LOG);
  EXPECT_EQ(d.R32(REFNPU_TRACE_CUT(REFNPU_FIFO_LOG)), 0u);
}

TEST(ModelTrace, ResetOfTheUnitLeavesTasksAlone) {
  Device d;
  d.EnableFifo(REFNPU_FIFO_LOG);
  OpenWindow(d);
  npusim_task t = Task(NPUSIM_TASK_CUBE, 1, 1, 1800);
  t.cookie = 1;
  d.Submit(t);
  d.Advance(500);
  d.W32(REFNPU_CONTROL, REFNPU_CONTROL_RESET_PMU);
  EXPECT_EQ(d.R32(REFNPU_TRACE_WINDOW), 0u);
  EXPECT_EQ(d.R32(kLogFifo + REFNPU_FIFO_COUNT), 0u);
  d.Finish();
  EXPECT_EQ(d.ended.size(), 1u);
  EXPECT_EQ(d.R32(REFNPU_TRACE_RUNNING), 0u);
}

}  // namespace
}  // namespace npusim_test
