// SPDX-License-Identifier: Apache-2.0
// Suspend and resume, as far as a virtual machine has them: pm_test=devices suspends every device and resumes it.
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

struct Suspend : OnBothPaths {
  void SetUp() override {
    if (ReadFile("/sys/power/pm_test").empty()) GTEST_SKIP() << "this kernel has no /sys/power/pm_test";
    ASSERT_EQ(WriteFile("/sys/power/pm_test", "devices"), 0);
  }
  void TearDown() override { WriteFile("/sys/power/pm_test", "none"); }
  // The port's stream ends with a suspend: who goes on talking opens it anew.
  std::optional<Port> port_ = std::nullopt;
  Port& port() {
    if (!port_) port_.emplace();
    return *port_;
  }
  void Sleep() {
    const std::string states = ReadFile("/sys/power/state");
    ASSERT_EQ(WriteFile("/sys/power/state", states.find("mem") != std::string::npos ? "mem" : "freeze"), 0)
        << states;
    port_.reset();
  }
};
ON_BOTH_PATHS(Suspend);

TEST_P(Suspend, OfAnIdleDevice) {
  Sleep();
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 1);
  profiler.Start();
  port().Submit(5);
  ASSERT_TRUE(port().Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 10u);
  EXPECT_EQ(profiler.Ctrl(1).epoch, 0u);
}

TEST_P(Suspend, OfARunningSessionBeginsANewEpochAndLosesNothingUncounted) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096, path())), 1);
  ASSERT_EQ(profiler.Add(PmuRing(4096, path())), 2);
  ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 50 * kMs, 4096, {0x416}, path())), 3);
  profiler.Start();
  const npusim_totals before = port().Totals();
  port().Submit(100);
  ASSERT_TRUE(port().Drain());
  Sleep();
  const uint64_t samples = profiler.Head(3);
  port().Submit(100);
  ASSERT_TRUE(port().Drain());
  usleep(200'000);
  profiler.Stop();
  const npusim_totals after = port().Totals();
  EXPECT_EQ(after.ended - before.ended, 200u);
  EXPECT_EQ(profiler.Ctrl(1).epoch, 1u);
  EXPECT_EQ(profiler.Head(1) + profiler.Lost(1), 400u);
  EXPECT_EQ(profiler.Head(2) + profiler.Lost(2), 200u);
  EXPECT_EQ(profiler.Lost(1) + profiler.Lost(2), 0u);  // nothing ran while it slept
  EXPECT_GT(profiler.Head(3), samples);                // sampling goes on
  bool told = false;
  for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0))
    told |= event.kind == NPUPROF_EVENT_EPOCH && event.epoch == 1;
  EXPECT_TRUE(told);
}

TEST_P(Suspend, WithATaskInFlightCountsItsMissingEnd) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096, path())), 1);
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 64, path())), 2);
  profiler.Start();
  const npusim_totals before = port().Totals();
  port().SubmitLong(2000);
  ASSERT_TRUE(port().WaitStarted(before.started + 1));
  Sleep();
  ASSERT_TRUE(port().Drain());
  port().Submit(5);
  ASSERT_TRUE(port().Drain());
  profiler.Stop();
  // Its start, and ten records of those after; its end is counted as lost.
  EXPECT_EQ(profiler.Head(1), 11u);
  EXPECT_EQ(profiler.Ctrl(1).lost_by_cause[NPUPROF_LOSS_RESET], 1u);
  EXPECT_EQ(profiler.Head(2), 0u);
  EXPECT_EQ(profiler.Ctrl(2).lost_by_cause[NPUPROF_LOSS_RESET], 1u);
}

TEST_P(Suspend, AgainAndAgain) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096, path())), 1);
  ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 50 * kMs, 4096, {0x416}, path())), 2);
  profiler.Start();
  const int times = Rounds(5);
  for (int k = 0; k < times; ++k) ASSERT_NO_FATAL_FAILURE(Sleep()) << k;
  profiler.Stop();
  EXPECT_EQ(profiler.Ctrl(1).epoch, static_cast<uint32_t>(times));
}

}  // namespace
}  // namespace selftest
