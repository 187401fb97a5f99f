// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_base.h"
#include "runtime/core/reporting.h"

namespace npusim {
namespace {

constexpr uint16_t kFirstGraphId = 10001;  // above the ids of loaded models

struct Registry {
  std::mutex mutex;
  std::list<std::shared_ptr<Graph>> graphs;
  uint16_t next_id = kFirstGraphId;
};

Registry& Graphs() {
  static auto* registry = new Registry;
  return *registry;
}

std::shared_ptr<Graph> Find(void* handle) {
  std::lock_guard lock(Graphs().mutex);
  for (auto& g : Graphs().graphs)
    if (g.get() == handle) return g;
  rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("{} is no captured graph, or it was destroyed", handle));
  return nullptr;
}

TaskSpec TieSpec(npusim_task_kind kind, uint32_t event) {
  TaskSpec spec;
  spec.task.kind = kind;
  spec.task.sync_id = event;
  spec.task.peer = NPUSIM_LOCAL;
  spec.track_type =
      kind == NPUSIM_TASK_EVENT_WAIT ? MSPROF_RTS_TASK_EVENT_WAIT : MSPROF_RTS_TASK_EVENT_RECORD;
  return spec;
}

RtApi ApiOf(uint64_t track_type) {
  switch (track_type) {
    case MSPROF_RTS_TASK_KERNEL_AICPU:
      return RtApi::kCpuKernelLaunch;
    case MSPROF_RTS_TASK_EVENT_RECORD:
      return RtApi::kEventRecord;
    case MSPROF_RTS_TASK_EVENT_WAIT:
      return RtApi::kStreamWaitEvent;
    case MSPROF_RTS_TASK_NOTIFY_RECORD:
      return RtApi::kNotifyRecord;
    case MSPROF_RTS_TASK_NOTIFY_WAIT:
      return RtApi::kNotifyWait;
    case MSPROF_RTS_TASK_MEMCPY_ASYNC:
      return RtApi::kMemCopyAsync;
    case MSPROF_RTS_TASK_MEMSET_ASYNC:
      return RtApi::kMemSetAsync;
    case MSPROF_RTS_TASK_REDUCE_ASYNC_V2:
      return RtApi::kReduceAsync;
    default:
      return RtApi::kKernelLaunch;
  }
}

TrackInfo TrackOf(const Graph& g, const Graph::Recorded& r) {
  return {g.device->id,     g.sides[r.side].model->id,
          r.task.task_id,   0,
          r.track_type,     r.kernel,
          r.task.block_dim, r.is_copy,
          r.effect.bytes,   r.copy_direction};
}

void Describe(const Graph& g) {
  for (const auto& side : g.sides)
    ReportCapture(true, side.model->id, side.origin_id, g.id, static_cast<uint16_t>(g.device->id));
  for (const auto& r : g.tasks) {
    const RtOperator* op = r.op < 0 ? nullptr : &g.ops[static_cast<size_t>(r.op)];
    Span launch(op != nullptr && GraphEngineSwitches().Any(kTaskTime), MSPROF_REPORT_NODE_LEVEL,
                MSPROF_REPORT_NODE_LAUNCH_TYPE, op == nullptr ? 0 : op->name);
    if (RuntimeSwitches().Any(kTaskTime)) {
      RtSpan span(ApiOf(r.track_type), true);
      ReportTrack(TrackOf(g, r), MsprofSysCycleTime());
    }
    const uint64_t end = launch.End();
    if (end != 0 && GraphEngineSwitches().Any(kTaskDetail)) ReportNode(*op, end);
  }
}

// Gives back what a graph holds; its replays have ended.
void Release(Graph& g) {
  for (auto& side : g.sides) {
    side.model->Wait(-1);
    side.model->alive.store(false);
  }
  std::lock_guard lock(g.device->mutex);
  g.device->events.Give(g.begin_event);
  g.device->events.Give(g.end_event);
}

}  // namespace

bool Graph::Join(Stream* stream) {
  Stream* model;
  {
    std::lock_guard lock(device->mutex);
    model = device->NewStream(stream->context);
  }
  if (model == nullptr) return false;
  sides.push_back({stream, stream->id, model, 0, {}});
  stream->capture = {this, sides.size() - 1};
  if (RuntimeSwitches().Any(kTaskTime))
    ReportCapture(true, model->id, stream->id, id, static_cast<uint16_t>(device->id));
  return true;
}

uint16_t Graph::Record(size_t side, const TaskSpec& spec, const RtOperator* op) {
  Recorded r{side,        spec.task,    spec.effect,         spec.track_type,
             spec.kernel, spec.is_copy, spec.copy_direction, -1};
  if (r.effect.kind == Effect::kStamp) r.effect = {};
  r.task.stream = sides[side].model->id;
  {
    std::lock_guard lock(sides[side].model->mutex);
    r.task.task_id = sides[side].model->NextTask();
  }
  if (op != nullptr) {
    r.op = static_cast<int>(ops.size());
    ops.push_back(*op);
  }
  sides[side].tasks++;
  tasks.push_back(std::move(r));
  return tasks.back().task.task_id;
}

void Graph::Order(size_t side, size_t other, size_t position) {
  auto& seen = sides[side].seen;
  seen.resize(sides.size());
  seen[other] = std::max(seen[other], position);
  // What the other side waited for is ordered too.
  const auto& through = sides[other].seen;
  for (size_t i = 0; i < through.size(); i++)
    if (i != side) seen[i] = std::max(seen[i], through[i]);
}

void DescribeLiveGraphs() {
  std::list<std::shared_ptr<Graph>> graphs;
  {
    std::lock_guard lock(Graphs().mutex);
    graphs = Graphs().graphs;
  }
  for (auto& g : graphs)
    if (!g->capturing) Describe(*g);
}

void DropGraphs(Device* device) {
  std::list<std::shared_ptr<Graph>> dropped;
  {
    std::lock_guard lock(Graphs().mutex);
    for (auto it = Graphs().graphs.begin(); it != Graphs().graphs.end();) {
      auto next = std::next(it);
      if ((*it)->device == device) dropped.splice(dropped.end(), Graphs().graphs, it);
      it = next;
    }
  }
  for (auto& g : dropped) {
    for (auto& side : g->sides)
      if (side.origin != nullptr) side.origin->capture = {};
    Release(*g);
  }
}

}  // namespace npusim

using namespace npusim;

int rtCaptureBegin(void* stream) {
  RtSpan span(RtApi::kCaptureBegin, true);
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  if (s == s->context->default_stream)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID, "the default stream of a context cannot capture");
  auto graph = std::make_shared<Graph>();
  graph->device = s->device;
  {
    std::lock_guard lock(s->device->mutex);
    if (!s->device->events.Take(&graph->begin_event) || !s->device->events.Take(&graph->end_event))
      return rtFail(ACL_ERROR_RT_NO_MODEL_RESOURCE,
                    fmt::format("device {} has no event left", s->device->number));
  }
  {
    std::lock_guard lock(Graphs().mutex);
    graph->id = Graphs().next_id++;
  }
  {
    std::lock_guard lock(s->mutex);
    if (s->capture.graph != nullptr)
      return rtFail(ACL_ERROR_RT_STREAM_CAPTURED, fmt::format("stream {} captures already", s->id));
    std::lock_guard graph_lock(graph->mutex);
    if (!graph->Join(s))
      return rtFail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                    fmt::format("device {} has no stream left", s->device->id));
  }
  {
    std::lock_guard lock(Graphs().mutex);
    Graphs().graphs.push_back(graph);
  }
  return s->Put(TieSpec(NPUSIM_TASK_EVENT_WAIT, graph->begin_event));
}

int rtCaptureInfo(void* stream, void** graph) {
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  std::lock_guard lock(s->mutex);
  *graph = s->capture.graph;
  return ACL_SUCCESS;
}

int rtCaptureEnd(void* stream, void** handle) {
  RtSpan span(RtApi::kCaptureEnd, true);
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  Graph* g = s->capture.graph;
  if (g == nullptr)
    return rtFail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, fmt::format("stream {} does not capture", s->id));
  if (s->capture.index != 0)
    return rtFail(ACL_ERROR_RT_STREAM_UNJOINED,
                  fmt::format("the capture began on stream {}, not on {}", g->sides[0].origin_id, s->id));
  {
    std::lock_guard lock(g->mutex);
    g->sides[0].seen.resize(g->sides.size());
    for (size_t i = 1; i < g->sides.size(); i++)
      if (g->sides[0].seen[i] < g->sides[i].tasks)
        return rtFail(
            ACL_ERROR_RT_STREAM_UNJOINED,
            fmt::format("stream {} must be joined: record an event on it and let stream {} wait for it",
                        g->sides[i].origin_id, s->id));
  }
  if (code = s->Put(TieSpec(NPUSIM_TASK_EVENT_RECORD, g->end_event)); code != ACL_SUCCESS) return code;
  for (auto& side : g->sides) {
    std::lock_guard lock(side.origin->mutex);
    side.origin->capture = {};
  }
  std::lock_guard lock(g->mutex);
  for (auto& side : g->sides) side.origin = nullptr;
  g->capturing = false;
  *handle = g;
  return ACL_SUCCESS;
}

int rtGraphExecute(void* handle, void* stream) {
  RtSpan span(RtApi::kModelExecute, true);
  auto g = Find(handle);
  if (g == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  if (s->device != g->device)
    return rtFail(ACL_ERROR_RT_STREAM_MODEL,
                  fmt::format("the graph was captured on device {}, stream {} is on {}", g->device->number,
                              s->id, s->device->number));
  if (s->capture.graph != nullptr)
    return rtFail(ACL_ERROR_RT_STREAM_CAPTURED,
                  fmt::format("stream {} captures and cannot execute a graph", s->id));
  if (g->capturing) return rtFail(ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured");
  std::lock_guard lock(g->replay_mutex);
  if (code = s->Put(TieSpec(NPUSIM_TASK_EVENT_RECORD, g->begin_event)); code != ACL_SUCCESS) return code;
  for (const auto& r : g->tasks) {
    Stream* model = g->sides[r.side].model;
    std::lock_guard model_lock(model->mutex);
    if (code = model->Submit(r.task, r.effect); code != ACL_SUCCESS) return code;
  }
  return s->Put(TieSpec(NPUSIM_TASK_EVENT_WAIT, g->end_event));
}

int rtGraphDestroy(void* handle) {
  auto g = Find(handle);
  if (g == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  if (g->capturing) return rtFail(ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured");
  std::lock_guard lock(g->replay_mutex);
  {
    std::lock_guard registry_lock(Graphs().mutex);
    Graphs().graphs.remove(g);
  }
  if (RuntimeSwitches().Any(kTaskTime))
    for (auto& side : g->sides)
      ReportCapture(false, 0xffff, side.origin_id, g->id, static_cast<uint16_t>(g->device->id));
  Release(*g);
  return ACL_SUCCESS;
}
