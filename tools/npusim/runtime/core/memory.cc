// SPDX-License-Identifier: Apache-2.0
// Memory and what moves it. Device memory is memory of this process, accounted per device.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "acl/acl_base.h"
#include "npusim/npusim_device.h"
#include "runtime/core/objects.h"
#include "runtime/core/reporting.h"

namespace npusim {
namespace {

constexpr size_t kAlignment = 512;

int NoContext() {
  return rtFail(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no device: call aclrtSetDevice or aclrtSetCurrentContext first");
}

TaskSpec CopySpec(void* dst, const void* src, size_t bytes, RtCopyKind kind, const Device& device) {
  TaskSpec spec;
  spec.effect.kind = Effect::kCopy;
  spec.effect.dst = dst;
  spec.effect.src = src;
  spec.effect.bytes = bytes;
  spec.track_type = MSPROF_RTS_TASK_MEMCPY_ASYNC;
  spec.is_copy = true;
  spec.copy_direction = static_cast<uint16_t>(kind);
  spec.task.work.copy_bytes = bytes;
  switch (kind) {
    case RtCopyKind::kHostToHost:
      spec.task.kind = NPUSIM_TASK_PLACE_HOLDER;  // the device only keeps its place in the stream
      break;
    case RtCopyKind::kHostToDevice:
      spec.task.kind = NPUSIM_TASK_PCIE_DMA;
      spec.task.copy = NPUSIM_COPY_FROM_HOST;
      break;
    case RtCopyKind::kDeviceToHost:
      spec.task.kind = NPUSIM_TASK_PCIE_DMA;
      spec.task.copy = NPUSIM_COPY_TO_HOST;
      break;
    case RtCopyKind::kDeviceToDevice: {
      spec.task.kind = NPUSIM_TASK_SDMA;
      Device *to = Runtime::Get().Owner(dst), *from = Runtime::Get().Owner(src);
      spec.task.copy = from != nullptr && from != &device ? NPUSIM_COPY_FROM_PEER
                       : to != nullptr && to != &device   ? NPUSIM_COPY_TO_PEER
                                                          : NPUSIM_COPY_LOCAL;
      break;
    }
  }
  return spec;
}

int CheckRange(const char* what, const void* a, const void* b, size_t bytes) {
  if (a == nullptr || b == nullptr)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{}: an address is null", what));
  if (bytes == 0)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID, fmt::format("{}: the size must be at least 1", what));
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace npusim

using namespace npusim;

int rtMalloc(void** address, size_t bytes, RtModule module) {
  RtSpan span(RtApi::kDevMalloc);
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  if (bytes == 0) return rtFail(ACL_ERROR_RT_PARAM_INVALID, "the size must be at least 1");
  Device& d = *c->device;
  std::lock_guard lock(d.mutex);
  const size_t free_bytes = Device::kMemoryBytes - d.memory_used;
  if (bytes > free_bytes)
    return rtFail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  fmt::format("{} bytes asked for, device {} has {} free", bytes, d.number, free_bytes));
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* p = std::aligned_alloc(kAlignment, rounded);
  if (p == nullptr)
    return rtFail(ACL_ERROR_RT_MEMORY_ALLOCATION, fmt::format("the host cannot provide {} bytes", bytes));
  d.memory[reinterpret_cast<uintptr_t>(p)] = {rounded, module};
  d.memory_used += rounded;
  Device::Held& held = d.held[static_cast<size_t>(module)];
  held.bytes += rounded;
  held.known = true;
  *address = p;
  return ACL_SUCCESS;
}

int rtFree(void* address) {
  RtSpan span(RtApi::kDevFree);
  for (uint32_t i = 0; i < rtDeviceCount(); i++) {
    Device* d = Runtime::Get().device(static_cast<int32_t>(i));
    std::lock_guard lock(d->mutex);
    auto it = d->memory.find(reinterpret_cast<uintptr_t>(address));
    if (it == d->memory.end()) continue;
    d->memory_used -= it->second.bytes;
    d->held[static_cast<size_t>(it->second.module)].bytes -= it->second.bytes;
    d->memory.erase(it);
    std::free(address);
    return ACL_SUCCESS;
  }
  return rtFail(ACL_ERROR_RT_PARAM_INVALID,
                fmt::format("{} is not the start of live device memory", address));
}

int rtMallocHost(void** address, size_t bytes) {
  RtSpan span(RtApi::kHostMalloc);
  if (CurrentContext() == nullptr) return NoContext();
  if (bytes == 0) return rtFail(ACL_ERROR_RT_PARAM_INVALID, "the size must be at least 1");
  *address = bytes > PTRDIFF_MAX ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*address == nullptr)
    return rtFail(ACL_ERROR_RT_MEMORY_ALLOCATION, fmt::format("the host cannot provide {} bytes", bytes));
  return ACL_SUCCESS;
}

int rtFreeHost(void* address) {
  RtSpan span(RtApi::kHostFree);
  if (address == nullptr) return rtFail(ACL_ERROR_INVALID_PARAM, "the address is null");
  std::free(address);
  return ACL_SUCCESS;
}

int rtMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  Context* c = CurrentContext();
  if (c == nullptr) return NoContext();
  std::lock_guard lock(c->device->mutex);
  *free_bytes = Device::kMemoryBytes - c->device->memory_used;
  *total_bytes = Device::kMemoryBytes;
  return ACL_SUCCESS;
}

RtCopyKind rtCopyKind(const void* dst, const void* src) {
  const bool to = Runtime::Get().Owner(dst) != nullptr, from = Runtime::Get().Owner(src) != nullptr;
  if (to) return from ? RtCopyKind::kDeviceToDevice : RtCopyKind::kHostToDevice;
  return from ? RtCopyKind::kDeviceToHost : RtCopyKind::kHostToHost;
}

int rtMemcpyAsync(void* dst, const void* src, size_t bytes, RtCopyKind kind, void* stream) {
  RtSpan span(RtApi::kMemCopyAsync, true);
  int code = CheckRange("copy", dst, src, bytes);
  if (code != ACL_SUCCESS) return code;
  Stream* s = ResolveStream(stream, &code);
  return s == nullptr ? code : s->Put(CopySpec(dst, src, bytes, kind, *s->device));
}

int rtMemcpy(void* dst, const void* src, size_t bytes, RtCopyKind kind) {
  RtSpan span(RtApi::kMemCopySync, true);
  int code = CheckRange("copy", dst, src, bytes);
  if (code != ACL_SUCCESS) return code;
  Stream* s = ResolveStream(nullptr, &code);
  if (s == nullptr) return code;
  if (kind == RtCopyKind::kHostToHost) {  // no device takes part
    std::memmove(dst, src, bytes);
    return ACL_SUCCESS;
  }
  code = s->Put(CopySpec(dst, src, bytes, kind, *s->device));
  return code != ACL_SUCCESS ? code : rtStreamSynchronize(nullptr, -1);
}

int rtMemsetAsync(void* dst, int value, size_t bytes, void* stream) {
  RtSpan span(RtApi::kMemSetAsync, true);
  int code = CheckRange("fill", dst, dst, bytes);
  if (code != ACL_SUCCESS) return code;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  TaskSpec spec;
  spec.task.kind = NPUSIM_TASK_SDMA;
  spec.task.copy = NPUSIM_COPY_LOCAL;
  spec.task.work.copy_bytes = bytes;
  spec.track_type = MSPROF_RTS_TASK_MEMSET_ASYNC;
  spec.effect.kind = Effect::kFill;
  spec.effect.dst = dst;
  spec.effect.value = value;
  spec.effect.bytes = bytes;
  return s->Put(spec);
}

int rtMemset(void* dst, int value, size_t bytes) {
  RtSpan span(RtApi::kMemSetSync);
  const int code = rtMemsetAsync(dst, value, bytes, nullptr);
  return code != ACL_SUCCESS ? code : rtStreamSynchronize(nullptr, -1);
}

int rtReduceAsync(void* dst, const void* src, size_t bytes, RtReduce reduce, void* stream) {
  RtSpan span(RtApi::kReduceAsync, true);
  int code = CheckRange("reduction", dst, src, bytes);
  if (code != ACL_SUCCESS) return code;
  if (reduce.data_type < 0 || reduce.data_type > 11 || reduce.op < 0 || reduce.op > 3)
    return rtFail(ACL_ERROR_RT_PARAM_INVALID,
                  fmt::format("reduction {} of data type {}: allowed are 0 to 3 and 0 to 11", reduce.op,
                              reduce.data_type));
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  TaskSpec spec = CopySpec(dst, src, bytes, RtCopyKind::kDeviceToDevice, *s->device);
  spec.effect.kind = Effect::kReduce;
  spec.effect.reduce = reduce;
  spec.track_type = MSPROF_RTS_TASK_REDUCE_ASYNC_V2;
  spec.is_copy = false;
  return s->Put(spec);
}

int npusim_dev_module_memory(uint32_t device_id, npusim_dev_module* modules, uint32_t room) {
  if (Host::forked()) return -EOWNERDEAD;
  if (Host::Get().impl() == nullptr) return -EREMOTE;
  if (device_id >= Host::Get().device_count()) return -ENODEV;
  uint32_t found = 0;
  // The program may see some of the driver's devices alone, and has nothing on the others.
  for (uint32_t i = 0; i < Runtime::Get().count(); i++) {
    const Device* d = Runtime::Get().device(static_cast<int32_t>(i));
    if (d->id != device_id) continue;
    for (uint32_t module = 0; module < Device::kModules; module++) {
      if (!d->held[module].known) continue;
      if (found < room) modules[found] = {module, 0, d->held[module].bytes};
      found++;
    }
  }
  return static_cast<int>(found);
}
