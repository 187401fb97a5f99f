// SPDX-License-Identifier: Apache-2.0
// Exports of known directories against what the public analysis makes of them, cell by cell. Where its two
// implementations differ, docs/compatibility.md says which side is taken.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "golden.h"

namespace npuprof::test {
namespace {
using nlohmann::json;

const std::vector<std::string> kTaskKey = {"Device_id", "Stream ID", "Task ID", "Task Start Time(us)"};
const std::string kWait = "Task Wait Time(us)";

TEST_P(Golden, OpSummaryEqualsCellByCell) {
  ExpectSameTable(Ours("op_summary"), Theirs("op_summary"), kTaskKey, {kWait});
}

TEST_P(Golden, TaskWaitTimeIsStartMinusTheEndBefore) {
  const auto expected = ByKey(Theirs("op_summary", "python"), kTaskKey);
  for (const auto& [id, row] : ByKey(Ours("op_summary"), kTaskKey)) {
    ASSERT_TRUE(expected.contains(id)) << id;
    EXPECT_EQ(std::stod(row.at(kWait)), std::stod(expected.at(id).at(kWait))) << id;
  }
}

TEST_P(Golden, OpStatisticEqualsCellByCell) {
  ExpectSameTable(Ours("op_statistic"), Theirs("op_statistic"), {"Device_id", "OP Type", "Core Type"});
}

TEST_P(Golden, CommunicationStatisticEqualsCellByCell) {
  if (!Has("communication_statistic")) {
    EXPECT_FALSE(result_.rows.contains("communication_statistic")) << "no collectives, no table";
    return;
  }
  ExpectSameTable(Ours("communication_statistic"), Theirs("communication_statistic"),
                  {"Device_id", "OP Type"});
}

TEST_P(Golden, TaskTimeEqualsCellByCell) {
  ExpectSameTable(Ours("task_time"), Theirs("task_time"),
                  {"Device_id", "stream_id", "task_id", "task_start(us)"});
}

TEST_P(Golden, ApiStatisticEqualsCellByCell) {
  ExpectSameTable(Ours("api_statistic"), Theirs("api_statistic"), {"Level", "API Name"});
}

TEST_P(Golden, StepTraceEqualsCellByCellAndUnmarkedMomentsAreNotZero) {
  if (!Has("step_trace")) {
    EXPECT_TRUE(FindExport(out_.path(), "step_trace").empty()) << "no marks, no table";
    return;
  }
  const std::vector<std::string> key = {"Device_id", "Model ID", "Iteration ID"};
  const std::set<std::string> unmarked = {"FP Start(us)", "BP End(us)", "FP to BP Time(us)",
                                          "Iteration Refresh(us)", "Data Aug Bound(us)"};
  ExpectSameTable(Ours("step_trace"), Theirs("step_trace"), key, unmarked);
  const auto expected = ByKey(Theirs("step_trace", "python"), key);
  for (const auto& [id, row] : ByKey(Ours("step_trace"), key)) {
    for (const auto& column : unmarked) EXPECT_EQ(row.at(column), expected.at(id).at(column)) << id << column;
  }
}

TEST_P(Golden, NothingIsBrokenOrUnpaired) {
  EXPECT_EQ(result_.broken_records, 0u);
  for (const auto& device : result_.devices) {
    EXPECT_EQ(device.unpaired, 0u);
    EXPECT_EQ(device.task_starts, device.tasks);
    EXPECT_EQ(device.task_ends, device.tasks);
    EXPECT_EQ(device.pmu_matched, device.pmu_records);
    EXPECT_GT(device.pmu_records, 0u);
  }
}

constexpr unsigned kCann = 7, kHardware = 14, kCommunication = 16, kOverlap = 31;

struct Trace {
  std::multiset<std::string> metadata;
  std::multiset<std::string> slices;  // without connection ids
  std::multiset<std::string> links;   // hardware slice <- call
  std::multiset<std::string> flows;   // end <- start
  size_t loose_ends = 0;              // flow ends without a start
};

// Counters and marks are compared in golden_samples_test.cc.
bool IsCompared(const json& event) {
  const unsigned layer = Layer(event);
  if (layer != kCann && layer != kHardware && layer != kCommunication && layer != kOverlap) return false;
  if (event.value("cat", "") == "MsTx") return false;
  const bool is_mark = layer == kHardware && event.at("ph") == "X" && !event.contains("cat") &&
                       !event.at("args").contains("Task Type");
  return !is_mark;
}

std::string Place(const json& event) {
  return event.at("pid").dump() + " " + event.at("tid").dump() + " " + event.at("ts").get<std::string>();
}

Trace Digest(const json& events) {
  Trace trace;
  std::map<uint64_t, std::string> calls;
  std::map<std::string, std::string> starts;
  for (const auto& event : events) {
    if (!IsCompared(event)) continue;
    if (event.at("ph") == "X" && Layer(event) == kCann) {
      calls[event.at("args").at("connection_id")] = event.at("name").get<std::string>() + " " + Place(event);
    } else if (event.at("ph") == "s") {
      EXPECT_TRUE(starts.emplace(event.at("id"), Place(event)).second)
          << "two starts of flow " << event.at("id");
      EXPECT_EQ(event.at("name"), "HostToDevice" + event.at("id").get<std::string>());
    }
  }
  std::set<std::string> metadata;  // one process may be introduced several times
  for (const auto& event : events) {
    if (!IsCompared(event)) continue;
    const std::string phase = event.at("ph");
    if (phase == "M") {
      metadata.insert(event.dump());
    } else if (phase == "X") {
      json slice = event;
      slice["args"].erase("connection_id");
      trace.slices.insert(slice.dump());
      if (Layer(event) == kHardware && event.at("args").contains("connection_id")) {
        const auto call = calls.find(event.at("args").at("connection_id").get<uint64_t>());
        trace.links.insert(Place(event) + " " + event.at("name").get<std::string>() + " <- " +
                           (call == calls.end() ? "nothing" : call->second));
      }
    } else if (phase == "f") {
      EXPECT_EQ(event.at("bp"), "e");
      EXPECT_EQ(event.at("name"), "HostToDevice" + event.at("id").get<std::string>());
      const auto start = starts.find(event.at("id"));
      if (start == starts.end()) {
        ++trace.loose_ends;
      } else {
        trace.flows.insert(Place(event) + " <- " + start->second);
      }
    }
  }
  trace.metadata.insert(metadata.begin(), metadata.end());
  return trace;
}

std::string Difference(const std::multiset<std::string>& ours, const std::multiset<std::string>& theirs) {
  std::string text;
  int shown = 0;
  for (const auto& entry : theirs) {
    if (ours.count(entry) < theirs.count(entry) && ++shown < 10) text += "missing " + entry + "\n";
  }
  for (const auto& entry : ours) {
    if (ours.count(entry) > theirs.count(entry) && ++shown < 20) text += "extra   " + entry + "\n";
  }
  return text;
}

TEST_P(Golden, TimelineLayersEqualEventByEvent) {
  std::ifstream ours_file(FindExport(out_.path(), "msprof", "json"));
  std::ifstream theirs_file(kGolden / GetParam() / "expected" / "msprof.json");
  const json ours_json = json::parse(ours_file), theirs_json = json::parse(theirs_file);
  const Trace ours = Digest(ours_json), theirs = Digest(theirs_json);
  ASSERT_FALSE(theirs.slices.empty());
  ASSERT_FALSE(theirs.flows.empty());
  EXPECT_EQ(ours_json.size(), result_.rows["timeline"]);
  EXPECT_EQ(ours.loose_ends, 0u);
  EXPECT_EQ(Difference(ours.metadata, theirs.metadata), "");
  EXPECT_EQ(Difference(ours.slices, theirs.slices), "");
  EXPECT_EQ(Difference(ours.links, theirs.links), "");
  EXPECT_EQ(Difference(ours.flows, theirs.flows), "");
}

INSTANTIATE_TEST_SUITE_P(Directories, Golden, testing::Values("min", "full", "wrap", "multi"),
                         [](const auto& test) { return test.param; });

// Task ids that come round: which of the operators with one id ran is told by the batch.
TEST(GoldenWrap, EveryBatchGetsItsOwnOperators) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  analysis::Export(analysis::Profile::Open(kGolden / "wrap"), options);
  std::ifstream file(FindExport(out.path(), "msprof", "json"));
  std::map<std::pair<int, int>, int> tasks;  // stream, batch
  for (const auto& event : json::parse(file)) {
    if (event.at("ph") == "X" && Layer(event) == kHardware) {
      ++tasks[{event.at("tid").get<int>(), event.at("args").at("Batch Id").get<int>()}];
    }
  }
  const std::map<std::pair<int, int>, int> expected = {{{3, 0}, 36}, {{3, 1}, 84}, {{8, 0}, 4},
                                                       {{8, 1}, 4},  {{8, 2}, 4},  {{8, 3}, 3}};
  EXPECT_EQ(tasks, expected);
}

}  // namespace
}  // namespace npuprof::test
