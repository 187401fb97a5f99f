// SPDX-License-Identifier: Apache-2.0
#include "npuprof/page.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/text.h"
#include "npuprof/error.h"
#include "npuprof/insight_json.h"
#include "npuprof/output.h"

namespace npuprof::cli {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 10'000;

// In the order of the page's PARTS.
json Bin(const analysis::TimeSplit& bin) {
  json out = json::array({bin.compute_ns});
  for (const int64_t idle : bin.idle) out.push_back(idle);
  out.push_back(bin.between_ns);
  return out;
}

json DeviceJson(const analysis::DeviceOverview& device) {
  json out = {{"device", device.device},
              {"begin_ns", device.begin_ns},
              {"end_ns", device.end_ns},
              {"bins", json::array()},
              {"tasks", json::array()},
              {"bin_operators", json::array()},
              {"cores", {{"labels", device.cores.labels}, {"rows", json::array()}}}};
  for (const auto& bin : device.bins) out["bins"].push_back(Bin(bin));
  json& tasks = out["tasks"];
  int64_t before = device.begin_ns;
  for (const auto& task : device.tasks) {
    tasks.push_back(task.begin_ns - before);
    tasks.push_back(task.length_ns);
    tasks.push_back(task.name);
    tasks.push_back(task.stream);
    before = task.begin_ns;
  }
  for (const auto& bin : device.bin_operators) {
    json list = json::array();
    for (const auto& op : bin) {
      list.push_back(op.name);
      list.push_back(op.count);
      list.push_back(op.total_ns);
    }
    out["bin_operators"].push_back(std::move(list));
  }
  // A thousandth is less than a shade.
  constexpr double kShades = 1000;
  for (const auto& row : device.cores.rows) {
    json cells = json::array();
    for (const double share : row) cells.push_back(static_cast<int>(share * kShades) / kShades);
    out["cores"]["rows"].push_back(std::move(cells));
  }
  return out;
}

json OverviewJson(const analysis::Overview& overview) {
  json out = {{"names", overview.names},
              {"aggregated", overview.aggregated},
              {"devices", json::array()},
              {"bandwidth", json::array()}};
  for (const auto& device : overview.devices) {
    out["devices"].push_back(DeviceJson(device));
    const auto& bandwidth = device.bandwidth;
    if (bandwidth.read.empty()) continue;
    out["bandwidth"].push_back({{"device", device.device},
                                {"begin_ns", bandwidth.begin_ns},
                                {"end_ns", bandwidth.end_ns},
                                {"read", bandwidth.read},
                                {"write", bandwidth.write}});
  }
  return out;
}

bool IsMoment(const std::string& key) {
  return key == "begin_ns" || key == "end_ns";
}

// The least moment of a device that ran anything, else of a sample; INT64_MAX if there is neither.
int64_t Origin(const analysis::Insight& insight) {
  int64_t origin = INT64_MAX;
  for (const auto& device : insight.devices) {
    if (device.time.window_ns > 0) origin = std::min(origin, device.begin_ns);
  }
  if (origin != INT64_MAX || !insight.overview) return origin;
  for (const auto& device : insight.overview->devices) {
    if (!device.bandwidth.read.empty()) origin = std::min(origin, device.bandwidth.begin_ns);
  }
  return origin;
}

// Numbers of a browser are exact up to 2^53: wall clock in nanoseconds is beyond it, time since the first task is not.
void MakeRelative(json* part, int64_t origin) {
  for (auto& [key, value] : part->items()) {
    if (value.is_structured())
      MakeRelative(&value, origin);
    else if (IsMoment(key) && value.is_number_integer())
      value = value.get<int64_t>() - origin;
  }
}

// The rows with the largest totals, in order of them; those of equal totals in order of appearance.
template <typename Row>
std::vector<Row> Largest(const std::vector<Row>& rows) {
  std::vector<const Row*> order;
  order.reserve(rows.size());
  for (const Row& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(),
                   [](const Row* a, const Row* b) { return a->total_ns > b->total_ns; });
  order.resize(std::min(order.size(), kMostRows));
  std::vector<Row> out;
  out.reserve(order.size());
  for (const Row* row : order) out.push_back(*row);
  return out;
}

// Tables hold what a browser can show; the page says beside each how much was left out.
json Shown(const analysis::Profile& profile, const analysis::Insight& insight) {
  analysis::Insight shown;
  size_t steps = 0;
  for (const analysis::DeviceInsight& device : insight.devices) {
    auto& all = shown.devices.emplace_back(device).steps;
    if (all.size() <= kMostRows) continue;
    steps += all.size() - kMostRows;
    all.resize(kMostRows);  // the first ones
  }
  shown.operators = Largest(insight.operators);
  shown.collectives = Largest(insight.collectives);
  shown.ranks = insight.ranks;
  shown.missing = insight.missing;
  shown.warnings = insight.warnings;
  shown.broken_records = insight.broken_records;
  json out = ToJson(profile, shown);
  int64_t total = 0;
  for (const auto& op : insight.operators) total += op.total_ns;
  out["operators_total_ns"] = total;
  out["left_out"] = {{"operators", insight.operators.size() - shown.operators.size()},
                     {"collectives", insight.collectives.size() - shown.collectives.size()},
                     {"steps", steps}};
  return out;
}

// Nothing in the data may end the element that holds it.
std::string Embedded(const json& data) {
  std::string out;
  for (const char c : JsonText(data, -1)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

void WritePage(const std::filesystem::path& file, const analysis::Profile& profile,
               const analysis::Insight& insight) {
  if (*kPageHead == '\0') {
    throw Error(
        "this build has no page: uPlot was not there when it was built; ./dev build fetches it with npm, "
        "which "
        "needs a network once");
  }
  json data = Shown(profile, insight);
  if (insight.overview) data["page"] = OverviewJson(*insight.overview);
  if (const int64_t origin = Origin(insight); origin != INT64_MAX) MakeRelative(&data, origin);
  analysis::OutputFile out(file);
  out.Write(kPageHead);
  out.Write(Embedded(data));
  out.Write(kPageTail);
  out.Commit();
}

}  // namespace npuprof::cli
