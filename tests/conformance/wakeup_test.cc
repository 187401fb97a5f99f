// SPDX-License-Identifier: Apache-2.0
// When a reader is woken: at the watermark, at the latency, at the end; not before, and not per record.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdio>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

struct Wakeup : OnBothPaths {
  npuprof_add_ring Log(uint32_t slots, uint32_t watermark, uint64_t latency_ns) const {
    npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, slots, path());
    add.watermark = watermark;
    add.latency_ns = latency_ns;
    return add;
  }
  // What START itself tells in the event ring.
  static void Quiet(Profiler& profiler) {
    profiler.Read<npuprof_rec_event>(0);
    profiler.ClearReady();
  }
  // Waits until @p ring has @p count records. On a slow machine the driver may have to throttle meanwhile; it says so by an
  // event, which wakes too.
  static bool WaitForRecords(Profiler& profiler, int ring, uint64_t count, int timeout_ms) {
    while (profiler.WaitReadable(timeout_ms)) {
      const bool told = !profiler.Read<npuprof_rec_event>(0).empty();
      profiler.ClearReady();
      if (profiler.Head(ring) >= count) return true;
      if (!told) {
        ADD_FAILURE() << "woken with " << profiler.Head(ring) << " of " << count << " records, and no event";
        return false;
      }
    }
    return false;
  }
};
ON_BOTH_PATHS(Wakeup);

TEST_P(Wakeup, ComesAtTheWatermark) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(1024, 200, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  EXPECT_FALSE(profiler.WaitReadable(0));
  work.Run(20);
  EXPECT_FALSE(WaitForRecords(profiler, log, 200, 50));  // forty records are not two hundred
  work.Run(100);
  EXPECT_TRUE(WaitForRecords(profiler, log, 200, 20'000));
  profiler.Stop();
}

TEST_P(Wakeup, ASingleRecordWaitsNoLongerThanTheLatency) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(4096, 0, 5 * kMs));
  profiler.Start();
  Quiet(profiler);
  work.Run(1);
  EXPECT_TRUE(WaitForRecords(profiler, log, 1, 20'000));
  profiler.Stop();
}

TEST_P(Wakeup, TakenRecordsMakeItUnreadableAgain) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(1024, 20, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  work.Run(50);
  ASSERT_TRUE(WaitForRecords(profiler, log, 20, 20'000));
  profiler.Flush();  // all of them are there
  profiler.ClearReady();
  EXPECT_EQ(profiler.Read<npuprof_rec_task_log>(log).size(), 100u);
  profiler.Read<npuprof_rec_event>(0);
  EXPECT_FALSE(profiler.WaitReadable(0));
  work.Run(50);
  EXPECT_TRUE(profiler.WaitReadable(20'000));
  profiler.Stop();
}

TEST_P(Wakeup, StopWakesWhoeverWaits) {
  Work work;
  Profiler profiler;
  profiler.Add(Log(1024, 1024, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  work.Run(3);
  profiler.Stop();
  EXPECT_TRUE(profiler.WaitReadable(0));
}

// Who looks at poll() alone must learn that nothing will come, also if he read the last record before the session's state.
TEST_P(Wakeup, AStoppedSessionHangsUpForAsLongAsItIsThere) {
  NOT_APPLICABLE_ON("sim",
                    "its descriptor is an eventfd, which cannot hang up; the states of the rings tell");
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(1024, 0, 50 * kSecond));
  const auto told = [&] {
    pollfd fd{Backend::Get().PollFd(profiler.handle()), POLLIN, 0};
    EXPECT_GE(poll(&fd, 1, 0), 0);
    return fd.revents;
  };
  EXPECT_EQ(told(), 0);
  profiler.Start();
  work.Run(5);
  EXPECT_EQ(told() & POLLHUP, 0);
  profiler.Stop();
  EXPECT_EQ(told(), POLLIN | POLLHUP);
  for (int ring : {0, log}) profiler.SetTail(ring, profiler.Head(ring));
  EXPECT_EQ(told(), POLLHUP);
  EXPECT_EQ(told(), POLLHUP);
}

TEST_P(Wakeup, EpollSeesTheSame) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(1024, 64, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, Backend::Get().PollFd(profiler.handle()), &event), 0);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  work.Run(100);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 20'000), 1);
  EXPECT_TRUE(event.events & EPOLLIN);
  EXPECT_GE(profiler.Head(log), 64u);
  close(epoll);
  profiler.Stop();
}

TEST_P(Wakeup, FlushPublishesWhatNobodyWasWokenFor) {
  Work work;
  Since since;
  Profiler profiler;
  const int log = profiler.Add(Log(4096, 4096, 50 * kSecond));
  profiler.Start();
  work.Run(7);
  profiler.Flush();
  EXPECT_EQ(profiler.Head(log), since.Now().tasksStarted + since.Now().tasksEnded);
  EXPECT_EQ(profiler.Head(log), 14u);
  profiler.Stop();
  EXPECT_EQ(profiler.Head(log), 14u);
}

// Wakeups, by epoll's edges: each makes it return once, also if the reader takes nothing. Those that come between two looks
// are one.
class Edges {
 public:
  explicit Edges(Profiler& profiler) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    EXPECT_EQ(epoll_ctl(epoll_, EPOLL_CTL_ADD, Backend::Get().PollFd(profiler.handle()), &event), 0);
    Look(0);
  }
  ~Edges() { close(epoll_); }
  Edges(const Edges&) = delete;

  uint64_t Look(int timeout_ms) {
    epoll_event event{};
    return epoll_wait(epoll_, &event, 1, timeout_ms) == 1;
  }

 private:
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
};

TEST_P(Wakeup, ComesPerWatermarkAndNeverPerRecord) {
  constexpr uint64_t kTasks = 1000, kPortion = 25, kWatermark = 500;
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(4096, kWatermark, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  Edges edges(profiler);
  const uint64_t events = profiler.Head(0);
  uint64_t wakeups = 0, moves = 0, head = 0;
  const auto look = [&](int timeout_ms) {
    wakeups += edges.Look(timeout_ms);
    moves += profiler.Head(log) != head;
    head = profiler.Head(log);
  };
  for (uint64_t task = 0; task < kTasks; task += kPortion) {
    work.Run(kPortion);
    look(5);
  }
  for (int k = 0; k < 2000 && (head < kWatermark || wakeups == 0); ++k) look(10);
  // The head may move often without a wakeup. What else wakes is the event ring, once per event at most.
  std::printf("%llu wakeups, the head was seen to move %llu times\n",
              static_cast<unsigned long long>(wakeups), static_cast<unsigned long long>(moves));
  EXPECT_GE(wakeups, 1u);
  EXPECT_LE(wakeups, 2 * kTasks / kWatermark + profiler.Head(0) - events);
  if (!Backend::Get().is_kernel()) {
    // The simulated device's descriptor counts them, the ones between two looks as well.
    uint64_t counted = 0;
    ASSERT_EQ(read(Backend::Get().PollFd(profiler.handle()), &counted, sizeof counted), 8);
    EXPECT_GE(counted, wakeups);
    EXPECT_LE(counted, 2 * kTasks / kWatermark + profiler.Head(0) - events);
  }
  profiler.Stop();
}

}  // namespace
}  // namespace conformance
