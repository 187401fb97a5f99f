// SPDX-License-Identifier: Apache-2.0
#include "host/npusim_host.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

struct Recorder : npusim::TaskListener {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> started, ended;
  std::thread::id thread;
  void OnStarted(uint32_t, uint64_t cookie, uint64_t ns) override {
    std::lock_guard lock(mutex);
    started.push_back({cookie, ns});
  }
  void OnEnded(uint32_t, uint64_t cookie, uint64_t ns, int) override {
    std::lock_guard lock(mutex);
    ended.push_back({cookie, ns});
    thread = std::this_thread::get_id();
  }
};

TEST(Host, ListenerHearsOfEveryTaskInOrderWithItsCookie) {
  ScopedHost host{Settings{}};
  Recorder recorder;
  const uint64_t begin = npusim::Host::NowNs();
  for (uint16_t k = 0; k < 100; ++k) {
    npusim_task task = CubeTask(1, k);
    task.cookie = 1000 + k;
    ASSERT_EQ(host->Submit(0, task, &recorder), 0);
  }
  ASSERT_EQ(host->WaitIdle(0, 20 * kSecond), 0);
  const uint64_t end = npusim::Host::NowNs();
  ASSERT_EQ(recorder.started.size(), 100u);
  ASSERT_EQ(recorder.ended.size(), 100u);
  for (size_t k = 0; k < 100; ++k) {
    EXPECT_EQ(recorder.started[k].first, 1000 + k);
    EXPECT_EQ(recorder.ended[k].first, 1000 + k);
    EXPECT_LT(recorder.started[k].second, recorder.ended[k].second);
    EXPECT_GE(recorder.started[k].second, begin);
    EXPECT_LE(recorder.ended[k].second, end);
  }
  EXPECT_NE(recorder.thread, std::this_thread::get_id());
}

// Each task submits the next: a listener may call the host.
TEST(Host, ListenerMaySubmit) {
  ScopedHost host{Settings{}};
  struct Chain : npusim::TaskListener {
    npusim::Host* host = nullptr;
    std::atomic<int> left{200};
    npusim::TaskCounter last;
    void OnEnded(uint32_t device, uint64_t, uint64_t, int) override {
      if (left.fetch_sub(1) > 1) {
        ASSERT_EQ(host->Submit(device, CubeTask(1, 1), this), 0);
      } else {
        ASSERT_EQ(host->Submit(device, CubeTask(1, 1), &last), 0);
      }
    }
  } chain;
  chain.host = &*host;
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1), &chain), 0);
  ASSERT_TRUE(chain.last.WaitFor(1, 60 * kSecond));
  EXPECT_EQ(Totals(*host).ended, 201u);
}

TEST(Host, RefusesWhatTheModelRefuses) {
  ScopedHost host{Settings{}};
  EXPECT_EQ(host->Submit(2, CubeTask(1, 1)), -ENODEV);
  EXPECT_EQ(host->Submit(0, CubeTask(1, 1, 100, 0)), -EINVAL);
  npusim_totals totals;
  EXPECT_EQ(host->Totals(2, &totals), -ENODEV);
  EXPECT_EQ(host->WaitIdle(2, 1), -ENODEV);
  EXPECT_EQ(host->WaitIdle(0, kSecond), 0);
}

TEST(Host, WaitIdleTimesOut) {
  ScopedHost host{Settings{}};
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, 1800 * 200000ull)), 0);
  EXPECT_EQ(host->WaitIdle(0, 1000000), -ETIMEDOUT);
  EXPECT_EQ(host->WaitIdle(0, 20 * kSecond), 0);
}

TEST(Host, TasksDoNotStartBeforeTheyAreSubmitted) {
  ScopedHost host{Settings{}};
  for (int k = 0; k < 20; ++k) {
    Recorder recorder;
    usleep(300);
    const uint64_t begin = npusim::Host::NowNs();
    ASSERT_EQ(host->Submit(0, CubeTask(1, 1), &recorder), 0);
    ASSERT_EQ(host->WaitIdle(0, 20 * kSecond), 0);
    EXPECT_GE(recorder.started[0].second, begin);
  }
}

// One device waits for what the other one signals.
TEST(Host, NotifyCrossesDevices) {
  ScopedHost host{Settings{}};
  Recorder wait, record;
  npusim_task task{};
  task.kind = NPUSIM_TASK_NOTIFY_WAIT;
  task.stream = 1;
  task.sync_id = 5;
  task.peer = NPUSIM_LOCAL;
  ASSERT_EQ(host->Submit(1, task, &wait), 0);
  ASSERT_EQ(host->Submit(0, CubeTask(1, 1, 1800 * 10000ull), nullptr), 0);  // 10 ms
  task.kind = NPUSIM_TASK_NOTIFY_RECORD;
  task.peer = 1;
  ASSERT_EQ(host->Submit(0, task, &record), 0);
  ASSERT_EQ(host->WaitIdle(1, 20 * kSecond), 0);
  ASSERT_EQ(host->WaitIdle(0, 20 * kSecond), 0);
  ASSERT_EQ(wait.ended.size(), 1u);
  ASSERT_EQ(record.ended.size(), 1u);
  EXPECT_GE(wait.ended[0].second, record.started[0].second);
}

TEST(Host, ManyThreadsSubmitAtOnce) {
  ScopedHost host{Settings{}};
  npusim::TaskCounter done;
  std::vector<std::thread> threads;
  for (uint16_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint16_t k = 0; k < 1000; ++k) EXPECT_EQ(host->Submit(t % 2, CubeTask(t, k, 180), &done), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(done.WaitFor(4000, 60 * kSecond));
  EXPECT_EQ(Totals(*host, 0).ended, 2000u);
  EXPECT_EQ(Totals(*host, 1).ended, 2000u);
}

// A handler of the program must not find itself on a thread it does not know.
TEST(Host, ThreadTakesNoSignals) {
  ScopedHost host{Settings{}};
  uint64_t threads = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line, name, blocked;
    while (std::getline(status, line)) {
      if (line.rfind("Name:", 0) == 0) name = line.substr(line.find_last_of("\t") + 1);
      if (line.rfind("SigBlk:", 0) == 0) blocked = line.substr(line.find_last_of("\t") + 1);
    }
    if (name != "npusim") continue;
    ++threads;
    // All but KILL, STOP and the two that the C library keeps for itself.
    EXPECT_EQ(std::stoull(blocked, nullptr, 16) | 1ull << 8 | 1ull << 18 | 3ull << 31, ~0ull);
  }
  EXPECT_EQ(threads, 1u);
}

}  // namespace
