// SPDX-License-Identifier: Apache-2.0
#include "device/converters.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/ticks.h"
#include "npuprof_records.h"

namespace npuprof::device {
namespace {

constexpr uint64_t kHbmUnit = 32;  // readers multiply counts by 256 bits

struct FileRecord {
  uint64_t time_us;
  uint64_t count;
  uint32_t event;
  uint32_t unit;
};
static_assert(sizeof(FileRecord) == kBandwidthFileRecord);

void Write(const npuprof_rec_bandwidth& from, uint64_t count, const DeviceContext& device, void* out) {
  // Clocks may wrap within a session; what was sampled before it began is of its beginning.
  const auto since = static_cast<int64_t>(from.clock - device.start);
  const FileRecord to{MulDiv(since < 0 ? 0 : static_cast<uint64_t>(since), 1'000'000, device.clock_hz), count,
                      from.event, from.unit};
  std::memcpy(out, &to, sizeof to);
}

template <typename Record, typename... Clock>
bool Rebase(const void* in, void* out, const void* context, Clock Record::*... clocks) {
  Record record;
  std::memcpy(&record, in, sizeof record);
  const uint64_t base = static_cast<const DeviceContext*>(context)->base;
  ((record.*clocks -= base), ...);
  std::memcpy(out, &record, sizeof record);
  return true;
}

struct AicpuRecord {
  uint16_t magic, level;
  uint32_t type, thread, length;
  uint64_t time;
  uint16_t stream_id, task_id;
  uint32_t reserved0;
  uint64_t run_start_us, run_start, compute_start_us, memcpy_start_us, memcpy_end_us, run_end_us, run_end;
  uint32_t thread2, device;
  uint64_t submitted, scheduled, before_run, after_run;
  uint32_t kernel_type, dispatch_us, total_us;
  uint16_t ffts_thread;
  uint8_t version, reserved1;
  uint64_t pad[14];
};
static_assert(sizeof(AicpuRecord) == kAicpuFileRecord);
static_assert(offsetof(AicpuRecord, run_end) == 80);
static_assert(offsetof(AicpuRecord, submitted) == 96);
static_assert(offsetof(AicpuRecord, version) == 142);

}  // namespace

uint64_t ClockBase(uint64_t now) {
  constexpr uint64_t kFar = uint64_t{1} << 52;
  // Records may be of what was queued before the session; at 50 MHz these are 86 seconds.
  constexpr uint64_t kBefore = uint64_t{1} << 32;
  return now < kFar ? 0 : now - kBefore;
}

bool RebaseTaskLog(const void* in, void* out, const void* context) {
  return Rebase(in, out, context, &npuprof_rec_task_log::clock);
}
bool RebaseTrack(const void* in, void* out, const void* context) {
  return Rebase(in, out, context, &npuprof_rec_ts_track::clock);
}
bool RebasePmu(const void* in, void* out, const void* context) {
  static_assert(offsetof(npuprof_rec_task_pmu, start) == offsetof(npuprof_rec_block_pmu, start));
  static_assert(offsetof(npuprof_rec_task_pmu, end) == offsetof(npuprof_rec_block_pmu, end));
  return Rebase(in, out, context, &npuprof_rec_task_pmu::start, &npuprof_rec_task_pmu::end);
}

bool ConvertCoreSample(const void* in, void* out, const void* context) {
  npuprof_rec_core_sample record;
  std::memcpy(&record, in, sizeof record);
  const auto& device = *static_cast<const DeviceContext*>(context);
  if (record.core_id >= device.cube_cores)
    record.core_id = static_cast<uint8_t>(record.core_id - device.cube_cores + kMostSampledCubes);
  record.time_ns -= MulDiv(device.base, 1'000'000'000, device.clock_hz);
  std::memcpy(out, &record, sizeof record);
  return true;
}

bool ConvertAicpu(const void* in, void* out, const void* context) {
  constexpr uint16_t kMagic = 0x5a5a, kLevel = 6000;
  constexpr uint32_t kNode = 0;
  npuprof_rec_aicpu from;
  std::memcpy(&from, in, sizeof from);
  const auto& device = *static_cast<const DeviceContext*>(context);
  for (auto* clock : {&from.submitted, &from.scheduled, &from.start, &from.end}) *clock -= device.base;
  const auto us = [&](uint64_t ticks) { return MulDiv(ticks, 1'000'000, device.clock_hz); };
  AicpuRecord to{};
  to.magic = kMagic;
  to.level = kLevel;
  to.type = kNode;
  to.length = offsetof(AicpuRecord, pad) - offsetof(AicpuRecord, stream_id);
  to.time = from.end;
  to.stream_id = from.stream_id;
  to.task_id = from.task_id;
  to.run_start_us = to.compute_start_us = us(from.start);
  to.memcpy_start_us = to.memcpy_end_us = to.run_end_us = us(from.end);
  to.run_start = to.before_run = from.start;
  to.run_end = to.after_run = from.end;
  to.device = device.device;
  to.submitted = from.submitted;
  to.scheduled = from.scheduled;
  to.dispatch_us = static_cast<uint32_t>(us(from.start - from.scheduled));
  to.total_us = static_cast<uint32_t>(us(from.end - from.submitted));
  std::memcpy(out, &to, sizeof to);
  return true;
}

bool ConvertHbm(const void* in, void* out, const void* context) {
  npuprof_rec_bandwidth from;
  std::memcpy(&from, in, sizeof from);
  const auto& device = *static_cast<const DeviceContext*>(context);
  uint64_t& rest = device.hbm_rest[(from.unit * 2 + from.event) % device.hbm_rest.size()];
  const uint64_t bytes = from.value + rest;
  rest = bytes % kHbmUnit;
  Write(from, bytes / kHbmUnit, device, out);
  return true;
}

bool ConvertLlc(const void* in, void* out, const void* context) {
  npuprof_rec_bandwidth from;
  std::memcpy(&from, in, sizeof from);
  Write(from, from.value, *static_cast<const DeviceContext*>(context), out);
  return true;
}

}  // namespace npuprof::device
