// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/operator_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/metadata.h"
#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

// A pipe that works less than this share of the time limits nothing: what precedes the work does.
constexpr double kIdlePipe = 0.1;

double BytesOfElement(std::string_view type) {
  static const std::map<std::string_view, double> kSizes = {
      {"FLOAT", 4},    {"FLOAT16", 2},     {"INT8", 1},         {"INT32", 4},     {"UINT8", 1},
      {"INT16", 2},    {"UINT16", 2},      {"UINT32", 4},       {"INT64", 8},     {"UINT64", 8},
      {"DOUBLE", 8},   {"BOOL", 1},        {"DT_BF16", 2},      {"DT_INT4", 0.5}, {"COMPLEX64", 8},
      {"HIFLOAT8", 1}, {"FLOAT8_E5M2", 1}, {"FLOAT8_E4M3FN", 1}};
  const auto found = kSizes.find(type);
  return found == kSizes.end() ? 0 : found->second;
}

std::string_view TakeUntil(std::string_view* text, char end) {
  const auto item = text->substr(0, text->find(end));
  text->remove_prefix(std::min(text->size(), item.size() + 1));
  return item;
}

size_t At(Pipe pipe) {
  return static_cast<size_t>(pipe);
}

}  // namespace

double BytesOfTensors(std::string_view shapes, std::string_view types) {
  if (shapes.size() >= 2 && shapes.front() == '"') shapes = shapes.substr(1, shapes.size() - 2);
  double bytes = 0;
  while (!types.empty()) {
    const double each = BytesOfElement(TakeUntil(&types, ';'));
    std::string_view shape = TakeUntil(&shapes, ';');
    if (shape.empty()) continue;
    double elements = 1;
    while (!shape.empty()) elements *= static_cast<double>(ParseUnsigned(TakeUntil(&shape, ',')).value_or(0));
    bytes += elements * each;
  }
  return bytes;
}

double OperatorSums::TensorBytes(const Operator& op) {
  const auto [it, fresh] =
      tensor_bytes_.try_emplace({op.input_shapes, op.input_types, op.output_shapes, op.output_types}, 0);
  if (fresh && op.has_tensors) {
    it->second = BytesOfTensors(pool_[op.input_shapes], pool_[op.input_types]) +
                 BytesOfTensors(pool_[op.output_shapes], pool_[op.output_types]);
  }
  return it->second;
}

void OperatorSums::Add(const TaskView& view, const TaskPmu* pmu, const SideSum& side, int64_t waited_ns) {
  const Operator* op = view.op;
  const uint32_t name = op ? op->name : view.track ? view.track->kernel : 0;
  Sum& sum = sums_[{name, op ? op->type : 0, op ? op->task_type : UINT32_MAX}];
  OperatorSum& out = sum.out;
  if (out.count == 0) {
    out.device = device_.id;
    out.name = pool_[name];
    out.type = op ? pool_[op->type] : "N/A";
    out.core = view.kernel_type;
  }
  const int64_t duration = view.end_ns - view.start_ns;
  ++out.count;
  out.waited_ns += waited_ns;
  out.total_ns += duration;
  out.min_ns = std::min(out.min_ns, duration);
  out.max_ns = std::max(out.max_ns, duration);
  if (op) sum.tensor_bytes += TensorBytes(*op);
  if (!pmu) return;
  ++counted_;
  ++out.counted;
  sum.counted_ns += duration;
  const bool cube = pmu->side == CoreSide::kCube;
  pipes_.Add(pmu->side, pmu->cycles, pmu->counters, &sum.work[cube ? 0 : 1]);
  if (pmu->mixed && side.blocks > 0) {
    pipes_.Add(cube ? CoreSide::kVector : CoreSide::kCube, side.cycles, side.counters,
               &sum.work[cube ? 1 : 0]);
  }
}

void OperatorSums::Judge(Sum* sum) const {
  OperatorSum& out = sum->out;
  bool has_operations = false;
  double operations = 0, bytes = 0;
  for (const CoreSide which : {CoreSide::kCube, CoreSide::kVector}) {
    const PipeWork& work = sum->work[which == CoreSide::kCube ? 0 : 1];
    if (work.cycles <= 0) continue;
    for (size_t pipe = 0; pipe < kPipes; ++pipe) {
      if (!pipes_.has(which, static_cast<Pipe>(pipe))) continue;
      out.busy[pipe] = std::max(out.busy[pipe].value_or(0), work.busy[pipe] / work.cycles);
    }
    if (pipes_.has_operations(which)) {
      has_operations = true;
      operations += work.operations;
    }
    if (pipes_.has_bytes(which)) {
      out.bytes_counted = true;
      bytes += work.bytes;
    }
  }
  const double counted_s = static_cast<double>(sum->counted_ns) / 1e9;
  double bytes_s = counted_s;  // the time in which the bytes were moved
  if (!out.bytes_counted) {
    bytes = sum->tensor_bytes;
    bytes_s = static_cast<double>(out.total_ns) / 1e9;
  }
  if (bytes > 0) out.bytes = bytes;
  if (has_operations && operations > 0) out.operations = operations;
  if (out.operations && counted_s > 0) out.rate = operations / counted_s;
  if (out.operations && out.bytes) {
    // Operations are those of the counted tasks alone.
    const double share =
        out.bytes_counted ? 1 : static_cast<double>(out.counted) / static_cast<double>(out.count);
    out.intensity = operations / (bytes * share);
    const double peak = sum->work[0].operations > 0 ? peaks_.cube_operations : peaks_.vector_operations;
    out.roof = std::min(peak, *out.intensity * peaks_.memory_bytes);
  }

  const auto busy = [&](Pipe pipe) { return out.busy[At(pipe)].value_or(0); };
  const double traffic = out.bytes && bytes_s > 0 ? bytes / bytes_s / peaks_.memory_bytes : 0;
  const std::array<std::pair<Bound, double>, 4> shares = {
      {{Bound::kCube, busy(Pipe::kCube)},
       {Bound::kVector, busy(Pipe::kVector)},
       {Bound::kMemory,
        std::max({busy(Pipe::kMte1), busy(Pipe::kMte2), busy(Pipe::kMte3), busy(Pipe::kFixpipe), traffic})},
       {Bound::kScalar, busy(Pipe::kScalar)}}};
  const auto most = std::max_element(shares.begin(), shares.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool known =
      std::any_of(out.busy.begin(), out.busy.end(), [](const auto& b) { return b.has_value(); });
  if (out.waited_ns > out.total_ns || (known && most->second < kIdlePipe))
    out.bound = Bound::kLaunch;
  else if (known)
    out.bound = most->first;
}

std::vector<OperatorSum> OperatorSums::Finish(std::array<int64_t, kBounds>* by_bound) {
  std::vector<OperatorSum> out;
  for (auto& [key, sum] : sums_) {
    Judge(&sum);
    (*by_bound)[static_cast<size_t>(sum.out.bound)] += sum.out.total_ns;
    out.push_back(std::move(sum.out));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const OperatorSum& a, const OperatorSum& b) { return a.total_ns > b.total_ns; });
  return out;
}

}  // namespace npuprof::analysis
