// SPDX-License-Identifier: Apache-2.0
// Flight recorder: the newest records are kept, and read only after FREEZE.
#include <cerrno>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

TEST(Overwrite, FreezeGivesTheNewest) {
  Work work;
  Profiler profiler;
  ASSERT_TRUE(profiler.Query().device_flags & NPUPROF_DEVICE_OVERWRITE);
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, NPUPROF_RING_OVERWRITE));
  profiler.Start();
  work.Run(468);
  npuprof_clock before{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &before), 0);
  work.Run(32);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), 0);
  EXPECT_EQ(profiler.Ctrl(log).state, uint32_t{NPUPROF_RING_FROZEN});
  ASSERT_EQ(profiler.Head(log), 1000u);
  EXPECT_EQ(profiler.Lost(log), 0u);  // overwriting is what was asked for
  profiler.SetTail(log, 1000 - 64);
  const auto marks = profiler.Read<npuprof_rec_task_log>(log);
  ASSERT_EQ(marks.size(), 64u);
  for (size_t k = 0; k < marks.size(); ++k)
    EXPECT_EQ(static_cast<uint16_t>(marks[k].task_id - marks[0].task_id), k / 2) << k;
  EXPECT_GE(marks.front().clock, before.device_clock);

  work.Run(10);  // offered to a frozen ring
  profiler.Flush();
  EXPECT_EQ(profiler.Head(log), 1000u);
  EXPECT_EQ(profiler.Lost(log), 20u);

  EXPECT_EQ(profiler.Control(NPUPROF_IOC_START), 0);  // thaws
  EXPECT_EQ(profiler.Ctrl(log).state, uint32_t{NPUPROF_RING_RUNNING});
  work.Run(5);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 1010u);
  EXPECT_EQ(profiler.Lost(log), 20u);
}

TEST(Overwrite, FreezeTwiceIsFreezeOnce) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, NPUPROF_RING_OVERWRITE));
  profiler.Start();
  work.Run(10);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), 0);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), 0);
  EXPECT_EQ(profiler.Head(log), 20u);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 20u);
}

TEST(Overwrite, BesideARingThatDiscards) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, NPUPROF_RING_OVERWRITE));
  const int pmu = profiler.Add(PmuRing(64));
  profiler.Start();
  work.Run(200);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), 0);
  EXPECT_EQ(profiler.Head(log), 400u);
  EXPECT_EQ(profiler.Head(pmu), 64u);
  EXPECT_EQ(profiler.Head(pmu) + profiler.Lost(pmu), since.Now().kernelsEnded);
  profiler.Stop();
}

}  // namespace
}  // namespace conformance
