// SPDX-License-Identifier: Apache-2.0
// Tables and counters of sampled data against what the public analysis makes of them. What is left out here, with the
// exception's name, is in docs/compatibility.md.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden.h"

namespace npuprof::test {
namespace {
using nlohmann::json;

struct Table {
  std::string directory, name;
  std::vector<std::string> key;
  std::set<std::string> except = {};
};

class GoldenSamples : public testing::TestWithParam<Table> {
 protected:
  static analysis::ExportResult Export(const std::string& directory, const fs::path& output) {
    analysis::ExportOptions options;
    options.output = output;
    return analysis::Export(analysis::Profile::Open(kGolden / directory), options);
  }
};

TEST_P(GoldenSamples, EqualsCellByCell) {
  TemporaryDirectory out;
  const Table& table = GetParam();
  const auto result = Export(table.directory, out.path());
  EXPECT_TRUE(result.failures.empty());
  const Csv ours = ReadCsv(FindExport(out.path(), table.name));
  EXPECT_EQ(result.rows.at(table.name), ours.rows.size());
  ExpectSameTable(ours, ReadCsv(kGolden / table.directory / "expected" / (table.name + ".cpp.csv")),
                  table.key, table.except);
}

const std::set<std::string> kPort = {"Timestamp(us)", "rxPacket/s", "txPacket/s"};
const std::vector<std::string> kTask = {"Device_id", "Stream Id", "Task Id"};

INSTANTIATE_TEST_SUITE_P(
    Tables, GoldenSamples,
    testing::Values(
        Table{"full", "cpu_usage", {"Device_id", "Cpu Type"}},
        Table{"full", "dvpp", {"Device_id", "Dvpp Id", "Engine Type", "Engine ID"}},
        Table{"full", "hbm", {"Device_id", "Metric"}}, Table{"full", "hccs", {"Device_id", "Mode"}},
        Table{"full", "host_cpu_usage", {"Device_id"}}, Table{"full", "host_mem_usage", {"Device_id"}},
        Table{"full", "host_network_usage", {"Device_id"}}, Table{"full", "l2_cache", kTask},
        Table{"full", "llc_read_write", {"Device_id", "Mode", "Task"}, {"Throughput(MB/s)"}},
        Table{"full", "memory_record", {"Device_id", "Timestamp(us)"}},
        Table{"full", "msprof_tx", {"tid", "Start_time(us)", "message"}},
        Table{"full", "nic", {"Device_id", "funcId"}, kPort},
        Table{"full", "npu_mem", {"Device_id", "event", "hbm(KB)"}, {"timestamp(us)"}},
        Table{"full", "npu_module_mem", {"Device_id", "Component", "Timestamp(us)"}},
        Table{"full", "operator_memory", {"Device_id", "Name", "Allocation Time(us)"}},
        Table{"full", "pcie", {"Device_id", "Mode"}}, Table{"full", "roce", {"Device_id", "funcId"}, kPort},
        Table{"full", "soc_pmu", kTask}, Table{"full", "sys_mem", {"Device_id"}},
        Table{"multi", "aicpu", {"Device_id", "Timestamp(us)"}},
        Table{"multi", "aicpu_mi", {"Device_id", "Start Time(us)"}},
        Table{"multi", "dp", {"Device_id", "Timestamp(us)"}},
        Table{"multi", "msprof_tx", {"tid", "Start_time(us)", "message"}}),
    [](const auto& test) { return test.param.directory + "_" + test.param.name; });

int64_t Nanoseconds(std::string text) {
  std::erase_if(text, [](char c) { return c == '.' || c == '\t'; });
  return std::stoll(text);
}

// The public analysis keeps these times as doubles of nanoseconds, in steps of 256, and makes rates of them.
constexpr int64_t kStep = 256;
constexpr double kThird = 0.0005;  // half of the last decimal of some of their counters

TEST(GoldenSampleTimes, AreThoseOfTheRecordsWhereTheOthersAreRounded) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  analysis::Export(analysis::Profile::Open(kGolden / "full"), options);
  const Csv ours = ReadCsv(FindExport(out.path(), "npu_mem"));
  const Csv theirs = ReadCsv(kGolden / "full/expected/npu_mem.cpp.csv");
  ASSERT_EQ(ours.rows.size(), theirs.rows.size());
  for (size_t i = 0; i < ours.rows.size(); ++i) {
    const int64_t time = Nanoseconds(ours.rows[i].at("timestamp(us)"));
    EXPECT_EQ(time, 1'767'225'600'000'000'000 + static_cast<int64_t>(i % 20) * 1'000'000);
    EXPECT_LE(std::llabs(time - Nanoseconds(theirs.rows[i].at("timestamp(us)"))), kStep / 2);
  }
  const Csv cache = ReadCsv(FindExport(out.path(), "llc_read_write"));
  const Csv their_cache = ReadCsv(kGolden / "full/expected/llc_read_write.cpp.csv");
  for (size_t i = 0; i < cache.rows.size(); ++i) {
    const double rate = std::stod(cache.rows[i].at("Throughput(MB/s)"));
    EXPECT_NEAR(rate, std::stod(their_cache.rows[i].at("Throughput(MB/s)")), rate * 1e-5);
  }
  for (const char* kind : {"nic", "roce"}) {
    const Row port = ReadCsv(FindExport(out.path(), kind)).rows.at(0);
    EXPECT_EQ(port.at("Timestamp(us)"), "1767225600019000.000\t") << "with the offset to wall time";
    EXPECT_EQ(port.at("rxPacket/s"), "10.0");
    EXPECT_EQ(port.at("txPacket/s"), "20.0");
  }
}

constexpr unsigned kFramework = 6, kHardware = 14, kNpuMemory = 17, kHccs = 20, kNic = 21, kRoce = 22,
                   kHbm = 24, kSoc = 25, kLlc = 27;

struct Events {
  std::map<std::string, std::map<int64_t, double>> counters;  // by process, counter and series
  std::multiset<std::string> marks;
  std::set<std::string> processes;
};

Events ReadEvents(const fs::path& path, bool theirs) {
  std::ifstream file(path);
  Events events;
  for (const json& event : json::parse(file)) {
    const unsigned layer = Layer(event);
    const std::string phase = event.at("ph");
    if (phase == "C") {
      for (const auto& [series, value] : event.at("args").items()) {
        std::string name = event.at("name"), label = series;
        if (layer == kSoc && theirs) {  // their labels are swapped
          name = name == "Mata Bw Level" ? "L2 Buffer Bw Level" : "Mata Bw Level";
          label = name;
        }
        EXPECT_EQ(event.at("tid"), 0);
        events.counters[event.at("pid").dump() + " " + name + " " + label]
                       [Nanoseconds(event.at("ts").get<std::string>())] = value.get<double>();
      }
    } else if (phase == "M" && event.at("name").get<std::string>().starts_with("process")) {
      events.processes.insert(event.dump());
    } else if (event.value("cat", "") == "MsTx" || (phase == "X" && layer == kFramework) ||
               (phase == "X" && layer == kHardware && !event.contains("cat") &&
                !event.at("args").contains("Task Type"))) {
      events.marks.insert(event.dump());
    }
  }
  return events;
}

class GoldenEvents : public testing::TestWithParam<std::string> {};

TEST_P(GoldenEvents, CountersAndMarksAreThoseOfThePublicAnalysis) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  analysis::Export(analysis::Profile::Open(kGolden / GetParam()), options);
  const Events ours = ReadEvents(FindExport(out.path(), "msprof", "json"), false);
  const Events theirs = ReadEvents(kGolden / GetParam() / "expected" / "msprof.json", true);
  EXPECT_EQ(ours.processes, theirs.processes);
  EXPECT_EQ(ours.marks, theirs.marks);
  ASSERT_FALSE(theirs.counters.empty());
  ASSERT_EQ(ours.counters.size(), theirs.counters.size());
  for (const auto& [name, samples] : theirs.counters) {
    const auto found = ours.counters.find(name);
    ASSERT_NE(found, ours.counters.end()) << name;
    const unsigned layer = std::stoull(name) >> 5 & 31;
    auto own = found->second;
    if (layer == kHccs) own.erase(std::prev(own.end()));  // the last interval, which they leave out
    ASSERT_EQ(own.size(), samples.size()) << name;
    const bool rounded = layer == kHbm || layer == kLlc || layer == kNpuMemory;
    const bool decimals = layer == kHccs || layer == kNic || layer == kRoce;
    auto b = samples.begin();
    for (auto a = own.begin(); a != own.end(); ++a, ++b) {
      EXPECT_LE(std::llabs(a->first - b->first), rounded ? kStep / 2 : 0) << name;
      EXPECT_NEAR(a->second, b->second,
                  std::fabs(b->second) * (rounded ? 5e-4 : 1e-6) + (decimals ? kThird : 0))
          << name << " " << b->first;
    }
  }
}

// A process and its threads may be introduced more than once.
std::pair<std::set<std::string>, std::multiset<std::string>> IntroducedAndShown(const fs::path& path) {
  std::pair<std::set<std::string>, std::multiset<std::string>> events;
  std::ifstream file(path);
  for (const json& event : json::parse(file)) {
    if (event.at("ph") == "M") {
      events.first.insert(event.dump());
    } else {
      events.second.insert(event.dump());
    }
  }
  return events;
}

TEST_P(GoldenEvents, LayersInFilesOfTheirOwnAreThoseOfThePublicAnalysis) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  const auto result = analysis::Export(analysis::Profile::Open(kGolden / GetParam()), options);
  for (const std::string name : {"step_trace", "msprof_tx"}) {
    const fs::path ours = FindExport(out.path(), name, "json");
    const fs::path theirs = kGolden / GetParam() / "expected" / (name + ".json");
    ASSERT_EQ(ours.empty(), !fs::exists(theirs)) << name;
    if (ours.empty()) continue;
    EXPECT_EQ(IntroducedAndShown(ours), IntroducedAndShown(theirs)) << name;
    EXPECT_EQ(std::count(result.files.begin(), result.files.end(), ours), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Directories, GoldenEvents, testing::Values("min", "full", "wrap", "multi"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace npuprof::test
