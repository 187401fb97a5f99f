// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/directory.h"
#include "trace/record_file.h"

namespace npuprof::trace {

/// PROF_*/npuprof/manifest.json: what was collected, what was lost, why and where, and what it cost. Members
/// are named like the keys. Rewritten as a whole during the run (from a periodic drain source) and at the end
/// with complete = true.
struct Manifest {
  /// What took part, beside the drivers, which each device names.
  struct Versions {
    std::string library, abi;  ///< of libaclprof and of the interface to drivers that it was built with
    uint32_t record_formats = 0;
    std::string file_formats;  ///< the published toolkit whose file formats are written
    std::string runtime;       ///< the simulated runtime of the process; empty without one
  };
  struct Window {
    uint64_t begin_realtime_us = 0, begin_monotonic_raw_ns = 0, end_monotonic_raw_ns = 0;
  };
  struct DrainInfo {
    std::string path, reason;
    uint64_t staging_peak_bytes = 0;
    uint64_t staging_bytes = 0;        ///< what there is of it
    uint64_t staging_holds_bytes = 0;  ///< what records are sure to find room for in it
    uint64_t host_ring_bytes = 0;
    uint64_t bytes_per_second = 0;  ///< accepted, in the last second; at the end, of the whole run
  };
  /// What the directory takes on disk and what was removed to keep a limit on that.
  struct Storage {
    uint64_t limit_bytes = 0;  ///< 0: none
    uint64_t used_bytes = 0;
    struct {
      uint64_t records = 0, bytes = 0, slices = 0;
      /// From here on nothing is missing. 0 if nothing was removed.
      uint64_t complete_from_monotonic_raw_ns = 0;
    } aged;
  };
  /// How well the asked period was kept.
  struct Sampling {
    uint64_t period_ns = 0;  ///< as asked for
    uint64_t samples = 0;
    uint64_t mean_ns =
        0;  ///< mean of the intervals between samples, the last one aside, which Stop cuts short
    uint64_t worst_error_ns = 0;  ///< largest distance of an interval from the period
  };
  struct Ring {
    uint32_t ring = 0;
    std::string channel, core_kind = "none";
    uint32_t core = 0xffff, slots = 0;
    uint64_t records = 0, kept = 0, lost = 0;  ///< records = kept + lost
    std::map<std::string, uint64_t> lost_by_cause;
    Sampling sampling{};  ///< of rings that are sampled; else its period is 0
    uint64_t throttled_period_ns =
        0;  ///< the driver's own choice, after a reset; 0 if it kept what was asked for
  };
  struct Gap {
    uint32_t ring = 0;
    std::string channel;
    uint64_t position = 0, count = 0, first = 0, last = 0;
    std::string cause;
  };
  /// The device lost its state and came back, or went for good. Of what it held then not all has a count.
  struct Interruption {
    uint32_t epoch = 0;  ///< the one that begins with it
    std::string cause;
    uint64_t device = 0;  ///< device clock when it was back; 0 if it was not
  };
  struct Clock {
    uint64_t host_ns = 0, device = 0, width_ns = 0;
  };
  struct Device {
    uint32_t id = 0;
    std::string backend;  ///< sim, kernel or hal
    std::string name;     ///< as the driver calls the device
    uint32_t chip = 0;    ///< generation, as platform_version of info.json
    bool simulated = false;
    struct {
      uint64_t started = 0, ended = 0, straddling_start = 0, straddling_stop = 0;
    } tasks;
    std::vector<Ring> rings;
    std::vector<Gap> gaps;
    std::vector<Interruption> interruptions;
    std::vector<Clock> clock;
    uint64_t clock_base = 0;  ///< subtracted from the device clock everywhere in the directory
    struct {
      std::string version, abi;  ///< of the driver and of the interface that it speaks
      uint32_t record_formats = 0;
      uint64_t interrupts = 0, register_reads = 0, register_writes = 0, busy_ns = 0;
    } driver;
  };
  struct Kind {
    std::string kind;
    uint64_t records = 0, lost = 0;
    Sampling sampling{};  ///< of kinds that are sampled
  };
  struct HostLoss {
    uint32_t thread = 0;
    bool others = false;  ///< several threads that are not told apart
    std::string cause;
    uint64_t count = 0, first_ns = 0,
             last_ns = 0;  ///< CLOCK_MONOTONIC_RAW of the first and last dropped record
  };
  struct Host {
    uint64_t cycle_hz = 0;
    uint32_t threads = 0;
    std::vector<Kind> kinds;
    std::map<std::string, uint64_t> lost_by_cause;
    std::vector<HostLoss> losses;
  };
  struct CostInfo {
    uint64_t drain_cpu_ns = 0, wakeups = 0, bytes_written = 0, start_ns = 0, stop_ns = 0, device_busy_ns = 0;
  };
  struct Message {
    std::string severity, text;  ///< severity: info, warning or error
  };

  Versions versions;
  bool simulated = false;
  uint32_t pid = 0;
  std::string command;
  uint64_t data_types = 0;
  std::map<std::string, std::string> settings;  ///< what was set for this run: text by name
  bool complete = false;
  bool stopped = false;  ///< ended in order, if perhaps with losses
  Window window;
  /// The directory that this one goes on from, and how long nothing was recorded in between. "" if there is none.
  struct {
    std::string directory;
    uint64_t gap_ns = 0;
  } continues;
  DrainInfo drain;
  Storage storage;
  std::vector<Device> devices;
  Host host;
  std::vector<FileReport> files;
  CostInfo cost;
  std::vector<Message> messages;
};

/// The manifest as JSON text.
std::string ToJson(const Manifest& manifest);
/// Replaces npuprof/manifest.json atomically. @p keep: as WriteWhole() has it.
Status WriteManifest(const ProfDirectory& directory, const Manifest& manifest, bool keep = false);

}  // namespace npuprof::trace
