// SPDX-License-Identifier: Apache-2.0
// Windows of tasks: what is recorded, on both paths, against the model's totals.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "profiler.h"
#include "rounds.h"
#include "work.h"

namespace conformance {
namespace {

struct Window : OnBothPaths {};
ON_BOTH_PATHS(Window);

TEST_P(Window, OfNoTaskIsEmpty) {
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  const int pmu = profiler.Add(PmuRing(64, path()));
  const npuprof_control start = profiler.Start();
  const npuprof_control stop = profiler.Stop();
  EXPECT_EQ(profiler.Head(log) + profiler.Head(pmu), 0u);
  EXPECT_EQ(start.straddling + stop.straddling, 0u);
  EXPECT_EQ(profiler.Stats().tasks_started, 0u);
}

TEST_P(Window, OfOneTaskIsOneStartOneEndOnePmuRecord) {
  Work work;
  Since since;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  const int pmu = profiler.Add(PmuRing(64, path()));
  const npuprof_control start = profiler.Start();
  const uint64_t cycles = query.core_hz / 10'000;  // 100 us
  work.Run(1, cycles);
  const npuprof_control stop = profiler.Stop();

  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_START, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(marks[1].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_END, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(marks[0].magic, NPUPROF_STARS_MAGIC);
  EXPECT_EQ(marks[0].stream_id, marks[1].stream_id);
  EXPECT_EQ(marks[0].task_id, marks[1].task_id);
  EXPECT_LE(start.clock, marks[0].clock);
  EXPECT_LE(marks[1].clock, stop.clock);
  EXPECT_NEAR(static_cast<double>(marks[1].clock - marks[0].clock), static_cast<double>(query.clock_hz) / 1e4,
              static_cast<double>(query.clock_hz) / 1e4 * 0.02);

  const auto counts = profiler.Read<npuprof_rec_task_pmu>(pmu);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].cycles, since.Now().aicCycles);
  EXPECT_EQ(counts[0].cycles, 4 * cycles);
  EXPECT_EQ(counts[0].start, marks[0].clock);
  EXPECT_EQ(counts[0].end, marks[1].clock);
  EXPECT_EQ(start.straddling + stop.straddling, 0u);
  EXPECT_TRUE(profiler.Gaps().empty());
}

// What the driver builds from registers and what the device composes must be the same bytes.
TEST(Paths, BothGiveTheSameRecords) {
  std::vector<npuprof_rec_task_log> log[2];
  std::vector<npuprof_rec_task_pmu> pmu[2];
  std::vector<npuprof_rec_aicpu> aicpu[2];
  std::vector<npuprof_rec_block_pmu> blocks[2];
  for (int run = 0; run < 2; ++run) {
    Work work;
    Profiler profiler;
    const uint32_t path = run ? NPUPROF_RING_DEVICE_PATH : NPUPROF_RING_REGISTER_PATH;
    const int log_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, path));
    const int pmu_ring = profiler.Add(PmuRing(256, path));
    const int aicpu_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 256, path));
    const int block_ring = profiler.Add(BlockRing(NPUPROF_CORE_CUBE, 1, 256, path));
    profiler.Start();
    for (int kind : {NPUSIM_OP_AI_CORE, NPUSIM_OP_AI_VECTOR_CORE, NPUSIM_OP_MIX_AIC, NPUSIM_OP_MIX_AIV,
                     NPUSIM_OP_AI_CPU})
      work.Run(1, 9000, 24, kind);
    profiler.Stop();
    log[run] = profiler.Read<npuprof_rec_task_log>(log_ring);
    pmu[run] = profiler.Read<npuprof_rec_task_pmu>(pmu_ring);
    aicpu[run] = profiler.Read<npuprof_rec_aicpu>(aicpu_ring);
    blocks[run] = profiler.Read<npuprof_rec_block_pmu>(block_ring);
    // Times and streams are those of two runs.
    for (auto& record : log[run]) record.clock = record.stream_id = record.task_id = 0;
    for (auto& record : pmu[run]) record.start = record.end = record.stream_id = record.task_id = 0;
    for (auto& record : aicpu[run])
      record.submitted = record.scheduled = record.start = record.end = record.stream_id = record.task_id = 0;
    for (auto& record : blocks[run]) record.start = record.end = record.stream_id = record.task_id = 0;
  }
  const auto same = [](const auto& a, const auto& b, size_t at_least) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GE(a.size(), at_least);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(std::memcmp(&a[k], &b[k], sizeof a[k]), 0) << k;
  };
  same(log[0], log[1], 2 * 5 + 4);  // mixed kernels have sub-tasks
  same(pmu[0], pmu[1], 4);
  same(aicpu[0], aicpu[1], 1);
  same(blocks[0], blocks[1], 2);
}

TEST_P(Window, OfManyTasksLosesNoneWithAReader) {
  // In portions of which each fits into the rings, so that nothing depends on when the reader gets a CPU; and into
  // the device's own FIFOs, where the driver is at the mercy of an emulator.
  const bool kernel = Backend::Get().is_kernel();
  const uint64_t portion = kernel ? 400 : 20000;
  const uint64_t portions = kernel ? static_cast<uint64_t>(Rounds(10, 2)) : 5;
  const uint64_t tasks = portion * portions;
  Work work;
  Since since;
  Profiler profiler;
  const uint32_t slots = kernel ? 1u << 11 : 1u << 16;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, slots, path()));
  const int pmu = profiler.Add(PmuRing(slots / 2, path()));
  ASSERT_GT(pmu, 0);
  profiler.Start();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> starts{0}, ends{0}, counts{0}, cycles{0};
  const auto take = [&] {
    for (const auto& mark : profiler.Read<npuprof_rec_task_log>(log))
      ++(NPUPROF_HEAD_FUNC(mark.head) == NPUPROF_FUNC_TASK_START ? starts : ends);
    for (const auto& record : profiler.Read<npuprof_rec_task_pmu>(pmu)) {
      ++counts;
      cycles += record.cycles;
    }
    profiler.Read<npuprof_rec_event>(0);
  };
  std::thread reader([&] {
    while (!stop) {
      if (!profiler.WaitReadable(1000)) continue;
      profiler.ClearReady();
      take();
    }
  });
  for (uint64_t done = portion; done <= tasks; done += portion) {
    work.Run(portion);
    for (int k = 0; k < 20000 && (ends < done || counts < done); ++k) usleep(1000);
    EXPECT_EQ(ends, done);  // nobody flushed: watermark and latency brought the reader here
    EXPECT_EQ(counts, done);
  }
  profiler.Stop();
  stop = true;
  reader.join();
  take();
  EXPECT_EQ(starts, tasks);
  EXPECT_EQ(ends, tasks);
  EXPECT_EQ(counts, tasks);
  const npusimDeviceTotals totals = since.Now();
  EXPECT_EQ(cycles, totals.aicCycles);
  EXPECT_EQ(totals.kernelsEnded, tasks);
  const npuprof_stats stats = profiler.Stats();
  EXPECT_EQ(stats.lost_records, 0u);
  EXPECT_EQ(stats.tasks_started, tasks);
  EXPECT_EQ(stats.tasks_ended, tasks);
}

TEST_P(Window, RecordsComeInTheOrderOfTime) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 2048, path()));
  profiler.Start();
  work.Run(500);
  profiler.Stop();
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 1000u);
  for (size_t k = 1; k < marks.size(); ++k) ASSERT_LE(marks[k - 1].clock, marks[k].clock) << k;
}

TEST_P(Window, OnTheSecondDeviceIsThatDevicesOwn) {
  if (Backend::Get().devices() < 2) GTEST_SKIP() << "this machine has one device";
  Work first(0), second(1);
  Profiler profiler(1);
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  profiler.Start();
  first.Run(5);
  second.Run(3);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 6u);
}

TEST_P(Window, TasksThatRanBeforeAreCountedAndNotRecorded) {
  Work work;
  Since since;
  work.LaunchLong(1000);
  ASSERT_TRUE(since.WaitStarted(1));
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  const int pmu = profiler.Add(PmuRing(64, path()));
  const npuprof_control start = profiler.Start();
  ASSERT_EQ(start.straddling, 1u);
  work.Run(1);
  const npuprof_control stop = profiler.Stop();
  EXPECT_EQ(stop.straddling, 0u);
  EXPECT_EQ(profiler.Head(pmu), 1u);
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_GE(marks[0].clock, start.clock);
  EXPECT_EQ(profiler.Stats().tasks_started, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 1u);
}

TEST_P(Window, StopWaitsForItsTasksAndTakesNoNewOnes) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  profiler.Start();
  const uint64_t length = 500;
  work.LaunchLong(length);
  work.LaunchLong(length);  // starts after STOP
  ASSERT_TRUE(since.WaitStarted(1));
  const npuprof_control stop = profiler.Stop();
  EXPECT_EQ(stop.straddling, 1u);
  EXPECT_EQ(profiler.Stats().tasks_started, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 1u);
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_LT(marks[0].clock, stop.clock);
  EXPECT_GT(marks[1].clock, stop.clock);  // its end lies beyond the end of the window
  EXPECT_EQ(marks[0].task_id, marks[1].task_id);
  work.Wait();
  EXPECT_EQ(since.Now().tasksEnded, 2u);
  EXPECT_EQ(profiler.Head(log), 2u);  // head is final
}

TEST_P(Window, StopTimesOutAndSaysHowManyTasksRun) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  profiler.Start();
  work.LaunchLong(1500);
  ASSERT_TRUE(since.WaitStarted(1));
  const npuprof_control stop = profiler.Stop(5 * kMs);
  EXPECT_EQ(since.Now().tasksEnded, 0u);
  EXPECT_EQ(stop.straddling, 1u);
  work.Wait();
  EXPECT_EQ(profiler.Head(log), 1u);
  EXPECT_EQ(profiler.Stats().tasks_started, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 0u);
}

TEST_P(Window, AiCpuTasksHaveARecordEach) {
  Work work;
  Since since;
  Profiler profiler;
  const int ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 64, path()));
  profiler.Start();
  work.Run(7, 1800, 1, NPUSIM_OP_AI_CPU);
  work.Run(2);
  profiler.Stop();
  const auto records = profiler.Read<npuprof_rec_aicpu>(ring);
  EXPECT_EQ(records.size(), since.Now().aicpuEnded);
  EXPECT_EQ(records.size(), 7u);
  for (const auto& record : records) {
    EXPECT_LE(record.submitted, record.scheduled);
    EXPECT_LE(record.scheduled, record.start);
    EXPECT_LT(record.start, record.end);
  }
}

TEST_P(Window, BlocksOfACoreAreItsShareOfTheTask) {
  Work work;
  Profiler profiler;
  const uint32_t cores = profiler.Query().cube_cores;
  const int ring = profiler.Add(BlockRing(NPUPROF_CORE_CUBE, 0, 256, path()));
  profiler.Start();
  work.Run(10, 5000, 2 * cores);  // two blocks on each core
  profiler.Stop();
  const auto blocks = profiler.Read<npuprof_rec_block_pmu>(ring);
  ASSERT_EQ(blocks.size(), 20u);
  for (const auto& block : blocks) {
    EXPECT_EQ(block.cycles, 5000u);
    EXPECT_EQ(block.core, 0);
    EXPECT_LT(block.block_id, 2 * cores);
  }
}

TEST(Stats, CountTheDriversWork) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024, NPUPROF_RING_REGISTER_PATH));
  profiler.Start();
  work.Run(100);
  // The last of them may be on its way to a CPU that is busy.
  for (int tries = 0; profiler.Stats().interrupts == 0 && tries < 2000; ++tries) SleepMs(10);
  profiler.Stop();
  const npuprof_stats stats = profiler.Stats();
  EXPECT_GT(stats.interrupts, 0u);
  if (!Backend::Get().is_kernel()) {
    EXPECT_LT(stats.interrupts, 200u);  // not one per record; in an emulator they come as they may
  }
  EXPECT_GE(stats.register_reads, 2u * 200);
  EXPECT_GT(stats.register_writes, 0u);
  EXPECT_GT(stats.busy_ns, 0u);
  EXPECT_EQ(stats.records, profiler.Head(log) + profiler.Head(0));
  EXPECT_EQ(stats.lost_records, 0u);
  EXPECT_EQ(stats.tasks_started, 100u);
  EXPECT_EQ(stats.tasks_ended, 100u);
}

}  // namespace
}  // namespace conformance
