// SPDX-License-Identifier: Apache-2.0
// What tasks would still have told when a reset or the end of a device cut them off is counted, in every ring.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr const char* kDriver = "/sys/bus/pci/drivers/npuprof_refnpu/";
constexpr uint64_t kSmallKernels = 10, kSmallBlocks = 4;
constexpr uint64_t kLargeBlocks = 96;

struct Cut : OnBothPaths {
  // Rings; from kBlocks on one per matrix core, then one per vector core, each sampled.
  enum { kLog = 1, kPmu, kSoc, kAicpu, kBlocks };

  void Begin(Profiler& profiler, uint32_t device = 0) {
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096, path())), kLog);
    ASSERT_EQ(profiler.Add(PmuRing(1024, path())), kPmu);
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_SOC_PMU, 1024, path())), kSoc);
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 64, path())), kAicpu);
    cores_ = static_cast<int>(profiler.Query().cube_cores);
    for (int core = 0; core < cores_; ++core)
      ASSERT_EQ(profiler.Add(BlockRing(NPUPROF_CORE_CUBE, static_cast<uint16_t>(core), 256, path())),
                kBlocks + core);
    // Less often than any test takes: there is a sample because something ended, or none.
    vectors_ = static_cast<int>(profiler.Query().vector_cores);
    for (int core = 0; core < vectors_; ++core)
      ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_VECTOR, static_cast<uint16_t>(core), 10 * kSecond, 16,
                                        {0x8}, path())),
                kBlocks + cores_ + core);
    before_ = port.Totals(device);
    profiler.Start();
  }

  void SmallKernels(uint32_t device = 0) {
    port.Submit(kSmallKernels, 1800, kSmallBlocks, 1, device);
    npusim_task task{};
    task.kind = NPUSIM_TASK_VECTOR;
    task.block_dim = static_cast<uint32_t>(vectors_);
    task.cycles = 1800;
    task.peer = NPUSIM_LOCAL;
    port.Submit(task, device);
    ASSERT_TRUE(port.Drain(device));
    kernels_ += kSmallKernels + 1;
    blocks_ += kSmallKernels * kSmallBlocks;
  }

  // A task of an AI CPU, and a kernel of which every core has done some blocks and has some before it.
  void LargeTasks(uint32_t device = 0) {
    port.SubmitLong(600'000, device);
    port.Submit(1, 1'800'000'000, kLargeBlocks, 3, device);
    ASSERT_TRUE(port.WaitStarted(before_.started + kernels_ + 2, device));
    usleep(1'300'000);
    kernels_ += 1;
    blocks_ += kLargeBlocks;
  }

  uint64_t Offered(const Profiler& profiler, int ring) const {
    return profiler.Head(ring) + profiler.Lost(ring);
  }

  void ExpectAllSampled(Profiler& profiler, uint32_t device) {
    uint64_t cycles = 0;
    for (int core = 0; core < vectors_; ++core)
      for (const auto& sample : profiler.Read<npuprof_rec_core_sample>(kBlocks + cores_ + core))
        cycles += sample.cycles;
    EXPECT_GT(cycles, 0u);
    EXPECT_EQ(cycles, port.Totals(device).cycles[1] - before_.cycles[1])
        << "what was counted since the last sample";
  }

  void ExpectAllAccountedFor(Profiler& profiler, npuprof_loss_cause cause, uint32_t device = 0) {
    ExpectAllSampled(profiler, device);
    const npusim_totals after = port.Totals(device);
    EXPECT_EQ(Offered(profiler, kLog), 2 * (after.recorded_started - before_.recorded_started));
    EXPECT_EQ(Offered(profiler, kPmu), kernels_);
    EXPECT_EQ(Offered(profiler, kSoc), kernels_);
    EXPECT_EQ(Offered(profiler, kAicpu), 1u);
    uint64_t blocks = 0, cut = 0;
    for (int core = 0; core < cores_; ++core) {
      blocks += Offered(profiler, kBlocks + core);
      cut += profiler.Ctrl(kBlocks + core).lost_by_cause[cause];
    }
    EXPECT_EQ(blocks, blocks_);
    EXPECT_GT(cut, 0u);
    EXPECT_LT(cut, kLargeBlocks);
    EXPECT_EQ(profiler.Ctrl(kLog).lost_by_cause[cause], 2u);
    EXPECT_EQ(profiler.Ctrl(kPmu).lost_by_cause[cause], 1u);
    EXPECT_EQ(profiler.Ctrl(kSoc).lost_by_cause[cause], 1u);
    EXPECT_EQ(profiler.Ctrl(kAicpu).lost_by_cause[cause], 1u);
  }

  // The same as Profiler::Gaps(). What an epoch lacks is told before the next one begins.
  std::map<uint32_t, uint64_t> GapsInOrder(Profiler& profiler) {
    std::map<uint32_t, uint64_t> gaps;
    uint32_t epoch = 0, told = 0;
    for (const npuprof_rec_event& event : profiler.Read<npuprof_rec_event>(0)) {
      if (event.kind == NPUPROF_EVENT_EPOCH) epoch = event.epoch;
      if (event.kind != NPUPROF_EVENT_GAP) continue;
      EXPECT_EQ(event.epoch, epoch) << "ring " << event.ring;
      told += epoch == 0;
      gaps[event.ring] += event.count;
    }
    EXPECT_EQ(epoch, 1u);
    EXPECT_GT(told, static_cast<uint32_t>(cores_)) << "of more rings than are told in one go";
    return gaps;
  }

  // What the event ring says is missing is what the rings say.
  void ExpectAllGapsTold(Profiler& profiler, std::map<uint32_t, uint64_t> told = {}) {
    for (const auto& [ring, count] : profiler.Gaps()) told[ring] += count;
    for (int ring = kLog; ring < kBlocks + cores_; ++ring)
      EXPECT_EQ(told[static_cast<uint32_t>(ring)], profiler.Lost(ring)) << ring;
  }

  Port port;
  npusim_totals before_{};
  int cores_ = 0, vectors_ = 0;
  uint64_t kernels_ = 0, blocks_ = 0;
};
ON_BOTH_PATHS(Cut);

TEST_P(Cut, ByAReset) {
  Profiler profiler;
  ASSERT_NO_FATAL_FAILURE(Begin(profiler));
  ASSERT_NO_FATAL_FAILURE(SmallKernels());
  ASSERT_NO_FATAL_FAILURE(LargeTasks());
  ASSERT_EQ(ResetDevice(0), 0);
  ASSERT_NO_FATAL_FAILURE(SmallKernels());
  profiler.Stop();
  ExpectAllAccountedFor(profiler, NPUPROF_LOSS_RESET);
  ExpectAllGapsTold(profiler, GapsInOrder(profiler));
}

TEST_P(Cut, ByAResetWhileStopWaits) {
  Profiler profiler;
  ASSERT_NO_FATAL_FAILURE(Begin(profiler));
  ASSERT_NO_FATAL_FAILURE(SmallKernels());
  ASSERT_NO_FATAL_FAILURE(LargeTasks());
  std::thread stopper([&] { profiler.Stop(); });
  usleep(100'000);
  EXPECT_EQ(ResetDevice(0), 0);
  stopper.join();
  ExpectAllAccountedFor(profiler, NPUPROF_LOSS_RESET);
  ExpectAllGapsTold(profiler);
}

TEST_P(Cut, ByUnbind) {
  const std::string address = PciAddress(0);
  Profiler profiler;
  ASSERT_NO_FATAL_FAILURE(Begin(profiler));
  ASSERT_NO_FATAL_FAILURE(SmallKernels());
  ASSERT_NO_FATAL_FAILURE(LargeTasks());
  ASSERT_EQ(WriteFile(std::string(kDriver) + "unbind", address), 0);
  ExpectAllAccountedFor(profiler, NPUPROF_LOSS_REMOVED);
  ExpectAllGapsTold(profiler);
  ASSERT_EQ(WriteFile(std::string(kDriver) + "bind", address), 0);
  ASSERT_TRUE(WaitNode(0, true));
  EXPECT_EQ(ResetDevice(0), 0);  // of the tasks that are left
}

// Nobody can ask a device that is gone; what it wrote to memory before is all there, and no more is counted than was.
TEST_P(Cut, BySurprise) {
  const std::string address = PciAddress(1);
  Profiler profiler(1);
  ASSERT_NO_FATAL_FAILURE(Begin(profiler, 1));
  ASSERT_NO_FATAL_FAILURE(SmallKernels(1));
  ASSERT_NO_FATAL_FAILURE(LargeTasks(1));
  ASSERT_EQ(port.Remove(1), 0);
  npuprof_clock clock{};
  profiler.Call(NPUPROF_IOC_CLOCK, &clock);  // somebody has to ask it for anything
  for (int k = 0; k < 1000 && profiler.Ctrl(kLog).state != NPUPROF_RING_GONE; ++k) usleep(10'000);
  EXPECT_EQ(profiler.Ctrl(kLog).state, uint32_t{NPUPROF_RING_GONE});
  const npusim_totals after = port.Totals(1);
  EXPECT_LE(Offered(profiler, kLog), 2 * (after.recorded_started - before_.recorded_started));
  uint64_t kept = 0;
  for (int ring = kLog; ring < kBlocks + cores_ + vectors_; ++ring) kept += profiler.Head(ring);
  if (path() == NPUPROF_RING_DEVICE_PATH) {
    EXPECT_EQ(kept, after.queue_written - before_.queue_written);
  }
  EXPECT_GE(kept, 3 * kSmallKernels + kSmallKernels * kSmallBlocks);
  ExpectAllGapsTold(profiler);
  profiler.Close();
  ASSERT_EQ(WriteFile("/sys/bus/pci/devices/" + address + "/remove", "1"), 0);
  ASSERT_TRUE(WaitNode(1, false));
  ASSERT_EQ(port.Insert(1), 0);
  ASSERT_EQ(WriteFile("/sys/bus/pci/rescan", "1"), 0);
  ASSERT_TRUE(WaitNode(1, true));
}

// The device comes back from a reset and refuses to record: the session ends there, and whoever waits is told.
TEST_P(Cut, ByAResetThatASessionDoesNotSurvive) {
  Profiler profiler;
  ASSERT_NO_FATAL_FAILURE(Begin(profiler));
  ASSERT_NO_FATAL_FAILURE(SmallKernels());
  ASSERT_NO_FATAL_FAILURE(LargeTasks());
  ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_REFUSE, 1), 0);
  bool told = false;
  std::map<uint32_t, uint64_t> gaps;
  std::thread poller([&] {
    pollfd fd{profiler.handle(), POLLIN, 0};
    while (!told && poll(&fd, 1, 20'000) == 1) {
      told = (fd.revents & POLLHUP) != 0;
      EXPECT_EQ(fd.revents & POLLERR, 0);
      if (told) {
        EXPECT_EQ(profiler.Ctrl(0).state, uint32_t{NPUPROF_RING_STOPPED});
      }
      for (const auto& [ring, count] : profiler.Gaps()) gaps[ring] += count;
      for (int ring = kLog; ring < kBlocks + cores_; ++ring) profiler.SetTail(ring, profiler.Head(ring));
    }
  });
  usleep(100'000);
  EXPECT_EQ(ResetDevice(0), 0);
  poller.join();
  EXPECT_TRUE(told);
  ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_REFUSE, 0), 0);
  for (int ring = 0; ring < kBlocks + cores_; ++ring)
    EXPECT_EQ(profiler.Ctrl(ring).state, uint32_t{NPUPROF_RING_STOPPED}) << ring;
  ExpectAllAccountedFor(profiler, NPUPROF_LOSS_RESET);
  ExpectAllGapsTold(profiler, gaps);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_STOP), -EINVAL);
  // The device itself is well, and the hardware free for the next.
  profiler.Close();
  Profiler next;
  ASSERT_EQ(next.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 1);
  next.Start();
  port.Submit(5);
  ASSERT_TRUE(port.Drain());
  next.Stop();
  EXPECT_EQ(next.Head(1), 10u);
}

TEST_P(Cut, AWindowThatStaysClosedIsNoSuccess) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path())), 1);
  ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_REFUSE, 1), 0);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(profiler.Control(NPUPROF_IOC_START), -EIO) << k;
  ASSERT_EQ(port.Fault(NPUSIM_PORT_FAULT_REFUSE, 0), 0);
  profiler.Start();
  port.Submit(5);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 10u);
}

}  // namespace
}  // namespace selftest
