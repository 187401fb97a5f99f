// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

TEST(Faults, RefuseStart) {
  Settings settings;
  settings.faults.refuse_start = true;
  ScopedHost host{settings};
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  npuprof_control control{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_START, &control), -EIO);
  RunTasks(*host, 5);  // the program goes on
}

struct StallDrain : testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Paths, StallDrain,
                         testing::Values(uint32_t{NPUPROF_RING_REGISTER_PATH},
                                         uint32_t{NPUPROF_RING_DEVICE_PATH}));

TEST_P(StallDrain, KeptPlusLostIsWhatTheDeviceProduced) {
  Settings settings;
  settings.faults.stall_drain = true;
  ScopedHost host{settings};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, GetParam()));
  const int pmu = profiler.Add(PmuRing(128, GetParam()));
  profiler.Start();
  uint64_t read_log = 0, read_pmu = 0;
  for (int k = 0; k < 20; ++k) {
    RunTasks(*host, 50);
    read_log += profiler.Read<npuprof_rec_task_log>(log).size();
    read_pmu += profiler.Read<npuprof_rec_task_pmu>(pmu).size();
  }
  profiler.Stop();
  read_log += profiler.Read<npuprof_rec_task_log>(log).size();
  read_pmu += profiler.Read<npuprof_rec_task_pmu>(pmu).size();
  EXPECT_EQ(read_log, 256u);
  EXPECT_EQ(read_pmu, 128u);
  const npusim_totals totals = Totals(*host);
  EXPECT_EQ(read_log + profiler.Control(log).lost_records, totals.recorded_started + totals.recorded_ended);
  EXPECT_EQ(read_pmu + profiler.Control(pmu).lost_records, totals.kernels_ended);
  auto gaps = profiler.Gaps();
  EXPECT_EQ(gaps[static_cast<uint32_t>(log)], 2000u - 256);
  EXPECT_EQ(gaps[static_cast<uint32_t>(pmu)], 1000u - 128);
}

TEST(Faults, LossThatGoesOnDoesNotInterruptForEachRecord) {
  Settings settings;
  settings.faults.stall_drain = true;
  ScopedHost host{settings};
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, NPUPROF_RING_DEVICE_PATH));
  profiler.Add(PmuRing(64, NPUPROF_RING_DEVICE_PATH));
  profiler.Start();
  RunTasks(*host, 5000);  // six and a half milliseconds of the device, two looks at the queues in each
  profiler.Stop();
  EXPECT_EQ(profiler.Stats().lost_records, 10'000u - 64 + 5000 - 64);
  EXPECT_LT(profiler.Stats().interrupts, 500u);
}

TEST(Faults, DroppedInterruptLosesExactlyWhatTheModelLost) {
  Settings settings;
  settings.faults.drop_irq = 1;
  ScopedHost host{settings};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 14));
  const int pmu = profiler.Add(PmuRing(1u << 13));
  profiler.Start();
  RunTasks(*host, 1900);
  npuprof_control control{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control),
            0);  // the driver finds the loss here and counts it once
  npusim::TaskCounter done;
  for (uint16_t k = 1900; k < 2000; ++k) ASSERT_EQ(host->Submit(0, CubeTask(1, k), &done), 0);
  ASSERT_TRUE(done.WaitFor(100, 20 * kSecond));
  profiler.Stop();
  const npusim_totals totals = Totals(*host);
  EXPECT_EQ(host->SwallowedInterrupts(0), 1u);
  EXPECT_GT(totals.fifo_lost[0], 0u);
  EXPECT_EQ(totals.fifo_produced[0], 4000u);
  EXPECT_EQ(profiler.Control(log).lost_records, totals.fifo_lost[0]);
  EXPECT_EQ(profiler.Control(log).lost_by_cause[NPUPROF_LOSS_FIFO_OVERFLOW], totals.fifo_lost[0]);
  EXPECT_EQ(profiler.Head(log) + profiler.Control(log).lost_records, 4000u);
  EXPECT_EQ(profiler.Control(pmu).lost_records, totals.fifo_lost[1]);
  EXPECT_EQ(profiler.Head(pmu) + profiler.Control(pmu).lost_records, 2000u);
  // The gaps say where: the ids on both sides of each differ by as many as it counts, and nowhere else.
  const auto counts = profiler.Read<npuprof_rec_task_pmu>(pmu);
  std::map<uint64_t, uint64_t> jumps, told;
  for (size_t k = 1; k < counts.size(); ++k) {
    const int step = counts[k].task_id - counts[k - 1].task_id;
    if (step != 1) jumps[k] = static_cast<uint64_t>(step - 1);
  }
  if (counts.back().task_id != 1999)
    jumps[counts.size()] = static_cast<uint64_t>(1999 - counts.back().task_id);
  uint64_t log_gaps = 0;
  for (const auto& event : profiler.Read<npuprof_rec_event>(0)) {
    if (event.kind != NPUPROF_EVENT_GAP) continue;
    if (event.ring == static_cast<uint32_t>(pmu)) {
      told[event.position] += event.count;
    } else {
      log_gaps += event.count;
    }
  }
  EXPECT_EQ(told, jumps);
  EXPECT_EQ(log_gaps, totals.fifo_lost[0]);
}

TEST(Faults, WithoutFaultTheSameRunLosesNothing) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 14, NPUPROF_RING_REGISTER_PATH));
  profiler.Start();
  RunTasks(*host, 2000);
  profiler.Stop();
  EXPECT_EQ(Totals(*host).fifo_lost[0], 0u);
  EXPECT_EQ(profiler.Head(log), 4000u);
  EXPECT_EQ(profiler.Control(log).lost_records, 0u);
}

// From START; a busy machine has submitted its tasks and seen them begin by then, and no task ends by itself before it.
constexpr uint64_t kFaultMs = 1000, kEndless = 1800 * 5'000'000ull;

TEST(Faults, ResetStartsANewEpochAndGoesOn) {
  Settings settings;
  settings.faults.reset_at_ms = kFaultMs;
  ScopedHost host{settings};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096));
  const int pmu = profiler.Add(PmuRing(4096));
  profiler.Start();
  npusim::TaskCounter done;
  ASSERT_EQ(host->Submit(0, CubeTask(2, 9, 1800), &done), 0);
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, kEndless), &done), 0);
  ASSERT_TRUE(done.WaitFor(2, 20 * kSecond));
  EXPECT_EQ(done.failed(), 1u);
  RunTasks(*host, 10);
  const npuprof_control stop = profiler.Stop();
  EXPECT_EQ(stop.straddling, 0u);
  const npusim_totals totals = Totals(*host);
  EXPECT_EQ(totals.aborted, 1u);
  EXPECT_EQ(profiler.Control(log).epoch, 1u);
  // 12 starts, 11 ends, and the end that never came
  EXPECT_EQ(profiler.Head(log), 23u);
  EXPECT_EQ(profiler.Control(log).lost_by_cause[NPUPROF_LOSS_RESET], 1u);
  EXPECT_EQ(profiler.Head(pmu), 11u);
  EXPECT_EQ(profiler.Control(pmu).lost_by_cause[NPUPROF_LOSS_RESET], 1u);
  EXPECT_EQ(profiler.Stats().tasks_started, 12u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 11u);
  uint64_t epochs = 0, gap = 0;
  for (const auto& event : profiler.Read<npuprof_rec_event>(0)) {
    epochs += event.kind == NPUPROF_EVENT_EPOCH && event.epoch == 1;
    if (event.kind == NPUPROF_EVENT_GAP) gap += event.count;
  }
  EXPECT_EQ(epochs, 1u);
  EXPECT_EQ(gap, 2u);
}

TEST(Faults, ResetWhileStopWaits) {
  Settings settings;
  settings.faults.reset_at_ms = kFaultMs;
  ScopedHost host{settings};
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  npusim::TaskCounter done;
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, kEndless), &done), 0);
  while (Totals(*host).started == 0) std::this_thread::yield();
  EXPECT_EQ(profiler.Stop().straddling, 1u);
  ASSERT_TRUE(done.WaitFor(1, 20 * kSecond));
  EXPECT_EQ(done.failed(), 1u);
}

TEST(Faults, SurpriseRemoval) {
  Settings settings;
  settings.faults.surprise_remove_at_ms = kFaultMs;
  ScopedHost host{settings};
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  profiler.ClearWakeups();
  npusim::TaskCounter done;
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1), &done), 0);
  ASSERT_EQ(host->Submit(0, CubeTask(1, 2, kEndless), &done), 0);
  ASSERT_TRUE(done.WaitFor(2, 20 * kSecond));
  EXPECT_EQ(done.failed(), 1u);
  ASSERT_TRUE(profiler.WaitReadable(10000));
  EXPECT_EQ(profiler.Control(log).state, uint32_t{NPUPROF_RING_GONE});
  EXPECT_EQ(profiler.Read<npuprof_rec_task_log>(log).size(), 3u);  // what had arrived is there
  npuprof_control control{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), -ENODEV);
  npuprof_query query{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_QUERY, &query), -ENODEV);
  npuprof_clock clock{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), -ENODEV);
  EXPECT_EQ(profiler.Stats().records, profiler.Head(log) + profiler.Head(0));
  EXPECT_EQ(npusim_dev_open(0), -ENODEV);
  EXPECT_EQ(host->Submit(0, CubeTask(1, 3), nullptr), -ENODEV);
  EXPECT_EQ(profiler.Close(), 0);
  Profiler other(1);  // the other device is still there
  EXPECT_EQ(other.Query().device_id, 1u);
}

TEST(Faults, RemovalWhileStopWaits) {
  Settings settings;
  settings.faults.surprise_remove_at_ms = kFaultMs;
  ScopedHost host{settings};
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, kEndless), nullptr), 0);
  while (Totals(*host).started == 0) std::this_thread::yield();
  npuprof_control control{};
  control.flags = NPUPROF_STOP_WAIT;
  control.timeout_ns = 60 * kSecond;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), -ENODEV);
}

}  // namespace
