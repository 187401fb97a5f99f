// SPDX-License-Identifier: Apache-2.0
// Putting tasks on streams, and what happens when they end.
#include <fmt/format.h>

#include <cerrno>
#include <chrono>

#include "acl/acl_base.h"
#include "runtime/core/graph.h"
#include "runtime/core/objects.h"
#include "runtime/core/reporting.h"

namespace npusim {
namespace {

struct TaskNode {
  Stream* stream;
  Effect effect;
};

class Completion final : public TaskListener {
 public:
  void OnEnded(uint32_t, uint64_t cookie, uint64_t ns, int status) override {
    std::unique_ptr<TaskNode> node(reinterpret_cast<TaskNode*>(cookie));
    node->effect.Apply(ns, status);
    node->stream->TaskEnded(status);
  }
};

Completion& Listener() {
  static auto* listener = new Completion;  // tasks may end while the process exits
  return *listener;
}

}  // namespace

void Stamp::Finish(uint64_t at, int result) {
  std::lock_guard lock(mutex);
  ns = at;
  status = result;
  done = true;
  changed.notify_all();
}

void Stamp::Wait() {
  if (Host::forked()) return;  // whoever would finish it is not in this process
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return done; });
}

uint16_t Stream::NextTask() {
  if (next_task > 0xffff) {
    next_task = 0;
    flips++;
    npusim_task mark{};
    mark.kind = NPUSIM_TASK_FLIP;
    mark.stream = id;
    mark.flip_count = static_cast<uint16_t>(flips);
    Host::Get().Submit(device->id, mark);
    if (RuntimeSwitches().Any(kTaskTime)) {
      const TrackInfo info{device->id, id, 0, flips, MSPROF_RTS_TASK_FLIP, 0, 0, false, 0, 0};
      ReportTrack(info, MsprofSysCycleTime());
    }
  }
  return static_cast<uint16_t>(next_task++);
}

int Stream::Submit(const npusim_task& task, const Effect& effect) {
  const uint64_t before = submitted.load(std::memory_order_relaxed);
  if (before >= kMaxPending && before - ended.load(std::memory_order_relaxed) >= kMaxPending)
    WaitUntilEnded(before - kMaxPending + 1, -1);
  auto node = std::make_unique<TaskNode>(TaskNode{this, effect});
  npusim_task t = task;
  t.cookie = reinterpret_cast<uint64_t>(node.get());
  submitted.store(before + 1, std::memory_order_relaxed);  // ahead of the end, which may come at once
  const int status = Host::Get().Submit(device->id, t, &Listener());
  if (status == 0) {
    (void)node.release();
    return ACL_SUCCESS;
  }
  submitted.store(before, std::memory_order_relaxed);
  return rtFail(
      status == -EINVAL ? ACL_ERROR_RT_PARAM_INVALID : ACL_ERROR_RT_DEVICE_TASK_ABORT,
      fmt::format("device {} refuses a task of kind {} on stream {}: {}", device->number, task.kind, id,
                  status == -EINVAL       ? "a value is out of range"
                  : status == -EOWNERDEAD ? "it belongs to the process that this one was forked from"
                                          : "the device is gone"));
}

int Stream::Put(const TaskSpec& spec) {
  uint64_t time = 0;
  TrackInfo info{device->id,
                 id,
                 0,
                 0,
                 spec.track_type,
                 spec.kernel,
                 spec.task.block_dim,
                 spec.is_copy,
                 spec.effect.bytes,
                 spec.copy_direction};
  {
    std::unique_lock lock(mutex);
    const bool tracked = RuntimeSwitches().Any(kTaskTime);
    if (Graph* graph = capture.graph) {
      std::lock_guard graph_lock(graph->mutex);
      info.task = graph->Record(capture.index, spec, LaunchingOperator());
      info.stream = graph->sides[capture.index].model->id;
      if (tracked) time = MsprofSysCycleTime();
    } else {
      npusim_task task = spec.task;
      task.stream = id;
      task.task_id = info.task = NextTask();
      info.flips = flips;
      // Under the lock, so that times rise with ids: readers tell rounds of ids apart by time.
      if (tracked) time = MsprofSysCycleTime();
      if (int code = Submit(task, spec.effect); code != ACL_SUCCESS) return code;
    }
  }
  if (time != 0) ReportTrack(info, time);
  return ACL_SUCCESS;
}

int Stream::PutParts(std::vector<npusim_task> parts, uint64_t kernel) {
  TrackInfo info{device->id, id, 0, 0, MSPROF_RTS_TASK_FFTS_PLUS, kernel, 0, false, 0, 0};
  uint64_t time = 0;
  {
    std::unique_lock lock(mutex);
    if (capture.graph != nullptr)
      return rtFail(ACL_ERROR_RT_STREAM_CAPTURED,
                    fmt::format("stream {} captures and takes no FFTS+ tasks", id));
    info.task = NextTask();
    info.flips = flips;
    if (RuntimeSwitches().Any(kTaskTime)) time = MsprofSysCycleTime();
    for (npusim_task& part : parts) {
      part.stream = id;
      part.task_id = info.task;
      if (int code = Submit(part, {}); code != ACL_SUCCESS) return code;
    }
  }
  if (time != 0) ReportTrack(info, time);
  return ACL_SUCCESS;
}

bool Stream::Wait(int32_t timeout_ms) {
  return WaitUntilEnded(submitted.load(), timeout_ms);
}

bool Stream::WaitUntilEnded(uint64_t count, int32_t timeout_ms) {
  if (ended.load() >= count) return true;
  if (Host::forked()) {
    int none = 0;
    failure.compare_exchange_strong(none, -EOWNERDEAD);
    return true;
  }
  std::unique_lock lock(wait_mutex);
  waiters.fetch_add(1);
  auto reached = [&] { return ended.load() >= count; };
  bool done = true;
  if (timeout_ms < 0)
    changed.wait(lock, reached);
  else
    done = changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached);
  waiters.fetch_sub(1);
  return done;
}

void Stream::TaskEnded(int status) {
  int none = 0;
  if (status != 0) failure.compare_exchange_strong(none, status);
  ended.fetch_add(1);
  if (waiters.load() == 0) return;
  std::lock_guard lock(wait_mutex);  // a waiter between its check and its sleep must not miss this
  changed.notify_all();
}

}  // namespace npusim
