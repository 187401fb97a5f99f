// SPDX-License-Identifier: Apache-2.0
// What a component of the runtime reports to the profiler. Each shared library holds its own copy of the state.
#ifndef NPUSIM_RUNTIME_REPORT_REPORTER_H
#define NPUSIM_RUNTIME_REPORT_REPORTER_H

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "profiling/prof_api.h"

namespace npusim {

// The wishes of a running session, PROF_* bits; 0 while nobody collects. One per component.
class Switches {
 public:
  bool Any(uint64_t bits) const { return (bits_.load(std::memory_order_relaxed) & bits) != 0; }
  // Takes over a callback of the profiler. Returns true if a session has just started.
  bool Handle(uint32_t type, const void* data, uint32_t length);

 private:
  std::atomic<uint64_t> bits_{0};
};

uint32_t ThreadId();

uint64_t HashOf(std::string_view text);

// Names the types base, base + 1, ... of a level.
void NameTypes(uint16_t level, uint32_t base, std::initializer_list<const char*> names);

void ReportApi(uint16_t level, uint32_t type, uint64_t item, uint64_t begin, uint64_t end);

// Headers of records, to be completed by the caller.
MsprofCompactInfo CompactRecord(uint16_t level, uint32_t type, uint64_t time, uint32_t used);
MsprofAdditionalInfo AdditionalRecord(uint16_t level, uint32_t type, uint64_t time, const void* payload,
                                      uint32_t used);
// keep: the record survives the storage limit ("unaging").
void Report(const MsprofCompactInfo& record, bool keep = false);
void Report(const MsprofAdditionalInfo& record, bool keep = false);

// Reports the time from construction to destruction as a call, if @p on.
class Span {
 public:
  Span(bool on, uint16_t level, uint32_t type, uint64_t item = 0)
      : begin_(on ? MsprofSysCycleTime() : 0), item_(item), type_(type), level_(level) {}
  ~Span() {
    if (begin_ != 0) End();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  bool on() const { return begin_ != 0; }
  // Ends the span now and returns its end; 0 if it is off.
  uint64_t End();

 private:
  uint64_t begin_;
  uint64_t item_;
  uint32_t type_;
  uint16_t level_;
};

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_REPORT_REPORTER_H
