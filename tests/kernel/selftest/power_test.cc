// SPDX-License-Identifier: Apache-2.0
// Runtime power management: a device that nobody counts on sleeps (D3hot, where it forgets everything), and wakes for
// whoever needs it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

struct Power : OnBothPaths {
  void SetUp() override {
    Backend::Get();  // looks for devices, which is for now
    ASSERT_NE(Status(), "") << "no runtime power management";
    ASSERT_EQ(WriteFile(kPower + "control", "auto"), 0);
    ASSERT_TRUE(Sleeps());
  }
  void TearDown() override { EXPECT_EQ(WriteFile(kPower + "control", "on"), 0); }

  std::string Status() const { return ReadFile(kPower + "runtime_status"); }
  /// What the bus says of it: D0, or D3hot when it sleeps.
  std::string State() const { return ReadFile("/sys/class/npuprof/npuprof0/device/power_state"); }
  /// Until it sleeps; false after half a minute.
  bool Sleeps() const {
    for (int k = 0; k < 3000 && Status() != "suspended"; ++k) usleep(10'000);
    return Status() == "suspended";
  }
  /// Whether it stays awake, for much longer than it takes to fall asleep.
  bool StaysAwake() const {
    for (int k = 0; k < 50; ++k) {
      if (Status() != "active") return false;
      usleep(10'000);
    }
    return true;
  }
  /// Milliseconds that it has been asleep, which tells of a nap between two looks.
  long Asleep() const { return std::atol(ReadFile(kPower + "runtime_suspended_time").c_str()); }
  npuprof_add_ring Log() const { return DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, path()); }

  const std::string kPower = "/sys/class/npuprof/npuprof0/device/power/";
};
ON_BOTH_PATHS(Power);

TEST_P(Power, AskingWhatThereIsWakesNobody) {
  Profiler profiler;
  EXPECT_EQ(Status(), "suspended");
  EXPECT_EQ(profiler.Query().cube_cores, 24u);
  EXPECT_EQ(Status(), "suspended");
  npuprof_clock clock{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0);  // a register, and so awake
  EXPECT_NE(clock.device_clock, ~uint64_t{0});
  EXPECT_GT(clock.device_clock, 0u);
  EXPECT_TRUE(Sleeps());
}

TEST_P(Power, CountingKeepsItAwakeAndStoppingLetsItSleep) {
  Port port;
  for (int round = 0; round < 2; ++round) {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(Log()), 1);
    ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 50 * kMs, 64, {0x416}, path())), 2);
    EXPECT_TRUE(Sleeps());
    EXPECT_EQ(State(), "D3hot");
    profiler.Start();
    EXPECT_EQ(Status(), "active");
    const long before = Asleep();
    EXPECT_TRUE(StaysAwake());
    port.Submit(20);
    ASSERT_TRUE(port.Drain());
    EXPECT_EQ(State(), "D0");
    EXPECT_EQ(Asleep(), before);
    profiler.Stop();
    EXPECT_EQ(profiler.Head(1), 40u);
    EXPECT_EQ(profiler.Ctrl(1).epoch, 0u);  // it never lost its state while it counted
    EXPECT_TRUE(Sleeps()) << "the file is still open";
  }
}

TEST_P(Power, ClosingOrDyingInMidRunLetsItSleep) {
  {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(Log()), 1);
    profiler.Start();
    EXPECT_EQ(Status(), "active");
  }
  EXPECT_TRUE(Sleeps());
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Profiler profiler;
    if (profiler.Add(Log()) != 1) _exit(1);
    profiler.Start();
    if (write(ready[1], "x", 1) < 0) _exit(2);
    for (;;) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(Status(), "active");
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(Sleeps());
  close(ready[0]);
  close(ready[1]);
}

TEST_P(Power, ARefusedStartLetsItSleep) {
  Profiler profiler;
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_STOP), -EINVAL);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FLUSH), -EINVAL);
  EXPECT_TRUE(Sleeps());
}

TEST_P(Power, PerfKeepsItAwakeWhileAnEventIsOpen) {
  Port port;
  const int fd = OpenPerfEvent(1 << 16);  // cycles of matrix cores
  ASSERT_GE(fd, 0);
  EXPECT_EQ(Status(), "active");
  EXPECT_TRUE(StaysAwake());
  const npusim_totals before = port.Totals();
  port.Submit(5, 18'000, 4);
  ASSERT_TRUE(port.Drain());
  uint64_t count = 0;
  ASSERT_EQ(read(fd, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  EXPECT_EQ(count, port.Totals().cycles[0] - before.cycles[0]);
  EXPECT_GT(count, 0u);
  close(fd);
  EXPECT_TRUE(Sleeps());
}

// Interrupts of the NPUs on all CPUs, as the kernel counts them.
uint64_t Interrupts() {
  std::istringstream lines(ReadFile("/proc/interrupts"));
  uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("npuprof") == std::string::npos) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (uint64_t count; words >> count;) sum += count;
  }
  return sum;
}

// What the kernel remembers of those that were nobody's: how many lately, and when the last one was. It begins to count anew
// after a while, so only a difference tells something.
std::string Unhandled() {
  std::istringstream lines(ReadFile("/proc/interrupts"));
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("npuprof") == std::string::npos) continue;
    const std::string spurious =
        ReadFile("/proc/irq/" + std::to_string(std::strtoul(line.c_str(), nullptr, 10)) + "/spurious");
    const size_t at = spurious.find("unhandled ");
    if (at != std::string::npos) all += spurious.substr(at) + "\n";
  }
  return all;
}

TEST_P(Power, AnInterruptOnItsWayDoesNotTakeTheSleeperForMissing) {
  Port port;
  for (int round = 0; round < 3; ++round) {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(Log()), 1);
    profiler.Start();
    ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_HOLD_IRQ, 1), 0);
    const uint64_t held = port.Stats().interrupts_held;
    port.Submit(3);
    ASSERT_TRUE(port.Drain());
    profiler.Stop();
    EXPECT_EQ(profiler.Head(1), 6u);
    ASSERT_GT(port.Stats().interrupts_held, held);
    ASSERT_TRUE(Sleeps());
    const uint64_t before = Interrupts();
    const std::string unhandled = Unhandled();
    ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_HOLD_IRQ, 0), 0);
    for (int k = 0; k < 1000 && Interrupts() == before; ++k) usleep(1000);
    EXPECT_GT(Interrupts(), before) << "none came while it slept";
    for (int k = 0; k < 1000 && Unhandled() == unhandled; ++k) usleep(1000);
    EXPECT_NE(Unhandled(), unhandled) << "the kernel is to know that it was nobody's";
    EXPECT_EQ(Status(), "suspended");
  }
  // Had it been taken for missing, there would be nothing to open any more.
  Profiler profiler;
  ASSERT_EQ(profiler.Add(Log()), 1);
  profiler.Start();
  port.Submit(3);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 6u);
}

TEST_P(Power, AgainAndAgainLosesNothing) {
  Port port;
  uint64_t records = 0;
  const int rounds = Rounds(100);
  const long before = Asleep();
  for (int k = 0; k < rounds; ++k) {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(Log()), 1) << k;
    profiler.Start();
    port.Submit(3);
    ASSERT_TRUE(port.Drain());
    profiler.Stop();
    records += profiler.Head(1);
    if (k % 2) usleep(static_cast<useconds_t>(k % 10) * 1000);  // asleep, falling asleep or still awake
  }
  EXPECT_EQ(records, uint64_t{6} * static_cast<uint64_t>(rounds));
  EXPECT_GT(Asleep(), before);
}

}  // namespace
}  // namespace selftest
