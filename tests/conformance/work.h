// SPDX-License-Identifier: Apache-2.0
// Tasks for a device, and what its model says it did. Both go past the profiler: through npusimLaunch() and
// npusimTotals(), in a guest over the port to the emulated device.
#pragma once

#include <cstdint>

#include "npusim/npusim.h"

namespace conformance {

/// Tasks on one stream of one device. Ends by waiting for them.
class Work {
 public:
  explicit Work(uint32_t device = 0);
  ~Work();
  Work(const Work&) = delete;

  /// @param kind  enum npusimTaskType
  void Launch(uint64_t count, uint64_t cycles = 1800, uint32_t blocks = 4, int kind = NPUSIM_OP_AI_CORE);
  /// One task that runs so long by the device's clock.
  void LaunchLong(uint64_t milliseconds);
  /// Copies so much within the device's memory, and half of it from the host into that.
  void Copy(uint64_t bytes);
  /// Until all tasks of the stream have ended.
  void Wait();
  void Run(uint64_t count, uint64_t cycles = 1800, uint32_t blocks = 4, int kind = NPUSIM_OP_AI_CORE) {
    Launch(count, cycles, blocks, kind);
    Wait();
  }

 private:
  uint32_t device_;
  void* stream_ = nullptr;
};

/// What the model has done since this object was made.
class Since {
 public:
  explicit Since(uint32_t device = 0) : device_(device), before_(Read()) {}
  /// The differences; all later ones count from here again only after Restart().
  npusimDeviceTotals Now() const;
  void Restart() { before_ = Read(); }
  /// Until so many tasks have started. False after a minute.
  bool WaitStarted(uint64_t tasks) const;
  bool WaitEnded(uint64_t tasks) const;

 private:
  npusimDeviceTotals Read() const;

  uint32_t device_;
  npusimDeviceTotals before_;
};

void SleepMs(uint64_t milliseconds);

}  // namespace conformance
