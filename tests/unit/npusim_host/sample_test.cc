// SPDX-License-Identifier: Apache-2.0
// Samples against counts that only the model in this process can tell, and their rate.
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

}  // namespace
