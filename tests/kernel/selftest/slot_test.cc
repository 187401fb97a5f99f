// SPDX-License-Identifier: Apache-2.0
// How much of a CPU the module takes when there is more to do than it may: slots, rests, fairness, budget. In
// simulated time, like rate_test.cc.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr double kShare = 1.0 / (1 + 3);  // NPUPROF_PAUSE_RATIO

struct Slots : SimulatedTime {
  Port port;
  Profiler profiler;
  npuprof_query query = profiler.Query();
  uint64_t since = 0;
  npuprof_stats first{};

  void Begin() {
    profiler.Start();
    first = profiler.Stats();
    since = port.Now();
  }
  // Share of a CPU since Begin().
  double Share() {
    const npuprof_stats now = profiler.Stats();
    return static_cast<double>(now.busy_ns - first.busy_ns) / static_cast<double>(port.Now() - since);
  }
  void ExpectSlots() {
    const uint64_t longest = LongestCallback();
    EXPECT_GT(longest, 0u);
    if (TimeIsTheModules()) {
      EXPECT_GT(longest, kLongestCallback / 2) << "no slot was filled, so nothing is shown";
      EXPECT_LE(longest, kLongestCallback);
    }
    std::printf("longest callback %llu ns\n", static_cast<unsigned long long>(longest));
  }
  // When the samples of a ring that is sampled over registers were latched.
  static std::vector<uint64_t> Latches(Profiler& from, int ring) {
    std::vector<uint64_t> times;
    for (const auto& sample : from.Read<npuprof_rec_core_sample>(ring)) times.push_back(sample.time_ns);
    return times;
  }
  // How near a time of one list comes to one of the other.
  static uint64_t Nearest(const std::vector<uint64_t>& some, const std::vector<uint64_t>& others) {
    uint64_t nearest = UINT64_MAX;
    for (uint64_t a : some)
      for (uint64_t b : others) nearest = std::min(nearest, a < b ? b - a : a - b);
    return nearest;
  }
  void ExpectAllCounted(int ring, npusim_record_counts before, npusim_record_counts after) {
    EXPECT_EQ(profiler.Head(ring) + profiler.Lost(ring), after.kept - before.kept + after.lost - before.lost)
        << ring;
  }
};

// Each entry beyond the watermark interrupted, and each interrupt worked at once for a slot.
TEST_F(Slots, OverloadedFifosLeaveTheCpuToOthersAndTakeTurns) {
  constexpr uint32_t kPath = NPUPROF_RING_REGISTER_PATH;
  constexpr uint64_t kSmall = 1000;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 14, kPath));
  const int pmu = profiler.Add(PmuRing(1u << 13, kPath));
  std::vector<int> blocks;
  std::vector<npusim_record_counts> before;
  for (uint16_t core = 0; core < query.cube_cores; ++core) {
    blocks.push_back(profiler.Add(BlockRing(NPUPROF_CORE_CUBE, core, 1u << 14, kPath)));
    ASSERT_GT(blocks.back(), 0);
    before.push_back(port.Records(NPUPROF_CHANNEL_BLOCK_PMU, core));
  }
  const npusim_record_counts log_before = port.Records(NPUPROF_CHANNEL_TASK_LOG);
  const npusim_record_counts pmu_before = port.Records(NPUPROF_CHANNEL_TASK_PMU);
  Begin();
  // Every matrix core ends a block every ten microseconds, ten times of what a quarter of a CPU can take.
  port.Submit(40, 18'000, query.cube_cores * 500u, 1);
  // Few tasks beside them.
  const uint64_t begin = port.Now() + 5 * kMs;
  for (uint64_t k = 0; k < kSmall; ++k) {
    npusim_task task{};
    task.stream = 2;
    task.task_id = static_cast<uint16_t>(k);
    task.kind = NPUSIM_TASK_VECTOR;
    task.block_dim = 1;
    task.cycles = 1800;
    task.peer = NPUSIM_LOCAL;
    task.ready_ns = begin + k * 200'000;
    port.Submit(task);
  }
  ASSERT_TRUE(port.Drain());
  const double share = Share();
  const npuprof_stats stats = profiler.Stats();
  EXPECT_GT(share, kShare / 2) << "no overload, so nothing is shown";
  EXPECT_LE(share, kShare * 1.1);
  ExpectSlots();
  profiler.Stop();
  uint64_t least = UINT64_MAX, most = 0, kept = 0, lost = 0;
  for (size_t core = 0; core < blocks.size(); ++core) {
    const int ring = blocks[core];
    const npusim_record_counts after = port.Records(NPUPROF_CHANNEL_BLOCK_PMU, static_cast<uint32_t>(core));
    ExpectAllCounted(ring, before[core], after);
    EXPECT_EQ(profiler.Lost(ring), after.lost - before[core].lost) << ring;
    EXPECT_EQ(profiler.Ctrl(ring).lost_by_cause[NPUPROF_LOSS_FIFO_OVERFLOW], profiler.Lost(ring)) << ring;
    least = std::min(least, profiler.Head(ring));
    most = std::max(most, profiler.Head(ring));
    kept += profiler.Head(ring);
    lost += profiler.Lost(ring);
  }
  EXPECT_GT(lost, kept);
  EXPECT_GE(least, most / 2) << "one FIFO was served at the cost of another";
  // What does not overflow its FIFO loses nothing to those that do.
  if (TimeIsTheModules()) {
    EXPECT_EQ(profiler.Lost(log), 0u);
    EXPECT_EQ(profiler.Lost(pmu), 0u);
  }
  ExpectAllCounted(log, log_before, port.Records(NPUPROF_CHANNEL_TASK_LOG));
  ExpectAllCounted(pmu, pmu_before, port.Records(NPUPROF_CHANNEL_TASK_PMU));
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), 2 * (kSmall + 40));
  std::printf("%.1f %% of the CPU, %llu interrupts, %llu kept (%llu to %llu per core), %llu lost\n",
              100 * share, static_cast<unsigned long long>(stats.interrupts - first.interrupts),
              static_cast<unsigned long long>(kept), static_cast<unsigned long long>(least),
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(lost));
}

// A wish to be woken after a nanosecond made every entry of a FIFO a look of its own.
TEST_F(Slots, EntriesGatherHoweverSoonTheReaderWantsThem) {
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 14, NPUPROF_RING_REGISTER_PATH);
  add.latency_ns = 1;
  const int log = profiler.Add(add);
  Begin();
  const npusim_totals before = port.Totals();
  port.SubmitSpread(2000, port.Now() + 5 * kMs, 20'000 * Stretch());
  ASSERT_TRUE(port.Drain());
  profiler.Flush();
  const npusim_totals after = port.Totals();
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log) + profiler.Lost(log), 4000u);
  const double reads = static_cast<double>(after.reg_reads - before.reg_reads) / 4000;
  // Two per entry; ten entries come in the least time that they gather.
  if (TimeIsTheModules()) {
    EXPECT_EQ(profiler.Lost(log), 0u);
    EXPECT_LT(reads, 2.4);
  }
  ExpectSlots();
  std::printf("%.2f reads per entry\n", reads);
}

// One callback looked at all queues, however many.
TEST_F(Slots, ManyQueuesAreLookedAtInSlots) {
  constexpr uint32_t kPath = NPUPROF_RING_DEVICE_PATH;
  std::vector<int> rings;
  for (uint32_t channel : {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_CHANNEL_TS_TRACK, NPUPROF_CHANNEL_AICPU})
    rings.push_back(profiler.Add(DeviceRing(channel, 1u << 10, kPath)));
  for (uint32_t channel : {NPUPROF_CHANNEL_HBM, NPUPROF_CHANNEL_LLC, NPUPROF_CHANNEL_NIC,
                           NPUPROF_CHANNEL_DVPP, NPUPROF_CHANNEL_L2})
    rings.push_back(profiler.Add(UnitRing(channel, kMs, 1u << 12, kPath)));
  for (uint16_t kind : {NPUPROF_CORE_CUBE, NPUPROF_CORE_VECTOR}) {
    const uint16_t cores = kind == NPUPROF_CORE_CUBE ? query.cube_cores : query.vector_cores;
    for (uint16_t core = 0; core < cores; ++core) {
      rings.push_back(profiler.Add(SampleRing(kind, core, kMs, 1u << 8, {0x8}, kPath)));
      npuprof_add_ring block = BlockRing(kind, core, 1u << 8, kPath);
      // Those events that the samples count already.
      rings.push_back(profiler.Add(block));
    }
  }
  for (int ring : rings) ASSERT_GT(ring, 0) << &ring - rings.data();
  Begin();
  usleep(100'000);
  EXPECT_LE(Share(), kShare * 1.1);
  ExpectSlots();
  profiler.Stop();
  std::printf("%zu queues\n", rings.size());
  for (size_t k = 3; k < 8; ++k) EXPECT_GT(profiler.Head(rings[k]) + profiler.Lost(rings[k]), 100u) << k;
}

// Rings went on over registers after a reset without anybody asking what that costs.
TEST_F(Slots, AfterAResetSamplingStaysWithinItsBudget) {
  // Here it took 25 simulated seconds; the accounts after such a reset are held in suites/observe.py.
  if (!TimeIsTheModules())
    GTEST_SKIP() << "this kernel's checks take most of the CPU, so a budget of it says nothing";
  constexpr uint64_t kPeriod = 100'000;
  std::vector<int> rings;
  for (uint16_t kind : {NPUPROF_CORE_CUBE, NPUPROF_CORE_VECTOR}) {
    const uint16_t cores = kind == NPUPROF_CORE_CUBE ? query.cube_cores : query.vector_cores;
    for (uint16_t core = 0; core < cores; ++core)
      rings.push_back(
          profiler.Add(SampleRing(kind, core, kPeriod, 1u << 14, {0x8, 0x9}, NPUPROF_RING_DEVICE_PATH)));
  }
  profiler.Start();
  usleep(10'000);
  ASSERT_EQ(ResetDevice(0), 0);
  std::vector<uint64_t> heads;
  for (int ring : rings) {
    heads.push_back(profiler.Head(ring));
    EXPECT_EQ(profiler.Lost(ring), 0u) << ring;
  }
  first = profiler.Stats();
  since = port.Now();
  usleep(500'000);
  const double share = Share();
  const uint64_t periods = (port.Now() - since) / kPeriod;
  if (TimeIsTheModules()) {
    EXPECT_LE(share, 0.05 * 1.2);
  }
  EXPECT_GT(share, 0.01) << "nothing was sampled";
  ExpectSlots();
  profiler.Stop();
  std::map<uint32_t, uint64_t> told;  // period by ring
  for (const auto& event : profiler.Read<npuprof_rec_event>(0))
    if (event.kind == NPUPROF_EVENT_THROTTLE) told[event.ring] = event.count;
  EXPECT_EQ(told.size(), rings.size());
  for (size_t k = 0; k < rings.size(); ++k) {
    const uint64_t period = told[static_cast<uint32_t>(rings[k])];
    EXPECT_GT(period, kPeriod) << k;
    EXPECT_EQ(period % kPeriod, 0u) << k;
    const uint64_t kept = profiler.Head(rings[k]) - heads[k];
    EXPECT_GT(kept, 10u) << k;
    EXPECT_GT(profiler.Lost(rings[k]), kept) << k;
    EXPECT_EQ(profiler.Ctrl(rings[k]).lost_by_cause[NPUPROF_LOSS_THROTTLED], profiler.Lost(rings[k])) << k;
    // A sample that was asked for is kept or counted; what the reset itself took is in no period.
    EXPECT_NEAR(static_cast<double>(kept + profiler.Lost(rings[k])), static_cast<double>(periods),
                static_cast<double>(periods) / 50)
        << k;
  }
  std::printf("%.1f %% of the CPU, %llu of %llu samples kept\n", 100 * share,
              static_cast<unsigned long long>(profiler.Head(rings[0]) - heads[0]),
              static_cast<unsigned long long>(periods));
}

// All groups of a session had their first round at the same instant.
TEST_F(Slots, GroupsOfASessionTakeTheirSamplesAtDifferentTimes) {
  constexpr uint64_t kPeriod = 10 * kMs;
  const int often =
      profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kPeriod, 1024, {0x8}, NPUPROF_RING_REGISTER_PATH));
  const int seldom =
      profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 1, 2 * kPeriod, 1024, {0x8}, NPUPROF_RING_REGISTER_PATH));
  profiler.Start();
  usleep(300'000);
  const auto many = Latches(profiler, often);
  const auto few = Latches(profiler, seldom);
  profiler.Stop();
  ASSERT_GT(few.size(), 10u);
  ASSERT_GT(many.size(), 20u);
  EXPECT_GE(Nearest(few, many), kPeriod / 10);
}

// Each session put its groups off on its own, from wherever in the other's period it was started.
TEST_F(Slots, SessionsTakeTheirSamplesAtDifferentTimesWheneverTheyStart) {
  if (!TimeIsTheModules()) GTEST_SKIP() << "when samples are taken is not the module's alone here";
  constexpr uint64_t kPeriod = 10 * kMs;
  Profiler seldom;
  const auto sample = [](uint16_t core, uint64_t period) {
    return SampleRing(NPUPROF_CORE_CUBE, core, period, 1024, {0x8}, NPUPROF_RING_REGISTER_PATH);
  };
  ASSERT_EQ(profiler.Add(sample(0, kPeriod)), 1);
  ASSERT_EQ(seldom.Add(sample(1, 2 * kPeriod)), 1);
  profiler.Start();
  seldom.Start();
  for (unsigned k = 0; k < 20; ++k) {
    Profiler other;
    ASSERT_EQ(other.Add(sample(2, kPeriod)), 1);
    usleep(k * 500);
    other.Start();
    usleep(100'000);
    const auto theirs = Latches(other, 1), ours = Latches(profiler, 1), rare = Latches(seldom, 1);
    other.Stop();
    ASSERT_GT(theirs.size(), 5u);
    ASSERT_GT(ours.size(), 5u);
    ASSERT_GT(rare.size(), 2u);
    EXPECT_GE(Nearest(theirs, ours), kPeriod / 10) << k;
    EXPECT_GE(Nearest(theirs, rare), kPeriod / 10) << k;
  }
  seldom.Stop();
  profiler.Stop();
}

// A round latches one core after the other, each right before it is read. Where it is about more than half of all
// cores it freezes them with one write instead; that is meant, and told in docs/kernel.md.
TEST_F(Slots, CoresOfAGroupAreNotLatchedAtTheSameInstantUnlessTheyAreMostOfAll) {
  if (!TimeIsTheModules()) GTEST_SKIP() << "when samples are taken is not the module's alone here";
  for (unsigned cores : {8u, 0u + query.cube_cores + query.vector_cores}) {
    Profiler sampler;
    std::vector<int> rings;
    for (uint16_t core = 0; core < cores; ++core) {
      const bool cube = core < query.cube_cores;
      rings.push_back(sampler.Add(SampleRing(cube ? NPUPROF_CORE_CUBE : NPUPROF_CORE_VECTOR,
                                             static_cast<uint16_t>(cube ? core : core - query.cube_cores),
                                             50 * kMs, 256, {0x8}, NPUPROF_RING_REGISTER_PATH)));
      ASSERT_GT(rings.back(), 0) << core;
    }
    sampler.Start();
    usleep(500'000);
    std::vector<std::vector<uint64_t>> times;
    size_t rounds = SIZE_MAX;
    for (int ring : rings) {
      times.push_back(Latches(sampler, ring));
      rounds = std::min(rounds, times.back().size());
      EXPECT_EQ(sampler.Lost(ring), 0u) << ring;
    }
    sampler.Stop();
    ASSERT_GT(rounds, 5u);
    for (size_t round = 0; round < rounds; ++round) {
      std::set<uint64_t> different;
      for (const auto& of_core : times) different.insert(of_core[round]);
      EXPECT_EQ(different.size(), cores == 8 ? cores : 1u) << cores << " cores, round " << round;
    }
  }
}

// What perf has on a core is read by a timer of its own.
TEST_F(Slots, PerfReadsItsCountersInSlots) {
  if (!TimeIsTheModules()) GTEST_SKIP() << "when samples are taken is not the module's alone here";
  std::vector<int> events;
  for (uint64_t kind : {1, 2}) {
    events.push_back(OpenPerfEvent(kind << 16 | 0x9));
    ASSERT_GE(events.back(), 0) << kind;
  }
  const uint64_t before = Account("perf", "reads");
  usleep(200'000);
  // Its interval is below 20 ms, and each round reads a counter, the cycles and the flags of every core.
  EXPECT_GE(Account("perf", "reads") - before, 5u * 3 * (query.cube_cores + query.vector_cores));
  EXPECT_GT(Account("perf", "max_callback_ns"), 0u);
  for (int event : events) close(event);
}

}  // namespace
}  // namespace selftest
