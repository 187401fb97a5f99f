// SPDX-License-Identifier: Apache-2.0
// Launching operators, step marks, and npusim.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "acl/acl_base.h"
#include "refnpu_regs.h"
#include "runtime/core/graph.h"
#include "runtime/core/reporting.h"

namespace npusim {

const RtOperator*& LaunchingOperator() {
  thread_local const RtOperator* op = nullptr;
  return op;
}

namespace {

struct KernelKind {
  npusim_task_kind task;
  uint64_t track;
};

KernelKind KindOf(npusimTaskType type) {
  switch (type) {
    case NPUSIM_OP_AI_CPU:
      return {NPUSIM_TASK_AICPU, MSPROF_RTS_TASK_KERNEL_AICPU};
    case NPUSIM_OP_AI_VECTOR_CORE:
      return {NPUSIM_TASK_VECTOR, MSPROF_RTS_TASK_KERNEL_AIVEC};
    case NPUSIM_OP_MIX_AIC:
      return {NPUSIM_TASK_MIX_AIC, MSPROF_RTS_TASK_KERNEL_MIX_AIC};
    case NPUSIM_OP_MIX_AIV:
      return {NPUSIM_TASK_MIX_AIV, MSPROF_RTS_TASK_KERNEL_MIX_AIV};
    default:
      return {NPUSIM_TASK_CUBE, MSPROF_RTS_TASK_KERNEL_AICORE};
  }
}

TaskSpec KernelSpec(const RtOperator& op) {
  const KernelKind kind = KindOf(op.task_type);
  TaskSpec spec;
  spec.task.kind = kind.task;
  spec.task.block_dim = op.block_dim;
  spec.task.mix_ratio = static_cast<uint8_t>(op.mix_ratio);
  spec.task.cycles = op.cycles;
  spec.task.duration_ns = op.duration_ns;
  spec.task.work = op.work;
  spec.track_type = kind.track;
  spec.kernel = op.kernel;
  return spec;
}

}  // namespace
}  // namespace npusim

using namespace npusim;

int rtLaunchOperator(const RtOperator& op, void* stream) {
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  Span launch(GraphEngineSwitches().Any(kTaskTime), MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE,
              op.name);
  {
    RtSpan span(op.task_type == NPUSIM_OP_AI_CPU ? RtApi::kCpuKernelLaunch : RtApi::kKernelLaunch, true);
    LaunchingOperator() = &op;
    code = s->Put(KernelSpec(op));
    LaunchingOperator() = nullptr;
  }
  const uint64_t end = launch.End();
  if (end != 0 && code == ACL_SUCCESS && GraphEngineSwitches().Any(kTaskDetail)) ReportNode(op, end);
  return code;
}

int rtProfilerTraceEx(uint64_t index, uint64_t model_id, uint16_t tag, void* stream) {
  RtSpan span(RtApi::kProfilerTrace);
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  std::lock_guard lock(s->mutex);
  if (s->capture.graph != nullptr)
    return rtFail(ACL_ERROR_RT_STREAM_CAPTURED,
                  fmt::format("stream {} captures and takes no step marks", s->id));
  npusim_task mark{};
  mark.kind = NPUSIM_TASK_STEP;
  mark.stream = s->id;
  mark.task_id =
      static_cast<uint16_t>(s->next_task);  // a mark has no id of its own: that of the task behind it
  mark.step_index = index;
  mark.step_model = model_id;
  mark.step_tag = tag;
  if (Host::Get().Submit(s->device->id, mark) != 0)
    return rtFail(ACL_ERROR_RT_DEVICE_TASK_ABORT,
                  fmt::format("device {} takes no step mark", s->device->number));
  return ACL_SUCCESS;
}

namespace {

// The operator that the arguments of a launch describe.
int ToOperator(const char* name, const char* type, int task_type, uint32_t blocks, uint64_t cycles,
               RtOperator* op) {
  if (name == nullptr || type == nullptr || *name == 0 || *type == 0)
    return rtFail(ACL_ERROR_INVALID_PARAM, "the operator needs a name and a type");
  if (task_type != NPUSIM_OP_AI_CORE && task_type != NPUSIM_OP_AI_CPU &&
      task_type != NPUSIM_OP_AI_VECTOR_CORE && task_type != NPUSIM_OP_MIX_AIC &&
      task_type != NPUSIM_OP_MIX_AIV)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("task type {} must be 0, 1, 2, 4 or 5", task_type));
  if (blocks < 1 || blocks > 65535)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} blocks: allowed are 1 to 65535", blocks));
  if (cycles < 1) return rtFail(ACL_ERROR_INVALID_PARAM, "the number of cycles must be at least 1");
  op->name = HashOf(name);
  op->type = HashOf(type);
  op->kernel = op->name;
  op->task_type = static_cast<npusimTaskType>(task_type);
  op->block_dim = blocks;
  op->cycles = cycles;
  op->is_static = false;
  // The published data know one block count and a whole ratio of the second core kind to the main one.
  if (task_type == NPUSIM_OP_MIX_AIC) op->mix_ratio = 2;
  if (task_type == NPUSIM_OP_MIX_AIV) op->mix_ratio = 1;
  if (task_type == NPUSIM_OP_AI_CPU) op->duration_ns = 1 + cycles * 1000 / Host::Get().settings().core_mhz;
  return ACL_SUCCESS;
}

}  // namespace

int npusimLaunch(void* stream, const char* opName, const char* opType, int taskType, uint32_t blockDim,
                 uint64_t cycles, uint64_t count) {
  RtOperator op;
  if (int code = ToOperator(opName, opType, taskType, blockDim, cycles, &op)) return code;
  for (uint64_t i = 0; i < count; i++)
    if (int code = rtLaunchOperator(op, stream); code != ACL_SUCCESS) return code;
  return ACL_SUCCESS;
}

int npusimLaunchContexts(void* stream, const npusimContext* contexts, uint32_t count, uint64_t tasks) {
  constexpr uint32_t kMost = 55;  // as many as one record of an operator can name
  if (count < 1 || count > kMost)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} contexts: allowed are 1 to {}", count, kMost));
  if (contexts == nullptr) return rtFail(ACL_ERROR_INVALID_PARAM, "the address of the contexts is null");
  std::vector<RtOperator> operators;
  std::vector<npusim_task> parts;
  for (uint32_t i = 0; i < count; i++) {
    RtOperator op;
    if (int code = ToOperator(contexts[i].opName, contexts[i].opType, contexts[i].taskType,
                              contexts[i].blockDim, contexts[i].cycles, &op))
      return code;
    if (op.task_type == NPUSIM_OP_AI_CPU)
      return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("context {} is for AI CPUs, not for cores", i));
    npusim_task part = KernelSpec(op).task;
    part.context = static_cast<uint16_t>(i);
    part.part = NPUSIM_PART;
    if (i == 0) part.part |= NPUSIM_PART_FIRST;
    if (i + 1 == count) part.part |= NPUSIM_PART_LAST;
    parts.push_back(part);
    auto known = std::find_if(operators.begin(), operators.end(),
                              [&](const RtOperator& other) { return other.name == op.name; });
    if (known == operators.end()) known = operators.insert(known, op);
    known->contexts.push_back(i);
  }
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  for (uint64_t i = 0; i < tasks; i++) {
    Span launch(GraphEngineSwitches().Any(kTaskTime), MSPROF_REPORT_NODE_LEVEL,
                MSPROF_REPORT_NODE_LAUNCH_TYPE, operators[0].name);
    {
      RtSpan span(RtApi::kKernelLaunch, true);
      code = s->PutParts(parts, operators[0].name);
    }
    const uint64_t end = launch.End();
    if (code != ACL_SUCCESS) return code;
    if (end == 0 || !GraphEngineSwitches().Any(kTaskDetail)) continue;
    for (const RtOperator& op : operators) ReportNode(op, end);
  }
  return ACL_SUCCESS;
}

int npusimMedia(void* stream, int engine, uint32_t frames) {
  constexpr uint32_t kMostFrames = 100'000;
  if (engine < 0 || engine >= NPUSIM_DVPP_ENGINES)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("media engine {}: allowed are 0 to {}", engine, NPUSIM_DVPP_ENGINES - 1));
  if (frames < 1 || frames > kMostFrames)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("{} frames: allowed are 1 to {}", frames, kMostFrames));
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  TaskSpec spec;
  spec.task.kind = NPUSIM_TASK_DVPP;
  spec.task.engine = static_cast<uint8_t>(engine);
  spec.task.work.frames = frames;
  spec.track_type = MSPROF_RTS_TASK_STARS_COMMON;
  RtSpan span(RtApi::kKernelLaunch, true);
  return s->Put(spec);
}

int npusimNetwork(void* stream, int send, uint64_t bytes) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  if (send != 0 && send != 1)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("direction {}: 1 sends, 0 receives", send));
  if (bytes < 1 || bytes > kMostBytes)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} bytes: allowed are 1 to {}", bytes, kMostBytes));
  int code = ACL_SUCCESS;
  Stream* s = ResolveStream(stream, &code);
  if (s == nullptr) return code;
  TaskSpec spec;
  spec.task.kind = NPUSIM_TASK_SDMA;
  spec.task.copy = send != 0 ? NPUSIM_COPY_NIC_SEND : NPUSIM_COPY_NIC_RECEIVE;
  spec.task.work.copy_bytes = bytes;
  spec.track_type = MSPROF_RTS_TASK_RDMA_SEND;
  RtSpan span(RtApi::kKernelLaunch, true);
  return s->Put(spec);
}

int npusimTotals(uint32_t device, npusimDeviceTotals* totals, size_t size) {
  if (totals == nullptr) return rtFail(ACL_ERROR_INVALID_PARAM, "the address for the totals is null");
  npusim_totals t{};
  const Device* d = Runtime::Get().device(static_cast<int32_t>(device));
  if (d == nullptr || Host::Get().Totals(d->id, &t) != 0)
    return rtFail(ACL_ERROR_RT_INVALID_DEVICEID, NoSuchDevice(device));
  npusimDeviceTotals out{};
  out.tasksSubmitted = t.submitted;
  out.tasksStarted = t.started;
  out.tasksEnded = t.ended;
  out.kernelsEnded = t.kernels_ended;
  out.aicCycles = t.cycles[0];
  out.aivCycles = t.cycles[1];
  out.cubeMacs = t.macs;
  out.bytesRead = t.hbm_bytes[0];
  out.bytesWritten = t.hbm_bytes[1];
  out.aicpuEnded = t.aicpu_ended;
  out.vectorOps = t.vector_ops;
  out.logLost = t.fifo_lost[REFNPU_FIFO_LOG];
  out.pmuLost = t.fifo_lost[REFNPU_FIFO_PMU];
  out.queueDropped = t.queue_dropped;
  out.nicReceived = t.nic_bytes[0];
  out.nicSent = t.nic_bytes[1];
  out.linkReceived = t.link_bytes[0];
  out.linkSent = t.link_bytes[1];
  out.pcieReceived = t.pcie_bytes[0];
  out.pcieSent = t.pcie_bytes[1];
  out.l2Hits = t.l2_lines[0];
  out.l2Misses = t.l2_lines[1];
  out.mediaFrames = t.dvpp_frames;
  out.busyTicks = t.busy_ticks;
  out.interruptsSwallowed = Host::Get().SwallowedInterrupts(d->id);
  std::memcpy(totals, &out, std::min(size, sizeof out));
  return ACL_SUCCESS;
}
