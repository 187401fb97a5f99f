// SPDX-License-Identifier: Apache-2.0
#include "device/converters.h"

#include <cstdint>
#include <cstring>

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

bool Convert(const void* in, void* out, const void* context, uint64_t unit) {
  npuprof_rec_bandwidth from;
  std::memcpy(&from, in, sizeof from);
  const auto& clock = *static_cast<const BandwidthContext*>(context);
  const FileRecord to{static_cast<uint64_t>(static_cast<double>(from.clock) * clock.microseconds_per_tick),
                      (from.value + unit / 2) / unit, from.event, from.unit};
  std::memcpy(out, &to, sizeof to);
  return true;
}

}  // namespace

bool ConvertHbm(const void* in, void* out, const void* context) {
  return Convert(in, out, context, kHbmUnit);
}
bool ConvertLlc(const void* in, void* out, const void* context) {
  return Convert(in, out, context, 1);
}

}  // namespace npuprof::device
