// SPDX-License-Identifier: Apache-2.0
// What tests of the kernel module share.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "profiler.h"

namespace selftest {

inline constexpr unsigned long kRequests[] = {NPUPROF_IOC_QUERY, NPUPROF_IOC_ADD_RING, NPUPROF_IOC_START,
                                              NPUPROF_IOC_STOP,  NPUPROF_IOC_FREEZE,   NPUPROF_IOC_FLUSH,
                                              NPUPROF_IOC_STATS, NPUPROF_IOC_CLOCK};

/// Rounds of a test that takes @p usual; NPUPROF_LAB_EFFORT (percent) makes a slow kernel do less.
int Rounds(int usual, int least = 1);

/// In simulated time: how many times as slowly as elsewhere things happen (NPUPROF_LAB_STRETCH, a power of two), at least 1. A
/// kernel that checks each of its own accesses takes several instructions for one, and so more of that time.
uint32_t Stretch();
/// Whether the time that callbacks take is the module's own, and not that of such a kernel.
inline bool TimeIsTheModules() {
  return Stretch() == 1;
}

/// How much longer than on Debian's kernel things may take (NPUPROF_LAB_PATIENCE), at least 1.
int Patience();

/// Random moments. Says its seed; --gtest_random_seed takes the place of a new one.
class Moments {
 public:
  Moments();
  /// Sleeps for less than @p microseconds.
  void Pass(unsigned microseconds);

 private:
  std::mt19937 random_;
};

/// Runs @p body in a child; its return value is the exit code. -1 if a signal ended it.
/// @param flags  of clone() besides the signal, such as CLONE_FILES
int InChild(const std::function<int()>& body, unsigned long flags = 0);

/// Adds rings that claim all that one session can: who can have it shows that nobody else has.
/// @return 0 or a negative errno
int ClaimAll(conformance::Profiler& profiler, uint32_t path);

/// Writes a line into a file of sysfs or procfs. @return 0 or a negative errno
int WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);

/// PCI address of a device, from its class directory.
std::string PciAddress(unsigned device);
/// A function-level reset with the driver's consent, which ends all tasks. @return 0 or a negative errno
int ResetDevice(unsigned device);
/// NPUPROF_SLOT_NS: longest that an interrupt or timer callback takes. Asserted in simulated time alone.
inline constexpr uint64_t kLongestCallback = 50'000;
/// Longest one since the device was bound, in nanoseconds, for whomever, also for sessions that are closed.
uint64_t LongestCallback(unsigned device = 0);
/// A figure of an account in debugfs: of "driver", "perf" or "session <number>".
uint64_t Account(const std::string& who, const std::string& figure, unsigned device = 0);
/// Opens an event of perf on the device as a whole. @return a descriptor or a negative errno
int OpenPerfEvent(uint64_t config, unsigned device = 0);

/// What is tested where time counts instructions, so that a duration is a property of the code.
struct SimulatedTime : testing::Test {
  void TearDown() override;
};

/// Until the node is there (or not). False after half a minute.
bool WaitNode(unsigned device, bool present);

}  // namespace selftest
