// SPDX-License-Identifier: Apache-2.0
#include "npuprof/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/data_types.h"
#include "metrics/metrics.h"
#include "npuprof/error.h"

namespace npuprof::cli {
namespace {

constexpr unsigned kMaxDevices = 64;

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    words.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

template <typename T>
std::optional<T> Number(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

const std::vector<DataType>& DataTypes() {
  static const std::vector<DataType> types = {
      {"acl-api", 0x1, "acl calls of the host, copies included"},
      {"task-time", 0x2, "when tasks ran, with operator names, types and shapes"},
      {"metrics", 0x4, "hardware counters per task (group: --metrics)"},
      {"aicpu", 0x8, "AI CPU tasks"},
      {"l2cache", 0x10, "L2 cache events"},
      {"hccl", 0x20, "collective communication"},
      {"training-trace", 0x40, "steps"},
      {"msproftx", 0x80, "marks and ranges of the program (mstx, stamps)"},
      {"runtime-api", 0x100, "runtime calls of the host"},
      {"ge-api-l0", 0x200, "host scheduling of dynamic shapes, coarse"},
      {"task-time-l0", 0x800, "when tasks ran, without operator details"},
      {"task-memory", 0x1000, "memory of operators"},
      {"task-time-l2", 0x2000, "task-time and attributes of operators"},
      {"op-attr", 0x4000, "attributes of operators"},
      {"task-time-l3", 0x8000, "the deepest level of task time"},
      {"ge-api-l1", 0x1000000, "host scheduling of dynamic shapes, fine"},
      {"api-stats", 0x400000000, "statistics of acl calls, and nothing else"},
      {"aicore-shape", 0x800000000, "shapes with task-time-l0"},
  };
  return types;
}

uint64_t ParseDataTypes(std::string_view list) {
  uint64_t mask = 0;
  for (const std::string& word : Split(list)) {
    const auto& types = DataTypes();
    const auto known =
        std::find_if(types.begin(), types.end(), [&](const DataType& t) { return word == t.name; });
    if (known != types.end()) {
      mask |= known->bit;
    } else if (const auto bits = Number<uint64_t>(word.starts_with("0x") ? word.substr(2) : "", 16)) {
      mask |= *bits;
    } else {
      std::vector<std::string> names;
      for (const DataType& t : types) names.push_back(t.name);
      throw Error(fmt::format("'{}' is no data type; known are {} and a mask such as 0x7", word,
                              fmt::join(names, ", ")),
                  kUsage);
    }
  }
  if (mask == 0) throw Error("the data types select nothing; name at least one", kUsage);
  if (const uint64_t unknown = mask & ~kKnownDataTypes) {
    throw Error(fmt::format("'{}' has bits that are no data type ({:#x}); allowed are those of {:#x}", list,
                            unknown, kKnownDataTypes & ~kAicpuModel),
                kUsage);
  }
  return mask;
}

std::string DataTypeNames(uint64_t mask) {
  std::vector<std::string> names;
  for (const DataType& t : DataTypes()) {
    if (mask & t.bit) names.push_back(t.name);
    mask &= ~t.bit;
  }
  if (mask) names.push_back(fmt::format("{:#x}", mask));
  return fmt::format("{}", fmt::join(names, ","));
}

const std::vector<std::string>& MetricGroups() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> of_chip;
    for (const MetricGroup& group : A2().groups) of_chip.push_back(group.name);
    return of_chip;
  }();
  return names;
}

std::string ParseMetricGroup(std::string_view name) {
  try {
    if (const auto events = CustomEvents(A2(), name)) return "Custom:" + JoinEvents(*events);
  } catch (const std::runtime_error& e) {
    throw Error(e.what(), kUsage);
  }
  for (const std::string& group : MetricGroups()) {
    if (Lower(group) == Lower(name)) return group;
  }
  throw Error(fmt::format("'{}' is no counter group; known are {} and Custom: with a list of events", name,
                          fmt::join(MetricGroups(), ", ")),
              kUsage);
}

std::string ParseDevices(std::string_view list) {
  if (list == "all") return "all";
  std::set<unsigned> seen;
  for (const std::string& word : Split(list)) {
    const auto id = Number<unsigned>(word, 10);
    if (!id || *id >= kMaxDevices) {
      throw Error(fmt::format("'{}' is no device id; allowed are 0 to {} or 'all'", word, kMaxDevices - 1),
                  kUsage);
    }
    if (!seen.insert(*id).second) throw Error(fmt::format("device {} is named twice", *id), kUsage);
  }
  return fmt::format("{}", fmt::join(seen, ","));
}

std::vector<std::pair<std::string, std::string>> EventNames() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [event, name] : A2().events) names.emplace_back(JoinEvents({event}), name);
  return names;
}

uint64_t ParseTime(const char* what, std::string_view text) {
  constexpr double kMostSeconds = 4294967295;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const double seconds = unit == "ms"  ? number / 1000
                         : unit == "m" ? number * 60
                         : unit == "h" ? number * 3600
                                       : number;
  const bool known = unit.empty() || unit == "s" || unit == "ms" || unit == "m" || unit == "h";
  // Not "!(a < b)": what is no number at all is neither.
  if (error != std::errc() || !known || !(seconds >= 0.001 && seconds <= kMostSeconds)) {
    throw Error(
        fmt::format("{} is '{}'; allowed are 1ms to {}s, as a number of seconds or with ms, s, m or h", what,
                    text, static_cast<uint64_t>(kMostSeconds)),
        kUsage);
  }
  return static_cast<uint64_t>(std::llround(seconds * 1000));
}

}  // namespace npuprof::cli
