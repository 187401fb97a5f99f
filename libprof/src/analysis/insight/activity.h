// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/host_trace.h"
#include "analysis/task_view.h"

namespace npuprof::analysis {

/// What a task means for the question of who keeps the device from computing.
enum class Activity : uint8_t { kNothing, kCompute, kTransfer, kCollectiveWait, kCopy, kWait };

/// Sorts tasks by what they do. Lives as long as the host's trace.
class Activities {
 public:
  explicit Activities(const HostTrace& host) : host_(host) {}
  Activity Of(const TaskView& view);
  /// The collective that the task is part of; null if it is of none.
  const Operator* CollectiveOf(const TaskView& view);

 private:
  const HostTrace& host_;
  std::vector<int32_t> collective_;  ///< by operator set: place in it, -1 none, -2 not looked up yet
};

}  // namespace npuprof::analysis
