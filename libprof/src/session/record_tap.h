// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/queue.h"

namespace npuprof {

/// Records of one ring of a device.
struct DeviceRecords {
  uint32_t device;
  uint64_t clock_hz;  ///< of the device's clock
  uint32_t channel;   ///< NPUPROF_CHANNEL_*
  const std::byte* data;
  size_t count, size;
  /// A moment at which both clocks were read, and the ticks of the host's in one of the device's; 0: unknown.
  uint64_t device_at = 0, host_at = 0;
  double host_ticks = 0;

  /// The host's clock (host::Cycles()) at @p clock of the device, or 0.
  uint64_t HostTime(uint64_t clock) const {
    if (host_ticks == 0) return 0;
    return host_at + static_cast<uint64_t>(static_cast<int64_t>(
                         static_cast<double>(static_cast<int64_t>(clock - device_at)) * host_ticks));
  }
};

/// Sees each record that a session has taken up, once, on the drain thread.
class RecordTap {
 public:
  virtual ~RecordTap() = default;
  virtual void Host(const host::Entry& entry) = 0;
  virtual void Device(const DeviceRecords& records) = 0;
};

}  // namespace npuprof
