// SPDX-License-Identifier: Apache-2.0
// aclrt*: arguments are checked here, the work is done by libruntime.
#include <fmt/format.h>

#include "runtime/acl/api.h"

using namespace npusim;

aclError aclrtSetDevice(int32_t deviceId) {
  AclSpan span(AclCall::kSetDevice);
  return rtSetDevice(deviceId);
}

aclError aclrtResetDevice(int32_t deviceId) {
  AclSpan span(AclCall::kResetDevice);
  return rtResetDevice(deviceId);
}

aclError aclrtGetDevice(int32_t* deviceId) {
  if (int code = NotNull({{"deviceId", deviceId}})) return code;
  return rtGetDevice(deviceId);
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (int code = NotNull({{"count", count}})) return code;
  *count = rtDeviceCount();
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  if (int code = NotNull({{"runMode", runMode}})) return code;
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void) {
  AclSpan span(AclCall::kSynchronizeDevice);
  return rtDeviceSynchronize();
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  AclSpan span(AclCall::kCreateContext);
  if (int code = NotNull({{"context", context}})) return code;
  return rtCtxCreate(context, deviceId);
}

aclError aclrtDestroyContext(aclrtContext context) {
  AclSpan span(AclCall::kDestroyContext);
  if (int code = NotNull({{"context", context}})) return code;
  return rtCtxDestroy(context);
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (int code = NotNull({{"context", context}})) return code;
  return rtCtxSetCurrent(context);
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (int code = NotNull({{"context", context}})) return code;
  return rtCtxGetCurrent(context);
}

aclError aclrtCreateStream(aclrtStream* stream) {
  AclSpan span(AclCall::kCreateStream);
  if (int code = NotNull({{"stream", stream}})) return code;
  return rtStreamCreate(stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  if (priority > 7)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("priority {} must be 0 to 7", priority));
  if ((flag & ~(ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)) != 0)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("flag {:#x} must be an OR of ACL_STREAM_FAST_*", flag));
  return aclrtCreateStream(stream);
}

aclError aclrtDestroyStream(aclrtStream stream) {
  AclSpan span(AclCall::kDestroyStream);
  if (int code = NotNull({{"stream", stream}})) return code;
  return rtStreamDestroy(stream);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return aclrtDestroyStream(stream);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return aclrtSynchronizeStreamWithTimeout(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  AclSpan span(AclCall::kSynchronizeStream);
  return rtStreamSynchronize(stream, timeout);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  if (int code = NotNull({{"status", status}})) return code;
  bool idle = false;
  if (int code = rtStreamQuery(stream, &idle)) return code;
  *status = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  if (int code = NotNull({{"streamId", streamId}})) return code;
  return rtStreamGetId(stream, streamId);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  AclSpan span(AclCall::kStreamWaitEvent);
  if (int code = NotNull({{"event", event}})) return code;
  return rtStreamWaitEvent(stream, event);
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  return aclrtCreateEventWithFlag(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  AclSpan span(AclCall::kCreateEvent);
  if (int code = NotNull({{"event", event}})) return code;
  return rtEventCreate(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  AclSpan span(AclCall::kDestroyEvent);
  if (int code = NotNull({{"event", event}})) return code;
  return rtEventDestroy(event);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  AclSpan span(AclCall::kRecordEvent);
  if (int code = NotNull({{"event", event}})) return code;
  return rtEventRecord(event, stream);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
  if (int code = NotNull({{"event", event}})) return code;
  return rtEventReset(event);
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  if (int code = NotNull({{"event", event}, {"status", status}})) return code;
  bool recorded = false, done = false;
  if (int code = rtEventQuery(event, &recorded, &done)) return code;
  *status = recorded && !done ? ACL_EVENT_STATUS_NOT_READY : ACL_EVENT_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  if (int code = NotNull({{"event", event}, {"status", status}})) return code;
  bool recorded = false, done = false;
  if (int code = rtEventQuery(event, &recorded, &done)) return code;
  *status = done ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  AclSpan span(AclCall::kSynchronizeEvent);
  if (int code = NotNull({{"event", event}})) return code;
  return rtEventSynchronize(event);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  if (int code = NotNull({{"ms", ms}, {"startEvent", startEvent}, {"endEvent", endEvent}})) return code;
  return rtEventElapsedTime(ms, startEvent, endEvent);
}

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  AclSpan span(AclCall::kMalloc);
  if (int code = NotNull({{"devPtr", devPtr}})) return code;
  if (policy < ACL_MEM_MALLOC_HUGE_FIRST || policy > ACL_MEM_MALLOC_NORMAL_ONLY_P2P)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("policy {} must be 0 to 5", static_cast<int>(policy)));
  return rtMalloc(devPtr, size, RtModule::kProgram);
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return aclrtMalloc(devPtr, size, policy);
}

aclError aclrtFree(void* devPtr) {
  AclSpan span(AclCall::kFree);
  if (int code = NotNull({{"devPtr", devPtr}})) return code;
  return rtFree(devPtr);
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  AclSpan span(AclCall::kMallocHost);
  if (int code = NotNull({{"hostPtr", hostPtr}})) return code;
  return rtMallocHost(hostPtr, size);
}

aclError aclrtFreeHost(void* hostPtr) {
  AclSpan span(AclCall::kFreeHost);
  return rtFreeHost(hostPtr);
}

namespace {

int Fits(size_t count, size_t room) {
  return count <= room
             ? ACL_SUCCESS
             : rtFail(ACL_ERROR_INVALID_PARAM,
                      fmt::format("{} bytes do not fit into the {} of the destination", count, room));
}

// Kind of a copy; the caller's word is taken except for DEFAULT.
int KindOf(aclrtMemcpyKind kind, const void* dst, const void* src, RtCopyKind* out) {
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("kind of copy {} must be 0 to 4", static_cast<int>(kind)));
  *out = kind == ACL_MEMCPY_DEFAULT ? rtCopyKind(dst, src) : static_cast<RtCopyKind>(kind);
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  AclSpan span(AclCall::kMemset);
  if (int code = Fits(count, maxCount)) return code;
  return rtMemset(devPtr, value, count);
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  AclSpan span(AclCall::kMemsetAsync);
  if (int code = Fits(count, maxCount)) return code;
  return rtMemsetAsync(devPtr, value, count, stream);
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  AclSpan span(AclCall::kMemcpy);
  RtCopyKind k;
  if (int code = Fits(count, destMax)) return code;
  if (int code = KindOf(kind, dst, src, &k)) return code;
  return rtMemcpy(dst, src, count, k);
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  AclSpan span(AclCall::kMemcpyAsync);
  RtCopyKind k;
  if (int code = Fits(count, destMax)) return code;
  if (int code = KindOf(kind, dst, src, &k)) return code;
  return rtMemcpyAsync(dst, src, count, k, stream);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  if (int code = NotNull({{"free", free}, {"total", total}})) return code;
  if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_NORMAL)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("memory attribute {} must be 0 to 5", static_cast<int>(attr)));
  return rtMemGetInfo(free, total);
}
