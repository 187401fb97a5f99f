// SPDX-License-Identifier: Apache-2.0
// What a client says of its own run: totals of the models and calls that it made.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "npusim/npusim.h"

/// Calls by name, made while counting was on.
class Calls {
 public:
  void Count(const char* name, uint64_t times) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (on_) counts_[name] += times;
  }
  void Switch(bool on) {
    std::lock_guard<std::mutex> lock(mutex_);
    on_ = on;
  }
  /// As a member of a JSON object, "calls". Nobody may count any more.
  void Print() const {
    std::printf("\"calls\": {");
    const char* comma = "";
    for (const auto& [name, count] : counts_) {
      std::printf("%s\"%s\": %llu", comma, name.c_str(), static_cast<unsigned long long>(count));
      comma = ", ";
    }
    std::printf("}");
  }

 private:
  std::mutex mutex_;
  bool on_ = false;
  std::map<std::string, uint64_t> counts_;
};

inline constexpr std::pair<const char*, uint64_t npusimDeviceTotals::*> kCounted[] = {
    {"submitted", &npusimDeviceTotals::tasksSubmitted},
    {"started", &npusimDeviceTotals::tasksStarted},
    {"ended", &npusimDeviceTotals::tasksEnded},
    {"kernels", &npusimDeviceTotals::kernelsEnded},
    {"aic_cycles", &npusimDeviceTotals::aicCycles},
    {"aiv_cycles", &npusimDeviceTotals::aivCycles},
    {"cube_macs", &npusimDeviceTotals::cubeMacs},
    {"bytes_read", &npusimDeviceTotals::bytesRead},
    {"bytes_written", &npusimDeviceTotals::bytesWritten},
    {"aicpu", &npusimDeviceTotals::aicpuEnded},
    {"nic_received", &npusimDeviceTotals::nicReceived},
    {"nic_sent", &npusimDeviceTotals::nicSent},
    {"link_received", &npusimDeviceTotals::linkReceived},
    {"link_sent", &npusimDeviceTotals::linkSent},
    {"pcie_received", &npusimDeviceTotals::pcieReceived},
    {"pcie_sent", &npusimDeviceTotals::pcieSent},
    {"l2_hits", &npusimDeviceTotals::l2Hits},
    {"l2_misses", &npusimDeviceTotals::l2Misses},
    {"media_frames", &npusimDeviceTotals::mediaFrames},
    {"busy_ticks", &npusimDeviceTotals::busyTicks},
    {"log_lost", &npusimDeviceTotals::logLost},
    {"pmu_lost", &npusimDeviceTotals::pmuLost},
    {"queue_dropped", &npusimDeviceTotals::queueDropped},
    {"interrupts_swallowed", &npusimDeviceTotals::interruptsSwallowed}};

/// As a member of a JSON object, "devices": what the models of devices 0, 1, ... counted between two readings.
inline void PrintTotals(const std::vector<npusimDeviceTotals>& first,
                        const std::vector<npusimDeviceTotals>& last) {
  std::printf("\"devices\": [");
  for (size_t i = 0; i < last.size(); i++) {
    std::printf("%s{\"id\": %zu", i != 0 ? ", " : "", i);
    for (const auto& [name, field] : kCounted)
      std::printf(", \"%s\": %llu", name, static_cast<unsigned long long>(last[i].*field - first[i].*field));
    std::printf("}");
  }
  std::printf("]");
}

inline npusimDeviceTotals TotalsOf(uint32_t device) {
  npusimDeviceTotals totals = {};
  Check(npusimTotals(device, &totals, sizeof(totals)), "npusimTotals");
  return totals;
}
