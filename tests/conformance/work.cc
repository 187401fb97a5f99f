// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "acl/acl.h"
#include "profiler.h"

namespace conformance {
namespace {

// The runtime's own set-up happens once in the process and is never undone: tests come and go.
void InitRuntime(uint32_t device) {
  static const int initialized = aclInit(nullptr);
  ASSERT_EQ(initialized, 0) << aclGetRecentErrMsg();
  ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(device)), 0) << aclGetRecentErrMsg();
}

uint64_t CoreHz(uint32_t device) {
  Profiler profiler(device);
  return profiler.Query().core_hz;
}

template <class Done>
bool WaitUntil(const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

Work::Work(uint32_t device) : device_(device) {
  InitRuntime(device);
  EXPECT_EQ(aclrtCreateStream(&stream_), 0) << aclGetRecentErrMsg();
}

Work::~Work() {
  Wait();
  aclrtDestroyStream(stream_);
}

void Work::Launch(uint64_t count, uint64_t cycles, uint32_t blocks, int kind) {
  ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(device_)), 0);
  ASSERT_EQ(npusimLaunch(stream_, "conformance", "Conformance", kind, blocks, cycles, count), 0)
      << aclGetRecentErrMsg();
}

void Work::LaunchLong(uint64_t milliseconds) {
  Launch(1, CoreHz(device_) / 1000 * milliseconds, 1);
}

void Work::Copy(uint64_t bytes) {
  ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(device_)), 0);
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(aclrtMalloc(&from, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0) << aclGetRecentErrMsg();
  ASSERT_EQ(aclrtMalloc(&to, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0) << aclGetRecentErrMsg();
  const std::vector<char> host(bytes / 2);
  EXPECT_EQ(aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_), 0);
  EXPECT_EQ(aclrtMemcpyAsync(to, bytes, host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE, stream_), 0);
  Wait();
  EXPECT_EQ(aclrtFree(from), 0);
  EXPECT_EQ(aclrtFree(to), 0);
}

void Work::Wait() {
  ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(device_)), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), 0) << aclGetRecentErrMsg();
}

npusimDeviceTotals Since::Read() const {
  InitRuntime(device_);
  npusimDeviceTotals totals = {};
  EXPECT_EQ(npusimTotals(device_, &totals, sizeof totals), 0) << aclGetRecentErrMsg();
  return totals;
}

npusimDeviceTotals Since::Now() const {
  npusimDeviceTotals now = Read();
  now.tasksSubmitted -= before_.tasksSubmitted;
  now.tasksStarted -= before_.tasksStarted;
  now.tasksEnded -= before_.tasksEnded;
  now.kernelsEnded -= before_.kernelsEnded;
  now.aicCycles -= before_.aicCycles;
  now.aivCycles -= before_.aivCycles;
  now.cubeMacs -= before_.cubeMacs;
  now.bytesRead -= before_.bytesRead;
  now.bytesWritten -= before_.bytesWritten;
  now.aicpuEnded -= before_.aicpuEnded;
  now.vectorOps -= before_.vectorOps;
  now.logLost -= before_.logLost;
  now.pmuLost -= before_.pmuLost;
  now.queueDropped -= before_.queueDropped;
  now.l2Hits -= before_.l2Hits;
  now.l2Misses -= before_.l2Misses;
  return now;
}

bool Since::WaitStarted(uint64_t tasks) const {
  return WaitUntil([&] { return Now().tasksStarted >= tasks; });
}

bool Since::WaitEnded(uint64_t tasks) const {
  return WaitUntil([&] { return Now().tasksEnded >= tasks; });
}

void SleepMs(uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace conformance
