// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/overview_builder.h"

#include <algorithm>

namespace npuprof::analysis {

void OverviewBuilder::BeginDevice(int device, int64_t begin_ns, int64_t end_ns) {
  out_.devices.push_back({});
  this->device().device = device;
  this->device().begin_ns = begin_ns;
  this->device().end_ns = end_ns;
  bins_.assign(end_ns > begin_ns ? kBins : 0, {});
}

void OverviewBuilder::Add(const TaskView& view) {
  DeviceOverview& out = device();
  if (bins_.empty()) return;
  const uint32_t name = view.op ? view.op->name : view.track ? view.track->kernel : 0;
  const int64_t length = view.end_ns - view.start_ns;
  const double share =
      static_cast<double>(view.start_ns - out.begin_ns) / static_cast<double>(out.end_ns - out.begin_ns);
  const auto bin = std::min(static_cast<size_t>(std::max(share, 0.0) * kBins), kBins - 1);
  BinOperator& sum = bins_[bin][name];
  sum.name = name;
  ++sum.count;
  sum.total_ns += length;
  if (++tasks_ > most_tasks_) {
    if (!out_.aggregated) {
      for (DeviceOverview& each : out_.devices) each.tasks = {};
    }
    out_.aggregated = true;
    return;
  }
  out.tasks.push_back({view.start_ns, length, name, view.task->stream});
}

void OverviewBuilder::EndDevice() {
  DeviceOverview& out = device();
  for (auto& bin : bins_) {
    std::vector<BinOperator> list;
    for (const auto& [name, sum] : bin) list.push_back(sum);
    std::sort(list.begin(), list.end(), [](const BinOperator& a, const BinOperator& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    if (list.size() > kMostOfBin) {
      BinOperator rest;
      rest.name = kOthers;
      for (size_t i = kMostOfBin; i < list.size(); ++i) {
        rest.count += list[i].count;
        rest.total_ns += list[i].total_ns;
      }
      list.resize(kMostOfBin);
      list.push_back(rest);
    }
    out.bin_operators.push_back(std::move(list));
  }
  bins_.clear();
}

// Only names that are shown get into the overview: a run may have millions.
Overview OverviewBuilder::Finish() {
  std::unordered_map<uint32_t, uint32_t> numbers;
  const auto number = [&](uint32_t* name) {
    const auto [it, fresh] = numbers.try_emplace(*name, static_cast<uint32_t>(out_.names.size()));
    if (fresh) out_.names.emplace_back(*name == kOthers ? std::string_view("(others)") : pool_[*name]);
    *name = it->second;
  };
  for (DeviceOverview& each : out_.devices) {
    if (!out_.aggregated) each.bin_operators.clear();
    for (TaskBar& task : each.tasks) number(&task.name);
    for (auto& bin : each.bin_operators) {
      for (BinOperator& op : bin) number(&op.name);
    }
  }
  return std::move(out_);
}

}  // namespace npuprof::analysis
