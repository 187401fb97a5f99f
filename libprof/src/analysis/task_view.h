// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "analysis/clock.h"
#include "analysis/device_trace.h"
#include "analysis/host_trace.h"

namespace npuprof::analysis {

/// A task with all that is known about it, as the exporters see it. Valid for one call.
struct TaskView {
  int device = 0;
  const DeviceTask* task = nullptr;
  const Track* track = nullptr;  ///< null if the host did not report it
  const Operator* op = nullptr;  ///< null unless it runs an operator
  bool is_copy = false;
  int64_t start_ns = 0, end_ns = 0;  ///< wall clock
  uint32_t model = kNoModel;
  std::string kernel_type;  ///< operator's task type, else the host's, else the scheduler's name
};

/// What is known about a task of `device`, whose clock is `clock`.
TaskView DescribeTask(HostTrace& host, int device, const DeviceClock& clock, const DeviceTask& task);

}  // namespace npuprof::analysis
