// SPDX-License-Identifier: Apache-2.0
// The tables that have a row per task or sum tasks up: task_time, op_summary, op_statistic.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/communication.h"
#include "analysis/dictionary.h"
#include "analysis/pmu_columns.h"
#include "analysis/task_view.h"
#include "analysis/text.h"

namespace npuprof::analysis {

/// One row per task.
class TaskTimeTable {
 public:
  explicit TaskTimeTable(TablePlace place);
  void Add(const TaskView& view, const StringPool& pool);
  CsvFile& file() { return file_; }

 private:
  CsvFile file_;
};

/// One row per operator task. Tasks of a device come in order of their start.
class OpSummaryTable {
 public:
  /// `columns` per device id; the header holds their union.
  OpSummaryTable(TablePlace place, const std::map<int, PmuColumns>& columns);
  /// `pmu` is null if the task has no counters.
  void Add(const TaskView& view, const TaskPmu* pmu, const SideSum& side, double core_mhz,
           const StringPool& pool);
  /// Collectives come in between, by their start.
  void Add(const Collective& collective, const StringPool& pool);
  CsvFile& file() { return file_; }

 private:
  /// Time since the row before on the device, whose row ends at `end_ns`.
  void Wait(int device, int64_t start_ns, int64_t end_ns);
  static constexpr size_t kAbsent = SIZE_MAX;
  void AddCounters(const TaskView& view, const TaskPmu* pmu, const SideSum& side, double core_mhz);

  CsvFile file_;
  const std::map<int, PmuColumns>& columns_;
  std::vector<std::string> pmu_names_;
  std::map<int, std::vector<size_t>>
      places_;  // of each column of the table among those of a device, or kAbsent
  int device_ = -1;
  int64_t previous_end_ns_ = 0;
};

/// Operators summed up by device, type and kind of core.
class OpStatistic {
 public:
  void Add(const TaskView& view);
  /// Writes the table, largest total first. Returns the rows.
  uint64_t Write(const TablePlace& place, const StringPool& pool) const;
  bool empty() const { return sums_.empty(); }

 private:
  struct Sum {
    uint64_t count = 0;
    int64_t total = 0, min = INT64_MAX, max = 0;
  };
  std::map<std::tuple<int, uint32_t, uint32_t>, Sum> sums_;  // device, type, task type
};

}  // namespace npuprof::analysis
