// SPDX-License-Identifier: Apache-2.0
// Counter groups, events and formulas of one chip generation (a2.json), checked when loaded.
#ifndef NPUPROF_METRICS_METRICS_H
#define NPUPROF_METRICS_METRICS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace npuprof {

/// What the sum of a metric's terms is divided by.
enum class Per {
  kNone,     ///< nothing
  kCycles,   ///< core cycles of the row
  kSeconds,  ///< cycles / core frequency, and by 2^33: factors are bits, the result is GB/s
  kEvent,    ///< the counter Metric::per_event
};

/// A column computed from counters: sum(counter(event) * factor) / per.
struct Metric {
  struct Term {
    uint16_t event;
    double factor;
  };
  std::string name;  ///< without aic_ or aiv_
  std::string time;  ///< column "core time * ratio", "" if there is none
  std::string unit;
  std::vector<Term> terms;
  Per per = Per::kNone;
  uint16_t per_event = 0;
  bool cube = false;    ///< computed for cube cores
  bool vector = false;  ///< computed for vector cores
};

/// The events one kind of core counts, and the name that sample.json gives them.
struct EventList {
  std::string name;
  std::vector<uint16_t> events;  ///< 1 to ChipTable::counters entries, in the order of the record's counters
};

struct MetricGroup {
  int id = 0;        ///< aclprofAicoreMetrics
  std::string name;  ///< as on the command line
  EventList cube;
  EventList vector;
  std::vector<Metric> metrics;
};

struct ChipTable {
  int chip = 0;  ///< platform_version in info.json
  std::string name;
  unsigned counters = 0;
  double clock_mhz = 0;
  double core_mhz = 0;
  std::vector<std::pair<uint16_t, std::string>> events;  ///< rising
  std::vector<uint16_t> l2_cache_task_events;
  std::vector<uint16_t> smmu_events;
  std::vector<MetricGroup> groups;
  std::vector<MetricGroup> recorded;  ///< not programmed by us, but named in directories of other collectors

  /// The group of an aclprofAicoreMetrics value; nullptr if the chip lacks it.
  const MetricGroup* Find(int id) const;
  /// The group whose own name, or whose cube or vector list, is called so; nullptr if there is none.
  const MetricGroup* Find(std::string_view group_name) const;
};

/// Parses and checks a table: events named once, lists within the counters, every metric computable from the
/// lists of the cores it is for. Throws std::runtime_error with one sentence, or std::bad_alloc.
ChipTable ParseChipTable(std::string_view json);

/// The table of A2 (platform_version 5). Loaded once; safe from any thread. Throws std::bad_alloc if there is no memory
/// to load it, and tries again at the next call.
const ChipTable& A2();

/// "0x8,0xa": the form of sample.json.
std::string JoinEvents(const std::vector<uint16_t>& events);

/// The events of a list that no group has: "Custom:" and numbers (0x.. or decimal) or names of ChipTable::events, joined by
/// commas. nullopt if @p text does not begin so. Throws std::runtime_error with one sentence for a list that is not possible.
std::optional<std::vector<uint16_t>> CustomEvents(const ChipTable& table, std::string_view text);

/// The reverse of JoinEvents(); nullopt if an item is no hexadecimal number below 0x10000.
std::optional<std::vector<uint16_t>> SplitEvents(std::string_view text);

}  // namespace npuprof
#endif
