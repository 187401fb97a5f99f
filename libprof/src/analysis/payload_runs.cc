// SPDX-License-Identifier: Apache-2.0
#include "analysis/payload_runs.h"

#include <algorithm>

namespace npuprof::analysis {
namespace {

constexpr uint32_t kTransportSdma = 0, kPayload = 1;
constexpr double kMegabyte = 1e6, kMillisecond = 1e6;

}  // namespace

double Moment::milliseconds() const {
  return static_cast<double>(task->duration_ns) / kMillisecond;
}
double Moment::megabytes() const {
  return static_cast<double>(task->transfer.bytes) / kMegabyte;
}
bool Moment::moves() const {
  return (name == "Memcpy" || name == "Reduce_Inline") && task->transfer.transport_type == kTransportSdma;
}

bool SendsPayload(const CollectiveTask& task) {
  return task.transfer.rdma_type == kPayload;
}

std::vector<PayloadRun> PayloadRuns(const std::vector<Moment>& tasks, std::string_view name) {
  const bool pairwise =
      name.find("send") != std::string_view::npos || name.find("receive") != std::string_view::npos;
  const size_t follow = pairwise ? 3 : 5;
  std::vector<PayloadRun> runs;
  for (size_t i = 0; i < tasks.size();) {
    size_t to = i;
    double size = 0;
    while (to < tasks.size() && SendsPayload(*tasks[to].task)) size += tasks[to++].megabytes();
    if (to == i) {
      ++i;
      continue;
    }
    const size_t close = to + follow - 2;
    if (close < tasks.size()) {
      const int64_t time = tasks[close].end() - tasks[i].task->start_ns;
      runs.push_back({i, to - i, close, size, static_cast<double>(time) / kMillisecond});
      i = close + 1;
    } else {
      i = to;
    }
  }
  return runs;
}

std::vector<Moment> InOrder(const std::vector<const CollectiveTask*>& of, const StringPool& pool) {
  std::vector<Moment> tasks;
  for (const CollectiveTask* task : of) tasks.push_back({task, pool[task->transfer.name]});
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Moment& a, const Moment& b) { return a.task->start_ns < b.task->start_ns; });
  return tasks;
}

std::vector<std::pair<const CollectiveTask*, double>> PayloadTimes(
    const Collective& collective, const std::vector<const CollectiveTask*>& of, const StringPool& pool) {
  const std::vector<Moment> tasks = InOrder(of, pool);
  std::vector<std::pair<const CollectiveTask*, double>> times;
  for (const PayloadRun& run : PayloadRuns(tasks, pool[collective.name])) {
    for (size_t i = run.first; i < run.first + run.count; ++i)
      times.emplace_back(tasks[i].task, run.milliseconds);
  }
  return times;
}

}  // namespace npuprof::analysis
