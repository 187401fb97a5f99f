// SPDX-License-Identifier: Apache-2.0
// When a reader is woken: at the watermark, at the latency, at the end; not before, and not per record.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

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
  profiler.Read<npuprof_rec_event>(0);
  EXPECT_FALSE(profiler.WaitReadable(50));  // forty records are not two hundred
  work.Run(100);
  EXPECT_TRUE(profiler.WaitReadable(20'000));
  EXPECT_GE(profiler.Head(log), 200u);
  profiler.Stop();
}

TEST_P(Wakeup, ASingleRecordWaitsNoLongerThanTheLatency) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(4096, 0, 5 * kMs));
  profiler.Start();
  Quiet(profiler);
  work.Run(1);
  EXPECT_TRUE(profiler.WaitReadable(20'000));
  EXPECT_GE(profiler.Head(log), 1u);
  profiler.Stop();
}

TEST_P(Wakeup, TakenRecordsMakeItUnreadableAgain) {
  Work work;
  Profiler profiler;
  const int log = profiler.Add(Log(1024, 20, 50 * kSecond));
  profiler.Start();
  Quiet(profiler);
  work.Run(50);
  ASSERT_TRUE(profiler.WaitReadable(20'000));
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

TEST(Wakeups, ComePerWatermarkAndNeverPerRecord) {
  NOT_APPLICABLE_ON("kernel",
                    "poll() keeps no count of wakeups; interrupts per record are counted under icount");
  Work work;
  Profiler profiler;
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096);
  add.watermark = 500;
  add.latency_ns = 50 * kSecond;
  const int log = profiler.Add(add);
  profiler.Start();
  profiler.ClearReady();
  work.Run(1000);
  for (int k = 0; k < 50 && profiler.Head(log) < 2000; ++k) SleepMs(2);
  SleepMs(5);
  uint64_t wakeups = 0;
  ASSERT_EQ(read(Backend::Get().PollFd(profiler.handle()), &wakeups, sizeof wakeups), 8);
  EXPECT_GE(wakeups, 1u);
  EXPECT_LE(wakeups, 4u);
  profiler.Stop();
}

}  // namespace
}  // namespace conformance
