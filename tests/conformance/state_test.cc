// SPDX-License-Identifier: Apache-2.0
// The order of requests.
#include <cerrno>

#include "profiler.h"
#include "rounds.h"
#include "work.h"

namespace conformance {
namespace {

TEST(State, BeforeStartNothingButStartIsPossible) {
  Profiler profiler;
  for (unsigned long number : {NPUPROF_IOC_STOP, NPUPROF_IOC_FLUSH, NPUPROF_IOC_FREEZE})
    EXPECT_EQ(profiler.Control(number), -EINVAL) << std::hex << number;
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  for (unsigned long number : {NPUPROF_IOC_STOP, NPUPROF_IOC_FLUSH, NPUPROF_IOC_FREEZE})
    EXPECT_EQ(profiler.Control(number), -EINVAL) << std::hex << number;
}

TEST(State, WhileRunningNeitherStartNorRings) {
  Profiler profiler;
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_START), -EBUSY);
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TS_TRACK, 64)), -EBUSY);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), -EINVAL);  // no ring to freeze
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FLUSH), 0);
  EXPECT_EQ(profiler.Ctrl(1).state, uint32_t{NPUPROF_RING_RUNNING});
  EXPECT_EQ(profiler.Ctrl(0).state, uint32_t{NPUPROF_RING_RUNNING});
  profiler.Stop();
}

TEST(State, StoppedIsTheEnd) {
  Profiler profiler;
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  profiler.Stop();
  EXPECT_EQ(profiler.Ctrl(1).state, uint32_t{NPUPROF_RING_STOPPED});
  for (unsigned long number : {NPUPROF_IOC_START, NPUPROF_IOC_STOP, NPUPROF_IOC_FLUSH, NPUPROF_IOC_FREEZE})
    EXPECT_EQ(profiler.Control(number), -EINVAL) << std::hex << number;
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TS_TRACK, 64)), -EBUSY);
  profiler.Stats();
  npuprof_clock clock{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0);
}

TEST(State, StopWithoutWaitingEndsAtOnce) {
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  Work work;
  Since since;
  work.LaunchLong(500);
  ASSERT_TRUE(since.WaitStarted(1));
  npuprof_control control{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), 0);
  EXPECT_EQ(control.straddling, 1u);
  EXPECT_EQ(since.Now().tasksEnded, 0u);  // nobody waited for it
  EXPECT_EQ(profiler.Head(log), 1u);
}

TEST(State, EventsTellOfStartAndStop) {
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  const npuprof_control start = profiler.Start();
  const npuprof_control stop = profiler.Stop();
  std::vector<npuprof_rec_event> clocks;
  for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0))
    if (event.kind == NPUPROF_EVENT_CLOCK) clocks.push_back(event);
  ASSERT_GE(clocks.size(), 2u);
  EXPECT_GE(clocks.front().first, start.clock);
  EXPECT_GE(clocks.back().first, stop.clock);
  for (const npuprof_rec_event& clock : clocks) {
    EXPECT_EQ(clock.ring, 0xffffffffu);
    EXPECT_EQ(clock.epoch, 0u);
  }
}

TEST(State, ManyWindowsOneAfterTheOther) {
  Work work;
  for (uint64_t round = 0; round < static_cast<uint64_t>(Rounds(50, 9)); ++round) {
    Profiler profiler;
    const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
    ASSERT_EQ(log, 1) << round;
    profiler.Start();
    work.Run(round % 3);
    profiler.Stop();
    ASSERT_EQ(profiler.Head(log), 2 * (round % 3)) << round;
    ASSERT_EQ(profiler.Lost(log), 0u) << round;
  }
}

}  // namespace
}  // namespace conformance
