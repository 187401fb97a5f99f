// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/samplers.h"
#include "session/config.h"
#include "session/result.h"
#include "session/settings.h"
#include "trace/metadata.h"

namespace npuprof {

/// What data types, counter group and settings come to: rings per device, samplers, the contents of sample.json.
struct Plan {
  uint64_t data_types = 0;

  // Rings of every device.
  bool tasks = false;     ///< task_log
  bool track = false;     ///< ts_track
  bool aicpu = false;     ///< aicpu
  bool l2 = false;        ///< soc_pmu
  bool counters = false;  ///< task_pmu, with the events below
  std::vector<uint16_t> cube_events, vector_events;
  std::chrono::nanoseconds core_period{0};  ///< counters are of so long a time instead of tasks; 0: of tasks
  std::chrono::nanoseconds memory_period{0};  ///< HBM and LLC; 0: off
  bool llc_write = false;
  std::vector<uint32_t> flows;                 ///< NPUPROF_FLOW_* of the main memory, in the order asked for
  std::chrono::nanoseconds flow_period{0};     ///< of flows
  std::chrono::nanoseconds network_period{0};  ///< NIC; 0: off
  std::chrono::nanoseconds link_period{0};     ///< links to other chips and to the host; 0: off
  std::chrono::nanoseconds media_period{0};    ///< DVPP; 0: off

  // Samplers of the host.
  std::vector<host::Sample> samples;
  std::chrono::nanoseconds host_period{0};

  trace::SampleFacts sample;
  /// What was asked for and is not collected, one sentence each.
  std::vector<std::string> not_collected;
};

/// kInvalidParam: the counter group is unknown or the chip lacks it. kFailure: the chip lacks a data type.
Result MakePlan(const Wanted& wanted, const Settings& settings, Plan* plan);

/// Slots of the rings of tasks as NPUPROF_RING_RECORDS says; nothing if each ring keeps its default. A value that is
/// no power of two from 16 to 4194304 appends a sentence to @p warnings.
std::optional<uint32_t> TaskRingSlots(std::vector<std::string>* warnings);
/// Most bytes that the directory may take, 0 for no limit: the smaller of ACL_PROF_STORAGE_LIMIT and NPUPROF_STORAGE_MB.
/// A megabyte is a million bytes, so that the limit holds however the reader of a setting counts.
uint64_t StorageLimit(const Settings& settings, std::vector<std::string>* warnings);
/// Memory for the rings of all threads as NPUPROF_HOST_RING_MB says, or 64 MiB.
size_t HostRingBytes(std::vector<std::string>* warnings);

}  // namespace npuprof
