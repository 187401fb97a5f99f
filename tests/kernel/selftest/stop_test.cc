// SPDX-License-Identifier: Apache-2.0
// STOP in its order: the device is switched off, that is read back, and only then its memory is taken away.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

// Lets this thread run on every CPU once.
void OnEachCpu() {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    usleep(1000);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

// By the model's own account, while its tasks go on.
TEST(Close, AfterStopTheDeviceWritesNothingAndNobodyLatches) {
  constexpr uint64_t kTasks = 1000;
  Port port;
  for (uint32_t path : {NPUPROF_RING_REGISTER_PATH, NPUPROF_RING_DEVICE_PATH}) {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 12, path)), 1);
    ASSERT_EQ(profiler.Add(PmuRing(1u << 12, path)), 2);
    ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kMs, 1u << 10, {0x416}, path)), 3);
    ASSERT_EQ(profiler.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1u << 12, path)), 4);
    profiler.Start();
    const uint64_t started = port.Totals().started;
    port.SubmitSpread(kTasks, port.Now() + 5 * kMs, 2 * kMs);
    ASSERT_TRUE(port.WaitStarted(started + 20));
    ASSERT_EQ(profiler.Control(NPUPROF_IOC_STOP), 0);

    const npusim_port_stats wrote = port.Stats();
    const npusim_totals totals = port.Totals();
    // An interrupt that was on its way may still be asked for its cause; a CPU takes those that it has before it
    // goes on with a program.
    OnEachCpu();
    npusim_totals quiet = totals;
    for (bool same = false; !same && quiet.started < started + kTasks / 2;) {
      usleep(5000);
      const npusim_totals now = port.Totals();
      same = now.reg_reads == quiet.reg_reads && now.reg_writes == quiet.reg_writes;
      quiet = now;
    }
    const npuprof_stats own = profiler.Stats();
    uint64_t heads = 0;
    for (int ring = 0; ring <= 4; ++ring) heads += profiler.Head(ring);
    ASSERT_TRUE(port.Drain());
    const npusim_totals after = port.Totals();
    ASSERT_GT(after.ended, quiet.ended + 100) << "nothing ran any more, so nothing is shown";
    EXPECT_GT(heads, 40u) << "nothing ran before, either";

    EXPECT_EQ(port.Stats().dma_writes, wrote.dma_writes);
    EXPECT_EQ(port.Stats().dma_blocked, wrote.dma_blocked) << "it tried to write where it must not";
    EXPECT_EQ(after.queue_written, totals.queue_written);
    EXPECT_EQ(after.queue_dropped, totals.queue_dropped);
    // A latch of the driver's is a register write.
    EXPECT_EQ(after.reg_writes, quiet.reg_writes);
    EXPECT_EQ(profiler.Stats().register_writes, own.register_writes);
    EXPECT_EQ(profiler.Stats().register_reads, own.register_reads);
    for (int ring = 0; ring <= 4; ++ring) heads -= profiler.Head(ring);
    EXPECT_EQ(heads, 0u);
  }
}

// Where the CPU's view has to be synchronised, that goes in pieces, in which others have their turn.
TEST(Close, FlushAndStopShowAllHoweverMuchWaits) {
  constexpr uint64_t kTasks = 4000;
  Port port;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 14, NPUPROF_RING_DEVICE_PATH));
  const int pmu = profiler.Add(PmuRing(1u << 13, NPUPROF_RING_DEVICE_PATH));
  profiler.Start();
  for (unsigned round = 1; round <= 2; ++round) {
    port.Submit(kTasks);
    ASSERT_TRUE(port.Drain());
    if (round == 1)
      profiler.Flush();
    else
      profiler.Stop();
    EXPECT_EQ(profiler.Head(log), 2 * round * kTasks);
    EXPECT_EQ(profiler.Head(pmu), round * kTasks);
  }
  EXPECT_EQ(profiler.Lost(log) + profiler.Lost(pmu), 0u);
  uint64_t last = 0;
  for (const auto& record : profiler.Read<npuprof_rec_task_log>(log)) {
    EXPECT_GE(record.clock, last) << "a record that was published and not there";
    last = record.clock;
  }
  for (const auto& record : profiler.Read<npuprof_rec_task_pmu>(pmu)) EXPECT_GT(record.cycles, 0u);
}

// While interrupts take entries out on another CPU, STOP takes the rest: whoever began with a FIFO, what came behind is read too.
TEST(Close, StopFindsAllEntriesHoweverBusyTheFifosAre) {
  constexpr uint64_t kTasks = 1000;
  Port port;
  Moments moments;
  uint64_t kept = 0, cut_off = 0;
  for (int round = 0; round < Rounds(60, 10); ++round) {
    const npusim_record_counts before = port.Records(NPUPROF_CHANNEL_TASK_LOG);
    Profiler profiler;
    npuprof_add_ring often = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 10, NPUPROF_RING_REGISTER_PATH);
    often.latency_ns = 1;
    const int log = profiler.Add(often);
    profiler.Start();
    const uint64_t started = port.Totals().started;
    port.SubmitSpread(kTasks, port.Now() + 5 * kMs, 5'000);
    ASSERT_TRUE(port.WaitStarted(started + 1));
    moments.Pass(5000);
    ASSERT_EQ(profiler.Control(NPUPROF_IOC_STOP), 0);
    const npusim_record_counts after = port.Records(NPUPROF_CHANNEL_TASK_LOG);
    ASSERT_EQ(profiler.Head(log) + profiler.Lost(log), after.kept + after.lost - before.kept - before.lost)
        << "round " << round;
    kept += profiler.Head(log);
    cut_off += 2 * kTasks - profiler.Head(log);
    ASSERT_TRUE(port.Drain());
  }
  std::printf("%llu records, %llu were not to come any more\n", static_cast<unsigned long long>(kept),
              static_cast<unsigned long long>(cut_off));
  EXPECT_GT(kept, 0u);
  EXPECT_GT(cut_off, 0u) << "all had ended before";
}

// Register reads of a STOP with so many rings that the device writes.
uint64_t ReadsOfStop(uint16_t rings) {
  Profiler profiler;
  for (uint16_t core = 0; core < rings; ++core)
    EXPECT_GT(profiler.Add(BlockRing(NPUPROF_CORE_CUBE, core, 64, NPUPROF_RING_DEVICE_PATH)), 0) << core;
  profiler.Start();
  const uint64_t before = profiler.Stats().register_reads;
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_STOP), 0);
  return profiler.Stats().register_reads - before;
}

TEST(Close, StopReadsBackFromEveryQueueThatItIsOff) {
  constexpr uint16_t kMore = 20;
  Port port;
  // How far it is and what it dropped are two reads of each queue; the third comes after it was switched off, and
  // pushes everything through that was still on its way to memory. A clock bracket may come in between.
  const uint64_t reads = ReadsOfStop(1 + kMore) - ReadsOfStop(1);
  EXPECT_GE(reads, 3u * kMore - 4);
  EXPECT_LE(reads, 3u * kMore + 4);
}

}  // namespace
}  // namespace selftest
