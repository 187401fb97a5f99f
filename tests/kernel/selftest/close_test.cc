// SPDX-License-Identifier: Apache-2.0
// Which close() ends a session: that of the last descriptor which the process that opened it has, in the tables of all
// its threads, whoever closes that and whoever else holds a copy.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

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

// A child that holds a copy of every descriptor until the end of its parent's scope.
class Heir {
 public:
  Heir() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~Heir() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Heir(const Heir&) = delete;

 private:
  pid_t pid_;
};

// Whether all hardware is free, for another process.
bool Free() {
  return InChild([] {
           Profiler profiler;
           return ClaimAll(profiler, 0) == 0 ? 0 : 1;
         }) == 0;
}

TEST(Close, ByAThreadWithATableOfItsOwnEndsNothing) {
  Port port;
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  int unshared = -1, closed = -1;
  std::thread([&] {
    unshared = unshare(CLONE_FILES);
    closed = close(profiler.handle());
  }).join();
  ASSERT_EQ(unshared, 0);
  EXPECT_EQ(closed, 0);
  std::thread([&] { unshared = unshare(CLONE_FILES); }).join();  // its copy is closed when it ends
  ASSERT_EQ(unshared, 0);
  port.Submit(3);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 6u);
}

TEST(Close, ByOneThreadLeavesTheSessionToAnotherWithATableOfItsOwn) {
  Profiler profiler;
  ASSERT_EQ(ClaimAll(profiler, 0), 0);
  const int fd = profiler.handle();
  std::atomic<int> step{0};
  int unshared = -1, started = -1;
  pid_t id = 0;
  npuprof_control start{};
  start.size = sizeof start;
  std::thread thread([&] {
    unshared = unshare(CLONE_FILES);
    id = gettid();
    step = 1;
    while (step != 2) usleep(1000);
    started = Backend::Get().Ioctl(fd, NPUPROF_IOC_START, &start);
  });
  while (step != 1) usleep(1000);
  EXPECT_EQ(profiler.Close(), 0);
  step = 2;
  thread.join();
  ASSERT_EQ(unshared, 0);
  EXPECT_EQ(started, 0);
  // The kernel says that it ended before it closes its files, and forgets it after that.
  const std::string task = "/proc/self/task/" + std::to_string(id);
  while (access(task.c_str(), F_OK) == 0) usleep(1000);
  EXPECT_TRUE(Free()) << "the thread's end was the last one's";
}

TEST(Close, ByAProcessThatSharesTheTableIsEverybodysEnd) {
  Profiler profiler;
  ASSERT_EQ(ClaimAll(profiler, 0), 0);
  profiler.Start();
  Heir heir;
  const int copy = fcntl(profiler.handle(), F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(copy, 0);
  EXPECT_EQ(InChild([] { return 0; }, CLONE_FILES), 0);
  EXPECT_FALSE(Free()) << "that it ends closes nothing: the table lives on";
  EXPECT_EQ(InChild([&] { return close(copy); }, CLONE_FILES), 0);
  EXPECT_FALSE(Free()) << "a duplicate is left";
  EXPECT_EQ(InChild([&] { return close(profiler.handle()); }, CLONE_FILES), 0);
  EXPECT_EQ(fcntl(profiler.handle(), F_GETFD), -1);
  EXPECT_TRUE(Free()) << "although a child holds the file";
}

TEST(Close, ByAProcessThatHasUnsharedItsTableEndsNothing) {
  Profiler profiler;
  ASSERT_EQ(ClaimAll(profiler, 0), 0);
  profiler.Start();
  const auto unshare_and_close = [&] { return unshare(CLONE_FILES) != 0 ? 50 : close(profiler.handle()); };
  EXPECT_EQ(InChild(unshare_and_close, CLONE_FILES), 0);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_FLUSH), 0);
  EXPECT_FALSE(Free());
}

// A process that opens the device and shares its table with another; @p then is what it does next.
struct Sharers {
  explicit Sharers(const std::function<void(int fd)>& then) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    owner = fork();
    if (owner == 0) {
      Profiler profiler;
      if (ClaimAll(profiler, 0) != 0) _exit(1);
      const pid_t pid = static_cast<pid_t>(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
      if (pid == 0) {
        for (;;) pause();
      }
      then(profiler.handle());
      if (write(ready[1], &pid, sizeof pid) < 0) _exit(2);
      for (;;) pause();
    }
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &sharer, sizeof sharer), static_cast<ssize_t>(sizeof sharer));
    close(ready[0]);
  }
  ~Sharers() {
    for (pid_t pid : {owner, sharer})
      if (pid > 0) kill(pid, SIGKILL);
    waitpid(owner, nullptr, 0);
  }

  pid_t owner = -1, sharer = -1;
};

TEST(Close, ByTheOwnerWhoHasUnsharedItsTableEndsTheSession) {
  Sharers sharers([](int fd) {
    if (unshare(CLONE_FILES) != 0 || close(fd) != 0) _exit(3);
  });
  ASSERT_EQ(kill(sharers.sharer, 0), 0);  // it still holds the file
  EXPECT_TRUE(Free());
}

TEST(Close, ByTheLastOfThoseWhoShareTheTableEndsTheSessionOfADeadOwner) {
  pid_t heir = -1;
  int told[2];
  ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
  Sharers sharers([&](int) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) pause();
    }
    if (write(told[1], &pid, sizeof pid) < 0) _exit(3);
  });
  ASSERT_EQ(read(told[0], &heir, sizeof heir), static_cast<ssize_t>(sizeof heir));
  kill(sharers.owner, SIGKILL);
  ASSERT_EQ(waitpid(sharers.owner, nullptr, 0), sharers.owner);
  EXPECT_FALSE(Free()) << "its table lives on";
  kill(sharers.sharer, SIGKILL);
  bool free = false;
  for (int k = 0; k < 3000 && !(free = Free()); ++k) usleep(10'000);
  EXPECT_TRUE(free);
  EXPECT_EQ(kill(heir, 0), 0) << "a child still holds the file";
  kill(heir, SIGKILL);
  close(told[0]);
  close(told[1]);
}

// One thread in poll(), one that waits in STOP for a task that does not end.
struct Waiters {
  Waiters(Port& port, Profiler& profiler, uint64_t task_ms) {
    const uint64_t before = port.Totals().started;
    port.SubmitLong(task_ms);
    EXPECT_TRUE(port.WaitStarted(before + 1));
    const int fd = profiler.handle();
    poller = std::thread([this, fd] {
      pollfd waiting{fd, 0, 0};
      ++begun;
      if (poll(&waiting, 1, 60'000) == 1) events = waiting.revents;
    });
    stopper = std::thread([this, fd] {
      npuprof_control control{};
      control.size = sizeof control;
      control.flags = NPUPROF_STOP_WAIT;
      control.timeout_ns = 60 * kSecond;
      ++begun;
      result = Backend::Get().Ioctl(fd, NPUPROF_IOC_STOP, &control);
      returned = std::chrono::steady_clock::now();
    });
    while (begun < 2) std::this_thread::yield();
  }

  std::atomic<int> begun{0}, events{0}, result{1};
  std::chrono::steady_clock::time_point returned;
  std::thread poller, stopper;
};

TEST(Close, WhileOneThreadPollsAndAnotherWaitsInStopEndsBoth) {
  Port port;
  std::vector<double> times;
  for (int round = 0; round < Rounds(11, 5); ++round) {
    Profiler profiler;
    ASSERT_EQ(ClaimAll(profiler, 0), 0);
    profiler.Start();
    // Longer than any machine takes to close: a STOP whose tasks are over has nothing to wait for.
    Waiters waiters(port, profiler, 100'000);
    usleep(static_cast<useconds_t>(5000 + round * 100));
    const auto closed = std::chrono::steady_clock::now();
    profiler.Close();
    waiters.stopper.join();
    waiters.poller.join();
    EXPECT_EQ(waiters.result, -EBADF) << round;
    // It may find that its number is no file any more.
    EXPECT_TRUE(waiters.events & (POLLHUP | POLLNVAL)) << round;
    times.push_back(std::chrono::duration<double, std::milli>(waiters.returned - closed).count());
    {
      Profiler next;
      EXPECT_EQ(ClaimAll(next, 0), 0) << round;
    }
    ASSERT_EQ(ResetDevice(0), 0);  // ends the task
    ASSERT_TRUE(port.Drain());
  }
  std::sort(times.begin(), times.end());
  // Whoever waits in STOP looks every 100 ms by itself; closing must not leave it to that.
  const double usual = times[times.size() / 4];
  std::printf("STOP returns %.1f ms after close (%.1f to %.1f)\n", usual, times.front(), times.back());
  EXPECT_LT(usual, 50 * Patience());
}

TEST(Close, ByDyingWhileOneThreadPollsAndAnotherWaitsInStopGivesEverythingBack) {
  for (int round = 0; round < Rounds(20, 3); ++round) {
    EXPECT_EQ(InChild([round] {
                Port port;
                Profiler profiler;
                if (ClaimAll(profiler, 0) != 0) return 1;
                profiler.Start();
                auto* waiters = new Waiters(port, profiler, 100);
                usleep(static_cast<useconds_t>(round * 500));
                _exit(waiters->begun == 2 ? 0 : 2);
              }),
              0)
        << round;
    Profiler next;
    EXPECT_EQ(ClaimAll(next, 0), 0) << round;
  }
}

}  // namespace
}  // namespace selftest
