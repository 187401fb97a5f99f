// SPDX-License-Identifier: Apache-2.0
// The counter columns of op_summary, computed from the chip's metric table.
#pragma once

#include <string>
#include <vector>

#include "analysis/device_trace.h"
#include "analysis/diagnostics.h"
#include "analysis/profile.h"
#include "metrics/metrics.h"

namespace npuprof::analysis {

class PmuColumns {
 public:
  /// Columns that the counters of `device` allow. Unknown group names give none, and a warning.
  PmuColumns(const DeviceInfo& device, Diagnostics* diagnostics);

  /// Names in published order, each with its unit.
  const std::vector<std::string>& names() const { return names_; }

  /// Cells in the order of names(). `pmu` is null for tasks without counters: every cell is N/A then.
  /// `core_mhz` is the core clock at the task, 0 = nominal. `duration_ns` is that of the task.
  std::vector<std::string> Cells(const TaskPmu* pmu, const SideSum& side, const Operator& op, double core_mhz,
                                 int64_t duration_ns) const;

 private:
  enum class Kind { kTime, kCycles, kMetric, kMetricTime, kCounter, kCubeUtilization };
  struct Column {
    Kind kind;
    CoreSide side;
    const Metric* metric = nullptr;
    size_t counter = 0;
  };
  struct Row {  // what one kind of core did for the task
    double cycles = 0, microseconds = 0;
    uint64_t raw_cycles = 0;
    const std::array<uint64_t, 8>* counters = nullptr;
    bool unknown = false;
  };
  void AddSide(CoreSide side, Diagnostics* diagnostics);
  void Add(Kind kind, CoreSide side, std::string name, const Metric* metric = nullptr, size_t counter = 0);
  const std::vector<uint32_t>& events(CoreSide side) const;
  double Counter(const Row& row, CoreSide side, uint16_t event) const;
  double Value(const Row& row, CoreSide side, const Metric& metric) const;

  DeviceInfo device_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

}  // namespace npuprof::analysis
