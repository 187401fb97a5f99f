// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace npuprof::analysis {

/// Why a device computes nothing.
enum class Cause : uint8_t {
  kHostLate,        ///< the next operator was not submitted yet, and its thread did other things
  kSynchronising,   ///< it was not submitted yet, because its thread waited for the device
  kCollectiveWait,  ///< a collective waits for another rank
  kCommunication,   ///< a collective moves data
  kCopy,            ///< data come or go: copies, media engines
  kUnknown,
};
constexpr size_t kCauses = 6;
using PerCause = std::array<int64_t, kCauses>;  ///< ns
/// "host_late", "synchronising", "collective_wait", "communication", "copy", "unknown".
const char* CauseName(Cause cause);

/// How a stretch of time was spent. window = compute + between + the sum of idle.
struct TimeSplit {
  int64_t window_ns = 0, compute_ns = 0;
  int64_t between_ns = 0;  ///< gaps too short to look into
  PerCause idle{};
};

}  // namespace npuprof::analysis
