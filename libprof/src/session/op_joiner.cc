// SPDX-License-Identifier: Apache-2.0
#include "session/op_joiner.h"

#include <cstring>

#include "npuprof.h"
#include "npuprof_records.h"

namespace npuprof {
namespace {

// More of one number can only wait if some were lost on the other side.
constexpr size_t kMostOfOneNumber = 4;
// Launches outside of models are settled by the next execution on their thread; a thread without models has none.
constexpr size_t kMostPending = 1 << 18;
// Both clocks are read in turn once a second, and their rates are known to some millionths.
constexpr uint64_t kClockError = 1'000'000;
// Whoever is further away belongs to the next round of numbers.
constexpr int kHalfOfNumbers = 1 << 15;

template <typename Record>
Record As(const host::Entry& entry) {
  Record record;
  std::memcpy(&record, entry.record(), sizeof(record));
  return record;
}

}  // namespace

void OpJoiner::Host(const host::Entry& entry) {
  if (entry.record_class == host::RecordClass::kCompact) {
    const auto record = As<MsprofCompactInfo>(entry);
    if (record.level == MSPROF_REPORT_RUNTIME_LEVEL && record.type == MSPROF_REPORT_RUNTIME_TASK_TRACK_TYPE)
      Track(record);
    if (record.level == MSPROF_REPORT_NODE_LEVEL && record.type == MSPROF_REPORT_NODE_BASIC_INFO_TYPE)
      Describe(record);
  } else if (entry.record_class == host::RecordClass::kApiEvent) {
    const auto span = As<MsprofApi>(entry);
    if (span.endTime == MSPROF_EVENT_FLAG) return;  // half of one
    if (span.level == MSPROF_REPORT_NODE_LEVEL && span.type == MSPROF_REPORT_NODE_LAUNCH_TYPE) Name(span);
    if (span.level == MSPROF_REPORT_MODEL_LEVEL && span.type == MSPROF_REPORT_MODEL_EXECUTE_TYPE) Close(span);
  }
}

void OpJoiner::Track(const MsprofCompactInfo& record) {
  const MsprofRuntimeTrack& track = record.data.runtimeTrack;
  if (track.taskType == MSPROF_RTS_TASK_FLIP || track.taskType == MSPROF_RTS_TASK_PROFILER_TRACE_EX) return;
  auto launch = std::make_shared<Launch>();
  launch->key = {track.deviceId, track.streamId, static_cast<uint16_t>(track.taskId)};
  launch->time = record.timeStamp;
  launch->thread = record.threadId;
  Task& task = tasks_[launch->key];
  if (task.launches.size() >= kMostOfOneNumber) task.launches.pop_front();
  task.launches.push_back(launch);
  Pending& pending = threads_[record.threadId];
  if (pending.size() >= kMostPending) {
    Settle(pending.front().get(), false, 0);
    pending.pop_front();
  }
  pending.push_back(std::move(launch));
}

void OpJoiner::Name(const MsprofApi& launch) {
  Pending& pending = threads_[launch.threadId];
  for (auto it = pending.rbegin(); it != pending.rend() && (*it)->time >= launch.beginTime; ++it) {
    if ((*it)->time > launch.endTime || (*it)->name != 0) continue;
    (*it)->name = launch.itemId;
    (*it)->begin = launch.beginTime;
  }
}

void OpJoiner::Describe(const MsprofCompactInfo& record) {
  // Told behind the launch, at its end.
  Pending& pending = threads_[record.threadId];
  for (auto it = pending.rbegin(); it != pending.rend(); ++it) {
    Launch& launch = **it;
    if (launch.time > record.timeStamp) continue;
    if (launch.type != 0 || (launch.name != 0 && launch.name != record.data.nodeBasicInfo.opName)) return;
    if (launch.name == 0) continue;  // no operator: a copy, an event
    launch.type = record.data.nodeBasicInfo.opType;
  }
}

void OpJoiner::Close(const MsprofApi& execution) {
  Pending& pending = threads_[execution.threadId];
  while (!pending.empty() && pending.front()->time <= execution.endTime) {
    const std::shared_ptr<Launch> launch = std::move(pending.front());
    pending.pop_front();
    Settle(launch.get(), launch->time >= execution.beginTime, static_cast<uint32_t>(execution.itemId));
  }
}

void OpJoiner::Settle(Launch* launch, bool of_model, uint32_t model) {
  launch->state = of_model ? Launch::kOfModel : Launch::kOfNone;
  launch->model = model;
  Match(launch->key);
}

void OpJoiner::Device(const DeviceRecords& records) {
  if (records.channel != NPUPROF_CHANNEL_TASK_LOG) return;
  for (size_t i = 0; i < records.count; ++i) {
    npuprof_rec_task_log log;
    std::memcpy(&log, records.data + i * records.size, sizeof(log));
    const unsigned function = NPUPROF_HEAD_FUNC(log.head);
    if (function != NPUPROF_FUNC_TASK_START && function != NPUPROF_FUNC_TASK_END) continue;
    const Key key{records.device, log.stream_id, log.task_id};
    Task& task = tasks_[key];
    if (function == NPUPROF_FUNC_TASK_START) {
      if (task.runs.size() >= kMostOfOneNumber) task.runs.pop_front();
      task.runs.push_back({log.clock, 0, records.clock_hz, records.HostTime(log.clock), false});
      continue;
    }
    for (Run& run : task.runs) {
      if (run.ended) continue;
      run.end = log.clock;
      run.ended = true;
      break;
    }
    Match(key);
  }
}

void OpJoiner::Match(const Key& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  while (!task.launches.empty() && !task.runs.empty()) {
    const Launch& launch = *task.launches.front();
    const Run& run = task.runs.front();
    if (launch.state == Launch::kOpen || !run.ended) return;
    if (run.host_start != 0 && run.host_start + kClockError < launch.begin) {
      task.runs.pop_front();
      continue;
    }
    DropLaunchesBefore(found);
    if (launch.state == Launch::kOfModel && launch.name != 0)
      emit_({launch.model, key.device, launch.thread, launch.name, launch.type, run.start, run.end,
             run.clock_hz});
    task.launches.pop_front();
    task.runs.pop_front();
  }
  if (task.launches.empty() && task.runs.empty()) tasks_.erase(found);
}

// Tasks of a stream run in the order of their numbers, which begin anew after the last.
void OpJoiner::DropLaunchesBefore(Tasks::iterator met) {
  const Key& key = met->first;
  for (auto it = met; it != tasks_.begin();) {
    --it;
    if (it->first.device != key.device || it->first.stream != key.stream || it->second.launches.empty() ||
        key.task - it->first.task > kHalfOfNumbers)
      return;
    if (it->second.runs.empty()) it = tasks_.erase(it);  // else its model is still being executed
  }
}

}  // namespace npuprof
