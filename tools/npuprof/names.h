// SPDX-License-Identifier: Apache-2.0
// Data types and metric groups of aclprof as words for the command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof::cli {

struct DataType {
  const char* name;
  uint64_t bit;
  const char* meaning;
};

/** Every data type that `record --data-types` takes, in the order of their bits. */
const std::vector<DataType>& DataTypes();

/** What `record` collects when nothing is said. */
inline constexpr const char* kDefaultDataTypes = "acl-api,task-time,metrics,hccl,msproftx,runtime-api";

/**
 * The mask for a comma list of names or hexadecimal masks ("0x7").
 * @throws Error (usage) naming the unknown word and the known ones
 */
uint64_t ParseDataTypes(std::string_view list);

/** "acl-api,task-time" for 0x3; bits without a name are appended in hexadecimal. */
std::string DataTypeNames(uint64_t mask);

/** Names of the metric groups that the chip can count, as aclprof spells them. */
const std::vector<std::string>& MetricGroups();

/** The spelling of MetricGroups() for @p name in any case; for a list of events ("Custom:0x8,vec_busy_cycles") its numbers.
 * @throws Error (usage) naming what is wrong */
std::string ParseMetricGroup(std::string_view name);

/** A comma list of device ids below 64 without repetition, or "all". @throws Error (usage) */
std::string ParseDevices(std::string_view list);

/** Events of the chip by which a list may name them: number and name. */
std::vector<std::pair<std::string, std::string>> EventNames();

/** Milliseconds of "2.5", "2.5s", "100ms", "3m" or "1h". @throws Error (usage) for others, and beyond 1 ms to 4294967295 s */
uint64_t ParseTime(const char* what, std::string_view text);

}  // namespace npuprof::cli
