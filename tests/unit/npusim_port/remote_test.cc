// SPDX-License-Identifier: Apache-2.0
// The runtime's side against a machine that works.
#include "host/remote.h"

#include <algorithm>
#include <atomic>

#include "host/host_testing.h"
#include "npusim/npusim_device.h"
#include "peer.h"

namespace port_test {
namespace {

using npusim::Host;
using npusim::Remote;
constexpr uint64_t kSecond = 1'000'000'000;

struct Recorder : npusim::TaskListener {
  struct Seen {
    uint64_t cookie, ns;
  };
  std::mutex mutex;
  std::vector<Seen> started, ended;
  std::vector<int> status;
  void OnStarted(uint32_t, uint64_t cookie, uint64_t ns) override {
    std::lock_guard lock(mutex);
    started.push_back({cookie, ns});
  }
  void OnEnded(uint32_t, uint64_t cookie, uint64_t ns, int code) override {
    std::lock_guard lock(mutex);
    ended.push_back({cookie, ns});
    status.push_back(code);
  }
};

struct Connected {
  explicit Connected(double ppm = 0) : peer(pair.theirs, 2, ppm), remote(pair.ours, "the test's socket") {}
  Pair pair;
  Peer peer;
  Remote remote;
};

TEST(Remote, SettingsAreThoseOfTheOtherSide) {
  Connected c;
  EXPECT_EQ(c.remote.trouble(), "");
  ASSERT_EQ(c.remote.device_count(), 2u);
  EXPECT_EQ(c.remote.settings(0).cube_cores, 24u);
  EXPECT_EQ(c.remote.settings(1).cube_cores, 23u);
  EXPECT_EQ(c.remote.settings(1).devices, 2u);
}

struct RemoteDrift : testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Ppm, RemoteDrift, testing::Values(0.0, 200.0, -200.0));

TEST_P(RemoteDrift, ListenerHearsOfEveryTaskInOrderAndWithinTheCall) {
  Connected c(GetParam());
  Recorder recorder;
  const uint64_t begin = Host::NowNs();
  for (uint16_t k = 0; k < 1000; ++k) ASSERT_EQ(c.remote.Submit(0, Cube(k, 1800, 5000 + k), &recorder), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  const uint64_t end = Host::NowNs();
  ASSERT_EQ(recorder.started.size(), 1000u);
  ASSERT_EQ(recorder.ended.size(), 1000u);
  uint64_t last = begin;
  for (size_t k = 0; k < 1000; ++k) {
    EXPECT_EQ(recorder.started[k].cookie, 5000 + k);
    EXPECT_EQ(recorder.ended[k].cookie, 5000 + k);
    EXPECT_GE(recorder.started[k].ns, last);
    EXPECT_GE(recorder.ended[k].ns, recorder.started[k].ns);
    EXPECT_EQ(recorder.status[k], 0);
    last = recorder.ended[k].ns;
  }
  EXPECT_LE(last, end);
}

// What passes between the two readings of one task is what the model computed, whatever the clocks do.
TEST(Remote, DurationsSurviveTheTranslation) {
  Connected c(200);
  Recorder recorder;
  ASSERT_EQ(c.remote.Submit(0, Cube(1, 1800 * 20'000ull, 1), &recorder), 0);  // 20 ms
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  const double lasted = static_cast<double>(recorder.ended[0].ns - recorder.started[0].ns);
  EXPECT_NEAR(lasted / 20e6, 1, 0.001);
}

TEST(Remote, TasksMayBeGivenATimeToStart) {
  Connected c(200);
  Recorder recorder;
  npusim_task task = Cube(1, 1800, 1);
  task.ready_ns = Host::NowNs() + kSecond;
  ASSERT_EQ(c.remote.Submit(0, task, &recorder), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  EXPECT_NEAR(static_cast<double>(recorder.started[0].ns), static_cast<double>(task.ready_ns), 20e6);
}

TEST(Remote, RefusesWhatTheModelRefusesAtOnce) {
  Connected c;
  npusim_task bad = Cube(1);
  bad.block_dim = 0;
  EXPECT_EQ(c.remote.Submit(0, bad, nullptr), -EINVAL);
  EXPECT_EQ(c.remote.Submit(2, Cube(1), nullptr), -ENODEV);
  npusim_totals totals;
  EXPECT_EQ(c.remote.Totals(2, &totals), -ENODEV);
  EXPECT_EQ(c.remote.WaitIdle(2, 1), -ENODEV);
  EXPECT_EQ(c.remote.WaitIdle(0, kSecond), 0);
  ASSERT_EQ(c.remote.Submit(0, Cube(1, 1800 * 200'000ull), nullptr), 0);
  EXPECT_EQ(c.remote.WaitIdle(0, 1'000'000), -ETIMEDOUT);
  EXPECT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
}

TEST(Remote, ListenerMaySubmitAndAsk) {
  Connected c;
  struct Chain : npusim::TaskListener {
    Remote* remote = nullptr;
    int left = 100;
    npusim::TaskCounter last;
    void OnEnded(uint32_t device, uint64_t, uint64_t, int) override {
      npusim_totals totals{};
      ASSERT_EQ(remote->Totals(device, &totals), 0);
      EXPECT_EQ(totals.ended, static_cast<uint64_t>(101 - left));
      ASSERT_EQ(remote->Submit(device, Cube(1), --left > 0 ? static_cast<TaskListener*>(this) : &last), 0);
    }
  } chain;
  chain.remote = &c.remote;
  ASSERT_EQ(c.remote.Submit(0, Cube(1), &chain), 0);
  ASSERT_TRUE(chain.last.WaitFor(1, 60 * kSecond));
}

// More than the stream holds: neither side may wait for the other.
TEST(Remote, ManyThreadsSubmitAtOnce) {
  Connected c;
  npusim::TaskCounter done;
  std::vector<std::thread> threads;
  for (uint16_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint16_t k = 0; k < 5000; ++k) {
        npusim_task task = Cube(k, 180);
        task.stream = t;
        EXPECT_EQ(c.remote.Submit(t % 2, task, &done), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(done.WaitFor(20000, 60 * kSecond));
  EXPECT_EQ(done.failed(), 0u);
  npusim_totals totals{};
  for (uint32_t device = 0; device < 2; ++device) {
    ASSERT_EQ(c.remote.Totals(device, &totals), 0);
    EXPECT_EQ(totals.ended, 10000u);
  }
}

TEST(Remote, ResetRemovalAndInsertion) {
  Connected c;
  Recorder recorder;
  const npusim_task never = Cube(1, 1800 * 5'000'000ull, 1);
  ASSERT_EQ(c.remote.Submit(0, never, &recorder), 0);
  EXPECT_EQ(c.remote.Act(0, NPUSIM_PORT_RESET), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  EXPECT_EQ(recorder.status, std::vector<int>{-EIO});
  ASSERT_EQ(c.remote.Submit(0, never, &recorder), 0);
  EXPECT_EQ(c.remote.Act(0, NPUSIM_PORT_REMOVE), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  EXPECT_EQ(recorder.status, (std::vector<int>{-EIO, -ENODEV}));
  EXPECT_EQ(c.remote.Submit(0, Cube(1), nullptr), -ENODEV);
  EXPECT_EQ(c.remote.Act(0, NPUSIM_PORT_REMOVE), -ENODEV);
  ASSERT_EQ(c.remote.Submit(1, Cube(1), nullptr), 0);
  ASSERT_EQ(c.remote.Act(0, NPUSIM_PORT_INSERT), 0);
  EXPECT_EQ(c.remote.Act(0, NPUSIM_PORT_INSERT), -EEXIST);
  ASSERT_EQ(c.remote.Submit(0, Cube(1, 1800, 2), &recorder), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  EXPECT_EQ(recorder.status.back(), 0);
}

TEST(Remote, EventTotalsStatisticsAndFaultsComeThrough) {
  Connected c;
  ASSERT_EQ(c.remote.Submit(0, Cube(1, 1800), nullptr), 0);
  ASSERT_EQ(c.remote.WaitIdle(0, 30 * kSecond), 0);
  uint64_t total = 0;
  ASSERT_EQ(c.remote.EventTotal(0, 0, 0x416, &total), 0);
  EXPECT_EQ(total, 900u);
  EXPECT_EQ(c.remote.EventTotal(0, 2, 0x416, &total), -EINVAL);
  EXPECT_EQ(c.remote.Fault(0, NPUSIM_PORT_FAULT_DROP_IRQ, 1), 0);
  EXPECT_EQ(c.remote.Fault(0, 99, 1), -EINVAL);
  npusim_port_stats stats{};
  ASSERT_EQ(c.remote.Stats(0, &stats), 0);
  EXPECT_EQ(stats.interrupts, 0u);
}

// The whole way: NPUSIM_PORT names a path, and profilers are sent elsewhere.
TEST(Remote, HostOverAPortIsNoDeviceOfThisProcess) {
  Pty pty;
  Peer peer(pty.master);
  npusim::Settings settings;
  settings.port = pty.path;
  npusim::ScopedHost host(settings);
  EXPECT_EQ(host->trouble(), "");
  ASSERT_EQ(host->device_count(), 2u);
  EXPECT_EQ(host->settings(1).cube_cores, 23u);
  npusim::TaskCounter done;
  for (uint16_t k = 0; k < 500; ++k) ASSERT_EQ(host->Submit(1, Cube(k), &done), 0);
  ASSERT_TRUE(done.WaitFor(500, 60 * kSecond));
  ASSERT_EQ(host->WaitIdle(1, kSecond), 0);
  npusim_totals totals{};
  ASSERT_EQ(host->Totals(1, &totals), 0);
  EXPECT_EQ(totals.ended, 500u);
  void* address = nullptr;
  EXPECT_EQ(npusim_dev_count(), -EREMOTE);
  EXPECT_EQ(npusim_dev_open(0), -EREMOTE);
  EXPECT_EQ(npusim_dev_close(0), -EREMOTE);
  EXPECT_EQ(npusim_dev_ioctl(0, NPUPROF_IOC_QUERY, nullptr), -EREMOTE);
  EXPECT_EQ(npusim_dev_mmap(0, 0, 4096, &address), -EREMOTE);
  EXPECT_EQ(npusim_dev_poll_fd(0), -EREMOTE);
}

}  // namespace
}  // namespace port_test
