// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "device/device_file.h"
#include "drain/drain.h"
#include "drain/ledger.h"
#include "trace/manifest.h"
#include "trace/record_file.h"
#include "trace/sampling.h"

namespace npuprof {

/// npu_module_mem: how much memory of a device each module holds, once per period. Its records are of the device, but
/// published with times of the host: the runtime knows of the memory, the device does not.
class ModuleMemorySource final : public drain::Source {
 public:
  static constexpr const char* kFile = "npu_module_mem";
  /// As published, little-endian.
  struct Record {
    uint32_t module;
    uint32_t reserved;
    uint64_t cycles;  ///< counter of the host
    uint64_t bytes;
  };
  static_assert(sizeof(Record) == 24);

  /// Both must outlive the source, @p file with records of sizeof(Record).
  ModuleMemorySource(const device::DeviceFile& device, trace::RecordFile& file,
                     std::chrono::nanoseconds period);

  drain::Progress Poll(const drain::Pass& pass) override;
  std::chrono::nanoseconds Interval() const override { return period_; }
  bool Periodic() const override { return true; }

  /// In the form of a ring, which it is not: it has no slots. Drain thread, or any thread after Finish().
  trace::Manifest::Ring Describe(uint32_t number) const;

 private:
  const device::DeviceFile& device_;
  trace::RecordFile& file_;
  const std::chrono::nanoseconds period_;
  drain::Ledger ledger_;
  uint64_t no_room_ = 0;
  bool ended_ = false;
  trace::IntervalMeter meter_;
  std::vector<device::DeviceFile::ModuleMemory> held_;
  std::vector<Record> records_;
};

}  // namespace npuprof
