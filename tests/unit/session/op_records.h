// SPDX-License-Identifier: Apache-2.0
// Records of launches and runs as a joiner of operators sees them.
#pragma once

#include <cstring>
#include <vector>

#include "npuprof.h"
#include "npuprof_records.h"
#include "profiling/aprof_pub.h"
#include "session/record_tap.h"

namespace npuprof {

/// A launch of operator @p name in model @p model, told as a runtime does, with times of the host from @p at on.
struct Launched {
  uint32_t model = 1, thread = 10;
  uint16_t device = 0, stream = 1, task = 0;
  uint64_t name = 0, at = 0;
};

class OpRecords {
 public:
  explicit OpRecords(RecordTap& tap) : tap_(tap) {}

  /// The task alone, of which nobody knows the model yet.
  void Task(const Launched& of) {
    MsprofCompactInfo track{};
    track.level = MSPROF_REPORT_RUNTIME_LEVEL;
    track.type = MSPROF_REPORT_RUNTIME_TASK_TRACK_TYPE;
    track.threadId = of.thread;
    track.timeStamp = of.at + 10;
    track.data.runtimeTrack.deviceId = of.device;
    track.data.runtimeTrack.streamId = of.stream;
    track.data.runtimeTrack.taskId = of.task;
    Host(host::RecordClass::kCompact, track);
  }
  void Name(const Launched& of) {
    Span(of, MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE, of.name, of.at, of.at + 20);
  }
  void Execution(const Launched& of) {
    Span(of, MSPROF_REPORT_MODEL_LEVEL, MSPROF_REPORT_MODEL_EXECUTE_TYPE, of.model, of.at, of.at + 30);
  }
  void Launch(const Launched& of) {
    Task(of);
    Name(of);
    Execution(of);
  }
  /// The device's clock is the host's.
  void Run(const Launched& of, uint64_t start, uint64_t end) {
    npuprof_rec_task_log logs[2] = {};
    for (npuprof_rec_task_log& log : logs) {
      log.stream_id = of.stream;
      log.task_id = of.task;
      log.head = NPUPROF_HEAD(&log == &logs[0] ? NPUPROF_FUNC_TASK_START : NPUPROF_FUNC_TASK_END, 0);
      log.clock = &log == &logs[0] ? start : end;
    }
    DeviceRecords records{
        of.device, 1'000'000,      NPUPROF_CHANNEL_TASK_LOG, reinterpret_cast<const std::byte*>(logs),
        2,         sizeof(logs[0])};
    records.device_at = records.host_at = 1;
    records.host_ticks = 1;
    tap_.Device(records);
  }

 private:
  template <typename Record>
  void Host(host::RecordClass record_class, const Record& record) {
    std::vector<std::byte> bytes(sizeof(host::Entry) + sizeof(record));
    const host::Entry entry{1, record_class, true, sizeof(record)};
    std::memcpy(bytes.data(), &entry, sizeof(entry));
    std::memcpy(bytes.data() + sizeof(entry), &record, sizeof(record));
    tap_.Host(*reinterpret_cast<const host::Entry*>(bytes.data()));
  }
  void Span(const Launched& of, uint16_t level, uint32_t type, uint64_t item, uint64_t begin, uint64_t end) {
    MsprofApi api{};
    api.level = level;
    api.type = type;
    api.threadId = of.thread;
    api.itemId = item;
    api.beginTime = begin;
    api.endTime = end;
    Host(host::RecordClass::kApiEvent, api);
  }

  RecordTap& tap_;
};

}  // namespace npuprof
