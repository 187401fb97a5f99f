// SPDX-License-Identifier: Apache-2.0
// The runtime's side in a virtual machine, where NPUSIM_PORT names a real port. The lab runs it in the guest.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "host/npusim_host.h"
#include "host/remote.h"
#include "model/npusim_model.h"
#include "npusim/npusim_device.h"

namespace {

using npusim::Host;
constexpr uint64_t kSecond = 1'000'000'000;

npusim_task Cube(uint16_t stream, uint16_t id, uint64_t cycles) {
  npusim_task task{};
  task.stream = stream;
  task.task_id = id;
  task.kind = NPUSIM_TASK_CUBE;
  task.block_dim = 1;
  task.cycles = cycles;
  task.peer = NPUSIM_LOCAL;
  task.cookie = id;
  return task;
}

struct Recorder : npusim::TaskListener {
  struct Seen {
    uint64_t cookie, started, ended;
    int status;
  };
  std::mutex mutex;
  std::vector<Seen> seen;
  void OnStarted(uint32_t, uint64_t cookie, uint64_t ns) override {
    std::lock_guard lock(mutex);
    seen.push_back({cookie, ns, 0, 0});
  }
  void OnEnded(uint32_t, uint64_t cookie, uint64_t ns, int status) override {
    std::lock_guard lock(mutex);
    for (Seen& s : seen)
      if (s.cookie == cookie) s.ended = ns, s.status = status;
  }
};

TEST(PortInTheGuest, DevicesAreTheMachines) {
  ASSERT_NE(std::getenv("NPUSIM_PORT"), nullptr) << "this test belongs into the lab's guest";
  ASSERT_EQ(Host::Get().trouble(), "");
  EXPECT_EQ(Host::Get().device_count(), 2u);
  EXPECT_EQ(Host::Get().settings(0).cube_cores, 24u);
  EXPECT_EQ(npusim_dev_count(), -EREMOTE);
}

TEST(PortInTheGuest, PortBelongsToOneProcess) {
  Host::Get();
  npusim::Remote second(std::getenv("NPUSIM_PORT"));
  EXPECT_EQ(second.device_count(), 0u);
  EXPECT_NE(second.trouble().find("another process has it open"), std::string::npos) << second.trouble();
}

TEST(PortInTheGuest, TimesLieWithinTheCallAndDurationsAreTheModels) {
  Host& host = Host::Get();
  Recorder recorder;
  const uint64_t begin = Host::NowNs();
  for (uint16_t k = 0; k < 20; ++k)
    ASSERT_EQ(host.Submit(0, Cube(1, k, 1800 * 10'000ull), &recorder), 0);  // 10 ms
  ASSERT_EQ(host.WaitIdle(0, 60 * kSecond), 0);
  const uint64_t end = Host::NowNs();
  ASSERT_EQ(recorder.seen.size(), 20u);
  // Either end of a task is known as well as the clock of the other side is: as the widest bracket of now says.
  int64_t half = 0;
  for (int k = 0; k < 20; ++k) half = std::max(half, host.remote()->SyncClock());
  uint64_t last = begin;
  for (const auto& task : recorder.seen) {
    EXPECT_EQ(task.status, 0);
    EXPECT_GE(task.started, last);
    EXPECT_NEAR(static_cast<double>(task.ended - task.started), 10e6, 0.2e6 + 2.0 * static_cast<double>(half))
        << task.cookie;
    last = task.ended;
  }
  EXPECT_LE(last, end);
}

TEST(PortInTheGuest, ManyTasksAllEnd) {
  Host& host = Host::Get();
  npusim::TaskCounter done;
  npusim_totals before{}, after{};
  ASSERT_EQ(host.Totals(1, &before), 0);
  for (uint32_t k = 0; k < 5000; ++k)
    ASSERT_EQ(host.Submit(1, Cube(static_cast<uint16_t>(k % 4), static_cast<uint16_t>(k), 1800), &done), 0);
  ASSERT_TRUE(done.WaitFor(5000, 60 * kSecond)) << done.ended();
  EXPECT_EQ(done.failed(), 0u);
  ASSERT_EQ(host.Totals(1, &after), 0);
  EXPECT_EQ(after.ended - before.ended, 5000u);
}

TEST(PortInTheGuest, ClockIsKnownToFractionsOfAMillisecond) {
  int64_t best = kSecond;
  for (int k = 0; k < 20; ++k) {
    const int64_t half = Host::Get().remote()->SyncClock();
    ASSERT_GT(half, 0);
    best = std::min(best, half);
  }
  std::printf("tightest bracket: +- %ld ns\n", static_cast<long>(best));
  EXPECT_LT(best, 5'000'000);
}

TEST(PortInTheGuest, AForkedChildIsRefused) {
  Host::Get();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(Host::Get().Submit(0, Cube(1, 1, 1800)) == -EOWNERDEAD ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  npusim::TaskCounter done;
  ASSERT_EQ(Host::Get().Submit(0, Cube(1, 1, 1800), &done), 0);
  EXPECT_TRUE(done.WaitFor(1, 30 * kSecond));
}

}  // namespace
