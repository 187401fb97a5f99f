// SPDX-License-Identifier: Apache-2.0
#include "npuprof/insight_json.h"

#include <nlohmann/json.hpp>

namespace npuprof::cli {
namespace {

using nlohmann::json;

template <typename Values, typename Name>
json Named(const Values& values, Name name) {
  json out = json::object();
  for (size_t i = 0; i < values.size(); ++i) out[name(i)] = values[i];
  return out;
}

const char* Cause(size_t i) {
  return analysis::CauseName(static_cast<analysis::Cause>(i));
}

const char* Bound(size_t i) {
  return analysis::BoundName(static_cast<analysis::Bound>(i));
}

json Split(const analysis::TimeSplit& time) {
  return {{"window_ns", time.window_ns},
          {"compute_ns", time.compute_ns},
          {"between_ns", time.between_ns},
          {"idle_ns", Named(time.idle, Cause)}};
}

json GapJson(const analysis::Gap& gap) {
  json out = {{"begin_ns", gap.begin_ns},
              {"end_ns", gap.end_ns},
              {"cause", CauseName(gap.cause)},
              {"parts_ns", Named(gap.parts, Cause)},
              {"next", gap.next},
              {"next_index", gap.next_index},
              {"stream", gap.stream}};
  if (gap.straggler >= 0) out["straggler"] = gap.straggler;
  return out;
}

json DeviceJson(const analysis::DeviceInsight& device) {
  json out = {{"device", device.device},
              {"simulated", device.simulated},
              {"clock_error_ns", device.clock_error_ns},
              {"operators", device.operators},
              {"counted", device.counted},
              {"begin_ns", device.begin_ns},
              {"end_ns", device.end_ns},
              {"time", Split(device.time)},
              {"gap_counts", Named(device.gap_counts, Cause)},
              {"overlap",
               {{"compute_ns", device.overlap.compute_ns},
                {"communication_ns", device.overlap.communication_ns},
                {"exposed_ns", device.overlap.exposed_ns},
                {"free_ns", device.overlap.free_ns}}},
              {"peaks",
               {{"cube_operations_per_s", device.peaks.cube_operations},
                {"vector_operations_per_s", device.peaks.vector_operations},
                {"memory_bytes_per_s", device.peaks.memory_bytes}}},
              {"by_bound_ns", Named(device.by_bound, Bound)},
              {"gaps", json::array()},
              {"host_bound_phases", json::array()},
              {"steps", json::array()}};
  for (const auto& gap : device.gaps) out["gaps"].push_back(GapJson(gap));
  for (const auto& phase : device.phases) {
    out["host_bound_phases"].push_back({{"begin_ns", phase.begin_ns},
                                        {"end_ns", phase.end_ns},
                                        {"idle_ns", phase.idle_ns},
                                        {"operators", phase.operators},
                                        {"gaps", phase.gaps}});
  }
  for (const auto& step : device.steps) {
    out["steps"].push_back({{"index", step.index},
                            {"model", step.model},
                            {"begin_ns", step.begin_ns},
                            {"end_ns", step.end_ns},
                            {"time", Split(step.time)}});
  }
  return out;
}

json OperatorJson(const analysis::OperatorSum& op) {
  json out = {{"device", op.device},
              {"name", op.name},
              {"type", op.type},
              {"core", op.core},
              {"count", op.count},
              {"total_ns", op.total_ns},
              {"min_ns", op.min_ns},
              {"max_ns", op.max_ns},
              {"waited_ns", op.waited_ns},
              {"counted", op.counted},
              {"bound", BoundName(op.bound)},
              {"busy", json::object()}};
  for (size_t pipe = 0; pipe < analysis::kPipes; ++pipe) {
    if (op.busy[pipe]) out["busy"][PipeName(static_cast<analysis::Pipe>(pipe))] = *op.busy[pipe];
  }
  if (op.operations) out["operations"] = *op.operations;
  if (op.bytes) {
    out["bytes"] = *op.bytes;
    out["bytes_from"] = op.bytes_counted ? "counters" : "tensors";
  }
  if (op.intensity) out["intensity"] = *op.intensity;
  if (op.rate) out["operations_per_s"] = *op.rate;
  if (op.roof) out["roof_operations_per_s"] = *op.roof;
  return out;
}

}  // namespace

json ToJson(const analysis::Profile& profile, const analysis::Insight& insight) {
  json out = {{"profile", profile.name()},
              {"command", profile.command()},
              {"simulated", profile.simulated()},
              {"complete", profile.complete()},
              {"losses_known", profile.has_manifest() && profile.complete()},
              {"lost_records", profile.lost()},
              {"broken_records", insight.broken_records},
              {"not_collected", insight.missing},
              {"devices", json::array()},
              {"operators", json::array()},
              {"collectives", json::array()},
              {"ranks", json::array()},
              {"losses", json::array()},
              {"failures", json::array()},
              {"warnings", json::array()}};
  if (profile.aged()) out["aged"] = profile.AgedText();
  for (const auto& device : insight.devices) out["devices"].push_back(DeviceJson(device));
  for (const auto& op : insight.operators) out["operators"].push_back(OperatorJson(op));
  for (const auto& sum : insight.collectives) {
    out["collectives"].push_back({{"device", sum.device},
                                  {"name", sum.name},
                                  {"count", sum.count},
                                  {"total_ns", sum.total_ns},
                                  {"max_ns", sum.max_ns}});
  }
  for (const auto& rank : insight.ranks) {
    out["ranks"].push_back({{"device", rank.device},
                            {"collectives", rank.collectives},
                            {"matched", rank.matched},
                            {"last", rank.last},
                            {"waiting_ns", rank.waiting_ns},
                            {"held_up_ns", rank.held_up_ns}});
  }
  for (const auto& loss : profile.losses()) {
    out["losses"].push_back(
        {{"device", loss.device}, {"where", loss.where}, {"cause", loss.cause}, {"records", loss.records}});
  }
  for (const auto& failure : insight.failures) out["failures"].push_back(failure.Line());
  for (const auto& warning : insight.warnings) out["warnings"].push_back(warning.Line());
  return out;
}

}  // namespace npuprof::cli
