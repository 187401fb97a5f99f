// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/reporter.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace npusim {

bool Switches::Handle(uint32_t type, const void* data, uint32_t length) {
  constexpr uint32_t kNeeded = offsetof(MsprofCommandHandle, params);
  if (type != PROF_CTRL_SWITCH || data == nullptr || length < kNeeded) return false;
  const auto* command = static_cast<const MsprofCommandHandle*>(data);
  switch (command->type) {
    case PROF_COMMANDHANDLE_TYPE_START:
      bits_.store(command->profSwitch, std::memory_order_relaxed);
      return true;
    case PROF_COMMANDHANDLE_TYPE_STOP:
    case PROF_COMMANDHANDLE_TYPE_FINALIZE:
      bits_.store(0, std::memory_order_relaxed);
      return false;
    default:
      return false;
  }
}

uint32_t ThreadId() {
  // In the child of a fork the memory of a thread is the parent's, and its number is not.
  static std::atomic<uint32_t> forks{1};
  static const int watched = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  static_cast<void>(watched);
  thread_local uint32_t id = 0, known = 0;
  if (const uint32_t now = forks.load(std::memory_order_relaxed); known != now) {
    id = static_cast<uint32_t>(gettid());
    known = now;
  }
  return id;
}

uint64_t HashOf(std::string_view text) {
  return MsprofGetHashId(text.data(), text.size());
}

void NameTypes(uint16_t level, uint32_t base, std::initializer_list<const char*> names) {
  for (const char* name : names) MsprofRegTypeInfo(level, base++, name);
}

void ReportApi(uint16_t level, uint32_t type, uint64_t item, uint64_t begin, uint64_t end) {
  MsprofApi api{};
  api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  api.level = level;
  api.type = type;
  api.threadId = ThreadId();
  api.beginTime = begin;
  api.endTime = end;
  api.itemId = item;
  MsprofReportApi(1, &api);
}

MsprofCompactInfo CompactRecord(uint16_t level, uint32_t type, uint64_t time, uint32_t used) {
  MsprofCompactInfo r{};
  r.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  r.level = level;
  r.type = type;
  r.threadId = ThreadId();
  r.dataLen = used;
  r.timeStamp = time;
  return r;
}

MsprofAdditionalInfo AdditionalRecord(uint16_t level, uint32_t type, uint64_t time, const void* payload,
                                      uint32_t used) {
  MsprofAdditionalInfo r{};
  r.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  r.level = level;
  r.type = type;
  r.threadId = ThreadId();
  r.dataLen = used;
  r.timeStamp = time;
  std::memcpy(r.data, payload, std::min<size_t>(used, sizeof r.data));
  return r;
}

void Report(const MsprofCompactInfo& record, bool keep) {
  MsprofReportCompactInfo(keep ? 0 : 1, &record, sizeof record);
}

void Report(const MsprofAdditionalInfo& record, bool keep) {
  MsprofReportAdditionalInfo(keep ? 0 : 1, &record, sizeof record);
}

uint64_t Span::End() {
  if (begin_ == 0) return 0;
  // Equal times would denote half of an event.
  const uint64_t end = std::max(MsprofSysCycleTime(), begin_ + 1);
  ReportApi(level_, type_, item_, begin_, end);
  begin_ = 0;
  return end;
}

}  // namespace npusim
