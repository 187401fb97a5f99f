// SPDX-License-Identifier: Apache-2.0
// The counter columns of op_summary, computed from the chip's metric table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/device_trace.h"
#include "analysis/diagnostics.h"
#include "analysis/profile.h"
#include "analysis/text.h"
#include "metrics/metrics.h"

namespace npuprof::analysis {

class PmuColumns {
 public:
  /// Columns that the counters of `device` allow. Unknown group names give none, and a warning.
  /// Tables leave out what says nothing about a kind of core, such as matrix units of vector cores; with kEvery, which is
  /// what databases have, it is there.
  enum class Metrics { kTelling, kEvery };
  PmuColumns(const DeviceInfo& device, Diagnostics* diagnostics, Metrics metrics = Metrics::kTelling);

  /// Names in published order, each with its unit.
  const std::vector<std::string>& names() const { return names_; }

  /// What one kind of core did for a task.
  struct Row {
    double cycles = 0, microseconds = 0;
    uint64_t raw_cycles = 0;
    const std::array<uint64_t, 8>* counters = nullptr;
    bool unknown = false;
  };
  /// What the columns of one task are computed from. Valid as long as what it was made from.
  struct Task {
    bool counted = false;
    Row rows[2];  ///< by CoreSide
    int64_t duration_ns = 0;
  };
  /// `pmu` is null for tasks without counters. `core_mhz` is the core clock at the task, 0 = nominal. `duration_ns` is
  /// that of the task.
  Task Prepare(const TaskPmu* pmu, const SideSum& side, const Operator& op, double core_mhz,
               int64_t duration_ns) const;
  /// Writes the cell of names()[column]; N/A if the task has no counters.
  void Write(const Task& task, size_t column, CsvFile* file) const;

  /// Columns that belong to one kind of core, by their names without the unit of a time.
  std::vector<std::pair<size_t, std::string>> SingleSided() const;
  /// The unrounded value of such a column, times in nanoseconds; nothing if it is not known.
  std::optional<double> Number(const Task& task, size_t column) const;

 private:
  enum class Kind { kTime, kCycles, kMetric, kMetricTime, kCounter, kCubeUtilization };
  struct Column {
    Kind kind;
    CoreSide side;
    const Metric* metric = nullptr;
    size_t counter = 0;                            ///< of kCounter, or what Per::kEvent divides by
    std::vector<std::pair<size_t, double>> terms;  ///< counter and factor
  };
  void AddSide(CoreSide side, Metrics metrics, Diagnostics* diagnostics);
  void Add(Kind kind, CoreSide side, std::string name, const Metric* metric = nullptr, size_t counter = 0);
  const std::vector<uint32_t>& events(CoreSide side) const;
  Row RowOf(CoreSide which, const TaskPmu& pmu, const SideSum& side, const Operator& op,
            double core_mhz) const;
  double Value(const Row& row, const Column& column) const;

  DeviceInfo device_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

}  // namespace npuprof::analysis
