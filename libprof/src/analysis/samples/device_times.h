// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "analysis/clock.h"
#include "analysis/diagnostics.h"
#include "analysis/profile.h"

namespace npuprof::analysis {

/// The ways in which sampled files of a device tell time, as wall clock in ns. All of them follow the drift of the
/// device clock where readings of it are known.
class DeviceTimes {
 public:
  DeviceTimes(const Profile& profile, size_t device, Diagnostics* diagnostics)
      : clock_(profile, device, diagnostics),
        anchor_(profile.device_anchor(device)),
        hertz_(profile.devices().at(device).clock_hz) {}

  int64_t Ticks(uint64_t ticks) const { return clock_.Wall(ticks); }
  /// Nanoseconds as the device counts them.
  int64_t Nanoseconds(uint64_t ns) const {
    return After(static_cast<__int128>(ns) - anchor_.device_ns, 1'000'000'000);
  }
  /// Microseconds since collection began on the device.
  int64_t Microseconds(uint64_t us) const { return After(us, 1'000'000); }

 private:
  int64_t After(__int128 amount, int64_t per_second) const {
    const __int128 scaled = amount * hertz_;
    const __int128 ticks =
        anchor_.clock + (scaled + (scaled < 0 ? -per_second : per_second) / 2) / per_second;
    if (ticks < 0) return clock_.Wall(0);
    return clock_.Wall(ticks > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(ticks));
  }

  DeviceClock clock_;
  Profile::DeviceAnchor anchor_;
  uint64_t hertz_;
};

}  // namespace npuprof::analysis
