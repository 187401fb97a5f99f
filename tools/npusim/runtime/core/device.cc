// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and stream handles.
#include <errno.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "acl/acl_base.h"
#include "runtime/core/graph.h"
#include "runtime/core/reporting.h"
#include "runtime/core/visible.h"

namespace npusim {
namespace {

thread_local Context* t_context = nullptr;
thread_local std::string t_message;
thread_local bool t_has_message = false;
thread_local std::string t_taken;

int BadDevice(int32_t id) {
  return rtFail(ACL_ERROR_RT_INVALID_DEVICEID, NoSuchDevice(id));
}

int NoContext() {
  return rtFail(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no device: call aclrtSetDevice or aclrtSetCurrentContext first");
}

}  // namespace

std::string NoSuchDevice(int64_t id) {
  const uint32_t count = Runtime::Get().count();
  if (count == 0) return fmt::format("device {} does not exist: {}", id, Runtime::Get().trouble());
  return fmt::format("device {} does not exist, allowed are 0 to {}", id, count - 1);
}

Context* CurrentContext() {
  return t_context != nullptr && t_context->alive.load() ? t_context : nullptr;
}
void SetCurrentContext(Context* context) {
  t_context = context;
}

Runtime& Runtime::Get() {
  static auto* runtime = new Runtime;  // tasks may end while the process exits
  return *runtime;
}

Runtime::Runtime() {
  std::string complaint;
  const char* text = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  for (const uint32_t id : VisibleDevices(text, Host::Get().device_count(), &complaint))
    devices_.push_back(std::make_unique<Device>(id, static_cast<uint32_t>(devices_.size())));
  if (!complaint.empty()) std::fprintf(stderr, "npusim: %s.\n", complaint.c_str());
  if (Host::Get().device_count() > 0) hidden_ = complaint;
}

std::string Runtime::trouble() const {
  return hidden_.empty() ? Host::Get().trouble() : hidden_;
}

Device* Runtime::Owner(const void* address) {
  const auto a = reinterpret_cast<uintptr_t>(address);
  for (auto& d : devices_) {
    std::lock_guard lock(d->mutex);
    auto it = d->memory.upper_bound(a);
    if (it != d->memory.begin() && a < std::prev(it)->first + std::prev(it)->second.bytes) return d.get();
  }
  return nullptr;
}

bool SyncIds::Take(uint32_t* id) {
  for (uint32_t i = 0; i < used_.size(); i++) {
    const uint32_t candidate = (next_ + i) % static_cast<uint32_t>(used_.size());
    if (used_[candidate]) continue;
    used_[candidate] = true;
    next_ = candidate + 1;
    *id = candidate;
    return true;
  }
  return false;
}

void SyncIds::Give(uint32_t id) {
  used_[id] = false;
}

Stream* Device::NewStream(Context* context) {
  for (uint32_t i = 1; i < kStreams; i++) {
    auto& slot = streams[i];
    if (slot && slot->alive.load()) continue;
    if (!slot) {
      slot = std::make_unique<Stream>();
      slot->device = this;
      slot->id = static_cast<uint16_t>(i);
    }
    // Task ids go on where the number's former owner left off: a pair of both is unique within a round.
    slot->context = context;
    slot->failure.store(0);
    slot->alive.store(true);
    return slot.get();
  }
  return nullptr;
}

void Device::WaitIdle() {
  std::vector<Stream*> live;
  {
    std::lock_guard lock(mutex);
    for (auto& s : streams)
      if (s && s->alive.load()) live.push_back(s.get());
  }
  for (Stream* s : live) s->Wait(-1);
}

int Device::Open() {
  std::lock_guard lock(mutex);
  if (users++ > 0) return ACL_SUCCESS;
  Host::Use();
  contexts.push_back(std::make_unique<Context>());
  primary = contexts.back().get();
  primary->device = this;
  primary->default_stream = NewStream(primary);
  MsprofNotifySetDevice(0, id, true);
  return ACL_SUCCESS;
}

int Device::Close() {
  {
    std::lock_guard lock(mutex);
    if (users == 0)
      return rtFail(ACL_ERROR_RT_INVALID_DEVICEID,
                    fmt::format("device {} is not set, so it cannot be reset", number));
    if (users > 1) {
      users--;
      return ACL_SUCCESS;
    }
  }
  WaitIdle();
  DropGraphs(this);
  MsprofNotifySetDevice(0, id, false);
  std::lock_guard lock(mutex);
  users = 0;
  for (auto& s : streams)
    if (s) s->alive.store(false);
  for (auto& c : contexts) c->alive.store(false);
  primary = nullptr;
  for (auto& [address, block] : memory) std::free(reinterpret_cast<void*>(address));
  memory.clear();
  memory_used = 0;
  for (Held& module : held) module.bytes = 0;
  return ACL_SUCCESS;
}

Stream* ResolveStream(void* handle, int* code) {
  if (handle == nullptr) {
    Context* c = CurrentContext();
    if (c == nullptr) {
      *code = NoContext();
      return nullptr;
    }
    return c->default_stream;
  }
  auto* s = static_cast<Stream*>(handle);
  if (s->magic != Stream::kMagic || !s->alive.load()) {
    *code = rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("{} is no stream, or it was destroyed", handle));
    return nullptr;
  }
  return s;
}

}  // namespace npusim

using namespace npusim;

int rtFail(int code, const std::string& text) {
  t_message = text;
  t_has_message = true;
  return code;
}

const char* rtTakeMessage(void) {
  if (!t_has_message) return nullptr;
  t_has_message = false;
  t_taken = std::move(t_message);
  return t_taken.c_str();
}

uint32_t rtDeviceCount(void) {
  return Runtime::Get().count();
}

// No sentences: it is asked by libraries, and the program's last failure is not theirs to replace.
int rtGetVisibleDeviceIdByLogicDeviceId(int32_t logicDeviceId, int32_t* visibleDeviceId) {
  const Device* d = Runtime::Get().device(logicDeviceId);
  if (visibleDeviceId == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  if (d == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
  *visibleDeviceId = static_cast<int32_t>(d->id);
  return ACL_SUCCESS;
}

int rtDeviceShape(uint32_t device, RtDeviceShape* shape) {
  if (device >= rtDeviceCount()) return BadDevice(static_cast<int32_t>(device));
  const Settings& s = Host::Get().settings(Runtime::Get().device(static_cast<int32_t>(device))->id);
  *shape = {s.cube_cores, s.vector_cores};
  return ACL_SUCCESS;
}

int rtSetDevice(int32_t id) {
  RtSpan span(RtApi::kSetDevice);
  Device* d = Runtime::Get().device(id);
  if (d == nullptr) return BadDevice(id);
  d->Open();
  std::lock_guard lock(d->mutex);
  t_context = d->primary;
  return ACL_SUCCESS;
}

int rtResetDevice(int32_t id) {
  RtSpan span(RtApi::kDeviceReset);
  Device* d = Runtime::Get().device(id);
  return d == nullptr ? BadDevice(id) : d->Close();
}

int rtResetAllDevices(void) {
  for (uint32_t i = 0; i < rtDeviceCount(); i++) {
    Device* d = Runtime::Get().device(static_cast<int32_t>(i));
    int users;
    {
      std::lock_guard lock(d->mutex);
      users = d->users;
      if (users > 0) d->users = 1;
    }
    if (users > 0) d->Close();
  }
  return ACL_SUCCESS;
}

int rtGetDevice(int32_t* id) {
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  *id = static_cast<int32_t>(c->device->number);
  return ACL_SUCCESS;
}

int rtDeviceSynchronize(void) {
  RtSpan span(RtApi::kDeviceSynchronize);
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  c->device->WaitIdle();
  return ACL_SUCCESS;
}

int rtCtxCreate(void** context, int32_t id) {
  Device* d = Runtime::Get().device(id);
  if (d == nullptr) return BadDevice(id);
  d->Open();
  std::lock_guard lock(d->mutex);
  d->contexts.push_back(std::make_unique<Context>());
  Context* c = d->contexts.back().get();
  c->device = d;
  c->default_stream = d->NewStream(c);
  if (c->default_stream == nullptr) {
    c->alive.store(false);
    return rtFail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  fmt::format("device {} has no stream left for a context", id));
  }
  t_context = c;
  *context = c;
  return ACL_SUCCESS;
}

namespace {
Context* KnownContext(void* handle) {
  for (uint32_t i = 0; i < rtDeviceCount(); i++) {
    Device* d = Runtime::Get().device(static_cast<int32_t>(i));
    std::lock_guard lock(d->mutex);
    for (auto& c : d->contexts)
      if (c.get() == handle && c->alive.load()) return c.get();
  }
  return nullptr;
}

int BadContext(void* handle) {
  return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} is no context, or it was destroyed", handle));
}
}  // namespace

int rtCtxDestroy(void* handle) {
  Context* c = KnownContext(handle);
  if (c == nullptr || c == c->device->primary) return BadContext(handle);
  std::vector<Stream*> mine;
  {
    std::lock_guard lock(c->device->mutex);
    for (auto& s : c->device->streams)
      if (s && s->alive.load() && s->context == c) mine.push_back(s.get());
  }
  for (Stream* s : mine) s->Wait(-1);
  for (Stream* s : mine) s->alive.store(false);
  c->alive.store(false);
  return c->device->Close();  // gives back the use that rtCtxCreate() took
}

int rtCtxSetCurrent(void* handle) {
  Context* c = KnownContext(handle);
  if (c == nullptr) return BadContext(handle);
  t_context = c;
  return ACL_SUCCESS;
}

int rtCtxGetCurrent(void** context) {
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  *context = c;
  return ACL_SUCCESS;
}

int rtStreamCreate(void** stream) {
  RtSpan span(RtApi::kStreamCreate);
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  std::lock_guard lock(c->device->mutex);
  Stream* s = c->device->NewStream(c);
  if (s == nullptr)
    return rtFail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                  fmt::format("device {} has {} streams, more are not possible", c->device->number,
                              Device::kStreams - 1));
  *stream = s;
  return ACL_SUCCESS;
}

int rtStreamDestroy(void* stream) {
  RtSpan span(RtApi::kStreamDestroy);
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  if (stream == nullptr || s == s->context->default_stream)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID, "the default stream of a context cannot be destroyed");
  if (s->capture.graph != nullptr)
    return rtFail(ACL_ERROR_RT_STREAM_CAPTURED,
                  fmt::format("stream {} captures and cannot be destroyed", s->id));
  s->Wait(-1);
  s->alive.store(false);
  return ACL_SUCCESS;
}

int rtStreamSynchronize(void* stream, int32_t timeout_ms) {
  RtSpan span(RtApi::kStreamSynchronize);
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  if (timeout_ms < -1)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("timeout {} must be -1 or more", timeout_ms));
  if (s->capture.graph != nullptr)
    return rtFail(ACL_ERROR_RT_STREAM_CAPTURED,
                  fmt::format("stream {} captures, waiting for it is not allowed", s->id));
  if (!s->Wait(timeout_ms))
    return rtFail(ACL_ERROR_RT_WAIT_TIMEOUT,
                  fmt::format("stream {} is still busy after {} ms", s->id, timeout_ms));
  if (int failure = s->failure.load())
    return rtFail(
        ACL_ERROR_RT_DEVICE_TASK_ABORT,
        fmt::format("tasks of stream {} were torn off because device {} {}", s->id, s->device->number,
                    failure == -ENODEV       ? "went away"
                    : failure == -ENOSPC     ? "has no room for more"
                    : failure == -EOWNERDEAD ? "belongs to the process that this one was forked from"
                                             : "was reset"));
  return ACL_SUCCESS;
}

int rtStreamQuery(void* stream, bool* idle) {
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  *idle = s->Wait(0);
  return ACL_SUCCESS;
}

int rtStreamGetId(void* stream, int32_t* id) {
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s != nullptr) *id = s->id;
  return code;
}

int rtStreamGetDevice(void* stream, int32_t* device) {
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s != nullptr) *device = static_cast<int32_t>(s->device->number);
  return code;
}
