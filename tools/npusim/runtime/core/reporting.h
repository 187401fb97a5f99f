// SPDX-License-Identifier: Apache-2.0
// What the runtime and the operator launcher tell the profiler.
#ifndef NPUSIM_RUNTIME_CORE_REPORTING_H
#define NPUSIM_RUNTIME_CORE_REPORTING_H

#include "runtime/core/rt.h"
#include "runtime/report/reporter.h"

namespace npusim {

// Calls of the runtime, in the order of their type numbers.
enum class RtApi : uint32_t {
  kSetDevice,
  kDeviceReset,
  kDeviceSynchronize,
  kStreamCreate,
  kStreamDestroy,
  kStreamSynchronize,
  kStreamWaitEvent,
  kEventCreate,
  kEventDestroy,
  kEventRecord,
  kEventSynchronize,
  kNotifyRecord,
  kNotifyWait,
  kDevMalloc,
  kDevFree,
  kHostMalloc,
  kHostFree,
  kMemCopySync,
  kMemCopyAsync,
  kMemSetSync,
  kMemSetAsync,
  kReduceAsync,
  kKernelLaunch,
  kCpuKernelLaunch,
  kProfilerTrace,
  kCaptureBegin,
  kCaptureEnd,
  kModelExecute,
};

// The components RUNTIME and GE.
Switches& RuntimeSwitches();
Switches& GraphEngineSwitches();

constexpr uint64_t kTaskTime = PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_TASK_TIME_L2 | PROF_TASK_TIME_L3;
constexpr uint64_t kTaskDetail = PROF_TASK_TIME_L1 | PROF_TASK_TIME_L2 | PROF_TASK_TIME_L3;

// Span of a runtime call. Calls that put tasks on a stream are reported with task times too: without the span
// around it a task could not be told from others.
class RtSpan : public Span {
 public:
  explicit RtSpan(RtApi api, bool puts_tasks = false)
      : Span(RuntimeSwitches().Any(PROF_RUNTIME_API | (puts_tasks ? kTaskTime : 0)),
             MSPROF_REPORT_RUNTIME_LEVEL, MSPROF_REPORT_RUNTIME_API_BASE_TYPE + static_cast<uint32_t>(api)) {}
};

// A task got its id on a stream: the track record, and for copies the record with the size that goes with it.
struct TrackInfo {
  uint32_t device;
  uint16_t stream;
  uint16_t task;
  uint32_t flips;
  uint64_t type;
  uint64_t kernel;
  uint32_t block_dim;
  bool is_copy;
  uint64_t copy_bytes;
  uint16_t copy_direction;
};
void ReportTrack(const TrackInfo& info, uint64_t time);

// An operator's description at the end of its launch.
void ReportNode(const RtOperator& op, uint64_t launch_end);

// A stream joined a graph (begin) or the graph died.
void ReportCapture(bool begin, uint16_t model_stream, uint16_t stream, uint16_t model, uint16_t device);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_CORE_REPORTING_H
