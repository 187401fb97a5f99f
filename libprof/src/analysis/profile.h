// SPDX-License-Identifier: Apache-2.0
// A PROF_* directory as its metadata describes it. Opening one reads metadata and file sizes, not records,
// so it is quick for any amount of data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/error.h"

namespace npuprof::analysis {

/// Records that were produced and are missing, as the manifest of the run states it.
struct Loss {
  int device = -1;    ///< device id, -1 for the host
  std::string where;  ///< ring and channel, or kind of host record
  std::string cause;  ///< "ring_full", "nested", ...; empty when the manifest names none
  uint64_t records = 0;
};

/// One kind of record file with all its slices.
struct DataFile {
  std::string path;  ///< relative to the PROF directory, without ".slice_<n>"
  unsigned slices = 0;
  uint64_t bytes = 0;
  uint32_t record_bytes = 0;  ///< 0 for text and for kinds this version does not decode
  uint64_t records = 0;       ///< bytes / record_bytes
};

/// Bytes of a record of the file `path` (as DataFile has it), by its name; 0 for text and for unknown kinds.
uint32_t RecordBytesOf(std::string_view path, bool sampled_cores = false);

/// A moment at which host and device clock were read together.
struct ClockBracket {
  uint64_t host_ns = 0;   ///< CLOCK_MONOTONIC_RAW
  uint64_t device = 0;    ///< device clock, ticks
  uint64_t width_ns = 0;  ///< error of the pair
};

/// Tasks of a device as the driver counted them (manifest).
struct TaskTotals {
  uint64_t started = 0, ended = 0, straddling_start = 0, straddling_stop = 0;
};

/// What was removed while collecting, to keep a limit on storage (manifest).
struct AgedOut {
  uint64_t records = 0, bytes = 0, slices = 0, limit_bytes = 0;
  uint64_t complete_from_us = 0;  ///< wall clock from which on nothing was removed
};

struct DeviceInfo {
  int id = 0;
  std::string directory;                ///< "device_<id>"
  uint64_t clock_hz = 0;                ///< device clock
  double cube_mhz = 0, vector_mhz = 0;  ///< nominal core clocks
  unsigned cube_cores = 0, vector_cores = 0;
  std::string mode;                                  ///< "task-based" or "sample-based"
  std::string cube_metrics, vector_metrics;          ///< metric group names, may be empty
  std::vector<uint32_t> cube_events, vector_events;  ///< event numbers in counter order
  std::string backend;                               ///< "sim", "kernel", "hal"; empty without manifest
  bool simulated = false;
  std::optional<TaskTotals> tasks;     ///< only with manifest
  std::vector<ClockBracket> brackets;  ///< only with manifest
};

/// Immutable after Open(); safe to share between threads.
class Profile {
 public:
  /// Opens `directory`, a PROF_* directory or a directory that holds exactly one.
  /// A part (host or one device) whose metadata is missing or malformed is left out; warnings() names file
  /// and key. Throws Error if there is no PROF directory, more than one, or none of its parts is usable.
  static Profile Open(const std::filesystem::path& directory);

  /// PROF_* directories at or directly below `directory`, sorted by name. Never throws for unreadable
  /// entries.
  static std::vector<std::filesystem::path> Find(const std::filesystem::path& directory);

  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.filename().string(); }

  uint64_t pid() const { return pid_; }
  const std::string& process_name() const { return process_name_; }
  const std::string& command() const { return command_; }  ///< empty without manifest
  const std::string& hostname() const { return hostname_; }
  const std::string& platform_version() const { return platform_version_; }

  bool has_host() const { return has_host_; }
  uint64_t host_hz() const { return host_hz_; }    ///< 0: host records carry CLOCK_MONOTONIC_RAW nanoseconds
  uint64_t begin_us() const { return begin_us_; }  ///< wall clock at start, microseconds since 1970
  std::optional<uint64_t> end_us() const { return end_us_; }

  const std::vector<DeviceInfo>& devices() const { return devices_; }
  const std::vector<DataFile>& files() const { return files_; }
  const DataFile* FindFile(const std::string& path) const;

  bool has_manifest() const { return has_manifest_; }
  /// True if any device of the run was simulated.
  bool simulated() const { return simulated_; }
  /// False if the run was cut off (manifest says so); true without manifest.
  bool complete() const { return complete_; }
  const std::string& drain_path() const { return drain_path_; }  ///< empty without manifest
  const std::vector<Loss>& losses() const { return losses_; }
  uint64_t lost() const;
  /// Nothing if no data was removed to keep a limit.
  const std::optional<AgedOut>& aged() const { return aged_; }
  /// "collection starts at ..." for people; empty if nothing was removed.
  std::string AgedText() const;
  /// What is there and cannot be used: parts that were left out, slices that are missing between others. Each is among
  /// the warnings too.
  const std::vector<Warning>& failures() const { return failures_; }
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  friend class ProfileReader;
  Profile() = default;

  std::filesystem::path path_;
  uint64_t pid_ = 0;
  std::string process_name_, command_, hostname_, platform_version_, drain_path_;
  bool has_host_ = false, has_manifest_ = false, simulated_ = false, complete_ = true;
  uint64_t host_hz_ = 0, begin_us_ = 0;
  std::optional<uint64_t> end_us_;
  std::vector<DeviceInfo> devices_;
  std::vector<DataFile> files_;
  std::vector<Loss> losses_;
  std::optional<AgedOut> aged_;
  std::vector<Warning> failures_, warnings_;

 public:
  /// Anchors of the clocks; used by analysis/clock.h.
  struct HostAnchor {
    uint64_t monotonic_raw_ns = 0;  ///< including cntvct_diff
    uint64_t cycles = 0;
    int64_t wall_minus_raw_ns = 0;  ///< added to CLOCK_MONOTONIC_RAW it gives wall time
  };
  struct DeviceAnchor {
    uint64_t host_raw_ns = 0;  ///< host time of the instant
    uint64_t clock = 0;        ///< device clock at the instant
    uint64_t device_ns = 0;    ///< what the device calls the instant in files that count nanoseconds
    int64_t wall_minus_raw_ns = 0;
  };
  const HostAnchor& host_anchor() const { return host_anchor_; }
  const DeviceAnchor& device_anchor(size_t index) const { return device_anchors_.at(index); }

 private:
  HostAnchor host_anchor_;
  std::vector<DeviceAnchor> device_anchors_;  // same order as devices_
};

}  // namespace npuprof::analysis
