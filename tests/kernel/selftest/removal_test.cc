// SPDX-License-Identifier: Apache-2.0
// A device that goes while it is used: by unbinding its driver, and by surprise.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr const char* kDriver = "/sys/bus/pci/drivers/npuprof_refnpu/";

// The bus takes a dead device away, and finds a new one in its place.
void Replace(Port& port, unsigned device, const std::string& address) {
  WriteFile("/sys/bus/pci/devices/" + address + "/remove", "1");
  ASSERT_TRUE(WaitNode(device, false));
  ASSERT_EQ(port.Insert(device), 0);
  ASSERT_EQ(WriteFile("/sys/bus/pci/rescan", "1"), 0);
  ASSERT_TRUE(WaitNode(device, true));
}

struct Removal : OnBothPaths {
  // A session with everything, running, and what it was given.
  void Begin(Profiler& profiler) {
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096, path())), 1);
    ASSERT_EQ(profiler.Add(PmuRing(4096, path())), 2);
    ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 1024, {0x416}, path())), 3);
    ASSERT_EQ(profiler.Add(UnitRing(NPUPROF_CHANNEL_HBM, 50 * kMs, 1024, path())), 4);
    profiler.Start();
  }

  // What is left to whoever still has the file.
  static void ExpectGone(Profiler& profiler) {
    for (int ring = 0; ring <= 4; ++ring)
      EXPECT_EQ(profiler.Ctrl(ring).state, uint32_t{NPUPROF_RING_GONE}) << ring;
    pollfd fd{profiler.handle(), POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 0), 1);
    EXPECT_TRUE(fd.revents & POLLHUP);
    for (unsigned long request : {NPUPROF_IOC_START, NPUPROF_IOC_STOP, NPUPROF_IOC_FREEZE, NPUPROF_IOC_FLUSH})
      EXPECT_EQ(profiler.Control(request), -ENODEV) << std::hex << request;
    npuprof_query query{};
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_QUERY, &query), -ENODEV);
    npuprof_clock clock{};
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), -ENODEV);
    profiler.Stats();  // still tells
    bool told = false;
    for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0))
      told |= event.kind == NPUPROF_EVENT_EPOCH && event.cause == NPUPROF_LOSS_REMOVED;
    EXPECT_TRUE(told);
  }
};
ON_BOTH_PATHS(Removal);

TEST_P(Removal, ByUnbindInMidRun) {
  const std::string address = PciAddress(0);
  ASSERT_NE(address, "");
  Moments moments;
  for (int round = 0; round < std::max(3, Rounds(8)); ++round) {
    Port port;
    Profiler profiler;
    ASSERT_NO_FATAL_FAILURE(Begin(profiler));
    port.Submit(50);
    ASSERT_TRUE(port.Drain());
    port.Submit(100, 180'000, 24);  // still going on when the driver leaves
    std::atomic<bool> stop{false};
    std::thread poller([&] {
      pollfd fd{profiler.handle(), 0, 0};
      poll(&fd, 1, 30'000);
      stop = (fd.revents & POLLHUP) != 0;
    });
    moments.Pass(25'000);
    ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0) << address;
    poller.join();
    EXPECT_TRUE(stop);  // whoever waited was told
    ExpectGone(profiler);
    const uint64_t kept = profiler.Read<npuprof_rec_task_log>(1).size();
    EXPECT_GE(kept + profiler.Lost(1), 100u);  // what was published before is readable after
    ASSERT_TRUE(WaitNode(0, false));
    EXPECT_EQ(Backend::Get().Open(0), -ENOENT);
    ASSERT_EQ(WriteFile(std::string(kDriver) + "bind", address), 0);
    ASSERT_TRUE(WaitNode(0, true));
    ASSERT_TRUE(port.Drain());
    // A new device for whoever comes; the old file stays what it is.
    Profiler next;
    ASSERT_EQ(next.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1) << round;
    next.Start();
    port.Submit(5);
    ASSERT_TRUE(port.Drain());
    next.Stop();
    EXPECT_EQ(next.Head(1), 10u);
    EXPECT_EQ(profiler.Control(NPUPROF_IOC_START), -ENODEV);
  }
}

TEST_P(Removal, ByUnbindWhileStopWaits) {
  const std::string address = PciAddress(0);
  Port port;
  Profiler profiler;
  ASSERT_NO_FATAL_FAILURE(Begin(profiler));
  const uint64_t before = port.Totals().started;
  port.SubmitLong(60'000);
  ASSERT_TRUE(port.WaitStarted(before + 1));
  std::atomic<int> result{1};
  std::thread stopper([&] {
    npuprof_control control{};
    control.flags = NPUPROF_STOP_WAIT;
    control.timeout_ns = 300 * kSecond;
    result = profiler.Call(NPUPROF_IOC_STOP, &control);
  });
  usleep(200'000);
  ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0);
  stopper.join();
  EXPECT_EQ(result, -ENODEV);
  ExpectGone(profiler);
  ASSERT_EQ(WriteFile(std::string(kDriver) + "bind", address), 0);
  ASSERT_TRUE(WaitNode(0, true));
  EXPECT_EQ(ResetDevice(0), 0);
}

// Removes device 1 at a random moment of a session, checks what its reader is left with, and puts a new one in its place.
void SurpriseInMidRun(uint32_t path, const std::string& address, Moments& moments,
                      const std::function<void(Profiler&)>& begin,
                      const std::function<void(Profiler&)>& expect_gone) {
  Port port;
  Profiler profiler(1);
  ASSERT_NO_FATAL_FAILURE(begin(profiler));
  port.Submit(50, 1800, 4, 1, 1);
  ASSERT_TRUE(port.Drain(1));
  const npusim_totals totals = port.Totals(1);
  port.Submit(200, 1'800'000, 24, 1, 1);
  ASSERT_TRUE(port.WaitStarted(totals.started + 2, 1));
  moments.Pass(100'000);
  ASSERT_EQ(port.Remove(1), 0);
  // Whoever touches it next finds out; an all-ones reading must never become a count.
  pollfd fd{profiler.handle(), 0, 0};
  for (int k = 0; k < 200 && (fd.revents & POLLHUP) == 0; ++k) {
    profiler.Control(NPUPROF_IOC_FLUSH);
    poll(&fd, 1, 100);
  }
  EXPECT_TRUE(fd.revents & POLLHUP);
  expect_gone(profiler);
  for (const npuprof_rec_task_log& mark : profiler.Read<npuprof_rec_task_log>(1)) {
    ASSERT_EQ(mark.magic, NPUPROF_STARS_MAGIC);
    ASSERT_NE(mark.clock, ~uint64_t{0});
  }
  for (const npuprof_rec_core_sample& sample : profiler.Read<npuprof_rec_core_sample>(3)) {
    ASSERT_LT(sample.cycles, uint64_t{1} << 40);
    ASSERT_LT(sample.counters[0], uint64_t{1} << 40);
  }
  const npuprof_stats stats = profiler.Stats();
  EXPECT_LT(stats.tasks_started, 1000u);
  EXPECT_LT(stats.tasks_ended, 1000u);
  profiler.Close();
  ASSERT_NO_FATAL_FAILURE(Replace(port, 1, address));
  Profiler next(1);
  ASSERT_EQ(next.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path)), 1);
  next.Start();
  port.Submit(5, 1800, 4, 1, 1);
  ASSERT_TRUE(port.Drain(1));
  next.Stop();
  EXPECT_EQ(next.Head(1), 10u);
}

TEST_P(Removal, BySurpriseInMidRun) {
  const std::string address = PciAddress(1);
  ASSERT_NE(address, "");
  Moments moments;
  for (int round = 0; round < std::max(3, Rounds(5)); ++round)
    ASSERT_NO_FATAL_FAILURE(SurpriseInMidRun(
        path(), address, moments, [&](Profiler& profiler) { Begin(profiler); }, ExpectGone))
        << round;
}

// No reading of a clock that a device which had gone made up.
void ExpectPossibleClocks(Profiler& profiler) {
  for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0)) {
    if (event.kind != NPUPROF_EVENT_CLOCK) continue;
    EXPECT_NE(event.first, 0u);
    EXPECT_NE(event.first, ~uint64_t{0});
  }
}

bool WaitGone(Profiler& profiler) {
  pollfd fd{profiler.handle(), 0, 0};
  for (int k = 0; k < 100 && (fd.revents & POLLHUP) == 0; ++k) poll(&fd, 1, 100);
  return (fd.revents & POLLHUP) != 0;
}

// The request that noticed first reported the all ones, or the zero, that it had read, as success.
TEST_P(Removal, BySurpriseIsToldByTheRequestThatTouchesTheDeviceFirst) {
  const std::string address = PciAddress(1);
  ASSERT_NE(address, "");
  Port port;
  struct Case {
    const char* name;
    std::vector<unsigned long> before;
    unsigned long request;
  };
  for (const Case& test :
       {Case{"START", {}, NPUPROF_IOC_START}, Case{"STOP", {NPUPROF_IOC_START}, NPUPROF_IOC_STOP},
        Case{"FLUSH", {NPUPROF_IOC_START}, NPUPROF_IOC_FLUSH},
        Case{"FREEZE", {NPUPROF_IOC_START}, NPUPROF_IOC_FREEZE},
        Case{"START again", {NPUPROF_IOC_START, NPUPROF_IOC_FREEZE}, NPUPROF_IOC_START},
        Case{"CLOCK", {NPUPROF_IOC_START}, NPUPROF_IOC_CLOCK}, Case{"CLOCK alone", {}, NPUPROF_IOC_CLOCK}}) {
    Profiler profiler(1);
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 1);
    ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, kSecond, 64, {0x416}, NPUPROF_RING_OVERWRITE)),
              2);
    profiler.Map();
    for (unsigned long request : test.before) ASSERT_EQ(profiler.Control(request), 0) << test.name;
    ASSERT_EQ(port.Remove(1), 0);
    npuprof_control control{};
    npuprof_clock clock{};
    const int result = test.request == NPUPROF_IOC_CLOCK ? profiler.Call(NPUPROF_IOC_CLOCK, &clock)
                                                         : profiler.Call(test.request, &control);
    EXPECT_EQ(result, -ENODEV) << test.name;
    EXPECT_EQ(control.clock + clock.device_clock + control.straddling, 0u) << test.name;
    EXPECT_TRUE(WaitGone(profiler)) << test.name;
    EXPECT_EQ(profiler.Ctrl(1).state, uint32_t{NPUPROF_RING_GONE}) << test.name;
    ExpectPossibleClocks(profiler);
    profiler.Close();
    ASSERT_NO_FATAL_FAILURE(Replace(port, 1, address)) << test.name;
  }
}

// The clock bracket of each second may be what notices.
TEST_P(Removal, BySurpriseWhileNobodyAsksLeavesNoImpossibleClock) {
  const std::string address = PciAddress(1);
  ASSERT_NE(address, "");
  Port port;
  Profiler profiler(1);
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 1);
  profiler.Start();
  ASSERT_EQ(port.Remove(1), 0);
  EXPECT_TRUE(WaitGone(profiler));
  ExpectPossibleClocks(profiler);
  profiler.Close();
  ASSERT_NO_FATAL_FAILURE(Replace(port, 1, address));
}

TEST(Removal, OfADeviceThatNobodyUses) {
  const std::string address = PciAddress(0);
  for (int k = 0; k < Rounds(20); ++k) {
    ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0);
    ASSERT_EQ(WriteFile(std::string(kDriver) + "bind", address), 0);
    ASSERT_TRUE(WaitNode(0, true));
  }
}

TEST(Removal, WhileItIsBeingBound) {
  Port port;
  const std::string address = PciAddress(1);
  ASSERT_NE(address, "");
  const auto bind = [&] { return WriteFile(std::string(kDriver) + "bind", address); };
  ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(bind(), 0);
  const auto whole = std::chrono::steady_clock::now() - begin;
  int refused = 0;
  const int rounds = Rounds(16, 4);
  for (int k = 0; k < rounds; ++k) {
    ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0) << k;
    ASSERT_TRUE(WaitNode(1, false));
    std::atomic<int> result{1};
    std::thread binder([&] { result = bind(); });
    std::this_thread::sleep_for(whole * k / rounds);
    ASSERT_EQ(port.Remove(1), 0) << k;
    binder.join();
    // One that is gone is refused, or bound just before; either way its driver lets go of it, and of a new one too.
    EXPECT_LE(result, 0);
    refused += result < 0;
    ASSERT_EQ(WriteFile("/sys/bus/pci/devices/" + address + "/remove", "1"), 0);
    ASSERT_TRUE(WaitNode(1, false));
    ASSERT_EQ(port.Insert(1), 0);
    ASSERT_EQ(WriteFile("/sys/bus/pci/rescan", "1"), 0);
    ASSERT_TRUE(WaitNode(1, true)) << k;
  }
  EXPECT_GT(refused, 0) << "no round met a device that was being looked at";
  Profiler profiler(1);
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  port.Submit(5, 1800, 4, 1, 1);
  ASSERT_TRUE(port.Drain(1));
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 10u);
}

TEST(Removal, WhileOthersOpenAndClose) {
  Backend::Get();  // looks for devices, which is for now
  const std::string address = PciAddress(0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const int fd = Backend::Get().Open(0);
        if (fd < 0) continue;
        npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
        Backend::Get().Ioctl(fd, NPUPROF_IOC_ADD_RING, &add);
        npuprof_control control{};
        control.size = sizeof control;
        Backend::Get().Ioctl(fd, NPUPROF_IOC_START, &control);
        close(fd);
      }
    });
  }
  for (int k = 0; k < Rounds(15); ++k) {
    EXPECT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0);
    usleep(5000);
    EXPECT_EQ(WriteFile(std::string(kDriver) + "bind", address), 0);
    usleep(5000);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(WaitNode(0, true));
}

TEST(Reset, BeginsANewEpochAndGoesOn) {
  Port port;
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096)), 1);
  ASSERT_EQ(profiler.Add(PmuRing(4096)), 2);
  profiler.Start();
  port.Submit(10);
  ASSERT_TRUE(port.Drain());
  const uint64_t before = port.Totals().started;
  port.SubmitLong(600'000);  // never ends
  ASSERT_TRUE(port.WaitStarted(before + 1));
  ASSERT_EQ(ResetDevice(0), 0);
  port.Submit(10);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Ctrl(1).epoch, 1u);
  EXPECT_EQ(profiler.Head(1), 20u + 1 + 20);
  EXPECT_EQ(profiler.Ctrl(1).lost_by_cause[NPUPROF_LOSS_RESET], 1u);  // the end that never came
  EXPECT_EQ(profiler.Head(2), 20u);
  bool told = false;
  for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0))
    told |= event.kind == NPUPROF_EVENT_EPOCH && event.epoch == 1;
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace selftest
