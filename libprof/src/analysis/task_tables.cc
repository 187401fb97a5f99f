// SPDX-License-Identifier: Apache-2.0
#include "analysis/task_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

constexpr const char* kUnknown = "N/A";

}  // namespace

TaskTimeTable::TaskTimeTable(const std::filesystem::path& path) : file_(path) {
  for (const char* name : {"Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)",
                           "task_start(us)", "task_stop(us)"}) {
    file_.Cell(name);
  }
  file_.EndRow();
}

void TaskTimeTable::Add(const TaskView& view, const StringPool& pool) {
  file_.Cell(std::to_string(view.device))
      .Cell(view.track ? pool[view.track->kernel] : kUnknown)
      .Cell(view.kernel_type)
      .Cell(std::to_string(view.task->stream))
      .Cell(std::to_string(view.task->task))
      .Cell(Micros(view.end_ns - view.start_ns))
      .Cell(Micros(view.start_ns) + '\t')
      .Cell(Micros(view.end_ns) + '\t');
  file_.EndRow();
}

OpSummaryTable::OpSummaryTable(const std::filesystem::path& path, const std::map<int, PmuColumns>& columns)
    : file_(path), columns_(columns) {
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
    auto& places = places_[device];
    for (const auto& name : set.names()) {
      const auto it = std::find(pmu_names_.begin(), pmu_names_.end(), name);
      places.push_back(static_cast<size_t>(it - pmu_names_.begin()));
      if (it == pmu_names_.end()) pmu_names_.push_back(name);
    }
  }
  for (const auto& name : pmu_names_) file_.Cell(name);
  file_.EndRow();
}

void OpSummaryTable::Add(const TaskView& view, const TaskPmu* pmu, const SideSum& side, double core_mhz,
                         const StringPool& pool) {
  const Operator& op = *view.op;
  const auto text = [&](uint32_t id) -> const std::string& { return pool[id]; };
  std::string wait = "0";
  if (view.device == device_) {
    const int64_t gap = std::max<int64_t>(view.start_ns - previous_end_ns_, 0);
    wait = Micros(gap) + "000";  // published with six decimals
  }
  device_ = view.device;
  previous_end_ns_ = view.end_ns;
  file_.Cell(std::to_string(view.device))
      .Cell(std::to_string(view.model))
      .Cell(std::to_string(view.task->task))
      .Cell(std::to_string(view.task->stream))
      .Cell(text(op.name))
      .Cell(text(op.type))
      .Cell(op.is_static ? "static" : "dynamic")
      .Cell(view.kernel_type)
      .Cell(Micros(view.start_ns) + '\t')
      .Cell(Micros(view.end_ns - view.start_ns))
      .Cell(wait)
      .Cell(std::to_string(op.block_num))
      .Cell(std::to_string(op.mix_block_num))
      .Cell(op.hf32 ? "YES" : "NO");
  for (const uint32_t id : {op.input_shapes, op.input_types, op.input_formats, op.output_shapes,
                            op.output_types, op.output_formats}) {
    file_.Cell(op.has_tensors ? text(id) : kUnknown);
  }
  file_.Cell(view.task->is_subtask ? std::to_string(view.task->context) : kUnknown);
  std::vector<std::string> cells(pmu_names_.size(), kUnknown);
  const auto set = columns_.find(view.device);
  if (set != columns_.end()) {
    auto values = set->second.Cells(pmu, side, op, core_mhz, view.end_ns - view.start_ns);
    const auto& places = places_[view.device];
    for (size_t i = 0; i < values.size(); ++i) cells[places[i]] = std::move(values[i]);
  }
  for (const auto& cell : cells) file_.Cell(cell);
  file_.EndRow();
}

void OpStatistic::Add(const TaskView& view) {
  Sum& sum = sums_[{view.device, view.op->type, view.op->task_type}];
  const int64_t duration = view.end_ns - view.start_ns;
  ++sum.count;
  sum.total += duration;
  sum.min = std::min(sum.min, duration);
  sum.max = std::max(sum.max, duration);
}

uint64_t OpStatistic::Write(const std::filesystem::path& path, const StringPool& pool) const {
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
    return std::tie(pool[type_a], core_a) < std::tie(pool[type_b], core_b);
  });
  CsvFile file(path);
  for (const char* name : {"Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)",
                           "Avg Time(us)", "Max Time(us)", "Ratio(%)"}) {
    file.Cell(name);
  }
  file.EndRow();
  for (const auto& it : order) {
    const auto& [device, type, core] = it->first;
    const Sum& sum = it->second;
    const double total = static_cast<double>(sum.total), all = static_cast<double>(totals[device]);
    file.Cell(std::to_string(device))
        .Cell(pool[type])
        .Cell(NodeTaskType(core))
        .Cell(std::to_string(sum.count))
        .Cell(ShortMicros(sum.total))
        .Cell(ShortMicros(sum.min))
        .Cell(ShortDecimal(total / static_cast<double>(sum.count) / 1000))
        .Cell(ShortMicros(sum.max))
        .Cell(ShortDecimal(all > 0 ? total / all * 100 : 0));
    file.EndRow();
  }
  file.Commit();
  return order.size();
}

}  // namespace npuprof::analysis
