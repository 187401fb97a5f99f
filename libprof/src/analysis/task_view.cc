// SPDX-License-Identifier: Apache-2.0
#include "analysis/task_view.h"

#include <algorithm>

#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

const Operator* ChooseOperator(const HostTrace& host, const Track& track, const DeviceTask& task) {
  if (!(track.flags & Track::kRunsOperator)) return nullptr;
  const auto set = host.Operators(track);
  const Operator* found = nullptr;
  for (const auto& op : set) {
    if (op.task_type == kNodeCommunication) continue;  // collectives are no single task
    const bool names_it =
        std::find(op.contexts.begin(), op.contexts.end(), task.context) != op.contexts.end();
    if (task.is_subtask ? names_it : op.contexts.empty()) return &op;
    if (!found) found = &op;
  }
  return found;
}

}  // namespace

TaskView DescribeTask(HostTrace& host, int device, const DeviceClock& clock, const DeviceTask& task) {
  TaskView view;
  view.device = device;
  view.task = &task;
  view.start_ns = clock.Wall(task.start);
  view.end_ns = clock.Wall(task.end);
  view.model = host.Model(static_cast<uint16_t>(device), task.stream, view.start_ns);
  if (task.track != 0) view.track = &host.track(task.track - 1);
  if (view.track) view.op = ChooseOperator(host, *view.track, task);
  if (view.op) {
    view.kernel_type = NodeTaskType(view.op->task_type);
  } else if (view.track) {
    view.kernel_type = host.type_name(view.track->type);
    view.is_copy = view.track->type == kTaskMemcpyAsync;
  } else {
    view.kernel_type = SqeName(task.sqe);
  }
  return view;
}

}  // namespace npuprof::analysis
