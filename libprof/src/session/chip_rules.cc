// SPDX-License-Identifier: Apache-2.0
#include "session/chip_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "acl/acl_prof.h"

namespace npuprof::chips {
namespace {

/// A set of chips, a bit each.
class Chips {
 public:
  constexpr Chips(std::initializer_list<uint32_t> chips) {
    for (uint32_t chip : chips) bits_ |= 1u << chip;
  }
  constexpr Chips Without(std::initializer_list<uint32_t> chips) const {
    Chips rest = *this;
    for (uint32_t chip : chips) rest.bits_ &= ~(1u << chip);
    return rest;
  }
  constexpr bool Have(uint32_t chip) const { return chip < 32 && ((bits_ >> chip) & 1) != 0; }

 private:
  uint32_t bits_ = 0;
};

constexpr Chips kEvery = {0, 1, 2, 4, 5, 7, 8, 9, 11, 12, 15, 16, 17, 18, 21};

struct DataType {
  uint64_t bit;
  const char* name;
  Chips chips;
};

constexpr DataType kDataTypes[] = {
    {ACL_PROF_ACL_API, "ACL_PROF_ACL_API", kEvery.Without({9, 21})},
    {ACL_PROF_TASK_TIME, "ACL_PROF_TASK_TIME", kEvery},
    {ACL_PROF_AICORE_METRICS, "ACL_PROF_AICORE_METRICS", kEvery},
    {ACL_PROF_AICPU, "ACL_PROF_AICPU", kEvery.Without({9, 11, 12, 21})},
    {ACL_PROF_L2CACHE, "ACL_PROF_L2CACHE", kEvery.Without({0, 9, 21})},
    {ACL_PROF_HCCL_TRACE, "ACL_PROF_HCCL_TRACE", kEvery.Without({9, 21})},
    {ACL_PROF_TRAINING_TRACE, "ACL_PROF_TRAINING_TRACE", kEvery},
    {ACL_PROF_MSPROFTX, "ACL_PROF_MSPROFTX", kEvery},
    {ACL_PROF_RUNTIME_API, "ACL_PROF_RUNTIME_API", kEvery},
    {ACL_PROF_GE_API_L0, "ACL_PROF_GE_API_L0", kEvery},
    {ACL_PROF_TASK_TIME_L0, "ACL_PROF_TASK_TIME_L0", kEvery},
    {ACL_PROF_TASK_MEMORY, "ACL_PROF_TASK_MEMORY", kEvery},
    {ACL_PROF_TASK_TIME_L2, "ACL_PROF_TASK_TIME_L2", kEvery},
    {ACL_PROF_OP_ATTR, "ACL_PROF_OP_ATTR", kEvery},
    {ACL_PROF_TASK_TIME_L3, "ACL_PROF_TASK_TIME_L3", {5, 15}},
    {ACL_PROF_GE_API_L1, "ACL_PROF_GE_API_L1", kEvery},
    {ACL_PROF_API_STATS, "ACL_PROF_API_STATS", {5, 15, 16}},
    {ACL_PROF_AICORE_SHAPE, "ACL_PROF_AICORE_SHAPE", kEvery},
};

struct Setting {
  int type;
  Chips chips;
  uint32_t most_hz;
};

constexpr Chips kNewest = {15, 16, 17, 18};

constexpr Setting kSettings[] = {
    {ACL_PROF_STORAGE_LIMIT, kEvery, 0},
    {ACL_PROF_SYS_HARDWARE_MEM_FREQ, kEvery, 100},
    {ACL_PROF_LLC_MODE, kEvery, 0},
    {ACL_PROF_SYS_IO_FREQ, {0, 1, 5, 7, 15, 16, 17, 18}, 100},
    {ACL_PROF_SYS_INTERCONNECTION_FREQ, {1, 4, 5, 15, 16, 17, 18}, 50},
    {ACL_PROF_DVPP_FREQ, kEvery, 100},
    {ACL_PROF_HOST_SYS, kEvery, 0},
    {ACL_PROF_HOST_SYS_USAGE, kEvery, 0},
    {ACL_PROF_HOST_SYS_USAGE_FREQ, kEvery, 50},
    {ACL_PROF_LOW_POWER_FREQ, kNewest, 100},
    {ACL_PROF_SYS_MEM_SERVICEFLOW, {5, 15, 16, 17, 18}, 0},
    {ACL_PROF_SYS_CPU_FREQ, {16}, 50},
    {ACL_PROF_OPTYPE, {16}, 0},
    {ACL_PROF_NTS_METRICS, {17}, 0},
    {ACL_PROF_PATH, kEvery, 0},
};

struct Group {
  int metrics;
  Chips chips;
};

// Of chip 8 nothing is published; it has what the other small ones have.
constexpr Group kGroups[] = {
    {ACL_AICORE_ARITHMETIC_UTILIZATION, kEvery.Without({9})},
    {ACL_AICORE_PIPE_UTILIZATION, kEvery},
    {ACL_AICORE_MEMORY_BANDWIDTH, kEvery},
    {ACL_AICORE_L0B_AND_WIDTH, kEvery.Without({9, 21})},
    {ACL_AICORE_RESOURCE_CONFLICT_RATIO, kEvery.Without({9})},
    {ACL_AICORE_MEMORY_UB, kEvery},
    {ACL_AICORE_L2_CACHE, {5, 7, 11, 15, 16, 17, 18}},
    {ACL_AICORE_PIPE_EXECUTE_UTILIZATION, {7, 11, 12}},
    {ACL_AICORE_MEMORY_ACCESS, {5}},
};

// A chip that is newer than this table is most like the one whose records it writes.
uint32_t Known(uint32_t chip) {
  return kEvery.Have(chip) ? chip : kA2;
}

template <typename Table, typename Key>
const auto* Find(const Table& table, Key key) {
  const auto* row = std::find_if(std::begin(table), std::end(table), key);
  return row == std::end(table) ? nullptr : row;
}

const Setting* FindSetting(int type) {
  return Find(kSettings, [type](const Setting& row) { return row.type == type; });
}

}  // namespace

const std::vector<uint32_t>& All() {
  static const std::vector<uint32_t>& all = *new std::vector<uint32_t>([] {
    std::vector<uint32_t> chips;
    for (uint32_t chip = 0; chip < 32; ++chip) {
      if (kEvery.Have(chip)) chips.push_back(chip);
    }
    return chips;
  }());
  return all;
}

std::string Name(uint32_t chip) {
  return chip == kA2 ? "chip A2" : fmt::format("chip {}", chip);
}

const char* DataTypeName(uint64_t bit) {
  const auto* row = Find(kDataTypes, [bit](const DataType& type) { return type.bit == bit; });
  return row ? row->name : "";
}

bool HasDataType(uint32_t chip, uint64_t bit) {
  const auto* row = Find(kDataTypes, [bit](const DataType& type) { return type.bit == bit; });
  return row && row->chips.Have(Known(chip));
}

Result CheckDataTypes(uint32_t chip, uint64_t data_types) {
  for (const DataType& type : kDataTypes) {
    if ((data_types & type.bit) == 0 || type.chips.Have(Known(chip))) continue;
    std::string able;
    for (uint32_t other : All()) {
      if (type.chips.Have(other)) able += fmt::format("{}{}", able.empty() ? "" : ", ", other);
    }
    return Result::Fail(code::kFailure,
                        fmt::format("{} ({:#x}) is not available on {}; chips that have it: {}", type.name,
                                    type.bit, Name(chip), able));
  }
  return Result::Ok();
}

bool HasGroup(uint32_t chip, int metrics) {
  const auto* row = Find(kGroups, [metrics](const Group& group) { return group.metrics == metrics; });
  return row && row->chips.Have(Known(chip));
}

bool HasSetting(uint32_t chip, int type) {
  const Setting* row = FindSetting(type);
  return row && row->chips.Have(Known(chip));
}

uint32_t MostHz(uint32_t chip, int type) {
  const Setting* row = FindSetting(type);
  if (!row) return 0;
  // The newest sample memory in hardware.
  if (type == ACL_PROF_SYS_HARDWARE_MEM_FREQ && kNewest.Have(Known(chip))) return 10'000;
  return row->most_hz;
}

}  // namespace npuprof::chips
