// SPDX-License-Identifier: Apache-2.0
// Processes that die, fork and hand files on: the session ends with the process that opened it, at once.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

// All that one session can claim: who can have it shows that nobody else has.
int ClaimAll(Profiler& profiler, uint32_t path) {
  for (const npuprof_add_ring& ring : {DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path), PmuRing(64, path),
                                       SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kMs, 64, {0x416}, path),
                                       UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024, path)}) {
    const int result = profiler.Add(ring);
    if (result < 0) return result;
  }
  return 0;
}

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

TEST(Fork, DescriptorsAreClosedByExecute) {
  Profiler profiler;
  EXPECT_EQ(fcntl(profiler.handle(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Close, WithAMappingLeftStillEndsTheSession) {
  Port port;
  const int fd = Backend::Get().Open(0);
  ASSERT_GE(fd, 0);
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  ASSERT_EQ(Backend::Get().Ioctl(fd, NPUPROF_IOC_ADD_RING, &add), 0);
  void* control = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(NPUPROF_MMAP_CONTROL));
  ASSERT_NE(control, MAP_FAILED);
  npuprof_control start{};
  start.size = sizeof start;
  ASSERT_EQ(Backend::Get().Ioctl(fd, NPUPROF_IOC_START, &start), 0);
  port.Submit(3);
  ASSERT_TRUE(port.Drain());
  close(fd);
  {
    Profiler profiler;
    EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  }
  // The pages live on, and tell how it ended.
  const npuprof_ring_ctrl& ring = static_cast<const npuprof_ring_ctrl*>(control)[1];
  EXPECT_EQ(ring.state, uint32_t{NPUPROF_RING_STOPPED});
  EXPECT_EQ(ring.head, 6u);
  munmap(control, kPage);
}

TEST(Close, ADuplicateKeepsTheSession) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  const int copy = fcntl(profiler.handle(), F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(copy, 0);
  close(copy);
  profiler.Start();
  profiler.Stop();
}

TEST(Close, WhileAnotherThreadPolls) {
  for (int round = 0; round < Rounds(50); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Profiler profiler;
      if (ClaimAll(profiler, 0) != 0) _exit(1);
      profiler.Start();
      // Dies with one thread in poll() and one in STOP.
      if (fork() == 0) {
        pollfd fd{profiler.handle(), 0, 0};
        poll(&fd, 1, 50);
        _exit(0);
      }
      usleep(static_cast<useconds_t>(round * 100));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << round;
  }
}

}  // namespace
}  // namespace selftest
