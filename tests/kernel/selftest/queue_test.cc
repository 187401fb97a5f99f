// SPDX-License-Identifier: Apache-2.0
// Rings that the device writes: how soon their records are seen, and what they cost. In simulated time, like rate_test.cc.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

// An interrupt that came while the queues were looked at asked for another look, and the end of that one put it off again to
// where it would have been without.
TEST(Rates, ARecordThatComesDuringALookIsSeenAtOnce) {
  constexpr uint32_t kPath = NPUPROF_RING_DEVICE_PATH;
  const unsigned records = 320 / Stretch();
  Port port;
  Profiler profiler;
  npuprof_add_ring log = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 10, kPath);
  log.watermark = 1;
  const int ring = profiler.Add(log);
  // They have nothing to tell, but looking at them takes a while.
  const npuprof_query query = profiler.Query();
  for (uint16_t kind : {NPUPROF_CORE_CUBE, NPUPROF_CORE_VECTOR}) {
    const uint16_t cores = kind == NPUPROF_CORE_CUBE ? query.cube_cores : query.vector_cores;
    for (uint16_t core = 0; core < cores; ++core)
      ASSERT_GT(profiler.Add(SampleRing(kind, core, 10 * kSecond, 64, {0x8}, kPath)), 0);
  }
  profiler.Start();
  uint64_t most = 0, sum = 0;
  for (unsigned k = 0; k < records; ++k) {
    // Rounds of looks come every 16 ms by then; over all records, every moment of a round has its turn.
    const uint64_t ready = port.Now() + 40 * kMs + k * (16 * kMs / records);
    port.SubmitSpread(1, ready, 0);
    const uint64_t before = profiler.Head(ring);
    while (profiler.Head(ring) < before + 2 && profiler.WaitReadable(1000)) {
      profiler.Read<npuprof_rec_event>(0);
      profiler.Read<npuprof_rec_task_log>(ring);
    }
    ASSERT_EQ(profiler.Head(ring), before + 2) << k;
    const uint64_t late = port.Now() - ready;
    most = std::max(most, late);
    sum += late;
  }
  profiler.Stop();
  if (TimeIsTheModules()) {
    EXPECT_LT(most, 4 * kMs);
  }
  std::printf("seen after %.3f ms, at most %.3f ms\n", static_cast<double>(sum) / records / kMs,
              static_cast<double>(most) / kMs);
}

// Counters of a core whose samples the device makes interrupted whenever they passed their range, and nobody was there who
// would have read them for that.
TEST(Rates, ACoreThatTheDeviceSamplesInterruptsNobody) {
  constexpr uint64_t kCycles = 5'000'000'000;  // beyond the 32 bits of a counter
  Port port;
  Profiler profiler;
  const int ring =
      profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kSecond, 64, {0x0e}, NPUPROF_RING_DEVICE_PATH));
  ASSERT_GT(ring, 0);
  profiler.Start();
  const npuprof_stats first = profiler.Stats();
  const npusim_port_stats before = port.Stats();
  port.Submit(1, kCycles, 1);
  uint64_t cycles = 0, counted = 0;
  for (int k = 0; k < 10 && cycles < kCycles; ++k) {
    ASSERT_TRUE(profiler.WaitReadable(5000));
    profiler.Read<npuprof_rec_event>(0);
    for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(ring)) {
      cycles += sample.cycles;
      counted += sample.counters[0];
    }
  }
  EXPECT_EQ(cycles, kCycles);
  EXPECT_GT(counted, UINT32_MAX) << "no counter passed its range, so nothing is shown";
  EXPECT_EQ(port.Stats().interrupts - before.interrupts, 0u);
  EXPECT_EQ(profiler.Stats().interrupts - first.interrupts, 0u);
}

}  // namespace
}  // namespace selftest
