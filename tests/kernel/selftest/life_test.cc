// SPDX-License-Identifier: Apache-2.0
// Processes that die, fork and hand files on: the session ends with the process that opened it, at once.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

struct Death : OnBothPaths {};
ON_BOTH_PATHS(Death);

TEST_P(Death, ByKillAtAnyMomentGivesEverythingBack) {
  Port port;
  std::mt19937 random(20260102);
  for (int round = 0; round < Rounds(150); ++round) {
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        Profiler profiler;
        if (ClaimAll(profiler, GetParam()) != 0) _exit(1);
        profiler.Start();
        if (write(ready[1], "x", 1) < 0) _exit(2);
        pollfd fd{profiler.handle(), POLLIN, 0};
        poll(&fd, 1, static_cast<int>(round % 7));
        if (round % 2) profiler.Stop(5 * kMs);
      }
    }
    close(ready[1]);
    char byte;
    if (round % 3 != 0) {
      EXPECT_EQ(read(ready[0], &byte, 1), 1);
    }
    port.Submit(10);
    usleep(random() % 15'000);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ": exit " << WEXITSTATUS(status);
    close(ready[0]);
    // Not "soon": a process that can be waited for has let go of everything.
    Profiler profiler;
    ASSERT_EQ(ClaimAll(profiler, GetParam()), 0) << "round " << round;
  }
  ASSERT_TRUE(port.Drain());
}

TEST_P(Death, OfTheOwnerEndsTheSessionAlthoughAChildHoldsTheFile) {
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    Profiler profiler;
    if (ClaimAll(profiler, GetParam()) != 0) _exit(1);
    profiler.Start();
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (write(pipes[1], &child, sizeof child) < 0) _exit(2);
    for (;;) pause();
  }
  pid_t child = 0;
  ASSERT_EQ(read(pipes[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  kill(owner, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  ASSERT_EQ(kill(child, 0), 0);  // it still holds the file
  {
    Profiler profiler;
    EXPECT_EQ(ClaimAll(profiler, GetParam()), 0);
    profiler.Start();
    profiler.Stop();
  }
  kill(child, SIGKILL);
  usleep(50'000);
  // The child's end must not harm whoever came after.
  Profiler profiler;
  EXPECT_EQ(ClaimAll(profiler, GetParam()), 0);
}

// Kills an owner in mid-run, again and again, and starts anew at once: nobody waits for the dead here. Milliseconds until the
// device was free, the shortest first.
std::vector<double> TimesUntilFree(uint32_t path) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  int refusals = 0;
  for (int round = 0; round < Rounds(21, 5); ++round) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      Profiler profiler;
      if (ClaimAll(profiler, path) != 0) _exit(1);
      profiler.Start();
      if (write(ready[1], "x", 1) < 0) _exit(2);
      for (;;) pause();
    }
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) != 1) throw std::runtime_error("the owner did not start");
    const Clock::time_point killed = Clock::now();
    kill(child, SIGKILL);
    for (int result = -EBUSY; result != 0;) {
      Profiler profiler;
      result = ClaimAll(profiler, path);
      if (result != 0 && result != -EBUSY) throw std::runtime_error("error " + std::to_string(-result));
      if (Clock::now() - killed > std::chrono::seconds(60))
        throw std::runtime_error("not free after a minute");
      refusals += result != 0;
    }
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - killed).count());
    if (waitpid(child, nullptr, 0) != child) throw std::runtime_error("the owner did not end");
    close(ready[0]);
  }
  std::sort(times.begin(), times.end());
  std::printf("free again after %.1f ms (%.1f to %.1f), %d refusals\n", times[times.size() / 2],
              times.front(), times.back(), refusals);
  return times;
}

TEST_P(Death, ByKillLetsAnotherOpenAtOnce) {
  const std::vector<double> times = TimesUntilFree(GetParam());
  // Something that has to be waited for would show in every round; a machine that has other things to do, in some, and one
  // whose kernel does most of the work itself, in many.
  EXPECT_LT(times[times.size() / (Patience() == 1 ? 2 : 4)], 100 * Patience());
}

// Where time counts instructions (suite `rates`) no other work of the machine is in it, and so it holds for every round.
struct Reopen : OnBothPaths {};
ON_BOTH_PATHS(Reopen);

TEST_P(Reopen, ComesWithinATenthOfASecondOfAKill) {
  const std::vector<double> times = TimesUntilFree(GetParam());
  EXPECT_GT(times.front(), 0) << "time stood still, so nothing is shown";
  EXPECT_LT(times.back(), 100 * Stretch());
}

TEST(Fork, AChildClosingItsCopyEndsNothing) {
  Port port;
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  EXPECT_EQ(InChild([&] { return close(profiler.handle()); }), 0);
  EXPECT_EQ(InChild([] { return 0; }), 0);  // closes at exit
  port.Submit(3);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 6u);
}

TEST(Fork, MappingsAreNotInherited) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Map();
  EXPECT_EQ(profiler.Ctrl(1).channel, uint32_t{NPUPROF_CHANNEL_TASK_LOG});
  EXPECT_EQ(InChild([&] { return static_cast<int>(profiler.Ctrl(1).channel); }), -1);  // a signal ended it
}

TEST(Fork, ExecutedProgramsHaveNoDescriptor) {
  const auto inherited = [](int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return InChild([&] {
      execlp("test", "test", "-e", path.c_str(), nullptr);
      return 50;
    });
  };
  Profiler profiler;
  EXPECT_EQ(inherited(profiler.handle()), 1);
  const int asked_for = open("/dev/npuprof0", O_RDWR);
  ASSERT_GE(asked_for, 0);
  EXPECT_EQ(inherited(asked_for), 0) << "without O_CLOEXEC it is there";
  close(asked_for);
}

}  // namespace
}  // namespace selftest
