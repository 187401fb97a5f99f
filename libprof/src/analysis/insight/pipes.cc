// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/pipes.h"

#include <algorithm>
#include <string_view>

#include "metrics/metrics.h"

namespace npuprof::analysis {
namespace {

// Bytes per second between the cores and main memory, as docs/reference-npu.md has it.
constexpr double kMemoryBytes = 1600e9;
constexpr double kBitsPerByte = 8, kBytesPerKb = 1024;

constexpr std::string_view kCubeOperations = "cube_fops", kVectorOperations = "vector_fops";

struct PipeMetric {
  Pipe pipe;
  std::string_view metric;
};
// The first that is counted tells it all.
constexpr PipeMetric kPipeMetrics[] = {
    {Pipe::kCube, "mac_ratio"},      {Pipe::kCube, "mac_ratio_extra"}, {Pipe::kVector, "vec_ratio"},
    {Pipe::kScalar, "scalar_ratio"}, {Pipe::kMte1, "mte1_ratio"},      {Pipe::kMte1, "mte1_ratio_extra"},
    {Pipe::kMte2, "mte2_ratio"},     {Pipe::kMte3, "mte3_ratio"},      {Pipe::kFixpipe, "fixpipe_ratio"}};
// By precision; together they tell it.
constexpr PipeMetric kPartMetrics[] = {{Pipe::kCube, "mac_fp16_ratio"},    {Pipe::kCube, "mac_int8_ratio"},
                                       {Pipe::kVector, "vec_fp32_ratio"},  {Pipe::kVector, "vec_fp16_ratio"},
                                       {Pipe::kVector, "vec_int32_ratio"}, {Pipe::kVector, "vec_misc_ratio"}};

template <typename Visit>
void EachMetric(Visit visit) {
  for (const auto* groups : {&A2().groups, &A2().recorded}) {
    for (const auto& group : *groups) {
      for (const Metric& metric : group.metrics) visit(metric);
    }
  }
}

const Metric* Find(std::string_view name) {
  const Metric* found = nullptr;
  EachMetric([&](const Metric& metric) {
    if (!found && metric.name == name) found = &metric;
  });
  return found;
}

// Operations per cycle of the unit: what the first event of the cube is, fp16, and the widest of the vector unit.
double PerCycle(std::string_view name) {
  const Metric* metric = Find(name);
  if (!metric || metric->terms.empty()) return 0;
  if (name == kCubeOperations) return metric->terms.front().factor;
  double most = 0;
  for (const auto& term : metric->terms) most = std::max(most, term.factor);
  return most;
}

double PerSecond(double mhz, unsigned cores, double per_cycle) {
  return mhz * 1e6 * cores * per_cycle;
}

}  // namespace

Peaks PeaksOf(const DeviceInfo& device) {
  return {PerSecond(device.cube_mhz, device.cube_cores, PerCycle(kCubeOperations)),
          PerSecond(device.vector_mhz, device.vector_cores, PerCycle(kVectorOperations)), kMemoryBytes};
}

Pipes::Pipes(const DeviceInfo& device) {
  for (const CoreSide which : {CoreSide::kCube, CoreSide::kVector}) {
    const bool cube = which == CoreSide::kCube;
    Side& side = sides_[cube ? 0 : 1];
    const auto& list = cube ? device.cube_events : device.vector_events;
    // Nothing if an event of the metric is not counted.
    const auto terms = [&](const Metric& metric, double scale) {
      Terms out;
      if (!(cube ? metric.cube : metric.vector)) return out;
      for (const auto& term : metric.terms) {
        const auto it = std::find(list.begin(), list.end(), term.event);
        const auto counter = static_cast<size_t>(it - list.begin());
        if (it == list.end() || counter >= 8) return Terms();
        out.push_back({counter, term.factor * scale});
      }
      return out;
    };
    const auto append = [](Terms* to, const Terms& what) { to->insert(to->end(), what.begin(), what.end()); };
    const auto counted = [&](std::string_view name) {
      Terms found;
      EachMetric([&](const Metric& metric) {
        if (found.empty() && metric.name == name) found = terms(metric, 1);
      });
      return found;
    };
    for (const auto& [pipe, name] : kPipeMetrics) {
      Terms& busy = side.busy[static_cast<size_t>(pipe)];
      if (busy.empty()) busy = counted(name);
    }
    std::array<Terms, kPipes> parts;
    for (const auto& [pipe, name] : kPartMetrics) append(&parts[static_cast<size_t>(pipe)], counted(name));
    for (size_t pipe = 0; pipe < kPipes; ++pipe) {
      if (side.busy[pipe].empty()) side.busy[pipe] = parts[pipe];
    }
    if (const Metric* metric = Find(cube ? kCubeOperations : kVectorOperations))
      side.operations = terms(*metric, 1);
    // A cube that only tells when it was busy was so at the pace of fp16.
    if (cube && side.operations.empty()) {
      for (const Term& term : side.busy[static_cast<size_t>(Pipe::kCube)])
        side.operations.push_back({term.counter, term.factor * PerCycle(kCubeOperations)});
    }
    for (const char* name : {"main_mem_read_bw", "main_mem_write_bw"}) {
      if (const Metric* metric = Find(name)) append(&side.bytes, terms(*metric, 1 / kBitsPerByte));
    }
    if (!side.bytes.empty()) continue;
    for (const char* name : {"read_main_memory_datas", "write_main_memory_datas"}) {
      if (const Metric* metric = Find(name)) append(&side.bytes, terms(*metric, kBytesPerKb));
    }
  }
}

void Pipes::Add(CoreSide which, uint64_t cycles, const std::array<uint64_t, 8>& counters,
                PipeWork* into) const {
  const Side& side = At(which);
  const auto sum = [&](const Terms& terms) {
    double total = 0;
    for (const Term& term : terms) total += static_cast<double>(counters[term.counter]) * term.factor;
    return total;
  };
  into->cycles += static_cast<double>(cycles);
  for (size_t pipe = 0; pipe < kPipes; ++pipe) into->busy[pipe] += sum(side.busy[pipe]);
  into->operations += sum(side.operations);
  into->bytes += sum(side.bytes);
}

}  // namespace npuprof::analysis
