// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

constexpr uint64_t kMs = 1'000'000;

TEST(Samples, CoreSumsAreThoseOfTheModel) {
  Settings settings;
  settings.cube_cores = 3;
  settings.vector_cores = 2;
  ScopedHost host{settings};
  Profiler profiler;
  const std::vector<uint16_t> events = {0x416, 0x302, 0xc};
  std::vector<int> rings;
  for (uint16_t core = 0; core < 3; ++core)
    rings.push_back(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, core, kMs, 4096, events)));
  profiler.Start();
  RunTasks(*host, 300, 0, 180000);
  profiler.Stop();
  uint64_t sums[3] = {}, cycles = 0;
  for (uint16_t core = 0; core < 3; ++core) {
    for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(rings[core])) {
      EXPECT_EQ(sample.mode, 1);
      EXPECT_EQ(sample.count, 3);
      EXPECT_EQ(sample.core_id, core);
      for (int k = 0; k < 3; ++k) sums[k] += sample.counters[k];
      cycles += sample.cycles;
    }
    EXPECT_EQ(profiler.Control(rings[core]).lost_records, 0u);
  }
  EXPECT_EQ(cycles, Totals(*host).cycles[0]);
  EXPECT_GT(cycles, 0u);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(sums[k], host.EventTotal(0, 0, events[k])) << std::hex << events[k];
  EXPECT_GT(sums[0], 0u);
}

TEST(Samples, RateIsThePeriod) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  const int ring = profiler.Add(SampleRing(NPUPROF_CORE_VECTOR, 47, kMs, 4096, {0x8}));
  const npuprof_control start = profiler.Start();
  usleep(200000);
  const npuprof_control stop = profiler.Stop();
  const auto samples = profiler.Read<npuprof_rec_core_sample>(ring);
  const uint64_t periods = (stop.monotonic_raw_ns - start.monotonic_raw_ns) / kMs;
  ASSERT_GE(samples.size(), 2u);
  EXPECT_GE(samples.size(), periods);
  EXPECT_LE(samples.size(), periods + 2);  // the rest at the end
  for (size_t k = 1; k + 1 < samples.size(); ++k)
    EXPECT_NEAR(static_cast<double>(samples[k].time_ns - samples[k - 1].time_ns), 1e6, 100) << k;
  EXPECT_EQ(samples[0].core_id, 24 + 47);
}

TEST(Samples, DeviceWrittenSamplesAgreeToo) {
  Settings settings;
  settings.cube_cores = 1;
  ScopedHost host{settings};
  Profiler profiler;
  const int ring =
      profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kMs, 4096, {0x416, 0x302}, NPUPROF_RING_DEVICE_PATH));
  profiler.Start();
  RunTasks(*host, 50, 0, 180000);
  usleep(20000);  // past the next period
  profiler.Stop();
  uint64_t cycles = 0, cube = 0;
  for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(ring)) {
    EXPECT_EQ(sample.count, 2);
    cycles += sample.cycles;
    cube += sample.counters[0];
  }
  EXPECT_EQ(cycles, Totals(*host).cycles[0]);
  EXPECT_EQ(cube, host.EventTotal(0, 0, 0x416));
}

// One period of many seconds: 32-bit counters wrap in between and only the overflow interrupts tell.
TEST(Samples, SumsSurviveCounterOverflow) {
  Settings settings;
  settings.cube_cores = 1;
  settings.core_mhz = 10000;
  ScopedHost host{settings};
  Profiler profiler;
  const int ring = profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kSecond, 64, {0x9, 0xc, 0x302, 0x416}));
  profiler.Start();
  npusim_task task = CubeTask(1, 1, 0, 1);
  task.work.macs_fp16 = uint64_t{4096} * 12'000'000'000;  // 12e9 cycles of the cube unit, 1.2 s, range 4.3e9
  npusim::TaskCounter done;
  ASSERT_EQ(host->Submit(0, task, &done), 0);
  ASSERT_TRUE(done.WaitFor(1, 60 * kSecond));
  profiler.Stop();
  uint64_t cube = 0;
  const auto samples = profiler.Read<npuprof_rec_core_sample>(ring);
  for (const auto& sample : samples) cube += sample.counters[3];
  EXPECT_EQ(samples.size(), 1u);
  EXPECT_EQ(cube, host.EventTotal(0, 0, 0x416));
  EXPECT_GT(cube, uint64_t{2} << 32);
  EXPECT_GE(Totals(*host).ended, 1u);
}

TEST(Samples, FullRingLosesRecordsButNotCounts) {
  Settings settings;
  settings.cube_cores = 1;
  ScopedHost host{settings};
  Profiler profiler;
  const int ring = profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kMs, 16, {0x416}));
  profiler.Start();
  RunTasks(*host, 300, 0, 180000);  // 30 ms and more of work for 16 slots
  const auto first = profiler.Read<npuprof_rec_core_sample>(ring);
  profiler.Stop();
  const auto second = profiler.Read<npuprof_rec_core_sample>(ring);
  EXPECT_GT(profiler.Control(ring).lost_records, 0u);
  uint64_t cycles = 0;
  for (const auto& sample : first) cycles += sample.cycles;
  for (const auto& sample : second) cycles += sample.cycles;
  EXPECT_EQ(cycles, Totals(*host).cycles[0]);
  EXPECT_EQ(profiler.Gaps()[static_cast<uint32_t>(ring)], profiler.Control(ring).lost_records);
}

struct Units : testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Paths, Units,
                         testing::Values(uint32_t{NPUPROF_RING_REGISTER_PATH},
                                         uint32_t{NPUPROF_RING_DEVICE_PATH}));

TEST_P(Units, HbmBytesAreThoseOfTheModel) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_HBM, 1u << 14, GetParam());
  add.period_ns = kMs;
  const int ring = profiler.Add(add);
  const npuprof_query caps = profiler.Query();
  profiler.Start();
  npusim::TaskCounter done;
  for (uint16_t k = 0; k < 40; ++k) {
    npusim_task task = CubeTask(1, k, 18000, 24);
    task.work.read_bytes = 1'000'000 + k;
    task.work.write_bytes = 500'000;
    ASSERT_EQ(host->Submit(0, task, &done), 0);
  }
  ASSERT_TRUE(done.WaitFor(40, 20 * kSecond));
  usleep(20000);
  profiler.Stop();
  uint64_t bytes[2] = {};
  for (const auto& record : profiler.Read<npuprof_rec_bandwidth>(ring)) {
    ASSERT_LT(record.event, 2u);
    ASSERT_LT(record.unit, caps.hbm_channels);
    bytes[record.event] += record.value;
  }
  EXPECT_EQ(bytes[0], Totals(*host).hbm_bytes[0]);
  EXPECT_EQ(bytes[1], Totals(*host).hbm_bytes[1]);
  EXPECT_GT(bytes[0], 0u);
  EXPECT_GT(bytes[1], 0u);
}

TEST(Units, EveryUnitChannelDelivers) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  std::vector<int> rings;
  for (uint32_t channel : {NPUPROF_CHANNEL_HBM, NPUPROF_CHANNEL_LLC, NPUPROF_CHANNEL_NIC,
                           NPUPROF_CHANNEL_DVPP, NPUPROF_CHANNEL_L2}) {
    npuprof_add_ring add = DeviceRing(channel, 1u << 14);
    add.period_ns = 2 * kMs;
    rings.push_back(profiler.Add(add));
  }
  profiler.Start();
  usleep(50000);
  profiler.Stop();
  for (int ring : rings) EXPECT_GE(profiler.Head(ring), 40u) << ring;  // at least two records each 2 ms
}

TEST(Owners, ChannelsAndCoresBelongToOneSession) {
  ScopedHost host{Settings{}};
  Profiler first, second;
  EXPECT_GT(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_EQ(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), -EBUSY);
  EXPECT_EQ(second.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), -EBUSY);
  EXPECT_EQ(second.Add(PmuRing(64)), -EBUSY);  // one window of tasks, one owner
  EXPECT_GT(first.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kMs, 1024, {0x416})), 0);
  EXPECT_EQ(second.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kMs, 1024, {0x416})), -EBUSY);
  EXPECT_GT(second.Add(SampleRing(NPUPROF_CORE_CUBE, 1, 2 * kMs, 1024, {0x302})), 0);
  npuprof_add_ring hbm = DeviceRing(NPUPROF_CHANNEL_HBM, 1024);
  hbm.period_ns = kMs;
  EXPECT_GT(second.Add(hbm), 0);
  EXPECT_EQ(first.Add(hbm), -EBUSY);

  // Disjoint owners work side by side, and one leaving does not disturb the other.
  first.Start();
  second.Start();
  RunTasks(*host, 20, 0, 180000);
  usleep(30000);
  first.Stop();
  EXPECT_EQ(first.Head(1), 40u);
  const uint64_t before = second.Head(1);
  first.Close();
  usleep(30000);
  second.Stop();
  EXPECT_GT(second.Head(1), before);
  uint64_t cycles = 0;
  for (const auto& sample : second.Read<npuprof_rec_core_sample>(1)) cycles += sample.cycles;
  EXPECT_EQ(cycles, 20u * 180000);  // 20 tasks of 4 blocks: core 1 ran one block of each

  Profiler third;
  EXPECT_GT(third.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_EQ(third.Add(hbm), -EBUSY);
  Profiler other_device(1);
  EXPECT_GT(other_device.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_GT(other_device.Add(hbm), 0);
}

TEST(Owners, RefusalNamesTheOwner) {
  ScopedHost host{Settings{}};
  Profiler first, second;
  EXPECT_GT(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  npuprof_add_ring log = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  EXPECT_EQ(second.Call(NPUPROF_IOC_ADD_RING, &log), -EBUSY);
  EXPECT_EQ(log.owner_pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(first.Call(NPUPROF_IOC_ADD_RING, &log), -EBUSY);  // its own ring is in the way
  EXPECT_EQ(log.owner_pid, 0u);
}

// Rings over registers get 5 % of a CPU together; who leaves the choice to the driver is written by the device.
TEST(Samples, MoreThanTheCpuAffordsIsRefusedWithAPeriod) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  constexpr uint64_t kShort = 10'000;
  std::vector<npuprof_add_ring> refused;
  for (uint16_t core = 0; core < 48; ++core) {
    npuprof_add_ring add =
        SampleRing(NPUPROF_CORE_VECTOR, core, kShort, 64, {0x8}, NPUPROF_RING_REGISTER_PATH);
    const int error = profiler.Call(NPUPROF_IOC_ADD_RING, &add);
    if (error == 0) continue;
    ASSERT_EQ(error, -ERANGE) << core;
    refused.push_back(add);
  }
  ASSERT_FALSE(refused.empty());  // 48 readings of a core in 10 us
  npuprof_add_ring again = refused.front();
  if (again.period_ns != 0) {
    EXPECT_GT(again.period_ns, kShort);
    const uint64_t granted = again.period_ns--;
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &again), -ERANGE);
    EXPECT_EQ(again.period_ns, granted);
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &again), 0);
  }
  npuprof_add_ring free_choice = SampleRing(NPUPROF_CORE_CUBE, 0, kShort, 64, {0x8});
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &free_choice), 0);
  profiler.Close();

  // What a closed session took is there again.
  Profiler next;
  npuprof_add_ring first = SampleRing(NPUPROF_CORE_VECTOR, 0, kMs, 64, {0x8}, NPUPROF_RING_REGISTER_PATH);
  EXPECT_EQ(next.Call(NPUPROF_IOC_ADD_RING, &first), 0);
}

TEST(Owners, RefusedRingLeavesNoClaim) {
  ScopedHost host{Settings{}};
  Profiler first, second;
  npuprof_add_ring huge = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, NPUPROF_MAX_SLOTS);
  for (uint32_t channel : {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_CHANNEL_TASK_PMU, NPUPROF_CHANNEL_TS_TRACK}) {
    huge.channel = channel;
    first.Add(huge);
  }
  npuprof_add_ring sample = SampleRing(NPUPROF_CORE_CUBE, 0, kMs, NPUPROF_MAX_SLOTS, {0x416});
  EXPECT_EQ(first.Add(sample), -ENOMEM);  // a gigabyte is the limit
  EXPECT_GT(second.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kMs, 64, {0x416})), 0);
}

}  // namespace
