// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "device/device_session.h"

namespace npuprof::device {
namespace {

template <size_t N>
const char* Pick(const std::array<const char*, N>& names, uint32_t index) {
  return index < N ? names[index] : "unknown";
}

}  // namespace

const char* ChannelName(uint32_t channel) {
  static constexpr std::array<const char*, NPUPROF_CHANNEL_COUNT> kNames = {
      "events", "task_log", "task_pmu", "ts_track", "block_pmu", "core_sample", "hbm",   "llc",         "nic",
      "dvpp",   "l2",       "aicpu",    "link",     "pcie",      "soc_pmu",     "flows", "accelerators"};
  return Pick(kNames, channel);
}

const char* CoreKindName(uint32_t kind) {
  static constexpr std::array<const char*, 3> kNames = {"none", "cube", "vector"};
  return Pick(kNames, kind);
}

const char* LossCauseName(uint32_t cause) {
  static constexpr std::array<const char*, 8> kNames = {
      "none", "ring_full", "fifo_overflow", "no_credit", "throttled", "reset", "removed", "unknown"};
  return Pick(kNames, cause);
}

}  // namespace npuprof::device
