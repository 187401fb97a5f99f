// SPDX-License-Identifier: Apache-2.0
// The tables that have rows of tasks: TASK and what belongs to its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/clock.h"
#include "analysis/communication.h"
#include "analysis/device_trace.h"
#include "analysis/host_trace.h"
#include "analysis/overlap.h"
#include "analysis/pmu_columns.h"
#include "analysis/profile.h"
#include "analysis/record_reader.h"
#include "analysis/samples/device_marks.h"
#include "analysis/task_view.h"
#include "database/table_set.h"

namespace npuprof::database {

class TaskRows {
 public:
  TaskRows(const analysis::Profile& profile, analysis::HostTrace* host, const analysis::StringPool& pool,
           TableSet* tables, analysis::Communication* communication, analysis::SpillSpace* space);

  /// What is passed lives until EndDevice(). `columns` is null if there are no counters.
  void BeginDevice(const analysis::DeviceInfo& device, const analysis::DeviceTrace& trace,
                   const analysis::DeviceClock& clock, const analysis::PmuColumns* columns);
  /// In order of start.
  void Add(const analysis::DeviceTask& task);
  void AddMark(uint64_t number, const analysis::DeviceMark& mark);
  /// Writes how computing and communication overlap.
  void EndDevice();
  /// Collectives of all devices.
  void Communicated();

 private:
  /// The number of a task; true if it is the first task with its identifiers, which replays of a graph share.
  std::pair<uint64_t, bool> Number(const analysis::DeviceTask& task);
  void Describe(const analysis::TaskView& view, uint64_t task, bool schedules);
  void Count(const analysis::TaskView& view, uint64_t task);

  analysis::HostTrace* host_;
  const analysis::StringPool& pool_;
  TableSet* tables_;
  analysis::Communication* communication_;
  Strings& strings_;
  uint64_t process_;
  Table &task_, &computed_, &counted_;

  const analysis::DeviceInfo* device_ = nullptr;
  const analysis::DeviceTrace* trace_ = nullptr;
  const analysis::DeviceClock* clock_ = nullptr;
  const analysis::PmuColumns* columns_ = nullptr;
  std::unique_ptr<analysis::RecordLoader> loader_;
  std::vector<std::pair<size_t, int64_t>> counters_;  // column and name
  std::unordered_map<uint64_t, uint64_t> numbers_;    // of the device's tasks, by their identifiers
  analysis::Overlap overlap_;
  uint64_t next_task_ = 0, next_overlap_ = 0;
};

}  // namespace npuprof::database
