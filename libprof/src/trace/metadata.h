// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/directory.h"

/// The small files that tell readers how to read the rest. Each is one line of JSON with the types the public
/// analysis insists on, or the INI-like start logs. Every function replaces its file as a whole and may be
/// called from any thread. Write them before the first record.
namespace npuprof::trace {

/// Device id that stands for the host in these files.
inline constexpr uint32_t kHostId = 64;

struct NetCard {
  std::string name;
  uint32_t mbit_per_s = 0;
};

/// Facts about the machine, the same for every directory of a run.
struct HostFacts {
  std::string os, hostname, hwtype, host_uid, job_info = "NA", cpu_name, cpu_type, version = "1.0",
                                              cann_version, platform_version = "5", process_name, up_time;
  uint32_t pid = 0;
  uint64_t memory_kb = 0;
  uint32_t cpus = 0;
  uint32_t clock_ticks = 100;  ///< ticks per second of /proc
  double cycle_mhz = 0;        ///< rate of host counters; 0: they are CLOCK_MONOTONIC_RAW ns
  uint32_t driver_version = 467473;
  int32_t rank = -1;
  std::vector<NetCard> net_cards;

  /// Fills all but cycle_mhz, cann_version and rank from this machine and process.
  static HostFacts Probe();
};

/// Facts about one device.
struct DeviceFacts {
  uint32_t id = 0;
  double clock_mhz = 50;  ///< device counter
  uint32_t cube_mhz = 1800, vector_mhz = 1800;
  uint32_t cube_cores = 24, vector_cores = 48;
  uint32_t ai_cpu_cores = 6;
};

/// info.json (device unset) or info.json.<N>.
Status WriteInfo(const ProfDirectory& directory, const HostFacts& host,
                 const std::optional<DeviceFacts>& device);

/// The switch set of a run.
struct SampleFacts {
  bool cube = false, vector = false;         ///< core counters on
  bool sample_based = false;                 ///< else task-based
  std::string cube_metrics, vector_metrics;  ///< group name or "Custom:0x.."
  std::vector<uint32_t> cube_events, vector_events;
  uint32_t cube_interval_ms = 10, vector_interval_ms = 10;
  std::string level = "l0";  ///< prof_level: l0, l1, l2 ...
  std::string llc;           ///< "", "read" or "write"
  std::string hbm_events;    ///< "" or "read,write"
  std::string ddr_events;
  std::vector<uint32_t> l2_events;
  std::string npu_events, qos_events;
  uint32_t instruction_frequency = 0, host_disk_hz = 0;
  uint32_t host_sys_pid = 0;  ///< process whose host usage is sampled
};

/// sample.json of host/ (device unset: devices "64") or of device_<N>/.
Status WriteSample(const ProfDirectory& directory, const SampleFacts& sample, std::optional<uint32_t> device);

/// One instant: wall clock and CLOCK_MONOTONIC_RAW.
struct Instant {
  uint64_t realtime_us = 0;
  uint64_t monotonic_raw_ns = 0;
  /// Now, both clocks read back to back, the tightest of five. Both values are of the beginning of a microsecond of the
  /// wall clock, so that their difference is exact.
  static Instant Now();
  /// The instant of @p raw_ns, not before this one, by the wall clock as it stood at this one: whatever steps the wall
  /// clock makes meanwhile, times of all directories of a run can be compared.
  Instant Later(uint64_t raw_ns) const;
};

/// start_info[.N] and end_info[.N].
Status WriteStartInfo(const ProfDirectory& directory, const Instant& begin, std::optional<uint32_t> device);
Status WriteEndInfo(const ProfDirectory& directory, const Instant& end, std::optional<uint32_t> device);

/// One instant in host time and host counter: host_start.log[.N].
struct HostStart {
  uint64_t monotonic_raw_ns = 0;
  uint64_t cycles = 0;
};
Status WriteHostStart(const ProfDirectory& directory, const HostStart& start, std::optional<uint32_t> device);

/// The same instant in the device's counter (and its monotonic clock in ns): dev_start.log.<N>.
Status WriteDeviceStart(const ProfDirectory& directory, uint32_t device, uint64_t device_ns,
                        uint64_t counter);

}  // namespace npuprof::trace
