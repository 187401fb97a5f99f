// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

// A reader that writes anything into its tails harms nobody but itself.
TEST(Session, HostileTails) {
  for (uint32_t flags : {uint32_t{NPUPROF_RING_REGISTER_PATH}, uint32_t{NPUPROF_RING_DEVICE_PATH}}) {
    ScopedHost host{Settings{}};
    Profiler profiler;
    const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, flags));
    const int pmu = profiler.Add(PmuRing(64, flags));
    profiler.Start();
    std::atomic<bool> stop{false};
    std::thread vandal([&] {
      uint64_t random = 1;
      while (!stop) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (int ring : {0, log, pmu})
          __atomic_store_n(&profiler.Tail(ring).tail, random >> (random & 63), __ATOMIC_RELAXED);
      }
    });
    RunTasks(*host, 2000);
    profiler.Stop();
    stop = true;
    vandal.join();
    EXPECT_EQ(profiler.Head(log) + profiler.Control(log).lost_records, 4000u);
    EXPECT_EQ(profiler.Head(pmu) + profiler.Control(pmu).lost_records, 2000u);
  }
}

// As /dev/npuprof promises: a forked child has no part in the rings.
TEST(Session, ForkedChildDoesNotInheritMappings) {
  ScopedHost host{Settings{}};
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  const npuprof_ring_ctrl* control = &profiler.Control(0);
  const pid_t child = fork();
  if (child == 0) {
    volatile uint64_t head = control->head;
    (void)head;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  profiler.Stop();
}

TEST(Session, StaysWithItsDevice) {
  ScopedHost host{Settings{}};
  Profiler zero(0), one(1);
  const int log0 = zero.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024));
  const int log1 = one.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024));
  zero.Start();
  one.Start();
  RunTasks(*host, 30, 0);
  RunTasks(*host, 70, 1);
  zero.Stop();
  one.Stop();
  EXPECT_EQ(zero.Head(log0), 60u);
  EXPECT_EQ(one.Head(log1), 140u);
}

}  // namespace
