// SPDX-License-Identifier: Apache-2.0
// Rings whose reader does not read, or lies about it: what was kept and what was lost is what the model made.
#include <limits>
#include <random>
#include <vector>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

struct Loss : OnBothPaths {
  unsigned cause() const {
    return path() == NPUPROF_RING_DEVICE_PATH ? NPUPROF_LOSS_NO_CREDIT : NPUPROF_LOSS_RING_FULL;
  }
};
ON_BOTH_PATHS(Loss);

TEST_P(Loss, AFullRingKeepsTheOldestAndCountsTheRest) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  profiler.Start();
  work.Run(32);
  npuprof_clock full{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &full), 0);
  work.Run(468);
  profiler.Stop();
  const npusimDeviceTotals totals = since.Now();
  const uint64_t made = totals.tasksStarted + totals.tasksEnded;
  ASSERT_EQ(made, 1000u);
  EXPECT_EQ(profiler.Head(log), 64u);
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), made);
  EXPECT_EQ(profiler.Ctrl(log).lost_bytes, profiler.Lost(log) * sizeof(npuprof_rec_task_log));
  EXPECT_EQ(profiler.Ctrl(log).lost_by_cause[cause()], profiler.Lost(log));
  EXPECT_EQ(profiler.Gaps()[static_cast<uint32_t>(log)], profiler.Lost(log));
  EXPECT_EQ(profiler.Stats().lost_records, profiler.Lost(log));
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  for (size_t k = 0; k < marks.size(); ++k)
    EXPECT_EQ(static_cast<uint16_t>(marks[k].task_id - marks[0].task_id), k / 2) << k;
  EXPECT_LE(marks.back().clock, full.device_clock);
}

TEST_P(Loss, EveryRingCountsItsOwn) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, path()));
  const int pmu = profiler.Add(PmuRing(16, path()));
  const int aicpu = profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 1024, path()));
  const int block = profiler.Add(BlockRing(NPUPROF_CORE_CUBE, 0, 32, path()));
  profiler.Start();
  work.Run(300, 1800, profiler.Query().cube_cores);
  work.Run(50, 1800, 1, NPUSIM_OP_AI_CPU);
  profiler.Stop();
  const npusimDeviceTotals totals = since.Now();
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), totals.tasksStarted + totals.tasksEnded);
  EXPECT_EQ(profiler.Head(pmu) + profiler.Lost(pmu), totals.kernelsEnded);
  EXPECT_EQ(profiler.Head(aicpu) + profiler.Lost(aicpu), totals.aicpuEnded);
  EXPECT_EQ(profiler.Head(block) + profiler.Lost(block), 300u);  // a block of each on this core
  EXPECT_EQ(profiler.Head(log), 256u);
  EXPECT_EQ(profiler.Head(pmu), 16u);
  EXPECT_EQ(profiler.Lost(aicpu), 0u);
  EXPECT_EQ(profiler.Head(block), 32u);
  auto gaps = profiler.Gaps();
  for (int ring : {log, pmu, aicpu, block})
    EXPECT_EQ(gaps[static_cast<uint32_t>(ring)], profiler.Lost(ring)) << ring;
}

TEST_P(Loss, ARingRecoversWhenItsReaderDoes) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  profiler.Start();
  uint64_t read = 0;
  for (int round = 0; round < 4; ++round) {
    work.Run(100);
    profiler.Flush();
    read += profiler.Read<npuprof_rec_task_log>(log).size();
    profiler.Flush();  // the driver sees the tail
  }
  profiler.Stop();
  read += profiler.Read<npuprof_rec_task_log>(log).size();
  EXPECT_EQ(read, 4u * 64);
  EXPECT_EQ(read + profiler.Lost(log), since.Now().tasksStarted + since.Now().tasksEnded);
  std::vector<uint64_t> positions;
  uint64_t missing = 0;
  for (const auto& event : profiler.Read<npuprof_rec_event>(0)) {
    if (event.kind != NPUPROF_EVENT_GAP) continue;
    positions.push_back(event.position);
    missing += event.count;
    EXPECT_LE(event.first, event.last);
    EXPECT_EQ(event.cause, cause());
  }
  EXPECT_EQ(positions, (std::vector<uint64_t>{64, 128, 192, 256}));
  EXPECT_EQ(missing, profiler.Lost(log));
}

// A tail is the one thing a reader can write. Whatever stands in it costs records of this ring, all of them
// counted, and nothing else.
TEST_P(Loss, AHostileTailLosesNothingUncounted) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  const int pmu = profiler.Add(PmuRing(4096, path()));
  profiler.Start();
  Since since;
  std::mt19937_64 random(20260101);
  const uint64_t fixed[] = {
      std::numeric_limits<uint64_t>::max(),     uint64_t{1} << 63, uint64_t{1} << 32, 65, 1000,
      std::numeric_limits<uint64_t>::max() - 63};
  for (int round = 0; round < 40; ++round) {
    const uint64_t head = profiler.Head(log);
    uint64_t tail = random();
    if (round < 6) tail = fixed[round];
    if (round % 5 == 0) tail = head + 1 + random() % 100;   // ahead of the head
    if (round % 5 == 1) tail = head - 65 - random() % 100;  // further back than the ring is long
    profiler.SetTail(log, tail);
    work.Run(20);
    if (round % 3 == 0) profiler.Flush();
  }
  profiler.Flush();
  npusimDeviceTotals totals = since.Now();
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), totals.tasksStarted + totals.tasksEnded);
  EXPECT_EQ(profiler.Head(pmu), totals.kernelsEnded);  // the neighbour is not touched
  // An honest tail, and it works again.
  profiler.SetTail(log, profiler.Head(log));
  profiler.Flush();
  const uint64_t head = profiler.Head(log);
  work.Run(10);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), head + 20);
  totals = since.Now();
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), totals.tasksStarted + totals.tasksEnded);
}

// An event ring that nobody reads fills up too. What it cannot tell stays open and is told in one later.
TEST_P(Loss, AFullEventRingTellsTheRestInOne) {
  constexpr uint64_t kSlots = 16;
  Work work;
  Profiler profiler;
  const uint32_t cores = profiler.Query().cube_cores;
  std::vector<int> rings{profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, kSlots, path()))};
  for (uint32_t core = 0; core < cores; ++core)
    rings.push_back(profiler.Add(BlockRing(NPUPROF_CORE_CUBE, static_cast<uint16_t>(core), kSlots, path())));
  profiler.Start();
  const uint64_t rounds = profiler.Ctrl(0).slots / rings.size() + 2;  // each is a gap in every ring
  for (uint64_t round = 0; round < rounds; ++round) {
    work.Run(20, 1800, cores);  // a block on each core, two marks in the log
    profiler.Flush();
    for (const int ring : rings) profiler.SetTail(ring, profiler.Head(ring));
    profiler.Flush();
  }
  uint64_t lost = 0;
  for (const int ring : rings) {
    EXPECT_EQ(profiler.Head(ring), kSlots * rounds) << ring;
    EXPECT_EQ(profiler.Lost(ring), ((ring == rings[0] ? 40 : 20) - kSlots) * rounds) << ring;
    lost += profiler.Lost(ring);
  }
  const auto told = [&] {
    uint64_t sum = 0;
    for (const auto& [ring, count] : profiler.Gaps()) sum += count;
    return sum;
  };
  const uint64_t first = told();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, lost);
  profiler.Flush();  // there is room for events again
  profiler.Flush();
  EXPECT_EQ(first + told(), lost);
  profiler.Stop();
}

}  // namespace
}  // namespace conformance
