// SPDX-License-Identifier: Apache-2.0
// A part or a slice that cannot be used costs itself, is a failure and is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "analysis/export.h"
#include "analysis/insight/insight.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::ExportFailure;
using analysis::ExportResult;
using analysis::Profile;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  ASSERT_TRUE(file.flush()) << path;
}

std::string Noise(size_t bytes) {
  std::mt19937 random(1);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

const ExportFailure* FindFailure(const ExportResult& result, const std::string& what,
                                 const std::string& text) {
  const auto it = std::find_if(result.failures.begin(), result.failures.end(), [&](const ExportFailure& f) {
    return f.tables == what && f.text.find(text) != std::string::npos;
  });
  return it == result.failures.end() ? nullptr : &*it;
}

// Twenty operators, whose task log is in five slices.
class FailingParts : public testing::Test {
 protected:
  static constexpr uint64_t kTasks = 20, kSlices = 5;
  static constexpr uint64_t kTasksPerSlice = kTasks / kSlices;

  void SetUp() override {
    ProfBuilder builder(directory_.path());
    for (uint64_t i = 0; i < kTasks; ++i) {
      const uint64_t at = 10'000 + i * 10'000;
      builder.Operator(100, 3, static_cast<uint16_t>(i), at, at + 2'000, at + 6'000,
                       "Op_" + std::to_string(i));
    }
    builder.Close();
    prof_ = builder.path();
    Split();
  }
  fs::path Slice(uint64_t number) const {
    return prof_ / ("device_0/data/stars_soc.data.0.slice_" + std::to_string(number));
  }
  void Split() const {
    const std::string log = ReadFile(Slice(0));
    for (uint64_t i = 0; i < kSlices; ++i)
      WriteFile(Slice(i), log.substr(log.size() / kSlices * i, log.size() / kSlices));
  }
  ExportResult Export() {
    out_ = directory_.path() / ("out" + std::to_string(exports_++));
    analysis::ExportOptions options;
    options.output = out_;
    return analysis::Export(Profile::Open(prof_), options);
  }

  TemporaryDirectory directory_;
  fs::path prof_, out_;
  int exports_ = 0;
};

TEST_F(FailingParts, WithoutDamageThereIsNoFailure) {
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().text;
  EXPECT_TRUE(result.warnings.empty()) << result.warnings.front().Line();
}

TEST_F(FailingParts, APartThatIsLeftOutIsAFailure) {
  fs::remove(prof_ / "host/host_start.log");
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_NE(FindFailure(result, "host", "host_start.log"), nullptr);
  EXPECT_EQ(analysis::Analyse(Profile::Open(prof_), {}).failures.size(), 1u);
}

TEST_F(FailingParts, ASliceThatCannotBeReadIsAFailure) {
  const std::string name = "device_0/data/stars_soc.data.0.slice_2";
  // Root may read whatever has no right to be read; of a file that shrank, the end is missing.
  const auto profile = Profile::Open(prof_);
  analysis::ExportOptions options;
  options.output = directory_.path() / "out";
  bool shrunk = false;
  options.check = [&] {
    if (!shrunk) fs::resize_file(prof_ / name, 64);
    shrunk = true;
  };
  const auto result = analysis::Export(profile, options);
  EXPECT_NE(FindFailure(result, name, "could not be read beyond byte 64"), nullptr);
  EXPECT_EQ(result.rows.at("task_time"), kTasks - kTasksPerSlice);
}

TEST_F(FailingParts, ASliceOfNoiseIsAFailure) {
  WriteFile(Slice(2), Noise(64 * 8));
  const auto result = Export();
  EXPECT_NE(FindFailure(result, "device_0/data/stars_soc.data.0.slice_2", "most of its records"), nullptr);
  EXPECT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.rows.at("task_time"), kTasks - kTasksPerSlice);
}

TEST_F(FailingParts, OneBrokenRecordIsNone) {
  std::string log = ReadFile(Slice(2));
  log[64 + 2] ^= 0x40;
  WriteFile(Slice(2), log);
  const auto result = Export();
  EXPECT_EQ(result.broken_records, 1u);
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().text;
}

TEST_F(FailingParts, SlicesMissingBetweenOthersAreNamed) {
  fs::remove(Slice(1));
  auto result = Export();
  EXPECT_NE(FindFailure(result, "device_0/data/stars_soc.data.0", "slice 1 is missing"), nullptr);
  EXPECT_EQ(result.rows.at("task_time"), kTasks - kTasksPerSlice);
  fs::remove(Slice(2));
  result = Export();
  EXPECT_NE(FindFailure(result, "device_0/data/stars_soc.data.0", "slices 1 to 2 are missing"), nullptr);
  EXPECT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.rows.at("task_time"), kTasks - 2 * kTasksPerSlice);
  EXPECT_EQ(analysis::Analyse(Profile::Open(prof_), {}).failures.size(), 1u);
}

TEST_F(FailingParts, SlicesMissingInFrontAreNamedAndNoFailure) {
  fs::remove(Slice(0));
  const auto result = Export();
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().text;
  EXPECT_TRUE(std::any_of(result.warnings.begin(), result.warnings.end(), [](const auto& warning) {
    return warning.Line() == "device_0/data/stars_soc.data.0: slice 0 was removed, the oldest";
  }));
}

// Identifiers come round: behind the hole ends another task of the same ones.
TEST_F(FailingParts, NoTaskIsPairedAcrossSlicesThatAreMissing) {
  ProfBuilder builder(directory_.path() / "wrap");
  builder.Task(3, 1, 0, 20'000, 22'000);
  builder.TaskStart(3, 7, 0, 30'000);
  builder.TaskEnd(3, 7, 0, 262'000'000);
  builder.Task(3, 8, 0, 262'010'000, 262'012'000);
  builder.Close();
  prof_ = builder.path();
  const std::string log = ReadFile(Slice(0));
  ASSERT_EQ(log.size(), 6 * 64u);
  WriteFile(Slice(0), log.substr(0, 3 * 64));
  WriteFile(Slice(2), log.substr(3 * 64));
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), 2u);
  EXPECT_EQ(result.devices.at(0).unpaired, 2u);
  for (const auto& row : ReadCsv(FindExport(out_, "task_time")).rows)
    EXPECT_LT(std::stod(row.at("task_time(us)")), 3.0) << row.at("task_id");
}

TEST_F(FailingParts, ARecordInTwoPiecesIsNotJoinedAcrossSlicesThatAreMissing) {
  const std::string log = ReadFile(Slice(0));
  WriteFile(Slice(0), log.substr(0, log.size() - 24));
  WriteFile(Slice(2), log.substr(log.size() - 24) + ReadFile(Slice(2)));
  fs::remove(Slice(1));
  const auto result = Export();
  // The last task of the first slice has lost its end, and no other task anything.
  EXPECT_EQ(result.rows.at("task_time"), kTasks - kTasksPerSlice - 1);
}

}  // namespace
}  // namespace npuprof::test
