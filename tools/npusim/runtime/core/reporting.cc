// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/reporting.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "runtime/core/graph.h"

namespace npusim {
namespace {

constexpr uint32_t kCaptureStreamType = 804;

Switches g_runtime;
Switches g_graph_engine;

struct LoadedModels {
  std::mutex mutex;
  std::map<uint32_t, uint64_t> names;
};

LoadedModels& Models() {
  static auto* models = new LoadedModels;  // outlives every thread
  return *models;
}

void ReportGraphId(uint32_t model_id, uint64_t name) {
  MsprofGraphIdInfo info{};
  info.modelName = name;
  info.graphId = model_id;
  info.modelId = model_id;
  Report(AdditionalRecord(MSPROF_REPORT_MODEL_LEVEL, MSPROF_REPORT_MODEL_GRAPH_ID_MAP_TYPE,
                          MsprofSysCycleTime(), &info, sizeof info),
         true);
}

int32_t OnRuntimeCommand(uint32_t type, void* data, uint32_t length) {
  g_runtime.Handle(type, data, length);
  return 0;
}

int32_t OnGraphEngineCommand(uint32_t type, void* data, uint32_t length) {
  if (!g_graph_engine.Handle(type, data, length) || !g_graph_engine.Any(kTaskTime)) return 0;
  // What was loaded or captured before the session began belongs to its tasks too.
  {
    std::lock_guard lock(Models().mutex);
    for (const auto& [id, name] : Models().names) ReportGraphId(id, name);
  }
  DescribeLiveGraphs();
  return 0;
}

// Before main: a session may start ahead of the first runtime call.
struct Registration {
  Registration() {
    constexpr uint16_t rt = MSPROF_REPORT_RUNTIME_LEVEL, node = MSPROF_REPORT_NODE_LEVEL;
    NameTypes(rt, 0, {"KERNEL_AICORE", "KERNEL_AICPU", "EVENT_RECORD", "EVENT_WAIT"});
    NameTypes(rt, MSPROF_RTS_TASK_MEMCPY_ASYNC, {"MEMCPY_ASYNC", "MAINTENANCE"});
    NameTypes(rt, MSPROF_RTS_TASK_MODEL_EXECUTE,
              {"MODEL_EXECUTE", "NOTIFY_WAIT", "NOTIFY_RECORD", "RDMA_SEND"});
    NameTypes(rt, MSPROF_RTS_TASK_PROFILER_TRACE_EX, {"PROFILER_TRACE_EX"});
    NameTypes(rt, MSPROF_RTS_TASK_MEMSET_ASYNC, {"MEMSET_ASYNC"});
    NameTypes(rt, MSPROF_RTS_TASK_STARS_COMMON, {"STARS_COMMON"});
    NameTypes(rt, MSPROF_RTS_TASK_FFTS_PLUS, {"FFTS_PLUS"});
    NameTypes(rt, MSPROF_RTS_TASK_KERNEL_AIVEC, {"KERNEL_AIVEC"});
    NameTypes(rt, MSPROF_RTS_TASK_REDUCE_ASYNC_V2, {"REDUCE_ASYNC_V2"});
    NameTypes(rt, MSPROF_RTS_TASK_FLIP, {"FLIP_TASK"});
    NameTypes(rt, MSPROF_RTS_TASK_KERNEL_MIX_AIC, {"KERNEL_MIX_AIC", "KERNEL_MIX_AIV"});
    NameTypes(rt, MSPROF_REPORT_RUNTIME_MEMCPY_INFO_TYPE, {"memcpy_info", "task_track"});
    NameTypes(rt, kCaptureStreamType, {"capture_stream_info"});
    NameTypes(rt, MSPROF_REPORT_RUNTIME_API_BASE_TYPE,
              {"SetDevice",
               "DeviceReset",
               "DeviceSynchronize",
               "StreamCreate",
               "StreamDestroy",
               "StreamSynchronize",
               "StreamWaitEvent",
               "EventCreate",
               "EventDestroy",
               "EventRecord",
               "EventSynchronize",
               "NotifyRecord",
               "NotifyWait",
               "DevMalloc",
               "DevFree",
               "HostMalloc",
               "HostFree",
               "MemCopySync",
               "MemCopyAsync",
               "MemSetSync",
               "MemSetAsync",
               "ReduceAsyncV2",
               "KernelLaunchWithHandle",
               "CpuKernelLaunchExWithArgs",
               "ProfilerTraceEx",
               "StreamBeginCapture",
               "StreamEndCapture",
               "ModelExecute"});
    NameTypes(node, MSPROF_REPORT_NODE_BASIC_INFO_TYPE, {"node_basic_info", "tensor_info"});
    NameTypes(node, MSPROF_REPORT_NODE_CONTEXT_ID_INFO_TYPE, {"context_id_info", "launch"});
    NameTypes(node, MSPROF_REPORT_NODE_ATTR_INFO_TYPE, {"node_attr_info"});
    NameTypes(node, MSPROF_REPORT_NODE_TASK_MEMORY_TYPE, {"task_memory_info"});
    NameTypes(node, MSPROF_REPORT_NODE_GE_API_BASE_TYPE, {"ScheduleOperator", "InferShape", "Tiling"});
    NameTypes(MSPROF_REPORT_MODEL_LEVEL, 0, {"graph_id_map", "ModelExecute", "ModelLoad"});
    MsprofRegisterCallback(MSPROF_MODULE_RUNTIME, OnRuntimeCommand);
    MsprofRegisterCallback(MSPROF_MODULE_GE, OnGraphEngineCommand);
  }
} g_registration;

}  // namespace

Switches& RuntimeSwitches() {
  return g_runtime;
}
Switches& GraphEngineSwitches() {
  return g_graph_engine;
}

void ReportTrack(const TrackInfo& info, uint64_t time) {
  MsprofCompactInfo r = CompactRecord(MSPROF_REPORT_RUNTIME_LEVEL, MSPROF_REPORT_RUNTIME_TASK_TRACK_TYPE,
                                      time, sizeof(MsprofRuntimeTrack));
  r.data.runtimeTrack.deviceId = static_cast<uint16_t>(info.device);
  r.data.runtimeTrack.streamId = info.stream;
  r.data.runtimeTrack.taskId = info.task | info.flips << 16;
  r.data.runtimeTrack.taskType = info.type;
  r.data.runtimeTrack.kernelName = info.kernel;
  r.data.runtimeTrack.blockDim = static_cast<uint16_t>(info.block_dim);
  Report(r);
  if (!info.is_copy) return;
  MsprofCompactInfo c = CompactRecord(MSPROF_REPORT_RUNTIME_LEVEL, MSPROF_REPORT_RUNTIME_MEMCPY_INFO_TYPE,
                                      time, sizeof(MsprofMemcpyInfo));
  c.data.memcpyInfo.dataSize = info.copy_bytes;
  c.data.memcpyInfo.maxSize = std::max<uint64_t>(info.copy_bytes, 64 << 20);  // one task always suffices
  c.data.memcpyInfo.memcpyDirection = info.copy_direction;
  Report(c);
}

namespace {

void ReportAttributes(const RtOperator& op, uint64_t launch_end) {
  MsprofCompactInfo r = CompactRecord(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_ATTR_INFO_TYPE, launch_end,
                                      sizeof(MsprofAttrInfo));
  r.data.nodeAttrInfo.opName = op.name;
  r.data.nodeAttrInfo.attrType = 0;  // of the operator
  r.data.nodeAttrInfo.hashId = op.attributes;
  Report(r, op.is_static);
}

}  // namespace

void ReportNode(const RtOperator& op, uint64_t launch_end) {
  if (op.attributes != 0 && GraphEngineSwitches().Any(PROF_OP_ATTR | PROF_TASK_TIME_L2))
    ReportAttributes(op, launch_end);
  constexpr uint16_t level = MSPROF_REPORT_NODE_LEVEL;
  MsprofCompactInfo r =
      CompactRecord(level, MSPROF_REPORT_NODE_BASIC_INFO_TYPE, launch_end, sizeof(MsprofNodeBasicInfo));
  r.data.nodeBasicInfo.opName = op.name;
  r.data.nodeBasicInfo.taskType = op.task_type;
  r.data.nodeBasicInfo.opType = op.type;
  r.data.nodeBasicInfo.blockDim = op.block_dim | op.mix_ratio << 16;
  Report(r, op.is_static);

  for (size_t first = 0; first < op.tensors.size(); first += MSPROF_GE_TENSOR_DATA_NUM) {
    MsprofTensorInfo info{};
    info.opName = op.name;
    info.tensorNum =
        static_cast<uint32_t>(std::min<size_t>(op.tensors.size() - first, MSPROF_GE_TENSOR_DATA_NUM));
    for (size_t i = 0; i < info.tensorNum; i++) info.tensorData[i] = op.tensors[first + i];
    Report(AdditionalRecord(level, MSPROF_REPORT_NODE_TENSOR_INFO_TYPE, launch_end, &info, sizeof info),
           op.is_static);
  }
  if (op.mix_ratio != 0 || !op.contexts.empty()) {
    MsprofContextIdInfo info{};
    info.opName = op.name;
    info.ctxIdNum = 1;  // alone, mixed kernels run as context 0 of their task
    if (!op.contexts.empty()) {
      info.ctxIdNum = static_cast<uint32_t>(op.contexts.size());
      std::copy(op.contexts.begin(), op.contexts.end(), info.ctxIds);
    }
    Report(AdditionalRecord(level, MSPROF_REPORT_NODE_CONTEXT_ID_INFO_TYPE, launch_end, &info, sizeof info),
           op.is_static);
  }
}

void ReportCapture(bool begin, uint16_t model_stream, uint16_t stream, uint16_t model, uint16_t device) {
  MsprofCompactInfo r = CompactRecord(MSPROF_REPORT_RUNTIME_LEVEL, kCaptureStreamType, MsprofSysCycleTime(),
                                      sizeof(MsprofCaptureStreamInfo));
  r.data.captureStreamInfo.captureStatus = begin ? 0 : 1;
  r.data.captureStreamInfo.modelStreamId = begin ? model_stream : 0xffff;
  r.data.captureStreamInfo.originalStreamId = stream;
  r.data.captureStreamInfo.modelId = model;
  r.data.captureStreamInfo.deviceId = device;
  Report(r, true);
}

}  // namespace npusim

using namespace npusim;

void rtAnnounceModel(uint32_t model_id, uint64_t name) {
  std::lock_guard lock(Models().mutex);
  Models().names[model_id] = name;
  if (GraphEngineSwitches().Any(kTaskTime)) ReportGraphId(model_id, name);
}

void rtForgetModel(uint32_t model_id) {
  std::lock_guard lock(Models().mutex);
  Models().names.erase(model_id);
}

bool rtGraphEngineWants(uint64_t bits) {
  return GraphEngineSwitches().Any(bits);
}
