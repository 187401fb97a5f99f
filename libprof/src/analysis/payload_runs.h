// SPDX-License-Identifier: Apache-2.0
// Payloads over RDMA: sending one is over long before it is there, and a later task of the collective tells of that.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/communication.h"
#include "analysis/string_pool.h"

namespace npuprof::analysis {

/// A task of a collective as its sums need it.
struct Moment {
  const CollectiveTask* task;
  std::string_view name;
  int64_t end() const { return task->start_ns + task->duration_ns; }
  double milliseconds() const;
  double megabytes() const;
  /// Whether it moves data by a copy engine.
  bool moves() const;
};

/// Payloads that follow each other, from the first until the task that tells that they have arrived.
struct PayloadRun {
  size_t first, count, last;
  double megabytes, milliseconds;
};

/// `tasks` of the collective `name`, in order of start.
std::vector<PayloadRun> PayloadRuns(const std::vector<Moment>& tasks, std::string_view name);

/// Tasks of one collective by start.
std::vector<Moment> InOrder(const std::vector<const CollectiveTask*>& tasks, const StringPool& pool);

/// Whether the task sends a payload.
bool SendsPayload(const CollectiveTask& task);

/// Payloads of one collective that are known to have arrived, and the ms from the first of their run until then.
std::vector<std::pair<const CollectiveTask*, double>> PayloadTimes(
    const Collective& collective, const std::vector<const CollectiveTask*>& tasks, const StringPool& pool);

}  // namespace npuprof::analysis
