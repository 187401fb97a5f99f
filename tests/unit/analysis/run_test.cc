// SPDX-License-Identifier: Apache-2.0
// What the manifest of a run adds: losses, the simulated mark, clock readings; and runs larger than memory
// allows to be careless with.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "analysis/clock.h"
#include "analysis/export.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::Profile;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

analysis::ExportResult ExportTo(const fs::path& prof, const fs::path& out,
                                std::vector<std::string> formats = {}) {
  analysis::ExportOptions options;
  options.output = out;
  options.formats = std::move(formats);
  return analysis::Export(Profile::Open(prof), options);
}

TEST(Manifest, LossesAndSimulationReachResultAndReadme) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Operator(1, 3, 0, 10'000, 20'000, 30'000, "Op");
  builder.Manifest(R"({"format":1,"simulated":true,"complete":true,"command":"app x","drain":{"path":"uring"},
    "devices":[{"id":0,"backend":"sim","simulated":true,"tasks":{"started":13,"ended":13},
      "rings":[{"channel":"task_log","core_kind":"none","records":20,"kept":2,"lost":18,"lost_by_cause":{"ring_full":18}},
               {"channel":"block_pmu","core_kind":"cube","core":7,"records":9,"kept":5,"lost":4,"lost_by_cause":{}}]}],
    "host":{"kinds":[{"kind":"api_event","records":3,"lost":2},{"kind":"task_track","records":3,"lost":0}],
            "lost_by_cause":{"nested":2}},
    "messages":[{"severity":"warning","text":"the disk was slow"},{"severity":"info","text":"hello"}]})");
  builder.Close();
  const auto result = ExportTo(builder.path(), directory.path() / "out");
  EXPECT_TRUE(result.simulated);
  ASSERT_EQ(result.losses.size(), 3u);
  EXPECT_EQ(result.losses[0].records, 18u);
  EXPECT_EQ(result.losses[0].cause, "ring_full");
  EXPECT_EQ(result.losses[1].where, "block_pmu of cube core 7");
  EXPECT_EQ(result.losses[1].cause, "");
  EXPECT_EQ(result.losses[2].device, -1);
  EXPECT_EQ(result.losses[2].cause, "nested");
  const std::string readme = ReadFile(directory.path() / "out/README.txt");
  EXPECT_EQ(readme.find("SIMULATED"), 0u);
  EXPECT_GT(readme.rfind("SIMULATED"), readme.size() / 2) << "first and last line carry the mark";
  EXPECT_NE(readme.find("Lost while recording: 24 records."), std::string::npos);
  EXPECT_NE(readme.find("18 of task_log (ring_full)"), std::string::npos);
  EXPECT_NE(readme.find("the disk was slow"), std::string::npos);
  EXPECT_EQ(readme.find("hello"), std::string::npos);
  const std::string timeline = ReadFile(FindExport(directory.path() / "out", "msprof", "json"));
  EXPECT_NE(timeline.find("NPU (simulated)"), std::string::npos);
  const auto profile = Profile::Open(builder.path());
  EXPECT_EQ(profile.lost(), 24u);
  EXPECT_EQ(profile.command(), "app x");
  ASSERT_TRUE(profile.devices().at(0).tasks.has_value());
  EXPECT_EQ(profile.devices()[0].tasks->started, 13u);
}

TEST(Manifest, LossesOfARunThatWasCutOffAreNotKnownToBeNone) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Operator(1, 3, 0, 10'000, 20'000, 30'000, "Op");
  const auto readme = [&](const std::string& lost) {
    builder.Manifest(
        R"({"format":1,"simulated":true,"complete":false,"devices":[{"id":0,"backend":"sim","simulated":true,
      "rings":[{"channel":"task_log","core_kind":"none","records":20,"kept":2,"lost":)" +
        lost + "}]}]}");
    const auto out = directory.path() / ("out" + lost);
    ExportTo(builder.path(), out);
    return ReadFile(out / "README.txt");
  };
  builder.Close();
  EXPECT_NE(readme("0").find("Lost while recording: not known, the run was cut off."), std::string::npos);
  EXPECT_NE(readme("18").find("Lost while recording: at least 18 records."), std::string::npos);
}

TEST(Manifest, NonsenseInItCostsNothingElse) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Operator(1, 3, 0, 10'000, 20'000, 30'000, "Op");
  builder.Close();
  for (const char* text :
       {"", "[]", "{\"devices\":7,\"host\":[],\"messages\":{\"a\":1},\"simulated\":\"yes\"}",
        "{\"devices\":[{\"id\":-4,\"rings\":[1,null],\"clock\":[[]]}]}"}) {
    builder.Manifest(text);
    TemporaryDirectory out;
    EXPECT_EQ(ExportTo(builder.path(), out.path()).rows.at("op_summary"), 1u) << text;
  }
}

std::string Brackets(const std::vector<std::array<uint64_t, 3>>& points) {
  nlohmann::json clock = nlohmann::json::array();
  for (const auto& [host, device, width] : points) {
    clock.push_back({{"host_ns", host}, {"device", device}, {"width_ns", width}});
  }
  return nlohmann::json{{"devices", {{{"id", 0}, {"clock", clock}}}}}.dump();
}

TEST(Clock, DriftIsTakenOutBetweenReadings) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Close();
  // The device clock runs 50 ppm fast for a second, then 50 ppm slow.
  const uint64_t host = ProfBuilder::kBeginNs, device = ProfBuilder::kDeviceStart;
  builder.Manifest(Brackets({{host, device, 100},
                             {host + 1'000'000'000, device + 50'002'500, 400},
                             {host + 2'000'000'000, device + 100'000'000, 100}}));
  analysis::Diagnostics diagnostics;
  const analysis::DeviceClock clock(Profile::Open(builder.path()), 0, &diagnostics);
  const int64_t begin = static_cast<int64_t>(ProfBuilder::kBeginUs) * 1000;
  EXPECT_TRUE(clock.corrected());
  EXPECT_EQ(clock.error_ns(), 200u);
  EXPECT_EQ(clock.Wall(device), begin);
  EXPECT_EQ(clock.Wall(device + 50'002'500), begin + 1'000'000'000);
  EXPECT_EQ(clock.Wall(device + 25'001'250), begin + 500'000'000);
  EXPECT_EQ(clock.Wall(device + 75'001'250), begin + 1'500'000'000);
  EXPECT_EQ(clock.Wall(device + 100'050'000), begin + 2'001'000'000) << "beyond the last, at the mean rate";
  EXPECT_TRUE(diagnostics.warnings().empty());
}

TEST(Clock, ReadingsOfAnotherClockAreRefused) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Close();
  const uint64_t host = ProfBuilder::kBeginNs, device = ProfBuilder::kDeviceStart;
  builder.Manifest(Brackets({{host, device, 100}, {host + 1'000'000'000, device + 60'000'000, 100}}));
  analysis::Diagnostics diagnostics;
  const analysis::DeviceClock clock(Profile::Open(builder.path()), 0, &diagnostics);
  EXPECT_FALSE(clock.corrected());
  EXPECT_EQ(diagnostics.warnings().size(), 1u);
  EXPECT_EQ(clock.Wall(device + 50'000'000),
            static_cast<int64_t>(ProfBuilder::kBeginUs) * 1000 + 1'000'000'000);
}

// A device that vanished answered 0, or all ones, for its clock; such a reading must not discredit the good ones.
TEST(Clock, AnImpossibleReadingIsLeftOutWithAWarning) {
  const uint64_t host = ProfBuilder::kBeginNs, device = ProfBuilder::kDeviceStart;
  for (const uint64_t reading : {uint64_t{0}, ~uint64_t{0}}) {
    TemporaryDirectory directory;
    ProfBuilder builder(directory.path());
    builder.Close();
    builder.Manifest(Brackets({{host, device, 100},
                               {host + 1'000'000'000, device + 50'002'500, 400},
                               {host + 2'000'000'000, device + 100'000'000, 100},
                               {host + 2'500'000'000, reading, 100}}));
    analysis::Diagnostics diagnostics;
    const analysis::DeviceClock clock(Profile::Open(builder.path()), 0, &diagnostics);
    EXPECT_TRUE(clock.corrected()) << reading;
    EXPECT_EQ(clock.Wall(device + 50'002'500),
              static_cast<int64_t>(ProfBuilder::kBeginUs) * 1000 + 1'000'000'000);
    ASSERT_EQ(diagnostics.warnings().size(), 1u) << reading;
    EXPECT_NE(diagnostics.warnings()[0].text.find("1 of the clock brackets"), std::string::npos);
  }
}

TEST(Clock, AReadingThatContradictsTheOthersIsLeftOutWithAWarning) {
  const uint64_t host = ProfBuilder::kBeginNs, device = ProfBuilder::kDeviceStart;
  // Early in one clock and late in the other, either way round.
  const std::array<std::array<uint64_t, 3>, 2> wrong = {
      {{host + 5'000'000'000, device - 10'000, 100}, {host - 5'000'000'000, device + 900'000'000, 100}}};
  for (const auto& bracket : wrong) {
    TemporaryDirectory directory;
    ProfBuilder builder(directory.path());
    builder.Close();
    builder.Manifest(Brackets({{host, device, 100},
                               {host + 1'000'000'000, device + 50'002'500, 400},
                               {host + 2'000'000'000, device + 100'000'000, 100},
                               bracket}));
    analysis::Diagnostics diagnostics;
    const analysis::DeviceClock clock(Profile::Open(builder.path()), 0, &diagnostics);
    EXPECT_TRUE(clock.corrected());
    EXPECT_EQ(clock.error_ns(), 200u);
    EXPECT_EQ(clock.Wall(device + 50'002'500),
              static_cast<int64_t>(ProfBuilder::kBeginUs) * 1000 + 1'000'000'000);
    ASSERT_EQ(diagnostics.warnings().size(), 1u);
    EXPECT_NE(diagnostics.warnings()[0].text.find("1 of 4 clock brackets"), std::string::npos)
        << diagnostics.warnings()[0].text;
  }
}

TEST(Clock, TwoReadingsOfOneTickAreNoContradiction) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Close();
  const uint64_t host = ProfBuilder::kBeginNs, device = ProfBuilder::kDeviceStart;
  builder.Manifest(Brackets(
      {{host, device, 100}, {host + 5, device, 300}, {host + 1'000'000'000, device + 50'000'000, 100}}));
  analysis::Diagnostics diagnostics;
  const analysis::DeviceClock clock(Profile::Open(builder.path()), 0, &diagnostics);
  EXPECT_TRUE(clock.corrected());
  EXPECT_EQ(clock.error_ns(), 50u);
  EXPECT_TRUE(diagnostics.warnings().empty());
}

TEST(Clock, FarOffCountersSaturateInsteadOfWrapping) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  builder.Close();
  const auto profile = Profile::Open(builder.path());
  analysis::Diagnostics diagnostics;
  const analysis::DeviceClock device(profile, 0, &diagnostics);
  const analysis::HostClock host(profile);
  EXPECT_GT(device.Wall(UINT64_MAX), device.Wall(1));
  EXPECT_GT(host.Wall(UINT64_MAX), host.Wall(0));
}

TEST(Steps, MarksOfAModelGiveEveryColumn) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  for (uint64_t step = 1; step <= 2; ++step) {
    const uint64_t at = step * 100'000;
    builder.Step(step, 9, 2, at);
    builder.Step(step, 9, 3, at + 50'000);
    builder.Step(step, 9, 10000, at + 55'000);
    builder.Step(step, 9, 10001, at + 57'000);
    builder.Step(step, 9, 4, at + 60'000);
  }
  builder.Close();
  ExportTo(builder.path(), directory.path() / "out");
  const Csv table = ReadCsv(FindExport(directory.path() / "out", "step_trace"));
  ASSERT_EQ(table.rows.size(), 2u);
  const auto& row = table.rows[1];
  EXPECT_EQ(row.at("FP Start(us)"), "1767225600000200.000\t");
  EXPECT_EQ(row.at("Iteration Time(us)"), "100.000");
  EXPECT_EQ(row.at("FP to BP Time(us)"), "50.000");
  EXPECT_EQ(row.at("Iteration Refresh(us)"), "10.000");
  EXPECT_EQ(row.at("Data Aug Bound(us)"), "40.000");
  EXPECT_EQ(row.at("Reduce Duration(us)"), "2.000");
  EXPECT_EQ(table.rows[0].at("Data Aug Bound(us)"), "N/A");
}

// One stream, ids that wrap every 65,536 tasks, 20 us apart.
void BuildLarge(ProfBuilder* builder, uint64_t tasks) {
  for (uint64_t i = 0; i < tasks; ++i) {
    const uint64_t at = 100'000 + i * 20'000;
    const auto id = static_cast<uint16_t>(i);
    if (i > 0 && id == 0) {
      const auto number = static_cast<uint16_t>(i >> 16);
      builder->Track(7, at - 10'000, 3, 0, 98, "", number);
      builder->Flip(3, number, at - 8'000);
    }
    builder->Operator(7, 3, id, at, at + 2'000, at + 12'000, "Op_" + std::to_string(i % 1009), i % 3 == 0);
  }
  builder->Close();
}

uint64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

TEST(Large, EveryTaskKeepsItsOperatorAcrossWrapsInBoundedMemory) {
  constexpr uint64_t kSmall = 10'000, kTasks = 200'000;
  TemporaryDirectory directory;
  {
    ProfBuilder small(directory.path() / "small");
    BuildLarge(&small, kSmall);
    EXPECT_EQ(ExportTo(small.path(), directory.path() / "small-out", {"csv"}).rows.at("op_summary"), kSmall);
  }
  ProfBuilder builder(directory.path() / "large");
  BuildLarge(&builder, kTasks);
  const uint64_t before = PeakBytes();
  const auto result = ExportTo(builder.path(), directory.path() / "out", {"csv"});
  const uint64_t grown = PeakBytes() - before;
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.rows.at("op_summary"), kTasks);
  EXPECT_EQ(result.devices.at(0).pmu_matched, kTasks);
  EXPECT_EQ(result.devices.at(0).unpaired, 0u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(grown / (kTasks - kSmall), 180u) << "bytes per task";
#else
  (void)grown;  // sanitizers keep freed memory
#endif
  uint64_t index = 0;
  std::ifstream file(FindExport(directory.path() / "out", "op_summary"));
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::string name = ",Op_" + std::to_string(index % 1009) + ",";
    ASSERT_NE(line.find(name), std::string::npos) << "row " << index << ": " << line;
    ++index;
  }
  EXPECT_EQ(index, kTasks);
}

// The host's files may end before its record of a wrap, or begin behind it.
TEST(Run, TasksOnBothSidesOfAWrapThatOnlyTheDeviceTellsOfHaveTheirOperators) {
  for (const bool behind : {false, true}) {
    TemporaryDirectory directory;
    ProfBuilder builder(directory.path() / "run");
    for (uint16_t i = 0; i < 10; ++i) {
      const uint64_t at = 100'000 + i * 20'000;
      builder.Operator(7, 3, i, at, at + 2'000, at + 12'000, "Op", false);
    }
    builder.Flip(3, 1, behind ? 50'000 : 500'000);
    builder.Close();
    EXPECT_EQ(ExportTo(builder.path(), directory.path() / "out", {"csv"}).rows.at("op_summary"), 10u)
        << behind;
  }
}

std::string Capture(uint64_t host_ns, bool destroyed, uint16_t stream, uint16_t model) {
  std::string record(64, '\0');
  const auto put = [&](size_t at, uint64_t value, size_t bytes) { std::memcpy(&record[at], &value, bytes); };
  put(0, 0x5a5a, 2);
  put(2, ProfBuilder::kLevelRuntime, 2);
  put(16, ProfBuilder::Cycles(host_ns), 8);
  put(24, destroyed, 2);
  put(26, destroyed ? 0xffff : stream, 2);
  put(30, model, 2);
  return record;
}

TEST(Run, AStreamBelongsToTheModelThatItWasCapturedForLast) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path() / "run");
  for (uint16_t i = 0; i < 4; ++i) {
    const uint64_t at = 100'000 + i * 100'000;
    builder.Operator(7, 3, i, at, at + 2'000, at + 12'000, "Op", false);
  }
  const char* file = "host/data/aging.compact.capture_stream_info.slice_0";
  builder.Raw(file, Capture(50'000, false, 3, 5) + Capture(180'000, true, 3, 5));
  builder.Raw(file, Capture(280'000, false, 3, 6));
  builder.Close();
  ExportTo(builder.path(), directory.path() / "out", {"csv"});
  std::map<std::string, std::string> models;
  for (const auto& row : ReadCsv(FindExport(directory.path() / "out", "op_summary")).rows)
    models[row.at("Task ID")] = row.at("Model ID");
  const std::string none = std::to_string(UINT32_MAX);
  EXPECT_EQ(models, (std::map<std::string, std::string>{{"0", "5"}, {"1", none}, {"2", "6"}, {"3", "6"}}));
}

TEST(Large, EveryTaskHasItsFlowInTheTimeline) {
  constexpr uint64_t kTasks = 5'000;
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  BuildLarge(&builder, kTasks);
  const auto result = ExportTo(builder.path(), directory.path() / "out", {"json"});
  std::ifstream file(FindExport(directory.path() / "out", "msprof", "json"));
  const auto events = nlohmann::json::parse(file);
  EXPECT_EQ(events.size(), result.rows.at("timeline"));
  std::map<std::string, uint64_t> phases;
  for (const auto& event : events) ++phases[event.at("ph").get<std::string>()];
  // Three calls and the task; and it computes, with free time before it.
  EXPECT_EQ(phases["X"], kTasks * 4 + 2 * kTasks - 1);
  EXPECT_EQ(phases["s"], kTasks);
  EXPECT_EQ(phases["f"], kTasks);
}

std::vector<nlohmann::json> Timelines(const analysis::ExportResult& result) {
  std::vector<nlohmann::json> timelines;
  for (const fs::path& path : result.files) {
    if (path.extension() == ".json") timelines.push_back(nlohmann::json::parse(ReadFile(path)));
  }
  return timelines;
}

TEST(Large, ATimelineAboveALimitIsSeveralThatStandAlone) {
  constexpr uint64_t kTasks = 2'000, kLimit = 200'000;
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  BuildLarge(&builder, kTasks);
  const Profile profile = Profile::Open(builder.path());
  analysis::ExportOptions options;
  options.formats = {"json"};
  options.output = directory.path() / "whole";
  const auto whole = Timelines(analysis::Export(profile, options));
  ASSERT_EQ(whole.size(), 1u);
  options.output = directory.path() / "parts";
  options.timestamp = "20260101000000";
  options.timeline_bytes = kLimit;
  const auto result = analysis::Export(profile, options);
  const auto parts = Timelines(result);
  ASSERT_GT(parts.size(), 5u);
  EXPECT_EQ(result.rows.at("timeline"), whole[0].size());
  nlohmann::json events = nlohmann::json::array(), expected = nlohmann::json::array();
  for (size_t k = 0; k < parts.size(); ++k) {
    const fs::path path = options.output / ("msprof_slice_" + std::to_string(k) + "_20260101000000.json");
    EXPECT_EQ(result.files.at(k), path);
    EXPECT_LE(fs::file_size(path), kLimit + 2'000);
    std::set<uint64_t> processes;
    std::set<std::pair<uint64_t, uint64_t>> threads;
    for (const auto& event : parts[k]) {
      const auto pid = event.at("pid").get<uint64_t>(), tid = event.at("tid").get<uint64_t>();
      if (event.at("name") == "process_name") processes.insert(pid);
      if (event.at("name") == "thread_name") threads.insert({pid, tid});
      if (event.at("ph") == "M") continue;
      EXPECT_TRUE(processes.contains(pid)) << k << ": " << event;
      EXPECT_TRUE(event.at("ph") == "C" || threads.contains({pid, tid})) << k << ": " << event;
      events.push_back(event);
    }
  }
  for (const auto& event : whole[0]) {
    if (event.at("ph") != "M") expected.push_back(event);
  }
  EXPECT_EQ(events, expected);
  EXPECT_THROW(analysis::Export(profile, options), analysis::Error) << "one of that time is there";
}

TEST(Large, OfATimelineThatIsNotFinishedNoPartStays) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  BuildLarge(&builder, 2'000);
  analysis::ExportOptions options;
  options.formats = {"json"};
  options.output = directory.path() / "out";
  options.timeline_bytes = 10'000;
  bool parts = false;
  options.check = [&] {
    for (const auto& entry : fs::directory_iterator(options.output))
      parts |= entry.path().filename().string().starts_with("msprof_slice_3_");
    if (parts) throw std::runtime_error("enough");
  };
  EXPECT_THROW(analysis::Export(Profile::Open(builder.path()), options), std::runtime_error);
  EXPECT_TRUE(parts);
  EXPECT_FALSE(fs::exists(options.output));
}

}  // namespace
}  // namespace npuprof::test
