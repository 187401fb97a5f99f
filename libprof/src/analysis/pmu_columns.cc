// SPDX-License-Identifier: Apache-2.0
#include "analysis/pmu_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/text.h"

namespace npuprof::analysis {
namespace {

constexpr size_t kCounters = 8;

const char* Prefix(CoreSide side) {
  return side == CoreSide::kCube ? "aic" : "aiv";
}

std::string Unit(const Metric& metric) {
  return metric.unit == "GB/s" || metric.unit == "KB" ? fmt::format("({})", metric.unit) : std::string();
}

bool IsCounted(const Metric& metric, const std::vector<uint32_t>& list) {
  const auto counted = [&](uint32_t event) {
    const auto it = std::find(list.begin(), list.end(), event);
    return it != list.end() && static_cast<size_t>(it - list.begin()) < kCounters;
  };
  return std::all_of(metric.terms.begin(), metric.terms.end(),
                     [&](const auto& t) { return counted(t.event); }) &&
         (metric.per != Per::kEvent || counted(metric.per_event));
}

// What else can be computed from the counters, of groups that have the name on either kind of core.
void AddOthers(const std::string& group_name, const std::vector<uint32_t>& list,
               std::vector<const Metric*>* metrics) {
  for (const auto* groups : {&A2().groups, &A2().recorded}) {
    for (const auto& group : *groups) {
      if (group.cube.name != group_name && group.vector.name != group_name) continue;
      for (const auto& metric : group.metrics) {
        const bool present = std::any_of(metrics->begin(), metrics->end(),
                                         [&](const Metric* other) { return other->name == metric.name; });
        if (!present && IsCounted(metric, list)) metrics->push_back(&metric);
      }
    }
  }
}

}  // namespace

PmuColumns::PmuColumns(const DeviceInfo& device, Diagnostics* diagnostics, Metrics metrics)
    : device_(device) {
  AddSide(CoreSide::kCube, metrics, diagnostics);
  const bool has_cube = !columns_.empty();
  AddSide(CoreSide::kVector, metrics, diagnostics);
  if (has_cube) Add(Kind::kCubeUtilization, CoreSide::kCube, "cube_utilization(%)");
}

const std::vector<uint32_t>& PmuColumns::events(CoreSide side) const {
  return side == CoreSide::kCube ? device_.cube_events : device_.vector_events;
}

void PmuColumns::Add(Kind kind, CoreSide side, std::string name, const Metric* metric, size_t counter) {
  Column column{kind, side, metric, counter, {}};
  if (metric) {
    const auto& list = events(side);
    const auto place = [&](uint16_t event) {
      return static_cast<size_t>(std::find(list.begin(), list.end(), event) - list.begin());
    };
    for (const auto& term : metric->terms) column.terms.emplace_back(place(term.event), term.factor);
    if (metric->per == Per::kEvent) column.counter = place(metric->per_event);
  }
  columns_.push_back(std::move(column));
  names_.push_back(std::move(name));
}

void PmuColumns::AddSide(CoreSide side, Metrics wanted, Diagnostics* diagnostics) {
  const bool cube = side == CoreSide::kCube;
  const std::string& group_name = cube ? device_.cube_metrics : device_.vector_metrics;
  const auto& list = events(side);
  if (group_name.empty() || list.empty()) return;
  const std::string prefix = Prefix(side);
  const auto add_common = [&] {
    Add(Kind::kTime, side, cube ? "aicore_time(us)" : "aiv_time(us)");
    Add(Kind::kCycles, side, prefix + "_total_cycles");
  };
  if (group_name.starts_with("Custom")) {
    add_common();
    for (size_t i = 0; i < std::min(list.size(), kCounters); ++i) {
      const auto& known = A2().events;
      const auto it =
          std::find_if(known.begin(), known.end(), [&](const auto& e) { return e.first == list[i]; });
      Add(Kind::kCounter, side,
          it != known.end() ? fmt::format("{}_{}", prefix, it->second)
                            : fmt::format("{}_{:#x}", prefix, list[i]),
          nullptr, i);
    }
    return;
  }
  bool known = false, complete = true;
  std::vector<const Metric*> metrics;
  for (const auto* groups : {&A2().groups, &A2().recorded}) {
    if (known) break;
    for (const auto& group : *groups) {
      if ((cube ? group.cube.name : group.vector.name) != group_name) continue;
      known = true;
      for (const auto& metric : group.metrics) {
        if (!(cube ? metric.cube : metric.vector)) continue;
        const bool usable = IsCounted(metric, list);
        if (usable) metrics.push_back(&metric);
        complete &= usable;
      }
    }
  }
  const std::string file = device_.directory + "/sample.json";
  if (!known) {
    diagnostics->Warn(file,
                      fmt::format("metric group \"{}\" of {} cores is unknown; its counters are not shown",
                                  group_name, cube ? "cube" : "vector"));
    return;
  }
  if (!complete) {
    diagnostics->Warn(file,
                      fmt::format("the events listed for {} cores do not suffice for every metric of {}",
                                  cube ? "cube" : "vector", group_name));
  }
  if (wanted == Metrics::kEvery) AddOthers(group_name, list, &metrics);
  add_common();
  for (const Metric* metric : metrics) {
    if (!metric->time.empty()) {
      Add(Kind::kMetricTime, side, fmt::format("{}_{}(us)", prefix, metric->time), metric);
    }
    Add(Kind::kMetric, side, fmt::format("{}_{}{}", prefix, metric->name, Unit(*metric)), metric);
  }
}

double PmuColumns::Value(const Row& row, const Column& column) const {
  if (!row.counters) return 0;
  const auto counter = [&](size_t place) { return static_cast<double>((*row.counters)[place]); };
  double sum = 0;
  for (const auto& [place, factor] : column.terms) sum += counter(place) * factor;
  double divisor = 1;
  switch (column.metric->per) {
    case Per::kNone:
      return sum;
    case Per::kCycles:
      divisor = row.cycles;
      break;
    case Per::kSeconds: {
      const double mhz = column.side == CoreSide::kCube ? device_.cube_mhz : device_.vector_mhz;
      divisor = mhz > 0 ? row.cycles / (mhz * 1e6) * std::exp2(33) : 0;
      break;
    }
    case Per::kEvent:
      divisor = counter(column.counter);
      break;
  }
  return divisor > 0 ? sum / divisor : 0;
}

PmuColumns::Row PmuColumns::RowOf(CoreSide which, const TaskPmu& pmu, const SideSum& side, const Operator& op,
                                  double core_mhz) const {
  Row out;
  uint32_t blocks = 0;
  if (which == pmu.side) {
    out.raw_cycles = pmu.cycles;
    out.counters = &pmu.counters;
    blocks = op.block_num;
  } else if (pmu.mixed && side.blocks < op.mix_block_num) {
    // What is there of the other kind is a part; a sum of it would pass for the whole.
    out.unknown = true;
    return out;
  } else if (pmu.mixed && side.blocks > 0) {
    out.raw_cycles = side.cycles;
    out.counters = &side.counters;
    blocks = op.mix_block_num;
  } else {
    return out;
  }
  out.cycles = static_cast<double>(out.raw_cycles);
  const bool cube = which == CoreSide::kCube;
  const unsigned cores = cube ? device_.cube_cores : device_.vector_cores;
  const double mhz = core_mhz > 0 ? core_mhz : cube ? device_.cube_mhz : device_.vector_mhz;
  if (blocks > 0 && cores > 0 && mhz > 0) {
    const double rounds = (blocks + cores - 1) / cores;  // waves of blocks over the cores
    out.microseconds = out.cycles / mhz / blocks * rounds;
  }
  return out;
}

PmuColumns::Task PmuColumns::Prepare(const TaskPmu* pmu, const SideSum& side, const Operator& op,
                                     double core_mhz, int64_t duration_ns) const {
  Task task;
  if (!pmu) return task;
  task.counted = true;
  task.duration_ns = duration_ns;
  for (const CoreSide which : {CoreSide::kCube, CoreSide::kVector})
    task.rows[static_cast<size_t>(which)] = RowOf(which, *pmu, side, op, core_mhz);
  return task;
}

void PmuColumns::Write(const Task& task, size_t index, CsvFile* file) const {
  const Column& column = columns_[index];
  const Row& row = task.rows[static_cast<size_t>(column.side)];
  if (!task.counted || row.unknown) {
    file->Cell("N/A");
    return;
  }
  switch (column.kind) {
    case Kind::kTime:
      file->Decimal(row.microseconds);
      break;
    case Kind::kCycles:
      file->Number(row.raw_cycles);
      break;
    case Kind::kMetric: {
      const double value = Value(row, column);
      if (column.metric->unit == "count" || column.metric->unit == "operations") {
        file->Whole(value);
      } else {
        file->Decimal(value);
      }
      break;
    }
    case Kind::kMetricTime:
      file->Decimal(row.microseconds * Value(row, column));
      break;
    case Kind::kCounter:
      file->Number(row.counters ? (*row.counters)[column.counter] : 0);
      break;
    case Kind::kCubeUtilization: {
      const double capacity =
          device_.cube_mhz * device_.cube_cores * static_cast<double>(task.duration_ns) / 1000;
      file->Fixed(capacity > 0 ? row.cycles / capacity * 100 : 0.0);
      break;
    }
  }
}

std::vector<std::pair<size_t, std::string>> PmuColumns::SingleSided() const {
  std::vector<std::pair<size_t, std::string>> columns;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (column.kind == Kind::kCubeUtilization) continue;
    std::string name =
        column.kind == Kind::kTime ? fmt::format("{}_total_time", Prefix(column.side)) : names_[i];
    if (name.ends_with("(us)")) name.resize(name.size() - 4);
    columns.emplace_back(i, std::move(name));
  }
  return columns;
}

std::optional<double> PmuColumns::Number(const Task& task, size_t index) const {
  const Column& column = columns_[index];
  const Row& row = task.rows[static_cast<size_t>(column.side)];
  if (!task.counted || row.unknown) return std::nullopt;
  switch (column.kind) {
    case Kind::kTime:
      return row.microseconds * 1000;
    case Kind::kCycles:
      return static_cast<double>(row.raw_cycles);
    case Kind::kMetric:
      return Value(row, column);
    case Kind::kMetricTime:
      return row.microseconds * 1000 * Value(row, column);
    case Kind::kCounter:
      return row.counters ? static_cast<double>((*row.counters)[column.counter]) : 0;
    case Kind::kCubeUtilization:
      break;
  }
  return std::nullopt;
}

}  // namespace npuprof::analysis
