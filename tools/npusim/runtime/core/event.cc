// SPDX-License-Identifier: Apache-2.0
// Events and notifies.
#include <fmt/format.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "runtime/core/graph.h"
#include "runtime/core/reporting.h"

namespace npusim {

Event* ResolveEvent(void* handle, int* code) {
  auto* e = static_cast<Event*>(handle);
  if (e != nullptr && e->magic == Event::kMagic) return e;
  *code = rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("{} is no event, or it was destroyed", handle));
  return nullptr;
}

namespace {

TaskSpec SyncSpec(npusim_task_kind kind, uint64_t track, uint32_t sync_id) {
  TaskSpec spec;
  spec.task.kind = kind;
  spec.task.sync_id = sync_id;
  spec.task.peer = NPUSIM_LOCAL;
  spec.track_type = track;
  return spec;
}

// Gives the event a number on the device of @p stream; needs the event's mutex.
int Settle(Event* e, Stream* stream) {
  if (e->device == stream->device) return ACL_SUCCESS;
  if (e->device != nullptr) {
    std::lock_guard lock(e->device->mutex);
    e->device->events.Give(e->sync_id);
  }
  std::lock_guard lock(stream->device->mutex);
  e->device = nullptr;
  if (!stream->device->events.Take(&e->sync_id))
    return rtFail(
        ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
        fmt::format("device {} has 65536 recorded events, more are not possible", stream->device->id));
  e->device = stream->device;
  return ACL_SUCCESS;
}

std::shared_ptr<Stamp> LatestStamp(Event* e) {
  std::lock_guard lock(e->mutex);
  return e->stamp;
}

// Time of a finished record, or a failure.
int TimeOf(Event* e, const char* which, uint64_t* ns) {
  auto stamp = LatestStamp(e);
  if (stamp != nullptr) {
    std::lock_guard lock(stamp->mutex);
    if (stamp->done && stamp->status == 0) {
      *ns = stamp->ns;
      return ACL_SUCCESS;
    }
  }
  return rtFail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                fmt::format("the {} event has not completed a record", which));
}

}  // namespace
}  // namespace npusim

using namespace npusim;

int rtEventCreate(void** event, uint32_t flags) {
  RtSpan span(RtApi::kEventCreate);
  constexpr uint32_t known = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
  if (flags == 0 || (flags & ~known) != 0)
    return rtFail(
        ACL_ERROR_INVALID_PARAM,
        fmt::format("event flag {:#x} must be an OR of ACL_EVENT_SYNC, _CAPTURE_STREAM_PROGRESS, _TIME_LINE",
                    flags));
  auto* e = new Event;
  e->flags = flags;
  *event = e;
  return ACL_SUCCESS;
}

int rtEventDestroy(void* handle) {
  RtSpan span(RtApi::kEventDestroy);
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  if (e == nullptr) return code;
  if (e->device != nullptr) {
    std::lock_guard lock(e->device->mutex);
    e->device->events.Give(e->sync_id);
  }
  e->magic = 0;
  delete e;
  return ACL_SUCCESS;
}

int rtEventRecord(void* handle, void* stream) {
  RtSpan span(RtApi::kEventRecord, true);
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  Stream* s = e == nullptr ? nullptr : ResolveStream(stream, &code);
  if (s == nullptr) return code;
  std::lock_guard lock(e->mutex);
  if (code = Settle(e, s); code != ACL_SUCCESS) return code;
  TaskSpec spec = SyncSpec(NPUSIM_TASK_EVENT_RECORD, MSPROF_RTS_TASK_EVENT_RECORD, e->sync_id);
  if (Graph* graph = s->capture.graph) {
    if (code = s->Put(spec); code != ACL_SUCCESS) return code;
    std::lock_guard graph_lock(graph->mutex);
    e->graph = graph->weak_from_this();
    e->graph_stream = s->capture.index;
    e->graph_position = graph->sides[s->capture.index].tasks;
    e->stamp.reset();
    return ACL_SUCCESS;
  }
  auto stamp = std::make_shared<Stamp>();
  spec.effect.kind = Effect::kStamp;
  spec.effect.stamp = stamp;
  if (code = s->Put(spec); code != ACL_SUCCESS) return code;
  e->stamp = std::move(stamp);
  e->graph.reset();
  return ACL_SUCCESS;
}

int rtEventReset(void* handle) {
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  if (e == nullptr) return code;
  std::lock_guard lock(e->mutex);
  e->stamp.reset();
  e->graph.reset();
  return ACL_SUCCESS;
}

int rtStreamWaitEvent(void* stream, void* handle) {
  RtSpan span(RtApi::kStreamWaitEvent, true);
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  Stream* s = e == nullptr ? nullptr : ResolveStream(stream, &code);
  if (s == nullptr) return code;
  std::lock_guard lock(e->mutex);
  auto graph = e->graph.lock();
  if (graph == nullptr && e->stamp == nullptr) return ACL_SUCCESS;  // never recorded: nothing to wait for
  if (e->device != s->device)
    return rtFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  fmt::format("stream {} of device {} cannot wait for an event of device {}", s->id,
                              s->device->number, e->device->number));
  const TaskSpec spec = SyncSpec(NPUSIM_TASK_EVENT_WAIT, MSPROF_RTS_TASK_EVENT_WAIT, e->sync_id);
  {
    std::lock_guard stream_lock(s->mutex);
    if (graph != nullptr) {
      std::lock_guard graph_lock(graph->mutex);
      if (!graph->capturing || (s->capture.graph != nullptr && s->capture.graph != graph.get()))
        return rtFail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                      "the event was recorded in a capture that has ended or that is not this stream's");
      if (s->capture.graph == nullptr && !graph->Join(s))
        return rtFail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no stream is left for the capture");
      graph->Order(s->capture.index, e->graph_stream, e->graph_position);
    } else if (s->capture.graph != nullptr) {
      return rtFail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                    fmt::format("stream {} captures and cannot wait for an event recorded outside", s->id));
    }
  }
  return s->Put(spec);
}

int rtEventQuery(void* handle, bool* recorded, bool* done) {
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  if (e == nullptr) return code;
  auto stamp = LatestStamp(e);
  *recorded = stamp != nullptr;
  if (stamp != nullptr) {
    std::lock_guard lock(stamp->mutex);
    *done = stamp->done;
  } else {
    *done = false;
  }
  return ACL_SUCCESS;
}

int rtEventSynchronize(void* handle) {
  RtSpan span(RtApi::kEventSynchronize);
  int code = ACL_SUCCESS;
  Event* e = ResolveEvent(handle, &code);
  if (e == nullptr) return code;
  auto stamp = LatestStamp(e);
  if (stamp == nullptr) return ACL_SUCCESS;
  stamp->Wait();
  std::lock_guard lock(stamp->mutex);
  if (stamp->status != 0)
    return rtFail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "the event's record was torn off with its device");
  return ACL_SUCCESS;
}

int rtEventElapsedTime(float* ms, void* begin, void* end) {
  int code = ACL_SUCCESS;
  Event* b = ResolveEvent(begin, &code);
  Event* e = b == nullptr ? nullptr : ResolveEvent(end, &code);
  if (e == nullptr) return code;
  for (Event* x : {b, e})
    if ((x->flags & ACL_EVENT_TIME_LINE) == 0)
      return rtFail(
          ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
          fmt::format("an event with flag {:#x} keeps no time, ACL_EVENT_TIME_LINE does", x->flags));
  uint64_t t0 = 0, t1 = 0;
  if (code = TimeOf(b, "start", &t0); code != ACL_SUCCESS) return code;
  if (code = TimeOf(e, "end", &t1); code != ACL_SUCCESS) return code;
  if (t1 < t0)
    return rtFail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                  fmt::format("the end lies {} ns before the start", t0 - t1));
  *ms = static_cast<float>(static_cast<double>(t1 - t0) / 1e6);
  return ACL_SUCCESS;
}

namespace {
Notify* ResolveNotify(void* handle, int* code) {
  auto* n = static_cast<Notify*>(handle);
  if (n != nullptr && n->magic == Notify::kMagic) return n;
  *code = rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("{} is no notify, or it was destroyed", handle));
  return nullptr;
}
}  // namespace

int rtNotifyCreate(int32_t device, void** notify) {
  Device* d = Runtime::Get().device(device);
  if (d == nullptr)
    return rtFail(ACL_ERROR_RT_INVALID_DEVICEID, fmt::format("device {} does not exist", device));
  auto n = std::make_unique<Notify>();
  n->device = d;
  std::lock_guard lock(d->mutex);
  if (!d->notifies.Take(&n->sync_id))
    return rtFail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
                  fmt::format("device {} has 65536 notifies, more are not possible", device));
  *notify = n.release();
  return ACL_SUCCESS;
}

int rtNotifyDestroy(void* handle) {
  int code = ACL_SUCCESS;
  Notify* n = ResolveNotify(handle, &code);
  if (n == nullptr) return code;
  {
    std::lock_guard lock(n->device->mutex);
    n->device->notifies.Give(n->sync_id);
  }
  n->magic = 0;
  delete n;
  return ACL_SUCCESS;
}

int rtNotifyRecord(void* handle, void* stream) {
  RtSpan span(RtApi::kNotifyRecord, true);
  int code = ACL_SUCCESS;
  Notify* n = ResolveNotify(handle, &code);
  Stream* s = n == nullptr ? nullptr : ResolveStream(stream, &code);
  if (s == nullptr) return code;
  TaskSpec spec = SyncSpec(NPUSIM_TASK_NOTIFY_RECORD, MSPROF_RTS_TASK_NOTIFY_RECORD, n->sync_id);
  if (n->device != s->device) spec.task.peer = n->device->id;
  return s->Put(spec);
}

int rtNotifyWait(void* handle, void* stream) {
  RtSpan span(RtApi::kNotifyWait, true);
  int code = ACL_SUCCESS;
  Notify* n = ResolveNotify(handle, &code);
  Stream* s = n == nullptr ? nullptr : ResolveStream(stream, &code);
  if (s == nullptr) return code;
  if (n->device != s->device)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID,
                  fmt::format("a notify of device {} cannot be waited for on device {}", n->device->number,
                              s->device->number));
  return s->Put(SyncSpec(NPUSIM_TASK_NOTIFY_WAIT, MSPROF_RTS_TASK_NOTIFY_WAIT, n->sync_id));
}

uint64_t rtNotifyId(void* handle) {
  int code = ACL_SUCCESS;
  Notify* n = ResolveNotify(handle, &code);
  return n == nullptr ? UINT64_MAX : static_cast<uint64_t>(n->device->id) << 32 | n->sync_id;
}
