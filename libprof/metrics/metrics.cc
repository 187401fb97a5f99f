// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace npuprof {
extern const char* const kA2Table;

namespace {
using nlohmann::json;

uint16_t Event(const std::string& text) {
  auto events = SplitEvents(text);
  if (!events || events->size() != 1) {
    throw std::runtime_error("'" + text +
                             "' is no event number; write 0x followed by 1 to 4 hexadecimal digits");
  }
  return events->front();
}

std::vector<uint16_t> Events(const json& list) {
  std::vector<uint16_t> out;
  for (const auto& item : list) out.push_back(Event(item.get<std::string>()));
  return out;
}

EventList ParseList(const json& node, const ChipTable& table) {
  EventList list{node.at("name").get<std::string>(), Events(node.at("events"))};
  if (list.events.empty() || list.events.size() > table.counters) {
    throw std::runtime_error(list.name + " lists " + std::to_string(list.events.size()) + " events; 1 to " +
                             std::to_string(table.counters) + " are possible");
  }
  if (std::set<uint16_t>(list.events.begin(), list.events.end()).size() != list.events.size()) {
    throw std::runtime_error(list.name + " lists an event twice");
  }
  for (uint16_t event : list.events) {
    if (std::none_of(table.events.begin(), table.events.end(),
                     [&](const auto& e) { return e.first == event; })) {
      throw std::runtime_error(list.name + " lists " + JoinEvents({event}) +
                               ", which is not among the events");
    }
  }
  return list;
}

void RequireCounted(const Metric& metric, const EventList& list) {
  auto counted = [&](uint16_t event) {
    return std::find(list.events.begin(), list.events.end(), event) != list.events.end();
  };
  for (const auto& term : metric.terms) {
    if (!counted(term.event)) {
      throw std::runtime_error(metric.name + " needs " + JoinEvents({term.event}) + ", which " + list.name +
                               " does not count");
    }
  }
  if (metric.per == Per::kEvent && !counted(metric.per_event)) {
    throw std::runtime_error(metric.name + " is divided by " + JoinEvents({metric.per_event}) + ", which " +
                             list.name + " does not count");
  }
}

Metric ParseMetric(const json& node) {
  Metric metric;
  metric.name = node.at("name").get<std::string>();
  metric.unit = node.at("unit").get<std::string>();
  metric.time = node.value("time", "");
  for (const auto& term : node.at("terms")) {
    metric.terms.push_back({Event(term.at("event").get<std::string>()), term.at("factor").get<double>()});
  }
  const auto per = node.at("per").get<std::string>();
  if (per == "cycles") {
    metric.per = Per::kCycles;
  } else if (per == "seconds") {
    metric.per = Per::kSeconds;
  } else if (per.starts_with("event:")) {
    metric.per = Per::kEvent;
    metric.per_event = Event(per.substr(6));
  } else if (per != "none") {
    throw std::runtime_error(metric.name + " is divided by '" + per +
                             "'; allowed are none, cycles, seconds and event:0x..");
  }
  for (const auto& core : node.at("cores")) {
    const auto kind = core.get<std::string>();
    if (kind == "cube") {
      metric.cube = true;
    } else if (kind == "vector") {
      metric.vector = true;
    } else {
      throw std::runtime_error(metric.name + " is for '" + kind + "' cores; allowed are cube and vector");
    }
  }
  if (metric.terms.empty()) throw std::runtime_error(metric.name + " has no terms");
  return metric;
}

MetricGroup ParseGroup(const json& node, const ChipTable& table) {
  MetricGroup group;
  group.id = -1;
  group.name = node.at("name").get<std::string>();
  group.cube = ParseList(node.at("cube"), table);
  group.vector = ParseList(node.at("vector"), table);
  for (const auto& item : node.at("metrics")) {
    Metric metric = ParseMetric(item);
    if (metric.cube) RequireCounted(metric, group.cube);
    if (metric.vector) RequireCounted(metric, group.vector);
    group.metrics.push_back(std::move(metric));
  }
  return group;
}

// The parser's values need memory even to be destroyed, and end the program if there is none then. So what parsing
// takes is asked for first, where its lack is an exception like any other. In small pieces: they stay at hand. By calls of
// the functions themselves: a compiler may leave out pairs of `new` and `delete`.
void RequireMemory(size_t bytes) {
  struct Piece {
    Piece* next;
    char rest[1000];
  };
  Piece* pieces = nullptr;
  bool enough = true;
  for (size_t got = 0; got < bytes && enough; got += sizeof(Piece)) {
    auto* piece = static_cast<Piece*>(::operator new(sizeof(Piece), std::nothrow));
    enough = piece != nullptr;
    if (enough) piece->next = std::exchange(pieces, piece);
  }
  while (pieces != nullptr) ::operator delete(std::exchange(pieces, pieces->next));
  if (!enough) throw std::bad_alloc();
}
}  // namespace

const MetricGroup* ChipTable::Find(int id) const {
  for (const auto& group : groups) {
    if (group.id == id) return &group;
  }
  return nullptr;
}

const MetricGroup* ChipTable::Find(std::string_view group_name) const {
  for (const auto& group : groups) {
    if (group.name == group_name || group.cube.name == group_name || group.vector.name == group_name)
      return &group;
  }
  return nullptr;
}

ChipTable ParseChipTable(std::string_view text) {
  RequireMemory(text.size() * 64);
  try {
    const json root = json::parse(text);
    ChipTable table;
    table.chip = root.at("chip").get<int>();
    table.name = root.at("name").get<std::string>();
    table.counters = root.at("counters").get<unsigned>();
    table.clock_mhz = root.at("clock_mhz").get<double>();
    table.core_mhz = root.at("core_mhz").get<double>();
    table.l2_cache_task_events = Events(root.at("l2_cache_task_events"));
    table.smmu_events = Events(root.at("smmu_events"));
    for (const auto& [event, name] : root.at("events").items()) {
      table.events.emplace_back(Event(event), name.get<std::string>());
    }
    std::sort(table.events.begin(), table.events.end());
    for (const auto& node : root.at("groups")) {
      MetricGroup group = ParseGroup(node, table);
      group.id = node.at("id").get<int>();
      if (table.Find(group.id) || table.Find(group.name)) {
        throw std::runtime_error("group " + std::to_string(group.id) + " " + group.name + " appears twice");
      }
      table.groups.push_back(std::move(group));
    }
    for (const auto& node : root.value("recorded", json::array()))
      table.recorded.push_back(ParseGroup(node, table));
    return table;
  } catch (const json::exception& error) {
    throw std::runtime_error(std::string("the chip table cannot be read: ") + error.what());
  }
}

const ChipTable& A2() {
  // Not made under the lock of a static object, which would be taken for ever in the child of a fork in that moment.
  static std::atomic<const ChipTable*> known{nullptr};
  const ChipTable* table = known.load(std::memory_order_acquire);
  if (table) return *table;
  auto fresh = std::make_unique<const ChipTable>(ParseChipTable(kA2Table));
  if (known.compare_exchange_strong(table, fresh.get())) return *fresh.release();
  return *table;
}

std::string JoinEvents(const std::vector<uint16_t>& events) {
  std::string out;
  for (uint16_t event : events) {
    char text[8];
    std::snprintf(text, sizeof(text), "0x%x", static_cast<unsigned>(event));
    if (!out.empty()) out += ',';
    out += text;
  }
  return out;
}

std::optional<std::vector<uint16_t>> CustomEvents(const ChipTable& table, std::string_view text) {
  constexpr std::string_view kBegin = "Custom:";
  if (!text.starts_with(kBegin)) return std::nullopt;
  const std::string all(text);
  text.remove_prefix(kBegin.size());
  std::vector<uint16_t> events;
  for (bool more = true; more;) {
    const std::string_view item = text.substr(0, text.find(','));
    more = item.size() < text.size();
    text.remove_prefix(more ? item.size() + 1 : item.size());
    const auto named = std::find_if(table.events.begin(), table.events.end(),
                                    [&](const auto& e) { return e.second == item; });
    uint16_t event = 0;
    if (named != table.events.end()) {
      event = named->first;
    } else {
      const bool hex = item.starts_with("0x");
      const std::string_view digits = hex ? item.substr(2) : item;
      const auto [end, code] =
          std::from_chars(digits.data(), digits.data() + digits.size(), event, hex ? 16 : 10);
      if (code != std::errc() || end != digits.data() + digits.size()) {
        throw std::runtime_error(
            "'" + std::string(item) + "' in '" + all +
            "' is no event; allowed are numbers from 0 to 65535, as 0x.. or decimal, and names");
      }
    }
    if (std::find(events.begin(), events.end(), event) != events.end())
      throw std::runtime_error("'" + all + "' has event " + JoinEvents({event}) + " twice");
    events.push_back(event);
  }
  if (events.size() > table.counters) {
    throw std::runtime_error("'" + all + "' has " + std::to_string(events.size()) + " events; chip " +
                             table.name + " counts at most " + std::to_string(table.counters));
  }
  return events;
}

std::optional<std::vector<uint16_t>> SplitEvents(std::string_view text) {
  std::vector<uint16_t> out;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (!item.starts_with("0x") || item.size() > 6) return std::nullopt;
    uint16_t value = 0;
    const auto [end, code] = std::from_chars(item.data() + 2, item.data() + item.size(), value, 16);
    if (code != std::errc() || end != item.data() + item.size()) return std::nullopt;
    out.push_back(value);
  }
  return out;
}

}  // namespace npuprof
