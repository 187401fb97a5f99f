// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "analysis/clock.h"
#include "analysis/device_trace.h"
#include "analysis/profile.h"

namespace npuprof::analysis {

/// What links a mark of the program to its mark on a device, by the published numbering.
constexpr uint64_t kPlainMarkConnection = 4'000'000'000, kFirstMarkConnection = 4'000'000'001;

/// A mark of the program on a device.
struct DeviceMark {
  int device = 0;
  bool simulated = false;
  int64_t begin_ns = 0, end_ns = 0;  ///< equal unless it is a range
  uint16_t stream = 0, task = 0;
};

/// Adds the marks and ranges that `trace` holds, by their number. The first stamp of a number is a mark, or begins the
/// range that the last one ends.
void CollectMarks(const DeviceInfo& info, const DeviceTrace& trace, const DeviceClock& clock,
                  std::map<uint64_t, DeviceMark>* marks);

}  // namespace npuprof::analysis
