// SPDX-License-Identifier: Apache-2.0
// Sampled channels: sums are those of the model. Rates are asserted in simulated time alone (tests/kernel).
#include <algorithm>
#include <cerrno>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

// A sample that a slow kernel comes to too late is left out, and the next one has its counts.
uint64_t LostForGood(const Profiler& profiler, int ring) {
  const uint64_t late =
      Backend::Get().is_kernel() ? profiler.Ctrl(ring).lost_by_cause[NPUPROF_LOSS_THROTTLED] : 0;
  return profiler.Lost(ring) - late;
}

struct Samples : OnBothPaths {};
ON_BOTH_PATHS(Samples);

TEST_P(Samples, OfAllCoresAddUpToTheModelsCycles) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const bool kernel = Backend::Get().is_kernel();
  // Long enough that all cores together stay below what sampling over registers may cost.
  const uint64_t period =
      std::max((kernel ? 50 : 5) * kMs, uint64_t{40} * query.sample_cost_ns * query.cube_cores);
  std::vector<int> rings;
  for (uint16_t core = 0; core < query.cube_cores; ++core) {
    rings.push_back(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, core, period, 512, {0x416, 0x302}, path())));
    ASSERT_GT(rings.back(), 0) << "core " << core;
  }
  profiler.Start();
  Since since;
  work.Run(100, query.core_hz / 10'000, query.cube_cores);
  SleepMs(3 * period / kMs);  // past the next period
  profiler.Stop();
  uint64_t cycles = 0, cube = 0;
  for (uint16_t core = 0; core < query.cube_cores; ++core) {
    EXPECT_EQ(LostForGood(profiler, rings[core]), 0u);
    for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(rings[core])) {
      EXPECT_EQ(sample.mode, 1);
      EXPECT_EQ(sample.count, 2);
      EXPECT_EQ(sample.core_id, core);
      cycles += sample.cycles;
      cube += sample.counters[0];
    }
  }
  EXPECT_EQ(cycles, since.Now().aicCycles);
  EXPECT_GT(cycles, 0u);
  EXPECT_GT(cube, 0u);
}

// A device that samples by itself said nothing of the time after its last sample. Periods are longer than what happens in them.
TEST_P(Samples, TheLastOneIsForTheTimeUpToTheEnd) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const int core = profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kSecond, 64, {0x416}, path()));
  const int unit = profiler.Add(UnitRing(NPUPROF_CHANNEL_HBM, 10 * kSecond, 512, path()));
  ASSERT_GT(core, 0);
  ASSERT_GT(unit, 0);
  profiler.Start();
  Since since;
  work.Run(10, query.core_hz / 10'000, query.cube_cores);
  work.Copy(1u << 20);
  profiler.Stop();
  uint64_t cycles = 0, bytes[2] = {};
  for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(core)) cycles += sample.cycles;
  EXPECT_EQ(cycles, 10 * (query.core_hz / 10'000));
  for (const auto& record : profiler.Read<npuprof_rec_bandwidth>(unit)) bytes[record.event] += record.value;
  EXPECT_EQ(bytes[0], since.Now().bytesRead);
  EXPECT_EQ(bytes[1], since.Now().bytesWritten);
  EXPECT_GT(bytes[0], 0u);
  EXPECT_EQ(LostForGood(profiler, core) + LostForGood(profiler, unit), 0u);
}

TEST_P(Samples, OfAVectorCoreCarryItsIdBehindTheMatrixCores) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const uint16_t last = static_cast<uint16_t>(query.vector_cores - 1);
  const int ring = profiler.Add(SampleRing(NPUPROF_CORE_VECTOR, last, 20 * kMs, 256, {0x8, 0x9}, path()));
  ASSERT_GT(ring, 0);
  profiler.Start();
  work.Run(10, query.core_hz / 10'000, query.vector_cores, NPUSIM_OP_AI_VECTOR_CORE);
  // A timer may be late where CPUs are emulated; the end of the window adds the second one.
  for (int tries = 0; profiler.Head(ring) == 0 && tries < 2000; ++tries) SleepMs(10);
  profiler.Stop();
  uint64_t cycles = 0;
  const auto samples = profiler.Read<npuprof_rec_core_sample>(ring);
  ASSERT_GE(samples.size(), 2u);
  for (size_t k = 0; k < samples.size(); ++k) {
    EXPECT_EQ(samples[k].core_id, query.cube_cores + last);
    if (k > 0) {
      EXPECT_GT(samples[k].time_ns, samples[k - 1].time_ns);
    }
    cycles += samples[k].cycles;
  }
  EXPECT_EQ(cycles, 10 * (query.core_hz / 10'000));
}

TEST_P(Samples, AFullRingLosesRecordsButNoCounts) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const int ring = profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kMs, 16, {0x416}, path()));
  ASSERT_GT(ring, 0);
  profiler.Start();
  Since since;
  for (int k = 0; k < 30; ++k) {
    work.Run(1, query.core_hz / 10'000, query.cube_cores);
    SleepMs(10);
  }
  uint64_t cycles = 0;
  for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(ring)) cycles += sample.cycles;
  SleepMs(30);  // the next ones find room
  profiler.Stop();
  for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(ring)) cycles += sample.cycles;
  EXPECT_GT(profiler.Lost(ring), 0u);
  EXPECT_EQ(profiler.Gaps()[static_cast<uint32_t>(ring)], profiler.Lost(ring));
  if (path() == NPUPROF_RING_REGISTER_PATH) {
    // The driver carries on from the last record it could write.
    EXPECT_EQ(cycles, 30 * (query.core_hz / 10'000));
  } else {
    EXPECT_LE(cycles, 30 * (query.core_hz / 10'000));
    // The device drops, and says how many.
    EXPECT_EQ(profiler.Lost(ring), since.Now().queueDropped);
  }
}

struct Units : OnBothPaths {};
ON_BOTH_PATHS(Units);

TEST_P(Units, MemoryBytesAreThoseOfTheModel) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const int ring = profiler.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1u << 13, path()));
  ASSERT_GT(ring, 0);
  profiler.Start();
  Since since;
  uint64_t bytes[2] = {};
  // Again and again: a slow machine takes longer for the copies than the ring has room for.
  const auto read = [&] {
    for (const auto& record : profiler.Read<npuprof_rec_bandwidth>(ring)) {
      ASSERT_LT(record.event, 2u);
      ASSERT_LT(record.unit, query.hbm_channels);
      bytes[record.event] += record.value;
    }
  };
  // Kernels of no model touch no memory.
  for (uint64_t k = 0; k < 10; ++k) {
    work.Copy((uint64_t{1} << 20) + 2 * k);
    read();
  }
  SleepMs(60);
  profiler.Stop();
  read();
  EXPECT_EQ(LostForGood(profiler, ring), 0u);
  EXPECT_EQ(bytes[0], since.Now().bytesRead);
  EXPECT_EQ(bytes[1], since.Now().bytesWritten);
  EXPECT_GE(bytes[0], uint64_t{10} << 20);
  EXPECT_GT(bytes[1], bytes[0]);
}

TEST_P(Units, L2LinesOfTasksAreThoseOfTheModel) {
  Work work;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  const int ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_SOC_PMU, 256, path()));
  ASSERT_GT(ring, 0);
  profiler.Start();
  Since since;
  work.Run(40, query.core_hz / 10'000, query.cube_cores);
  SleepMs(60);
  profiler.Stop();
  uint64_t hits = 0, misses = 0;
  const auto records = profiler.Read<npuprof_rec_soc_pmu>(ring);
  EXPECT_EQ(records.size(), since.Now().kernelsEnded);
  for (const auto& record : records) {
    EXPECT_EQ(record.data_type, NPUPROF_SOC_L2);
    EXPECT_EQ(record.counters[0], record.counters[1] + record.counters[2]);
    hits += record.counters[4] + record.counters[5];
    misses += record.counters[3];
  }
  EXPECT_EQ(profiler.Lost(ring), 0u);
  EXPECT_GT(hits + misses, 0u);
  EXPECT_EQ(hits, since.Now().l2Hits);
  EXPECT_EQ(misses, since.Now().l2Misses);
}

TEST_P(Units, EveryUnitDelivers) {
  Profiler profiler;
  std::vector<int> rings;
  for (uint32_t channel : {NPUPROF_CHANNEL_HBM, NPUPROF_CHANNEL_LLC, NPUPROF_CHANNEL_NIC,
                           NPUPROF_CHANNEL_DVPP, NPUPROF_CHANNEL_L2, NPUPROF_CHANNEL_LINK,
                           NPUPROF_CHANNEL_PCIE, NPUPROF_CHANNEL_FLOWS, NPUPROF_CHANNEL_ACCELERATORS})
    rings.push_back(profiler.Add(UnitRing(channel, 20 * kMs, 1u << 12, path())));
  profiler.Start();
  SleepMs(200);
  profiler.Stop();
  // At least two records each period, of which an emulator may miss some.
  for (int ring : rings) EXPECT_GE(profiler.Head(ring), Backend::Get().is_kernel() ? 4u : 16u) << ring;
}

}  // namespace
}  // namespace conformance
