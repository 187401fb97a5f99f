// SPDX-License-Identifier: Apache-2.0
// The runtime below ACL and HCCL, exported by libruntime for them. Programs use acl/ and hccl/ instead.
//
// Functions return ACL error codes and leave a sentence for rtTakeMessage(). Streams, events and notifies are
// opaque handles; a stream of nullptr is the default stream of the calling thread's context. Thread-safe.
#ifndef NPUSIM_RUNTIME_CORE_RT_H
#define NPUSIM_RUNTIME_CORE_RT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/npusim_model.h"
#include "npusim/npusim.h"
#include "profiling/aprof_pub.h"

#define RT_EXPORT __attribute__((visibility("default")))

namespace npusim {

// An operator ready for launching. Names are numbers of MsprofGetHashId().
struct RtOperator {
  uint64_t name = 0;
  uint64_t type = 0;
  uint64_t kernel = 0;
  npusimTaskType task_type = NPUSIM_OP_AI_CORE;
  uint32_t block_dim = 1;
  uint32_t mix_ratio = 0;
  bool is_static = true;
  uint64_t cycles = 0;       // of each block; 0: from work
  uint64_t duration_ns = 0;  // AI CPU
  npusim_work work = {};
  std::vector<MsrofTensorData> tensors;
  uint64_t attributes = 0;         // number of the text of its attributes; 0: it has none
  std::vector<uint32_t> contexts;  // of an FFTS+ task, those that are of this operator
};

// Who holds memory of a device; the numbers are those of published readers.
enum class RtModule : uint16_t { kCollectives = 3, kProgram = 33 };

enum class RtCopyKind { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice };

// Arithmetic of rtReduceAsync(); numbers are those of HcclDataType and HcclReduceOp.
struct RtReduce {
  int data_type;
  int op;
};

// What one device has and how it is used, for planning.
struct RtDeviceShape {
  uint32_t cube_cores;
  uint32_t vector_cores;
};

}  // namespace npusim

extern "C" {

/* -- errors: one sentence per thread -- */
/** Keeps @p text and returns @p code. */
RT_EXPORT int rtFail(int code, const std::string& text);
/** The sentence of the last failure in this thread and forgets it; nullptr if there is none. */
RT_EXPORT const char* rtTakeMessage(void);

/* -- devices and contexts -- */
RT_EXPORT uint32_t rtDeviceCount(void);
/** The driver's id of the device that the program calls @p logicDeviceId; they differ with ASCEND_RT_VISIBLE_DEVICES.
 * Keeps no sentence. */
RT_EXPORT int rtGetVisibleDeviceIdByLogicDeviceId(int32_t logicDeviceId, int32_t* visibleDeviceId);
RT_EXPORT int rtSetDevice(int32_t device);
RT_EXPORT int rtResetDevice(int32_t device);
RT_EXPORT int rtResetAllDevices(void);
RT_EXPORT int rtGetDevice(int32_t* device);
RT_EXPORT int rtDeviceShape(uint32_t device, npusim::RtDeviceShape* shape);
RT_EXPORT int rtDeviceSynchronize(void);
RT_EXPORT int rtCtxCreate(void** context, int32_t device);
RT_EXPORT int rtCtxDestroy(void* context);
RT_EXPORT int rtCtxSetCurrent(void* context);
RT_EXPORT int rtCtxGetCurrent(void** context);

/* -- streams -- */
RT_EXPORT int rtStreamCreate(void** stream);
RT_EXPORT int rtStreamDestroy(void* stream);
/** @p timeout_ms -1: no limit */
RT_EXPORT int rtStreamSynchronize(void* stream, int32_t timeout_ms);
RT_EXPORT int rtStreamQuery(void* stream, bool* idle);
RT_EXPORT int rtStreamGetId(void* stream, int32_t* id);
RT_EXPORT int rtStreamGetDevice(void* stream, int32_t* device);

/* -- events: fixed to the device on which they are first recorded -- */
RT_EXPORT int rtEventCreate(void** event, uint32_t flags);
RT_EXPORT int rtEventDestroy(void* event);
RT_EXPORT int rtEventRecord(void* event, void* stream);
RT_EXPORT int rtEventReset(void* event);
RT_EXPORT int rtStreamWaitEvent(void* stream, void* event);
RT_EXPORT int rtEventQuery(void* event, bool* recorded, bool* done);
RT_EXPORT int rtEventSynchronize(void* event);
RT_EXPORT int rtEventElapsedTime(float* ms, void* begin, void* end);

/* -- notifies: a counter on a device that any device can raise -- */
RT_EXPORT int rtNotifyCreate(int32_t device, void** notify);
RT_EXPORT int rtNotifyDestroy(void* notify);
RT_EXPORT int rtNotifyRecord(void* notify, void* stream);
/** @p stream must be on the device of the notify. */
RT_EXPORT int rtNotifyWait(void* notify, void* stream);
RT_EXPORT uint64_t rtNotifyId(void* notify);

/* -- memory -- */
/** @param module  who holds it, as the profiler is told */
RT_EXPORT int rtMalloc(void** address, size_t bytes, npusim::RtModule module);
RT_EXPORT int rtFree(void* address);
RT_EXPORT int rtMallocHost(void** address, size_t bytes);
RT_EXPORT int rtFreeHost(void* address);
RT_EXPORT int rtMemGetInfo(size_t* free_bytes, size_t* total_bytes);
RT_EXPORT int rtMemcpy(void* dst, const void* src, size_t bytes, npusim::RtCopyKind kind);
RT_EXPORT int rtMemcpyAsync(void* dst, const void* src, size_t bytes, npusim::RtCopyKind kind, void* stream);
RT_EXPORT int rtMemset(void* dst, int value, size_t bytes);
RT_EXPORT int rtMemsetAsync(void* dst, int value, size_t bytes, void* stream);
/** dst[i] = dst[i] op src[i] when the task ends. */
RT_EXPORT int rtReduceAsync(void* dst, const void* src, size_t bytes, npusim::RtReduce reduce, void* stream);
/** Which kind of copy @p dst and @p src need: device memory is known by its address. */
RT_EXPORT npusim::RtCopyKind rtCopyKind(const void* dst, const void* src);

/* -- operators -- */
RT_EXPORT int rtLaunchOperator(const npusim::RtOperator& op, void* stream);
/** Tells which graph a loaded model is (graph_id_map), now and at the start of every later session. */
RT_EXPORT void rtAnnounceModel(uint32_t model_id, uint64_t name);
RT_EXPORT void rtForgetModel(uint32_t model_id);
/**
 * A mark in the device's track. @p tag 60000 and 60001: begin and end of step @p index; 0, 1, 4: begin and end of
 * model @p model_id, end of its iteration @p index.
 */
RT_EXPORT int rtProfilerTraceEx(uint64_t index, uint64_t model_id, uint16_t tag, void* stream);
/** Bits PROF_* that the running session wants from operators and models (component GE); 0 without one. */
RT_EXPORT bool rtGraphEngineWants(uint64_t bits);

/* -- captured graphs -- */
RT_EXPORT int rtCaptureBegin(void* stream);
RT_EXPORT int rtCaptureEnd(void* stream, void** graph);
/** @p graph gets nullptr if the stream does not capture. */
RT_EXPORT int rtCaptureInfo(void* stream, void** graph);
RT_EXPORT int rtGraphExecute(void* graph, void* stream);
RT_EXPORT int rtGraphDestroy(void* graph);

}  // extern "C"

#endif  // NPUSIM_RUNTIME_CORE_RT_H
