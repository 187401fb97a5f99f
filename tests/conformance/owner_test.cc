// SPDX-License-Identifier: Apache-2.0
// Several sessions on one device, and how they end.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "profiler.h"
#include "rounds.h"
#include "work.h"

namespace conformance {
namespace {

TEST(Owners, AChannelOrCoreBelongsToOneSession) {
  Profiler first, second;
  EXPECT_GT(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_EQ(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), -EBUSY);
  EXPECT_EQ(second.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), -EBUSY);
  EXPECT_EQ(second.Add(PmuRing(64)), -EBUSY);  // one window of tasks, one owner
  EXPECT_GT(first.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 1024, {0x416})), 0);
  EXPECT_EQ(second.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 1024, {0x416})), -EBUSY);
  EXPECT_GT(second.Add(SampleRing(NPUPROF_CORE_CUBE, 1, 40 * kMs, 1024, {0x302})), 0);
  EXPECT_GT(second.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), 0);
  EXPECT_EQ(first.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), -EBUSY);
  first.Close();
  Profiler third;
  EXPECT_GT(third.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_EQ(third.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), -EBUSY);
}

TEST(Owners, ARefusalNamesWhoIsInTheWay) {
  Profiler first, second;
  ASSERT_GT(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  ASSERT_GT(first.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 64, {0x416})), 0);
  for (npuprof_add_ring ring : {DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64), PmuRing(64),
                                SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 64, {0x416})}) {
    ASSERT_EQ(second.Call(NPUPROF_IOC_ADD_RING, &ring), -EBUSY);
    EXPECT_EQ(ring.owner_pid, static_cast<uint32_t>(getpid())) << ring.channel;
    EXPECT_EQ(ring.ring, 0u);
  }
  // Nobody else's session is in the way.
  npuprof_add_ring own = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  ASSERT_EQ(first.Call(NPUPROF_IOC_ADD_RING, &own), -EBUSY);
  EXPECT_EQ(own.owner_pid, 0u);
}

// Rings over registers get 5 % of a CPU together; who leaves the choice to the driver is written by the device.
TEST(Owners, SamplingBeyondItsShareOfACpuIsRefusedWithAPeriod) {
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  // Thirty readings of a core in the time of three.
  const uint64_t period = std::max<uint64_t>(query.min_period_ns, uint64_t{3} * query.sample_cost_ns);
  npuprof_add_ring refused{};
  int error = 0;
  for (uint16_t core = 0; error == 0 && core < query.vector_cores; ++core) {
    refused = SampleRing(NPUPROF_CORE_VECTOR, core, period, 64, {0x8}, NPUPROF_RING_REGISTER_PATH);
    error = profiler.Call(NPUPROF_IOC_ADD_RING, &refused);
  }
  ASSERT_EQ(error, -ERANGE);
  if (refused.period_ns != 0) {
    EXPECT_GT(refused.period_ns, period);
    const uint64_t granted = refused.period_ns--;
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &refused), -ERANGE);
    EXPECT_EQ(refused.period_ns, granted);
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &refused), 0);
  }
  npuprof_add_ring free_choice = SampleRing(NPUPROF_CORE_CUBE, 0, period, 64, {0x8});
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &free_choice), 0);
  profiler.Close();
  Profiler next;  // what a closed session took is there again
  EXPECT_EQ(next.Add(SampleRing(NPUPROF_CORE_VECTOR, 0, 1000 * kMs, 64, {0x8}, NPUPROF_RING_REGISTER_PATH)),
            1);
}

TEST(Owners, WorkSideBySideAndOneLeavingDoesNotDisturbTheOther) {
  Work work;
  Profiler first, second;
  const npuprof_query query = first.Query();
  const uint64_t cycles = query.core_hz / 10'000;
  ASSERT_EQ(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  ASSERT_EQ(second.Add(SampleRing(NPUPROF_CORE_CUBE, 1, 20 * kMs, 1024, {0x302})), 1);
  first.Start();
  second.Start();
  work.Run(20, cycles, query.cube_cores);
  SleepMs(60);
  first.Stop();
  EXPECT_EQ(first.Head(1), 40u);
  const uint64_t before = second.Head(1);
  first.Close();
  SleepMs(100);
  second.Stop();
  EXPECT_GT(second.Head(1), before);
  uint64_t sum = 0;
  for (const auto& sample : second.Read<npuprof_rec_core_sample>(1)) sum += sample.cycles;
  EXPECT_EQ(sum, 20 * cycles);  // one block of each task ran on this core
}

TEST(Owners, ClosingGivesBackAtOnce) {
  Profiler first, second;
  ASSERT_GT(first.Add(PmuRing(64)), 0);
  ASSERT_GT(first.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), 0);
  EXPECT_EQ(second.Add(PmuRing(64)), -EBUSY);
  first.Close();
  EXPECT_GT(second.Add(PmuRing(64)), 0);
  EXPECT_GT(second.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), 0);
}

TEST(Owners, DevicesAreIndependent) {
  if (Backend::Get().devices() < 2) GTEST_SKIP() << "this machine has one device";
  Profiler first(0), second(1);
  EXPECT_GT(first.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_GT(second.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  EXPECT_GT(first.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), 0);
  EXPECT_GT(second.Add(UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024)), 0);
  first.Start();
  second.Start();
  first.Stop();
  second.Stop();
}

TEST(Owners, ARefusedRingLeavesNoClaim) {
  BoundedMemory bounded;
  Profiler first, second;
  npuprof_add_ring ring = SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, NPUPROF_MAX_SLOTS, {0x416});
  // Fills the session's data up, so that what is asked for next must be refused for want of room.
  int error = 0;
  for (uint16_t core = 0; error == 0 && core < first.Query().cube_cores; ++core) {
    ring.core = core;
    error = first.Call(NPUPROF_IOC_ADD_RING, &ring);
    if (error == -ENOMEM) {
      EXPECT_GT(second.Add(SampleRing(NPUPROF_CORE_CUBE, core, 20 * kMs, 64, {0x416})), 0);
      return;
    }
  }
  ADD_FAILURE() << "nothing was refused";
}

struct Life : OnBothPaths {};
ON_BOTH_PATHS(Life);

TEST_P(Life, CloseWhileRunningLetsTheDeviceGoOn) {
  Work work;
  Since since;
  {
    Profiler profiler;
    profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
    profiler.Add(PmuRing(64, path()));
    profiler.Start();
    work.Run(200);
  }
  work.Run(200);
  EXPECT_EQ(since.Now().tasksEnded, 400u);
  Profiler again;
  const int log = again.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
  again.Start();
  work.Run(3);
  again.Stop();
  EXPECT_EQ(again.Head(log), 6u);
}

TEST_P(Life, CloseWhileTasksAreInFlight) {
  Work work;
  for (int round = 0; round < Rounds(10, 4); ++round) {
    Profiler profiler;
    ASSERT_GT(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 0) << round;
    ASSERT_GT(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 5 * kMs, 64, {0x416}, path())), 0) << round;
    profiler.Start();
    work.Launch(200);
    SleepMs(static_cast<uint64_t>(round));
  }
  work.Wait();
}

TEST_P(Life, ReopenedAtOnceANewSessionWorks) {
  Work work;
  for (int round = 0; round < Rounds(20, 5); ++round) {
    Profiler profiler;
    const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
    ASSERT_EQ(log, 1) << round;
    profiler.Start();
    work.Run(2);
    npuprof_control control{};
    ASSERT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control), 0);
    ASSERT_EQ(profiler.Head(log), 4u) << round;
  }
}

TEST(Life, ManySessionsMayBeOpen) {
  std::vector<int> handles;
  for (int k = 0; k < 16; ++k) {
    handles.push_back(Backend::Get().Open(0));
    EXPECT_GE(handles.back(), 0) << k;
  }
  for (int handle : handles) EXPECT_EQ(Backend::Get().Close(handle), 0);
}

TEST(Life, AClosedHandleIsNoHandle) {
  Profiler profiler;
  const int handle = profiler.handle();
  profiler.Close();
  npuprof_query query{};
  query.size = sizeof query;
  EXPECT_EQ(Backend::Get().Ioctl(handle, NPUPROF_IOC_QUERY, &query), -EBADF);
  EXPECT_EQ(Backend::Get().Close(handle), -EBADF);
  void* address = nullptr;
  EXPECT_EQ(Backend::Get().Map(handle, NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address), -EBADF);
}

}  // namespace
}  // namespace conformance
