// SPDX-License-Identifier: Apache-2.0
// Host cycles and device ticks to wall time, in whole nanoseconds and without floating point.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/profile.h"

namespace npuprof::analysis {

/// Nanoseconds since 1970. Counters too far off to be a time saturate instead of wrapping.
class HostClock {
 public:
  explicit HostClock(const Profile& profile);
  int64_t Wall(uint64_t cycles) const;
  /// Length of an interval.
  int64_t Duration(uint64_t cycles) const;
  uint64_t hertz() const { return hertz_; }  ///< 0: cycles are nanoseconds

 private:
  Profile::HostAnchor anchor_;
  uint64_t hertz_;
};

/// With two or more usable brackets the line through them is followed, which takes out the drift of the
/// device clock; else the nominal rate from the start of the run on. Brackets that are impossible or contradict the
/// others are left out with a warning.
class DeviceClock {
 public:
  DeviceClock(const Profile& profile, size_t device, Diagnostics* diagnostics);
  int64_t Wall(uint64_t ticks) const;
  /// Half the widest bracket in use, in ns; 0 if none is.
  uint64_t error_ns() const { return error_ns_; }
  bool corrected() const { return !points_.empty(); }

 private:
  Profile::DeviceAnchor anchor_;
  uint64_t hertz_;
  std::vector<ClockBracket> points_;  ///< rising in both clocks; empty or at least two
  uint64_t error_ns_ = 0;
};

}  // namespace npuprof::analysis
