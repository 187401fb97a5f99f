// SPDX-License-Identifier: Apache-2.0
#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

struct Path : testing::TestWithParam<uint32_t> {
  uint32_t flags() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Paths, Path,
                         testing::Values(uint32_t{NPUPROF_RING_REGISTER_PATH},
                                         uint32_t{NPUPROF_RING_DEVICE_PATH}),
                         [](const auto& path) {
                           return path.param == NPUPROF_RING_REGISTER_PATH ? "Registers" : "DeviceWritten";
                         });

TEST_P(Path, OneTaskIsOneStartOneEndOnePmuRecord) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
  const int pmu = profiler.Add(PmuRing(64, flags()));
  const npuprof_control start = profiler.Start();
  RunTasks(*host, 1, 0, 180000);
  const npuprof_control stop = profiler.Stop();

  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_START, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(marks[1].head, NPUPROF_HEAD(NPUPROF_FUNC_TASK_END, NPUPROF_SQE_AI_CORE));
  EXPECT_EQ(marks[0].magic, NPUPROF_STARS_MAGIC);
  EXPECT_EQ(marks[0].stream_id, 1);
  EXPECT_LE(start.clock, marks[0].clock);
  EXPECT_LT(marks[0].clock, marks[1].clock);
  EXPECT_LE(marks[1].clock, stop.clock);
  // 100 us of 50 MHz
  EXPECT_NEAR(static_cast<double>(marks[1].clock - marks[0].clock), 5000, 100);

  const auto counts = profiler.Read<npuprof_rec_task_pmu>(pmu);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].cycles, Totals(*host).task_cycles);
  EXPECT_EQ(counts[0].start, marks[0].clock);
  EXPECT_EQ(counts[0].end, marks[1].clock);
  EXPECT_EQ(start.straddling + stop.straddling, 0u);
  EXPECT_TRUE(profiler.Gaps().empty());
}

// What the driver builds from registers and what the device composes must be the same bytes.
TEST(Paths, BothGiveTheSameRecords) {
  std::vector<npuprof_rec_task_log> log[2];
  std::vector<npuprof_rec_task_pmu> pmu[2];
  std::vector<npuprof_rec_ts_track> track[2];
  std::vector<npuprof_rec_aicpu> aicpu[2];
  std::vector<npuprof_rec_block_pmu> blocks[2];
  for (int path = 0; path < 2; ++path) {
    ScopedHost host{Settings{}};
    Profiler profiler;
    const uint32_t flags = path ? NPUPROF_RING_DEVICE_PATH : NPUPROF_RING_REGISTER_PATH;
    const int log_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, flags));
    const int pmu_ring = profiler.Add(PmuRing(256, flags));
    const int track_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TS_TRACK, 256, flags));
    const int aicpu_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 256, flags));
    npuprof_add_ring block = PmuRing(256, flags);
    block.channel = NPUPROF_CHANNEL_BLOCK_PMU;
    block.core_kind = NPUPROF_CORE_CUBE;
    block.core = 1;
    block.vector_event_count = 0;
    block.vector_events[0] = block.vector_events[1] = 0;
    const int block_ring = profiler.Add(block);
    profiler.Start();
    npusim::TaskCounter done;
    uint16_t id = 0;
    const auto submit = [&](npusim_task task) {
      task.stream = 5;
      task.task_id = id++;
      ASSERT_EQ(host->Submit(0, task, &done), 0);
    };
    npusim_task task = CubeTask(5, 0, 9000, 24);
    submit(task);
    task.kind = NPUSIM_TASK_VECTOR;
    task.work.vec_fp32 = 100000;
    submit(task);
    task.kind = NPUSIM_TASK_MIX_AIC;
    task.mix_ratio = 2;
    submit(task);
    task.kind = NPUSIM_TASK_MIX_AIV;
    submit(task);
    npusim_task other{};
    other.peer = NPUSIM_LOCAL;
    for (int kind : {NPUSIM_TASK_AICPU, NPUSIM_TASK_STEP, NPUSIM_TASK_FLIP, NPUSIM_TASK_PLACE_HOLDER,
                     NPUSIM_TASK_EVENT_RECORD, NPUSIM_TASK_EVENT_WAIT}) {
      other.kind = static_cast<uint8_t>(kind);
      other.step_tag = 60000;
      other.step_index = 7;
      other.step_model = 9;
      other.flip_count = 3;
      other.duration_ns = kind == NPUSIM_TASK_AICPU ? 20000 : 0;
      submit(other);
    }
    ASSERT_TRUE(done.WaitFor(id, 20 * kSecond));
    profiler.Stop();
    log[path] = profiler.Read<npuprof_rec_task_log>(log_ring);
    pmu[path] = profiler.Read<npuprof_rec_task_pmu>(pmu_ring);
    track[path] = profiler.Read<npuprof_rec_ts_track>(track_ring);
    aicpu[path] = profiler.Read<npuprof_rec_aicpu>(aicpu_ring);
    blocks[path] = profiler.Read<npuprof_rec_block_pmu>(block_ring);
    // Times are those of two runs.
    for (auto& record : log[path]) record.clock = 0;
    for (auto& record : pmu[path]) record.start = record.end = 0;
    for (auto& record : track[path]) record.clock = 0;
    for (auto& record : aicpu[path]) record.submitted = record.scheduled = record.start = record.end = 0;
    for (auto& record : blocks[path]) record.start = record.end = 0;
  }
  const auto same = [](const auto& a, const auto& b, size_t at_least) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GE(a.size(), at_least);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(std::memcmp(&a[k], &b[k], sizeof a[k]), 0) << k;
  };
  same(log[0], log[1], 2 * 8 + 4);  // mixed kernels have sub-tasks
  same(pmu[0], pmu[1], 4);
  same(track[0], track[1], 2);
  same(aicpu[0], aicpu[1], 1);
  same(blocks[0], blocks[1], 2);
}

TEST_P(Path, HundredThousandTasksNoneLostWithAReader) {
  // In portions of which each fits into the rings, so that nothing depends on when the reader gets a CPU.
  constexpr uint64_t kPortion = 20000;
  constexpr uint64_t kTasks = 5 * kPortion;
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 17, flags()));
  const int pmu = profiler.Add(PmuRing(1u << 16, flags()));
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
  };
  std::thread reader([&] {
    while (!stop) {
      if (!profiler.WaitReadable(1000)) continue;
      profiler.ClearWakeups();
      take();
    }
  });
  for (uint64_t done = kPortion; done <= kTasks; done += kPortion) {
    RunTasks(*host, kPortion, 0, 1800);
    for (int k = 0; k < 20000 && (ends < done || counts < done); ++k) usleep(1000);
    EXPECT_EQ(ends, done);  // nobody flushed: watermark and latency brought the reader here
    EXPECT_EQ(counts, done);
  }
  profiler.Stop();
  stop = true;
  reader.join();
  take();
  EXPECT_EQ(starts, kTasks);
  EXPECT_EQ(ends, kTasks);
  EXPECT_EQ(counts, kTasks);
  EXPECT_EQ(cycles, Totals(*host).task_cycles);
  EXPECT_EQ(profiler.Stats().lost_records, 0u);
  EXPECT_EQ(profiler.Stats().tasks_started, kTasks);
  EXPECT_EQ(profiler.Stats().tasks_ended, kTasks);
}

TEST_P(Path, FullRingKeepsTheOldestAndCountsTheRest) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
  profiler.Start();
  RunTasks(*host, 500);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 64u);
  EXPECT_EQ(profiler.Control(log).lost_records, 1000u - 64);
  EXPECT_EQ(profiler.Control(log).lost_bytes, (1000u - 64) * 64);
  const auto cause = flags() == NPUPROF_RING_DEVICE_PATH ? NPUPROF_LOSS_NO_CREDIT : NPUPROF_LOSS_RING_FULL;
  EXPECT_EQ(profiler.Control(log).lost_by_cause[cause], 1000u - 64);
  EXPECT_EQ(profiler.Gaps()[static_cast<uint32_t>(log)], 1000u - 64);
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  EXPECT_EQ(marks.front().task_id, 0);
  EXPECT_EQ(marks.back().task_id, 31);
}

TEST_P(Path, RingRecoversAfterAFullSpell) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
  profiler.Start();
  uint64_t read = 0;
  for (int round = 0; round < 4; ++round) {
    RunTasks(*host, 100);
    npuprof_control control{};
    ASSERT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control), 0);
    read += profiler.Read<npuprof_rec_task_log>(log).size();
    ASSERT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control), 0);  // the driver sees the tail
  }
  profiler.Stop();
  read += profiler.Read<npuprof_rec_task_log>(log).size();
  EXPECT_EQ(read, 4u * 64);
  EXPECT_EQ(read + profiler.Control(log).lost_records, 800u);
  const auto events = profiler.Read<npuprof_rec_event>(0);
  std::vector<uint64_t> positions;
  for (const auto& event : events) {
    if (event.kind == NPUPROF_EVENT_GAP) positions.push_back(event.position);
  }
  EXPECT_EQ(positions, (std::vector<uint64_t>{64, 128, 192, 256}));
}

TEST(Window, StraddlingTasksAreCountedAndNotRecorded) {
  ScopedHost host{Settings{}};
  npusim::TaskCounter done;
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, 1800 * 100000ull), &done), 0);  // 100 ms
  while (Totals(*host).started == 0) std::this_thread::yield();
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  const npuprof_control start = profiler.Start();
  EXPECT_EQ(start.straddling, 1u);
  ASSERT_TRUE(done.WaitFor(1, 20 * kSecond));
  ASSERT_EQ(host->Submit(0, CubeTask(1, 2), &done), 0);
  ASSERT_TRUE(done.WaitFor(2, 20 * kSecond));
  profiler.Stop();
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].task_id, 2);
}

TEST_P(Path, StopWaitsForTheTasksOfTheWindow) {
  ScopedHost host{Settings{}};
  npusim::TaskCounter done;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
  profiler.Start();
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, 1800 * 50000ull), &done), 0);  // 50 ms
  ASSERT_EQ(host->Submit(0, CubeTask(1, 2, 1800 * 50000ull), &done), 0);  // starts after STOP
  while (Totals(*host).started == 0) std::this_thread::yield();
  const npuprof_control stop = profiler.Stop();
  EXPECT_EQ(stop.straddling, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 1u);
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_LT(marks[0].clock, stop.clock);
  EXPECT_GT(marks[1].clock, stop.clock);  // its end lies beyond the end of the window
  EXPECT_EQ(marks[1].task_id, 1);
  ASSERT_TRUE(done.WaitFor(2, 20 * kSecond));
  EXPECT_EQ(profiler.Head(log), 2u);  // head is final
}

TEST(Window, StopTimesOutAndSaysHowManyTasksRun) {
  ScopedHost host{Settings{}};
  npusim::TaskCounter done;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, 1800 * 300000ull), &done), 0);
  while (Totals(*host).started == 0) std::this_thread::yield();
  const npuprof_control stop = profiler.Stop(5'000'000);
  EXPECT_EQ(stop.straddling, 1u);
  ASSERT_TRUE(done.WaitFor(1, 20 * kSecond));
  EXPECT_EQ(profiler.Head(log), 1u);
  EXPECT_EQ(profiler.Stats().tasks_started, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 0u);
}

TEST_P(Path, CloseWhileRunningLetsTheDeviceGoOn) {
  ScopedHost host{Settings{}};
  {
    Profiler profiler;
    profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
    profiler.Add(PmuRing(64, flags()));
    profiler.Start();
    RunTasks(*host, 200);
  }
  RunTasks(*host, 200);
  EXPECT_EQ(Totals(*host).ended, 400u);
  Profiler again;
  const int log = again.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags()));
  again.Start();
  RunTasks(*host, 3);
  again.Stop();
  EXPECT_EQ(again.Head(log), 6u);
}

TEST(Overwrite, FreezeGivesTheNewest) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, NPUPROF_RING_OVERWRITE));
  profiler.Start();
  RunTasks(*host, 500);
  npuprof_control control{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_FREEZE, &control), 0);
  EXPECT_EQ(profiler.Control(log).state, uint32_t{NPUPROF_RING_FROZEN});
  ASSERT_EQ(profiler.Head(log), 1000u);
  profiler.Tail(log).tail = 1000 - 64;
  auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 64u);
  EXPECT_EQ(marks.front().task_id, 468);
  EXPECT_EQ(marks.back().task_id, 499);
  RunTasks(*host, 10);  // offered to a frozen ring
  control = {};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control), 0);
  EXPECT_EQ(profiler.Head(log), 1000u);
  EXPECT_EQ(profiler.Control(log).lost_records, 20u);
  control = {};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_START, &control), 0);
  RunTasks(*host, 5);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 1010u);
}

TEST(Wakeups, ComePerWatermarkAndNeverPerRecord) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096);
  add.watermark = 500;
  add.latency_ns = 30 * kSecond;
  const int log = profiler.Add(add);
  profiler.Start();
  profiler.ClearWakeups();
  RunTasks(*host, 1000);
  uint64_t wakeups = 0;
  for (int k = 0; k < 50 && profiler.Head(log) < 2000; ++k) usleep(2000);
  usleep(5000);
  wakeups = profiler.ClearWakeups();
  EXPECT_GE(wakeups, 1u);
  EXPECT_LE(wakeups, 4u);
  profiler.Stop();
}

TEST(Wakeups, LatencyBoundsTheWaitOfASingleRecord) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096);
  add.latency_ns = 5'000'000;
  const int log = profiler.Add(add);
  profiler.Start();
  RunTasks(*host, 1);
  ASSERT_TRUE(profiler.WaitReadable(10000));
  EXPECT_GE(profiler.Head(log), 1u);
  profiler.Stop();
}

}  // namespace
