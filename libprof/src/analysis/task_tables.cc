// SPDX-License-Identifier: Apache-2.0
#include "analysis/task_tables.h"

#include <algorithm>
#include <utility>

#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

constexpr std::string_view kUnknown = "N/A";

}  // namespace

TaskTimeTable::TaskTimeTable(TablePlace place) : file_(std::move(place)) {
  for (const char* name : {"Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)",
                           "task_start(us)", "task_stop(us)"}) {
    file_.Cell(name);
  }
  file_.EndRow();
}

void TaskTimeTable::Add(const TaskView& view, const StringPool& pool) {
  file_.Number(static_cast<uint64_t>(view.device))
      .Cell(view.track ? pool[view.track->kernel] : kUnknown)
      .Cell(view.kernel_type)
      .Number(view.task->stream)
      .Number(view.task->task)
      .Micros(view.end_ns - view.start_ns)
      .Moment(view.start_ns)
      .Moment(view.end_ns);
  file_.EndRow();
}

OpSummaryTable::OpSummaryTable(TablePlace place, const std::map<int, PmuColumns>& columns)
    : file_(std::move(place)), columns_(columns) {
  for (const char* name : {"Device_id",
                           "Model ID",
                           "Task ID",
                           "Stream ID",
                           "Op Name",
                           "OP Type",
                           "OP State",
                           "Task Type",
                           "Task Start Time(us)",
                           "Task Duration(us)",
                           "Task Wait Time(us)",
                           "Block Num",
                           "Mix Block Num",
                           "HF32 Eligible",
                           "Input Shapes",
                           "Input Data Types",
                           "Input Formats",
                           "Output Shapes",
                           "Output Data Types",
                           "Output Formats",
                           "Context ID"}) {
    file_.Cell(name);
  }
  for (const auto& [device, set] : columns_) {
    for (const auto& name : set.names()) {
      if (std::find(pmu_names_.begin(), pmu_names_.end(), name) == pmu_names_.end())
        pmu_names_.push_back(name);
    }
  }
  for (const auto& [device, set] : columns_) {
    for (const auto& name : pmu_names_) {
      const auto it = std::find(set.names().begin(), set.names().end(), name);
      places_[device].push_back(it == set.names().end() ? kAbsent
                                                        : static_cast<size_t>(it - set.names().begin()));
    }
  }
  for (const auto& name : pmu_names_) file_.Cell(name);
  file_.EndRow();
}

void OpSummaryTable::Add(const TaskView& view, const TaskPmu* pmu, const SideSum& side, double core_mhz,
                         const StringPool& pool) {
  const Operator& op = *view.op;
  file_.Number(static_cast<uint64_t>(view.device))
      .Number(view.model)
      .Number(view.task->task)
      .Number(view.task->stream)
      .Cell(pool[op.name])
      .Cell(pool[op.type])
      .Cell(op.is_static ? "static" : "dynamic")
      .Cell(view.kernel_type)
      .Moment(view.start_ns)
      .Micros(view.end_ns - view.start_ns);
  Wait(view.device, view.start_ns, view.end_ns);
  file_.Number(op.block_num).Number(op.mix_block_num).Cell(op.hf32 ? "YES" : "NO");
  for (const uint32_t id : {op.input_shapes, op.input_types, op.input_formats, op.output_shapes,
                            op.output_types, op.output_formats}) {
    file_.Cell(op.has_tensors ? pool[id] : kUnknown);
  }
  if (view.task->is_subtask) {
    file_.Number(view.task->context);
  } else {
    file_.Cell(kUnknown);
  }
  AddCounters(view, pmu, side, core_mhz);
  file_.EndRow();
}

void OpSummaryTable::Add(const Collective& collective, const StringPool& pool) {
  file_.Number(static_cast<uint64_t>(collective.device))
      .Number(collective.model)
      .Cell(kUnknown)
      .Cell(kUnknown)
      .Cell(collective.label)
      .Cell(pool[collective.type])
      .Cell(kUnknown)
      .Cell("COMMUNICATION")
      .Moment(collective.start_ns)
      .Micros(collective.end_ns - collective.start_ns);
  Wait(collective.device, collective.start_ns, collective.end_ns);
  constexpr size_t kAfterBlocks = 9;  // Mix Block Num to Context ID
  file_.Number(0);
  for (size_t i = 0; i < kAfterBlocks + pmu_names_.size(); ++i) file_.Cell(kUnknown);
  file_.EndRow();
}

void OpSummaryTable::Wait(int device, int64_t start_ns, int64_t end_ns) {
  const bool follows = device == device_;
  file_.Wait(follows ? std::max<int64_t>(start_ns - previous_end_ns_, 0) : 0, follows);
  device_ = device;
  previous_end_ns_ = end_ns;
}

void OpSummaryTable::AddCounters(const TaskView& view, const TaskPmu* pmu, const SideSum& side,
                                 double core_mhz) {
  const auto set = columns_.find(view.device);
  if (set == columns_.end()) {
    for (size_t i = 0; i < pmu_names_.size(); ++i) file_.Cell(kUnknown);
    return;
  }
  const PmuColumns::Task task =
      set->second.Prepare(pmu, side, *view.op, core_mhz, view.end_ns - view.start_ns);
  for (const size_t place : places_[view.device]) {
    if (place == kAbsent) {
      file_.Cell(kUnknown);
    } else {
      set->second.Write(task, place, &file_);
    }
  }
}

void OpStatistic::Add(const TaskView& view) {
  Sum& sum = sums_[{view.device, view.op->type, view.op->task_type}];
  const int64_t duration = view.end_ns - view.start_ns;
  ++sum.count;
  sum.total += duration;
  sum.min = std::min(sum.min, duration);
  sum.max = std::max(sum.max, duration);
}

uint64_t OpStatistic::Write(const TablePlace& place, const StringPool& pool) const {
  std::map<int, int64_t> totals;
  std::vector<decltype(sums_)::const_iterator> order;
  for (auto it = sums_.begin(); it != sums_.end(); ++it) {
    totals[std::get<0>(it->first)] += it->second.total;
    order.push_back(it);
  }
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (a->second.total != b->second.total) return a->second.total > b->second.total;
    const auto& [device_a, type_a, core_a] = a->first;
    const auto& [device_b, type_b, core_b] = b->first;
    if (device_a != device_b) return device_a < device_b;
    return std::pair(pool[type_a], core_a) < std::pair(pool[type_b], core_b);
  });
  CsvFile file(place);
  for (const char* name : {"Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)",
                           "Avg Time(us)", "Max Time(us)", "Ratio(%)"}) {
    file.Cell(name);
  }
  file.EndRow();
  for (const auto& it : order) {
    const auto& [device, type, core] = it->first;
    const Sum& sum = it->second;
    const double total = static_cast<double>(sum.total), all = static_cast<double>(totals[device]);
    file.Number(static_cast<uint64_t>(device))
        .Cell(pool[type])
        .Cell(NodeTaskType(core))
        .Number(sum.count)
        .ShortMicros(sum.total)
        .ShortMicros(sum.min)
        .ShortDecimal(total / static_cast<double>(sum.count) / 1000)
        .ShortMicros(sum.max)
        .ShortDecimal(all > 0 ? total / all * 100 : 0);
    file.EndRow();
  }
  file.Commit();
  return order.size();
}

}  // namespace npuprof::analysis
