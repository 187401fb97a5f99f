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
};

/// Sees each record that a session has taken up, once, on the drain thread.
class RecordTap {
 public:
  virtual ~RecordTap() = default;
  virtual void Host(const host::Entry& entry) = 0;
  virtual void Device(const DeviceRecords& records) = 0;
};

}  // namespace npuprof
