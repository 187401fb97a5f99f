// SPDX-License-Identifier: Apache-2.0
// From a PROF_* directory to the published tables and the timeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/columns.h"
#include "analysis/profile.h"

namespace npuprof::analysis {

/// Formats an export can write: "csv" (tables), "json" (timeline, opens in Perfetto and chrome://tracing) and "perfetto"
/// (timeline in Perfetto's own form, a fraction of the size).
const std::vector<std::string>& KnownFormats();
/// What is written unless told otherwise: what the vendor's analysis writes.
const std::vector<std::string>& DefaultFormats();
/// Tables of format "csv": op_summary, op_statistic, task_time, api_statistic, step_trace, and those of sampled data.
const std::vector<std::string>& KnownTables();

struct ExportOptions {
  std::filesystem::path output;      ///< created if absent; empty: <PROF>/mindstudio_profiler_output
  std::vector<std::string> formats;  ///< empty: DefaultFormats()
  std::vector<std::string> tables;   ///< empty: all known
  uint64_t memory = 0;  ///< bytes of records held before temporary files in `output` are; 0: 48 MiB
  uint64_t timeline_bytes =
      1'000'000'000;      ///< a timeline of format "json" that is larger becomes several files
  std::string timestamp;  ///< 14 digits for the file names; empty: now, local time
  /// Called now and then from the exporting thread. `done` and `total` count bytes of raw records; total may
  /// be 0.
  std::function<void(const std::string& stage, uint64_t done, uint64_t total)> progress;
  /// Called often from the exporting thread. What it throws ends the export, and nothing of that stays behind.
  std::function<void()> check;
};

/// What the raw records of one device held and what became of them.
struct DeviceCounts {
  int device = 0;
  uint64_t task_starts = 0;    ///< start records
  uint64_t task_ends = 0;      ///< end records
  uint64_t tasks = 0;          ///< start/end pairs, sub-tasks of fused tasks not counted
  uint64_t unpaired = 0;       ///< starts without end and ends without start
  uint64_t tracked = 0;        ///< tasks that the host also reported
  uint64_t operators = 0;      ///< tasks that are operators: rows of op_summary
  uint64_t pmu_records = 0;    ///< task-level counter records
  uint64_t pmu_matched = 0;    ///< of these, joined to a task
  uint64_t block_records = 0;  ///< block-level counter records
};

/// A table or layer that could not be made, or a part or record file that could not be used.
struct ExportFailure {
  std::string
      tables;  ///< one or more of KnownTables(), or "timeline", or a path relative to the PROF directory
  std::string text;  ///< reason, with the part of the directory that is concerned
};

struct ExportResult {
  std::vector<std::filesystem::path> files;  ///< in the order written
  /// Per table; of "timeline", "step_trace (json)" and "msprof_tx (json)" events.
  std::map<std::string, uint64_t> rows;
  std::vector<DeviceCounts> devices;
  bool simulated = false;
  std::vector<Loss> losses;       ///< from the manifest: records that never reached the files
  uint64_t broken_records = 0;    ///< in the files, but unreadable; see warnings
  std::vector<Warning> warnings;  ///< includes those of the Profile
  /// What is missing in spite of its records, or with them; all else is there. Parts and files are among the warnings too.
  std::vector<ExportFailure> failures;
  /// Record files that hold something which no table and no layer of the timeline shows; known only if everything
  /// was exported.
  std::vector<std::string> not_exported;
};

/// Exports `profile`. Tables without rows are not written; those of more than a million are several files. A table
/// that cannot be made, or a file that cannot be written, costs only itself, and is in the failures. Throws Error if an option is
/// unknown, if nothing at all can be written, or if memory or room on the disk is short; no file of an earlier export is changed except README.txt, and no half-written file
/// stays behind under its final name. Beyond ExportOptions::memory, what is kept of tasks and names is in temporary files,
/// about 400 bytes a task; tables alone do not need more memory for more tasks.
ExportResult Export(const Profile& profile, const ExportOptions& options);

/// What `warnings` say of parts and files, as failures, if it is not among them.
void AddFailures(const std::vector<Warning>& warnings, std::vector<ExportFailure>* failures);

struct LoadedTables {
  ColumnTables tables;  ///< those with rows
  ExportResult result;  ///< without files
};

/// The tables of `profile` in memory: those named, or all that can be made if none is. Throws Error as Export() does, and if
/// one of those named cannot be made.
LoadedTables LoadTables(const Profile& profile, const std::vector<std::string>& tables,
                        const std::function<void()>& check = {});

}  // namespace npuprof::analysis
