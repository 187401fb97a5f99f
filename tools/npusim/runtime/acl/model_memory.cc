// SPDX-License-Identifier: Apache-2.0
#include "runtime/acl/model_memory.h"

#include <algorithm>

#include "runtime/core/rt.h"
#include "runtime/report/reporter.h"

namespace npusim {
namespace {

constexpr uint64_t kAlignment = 512;
constexpr uint32_t kNpu = 20;  // as published readers number kinds of devices

}  // namespace

void ModelMemory::Add(uint64_t output_bytes) {
  const uint64_t rounded = (output_bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.push_back(rounded);
  largest_ = std::max(largest_, rounded);
}

MemoryTrace::MemoryTrace(const ModelMemory& memory, uint32_t device, bool runs)
    : memory_(memory), device_(device), on_(runs && rtGraphEngineWants(PROF_TASK_MEMORY)) {}

MemoryTrace::~MemoryTrace() {
  if (last_ != SIZE_MAX) Tell(last_, last_name_, false);
}

void MemoryTrace::Launched(size_t index, uint64_t name) {
  if (!on_ || memory_.bytes(index) == 0) return;
  Tell(index, name, true);
  if (last_ != SIZE_MAX) Tell(last_, last_name_, false);
  last_ = index;
  last_name_ = name;
}

void MemoryTrace::Tell(size_t index, uint64_t name, bool taken) {
  const uint64_t bytes = memory_.bytes(index);
  allocated_ = taken ? allocated_ + bytes : allocated_ - bytes;
  MsprofMemoryInfo info{};
  info.addr = memory_.address(index);
  info.size = taken ? static_cast<int64_t>(bytes) : -static_cast<int64_t>(bytes);
  info.nodeId = name;
  info.totalAllocateMemory = allocated_;
  info.totalReserveMemory = memory_.reserved();
  info.deviceId = device_;
  info.deviceType = kNpu;
  Report(AdditionalRecord(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_TASK_MEMORY_TYPE, MsprofSysCycleTime(),
                          &info, sizeof info - sizeof info.reserve));
}

}  // namespace npusim
