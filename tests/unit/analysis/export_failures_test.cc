// SPDX-License-Identifier: Apache-2.0
// What cannot be written costs itself, and exports into one directory do not disturb each other.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "analysis/export.h"
#include "analysis/output_claim.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::ExportResult;
using analysis::OutputClaim;
using analysis::Profile;

class ExportFailures : public testing::Test {
 protected:
  static constexpr uint64_t kTasks = 200;

  void SetUp() override {
    ProfBuilder builder(directory_.path());
    for (uint64_t i = 0; i < kTasks; ++i) {
      const uint64_t at = 10'000 + i * 10'000;
      builder.Operator(100, 3, static_cast<uint16_t>(i), at, at + 2'000, at + 6'000, "Op");
    }
    builder.Close();
    prof_ = builder.path();
    out_ = directory_.path() / "out";
  }
  // Whoever owns the machine may write whatever has no right to be written, so something else is in the way.
  ExportResult ExportWithout(const std::string& file) {
    fs::create_directories(out_ / (file + ".part"));
    analysis::ExportOptions options;
    options.output = out_;
    options.timestamp = "20260101000000";
    options.formats = {"csv", "json", "perfetto"};
    return analysis::Export(Profile::Open(prof_), options);
  }

  TemporaryDirectory directory_;
  fs::path prof_, out_;
};

TEST_F(ExportFailures, ATimelineThatCannotBeWrittenCostsItselfAlone) {
  const auto result = ExportWithout("msprof_20260101000000.json");
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].tables, "timeline (json)");
  EXPECT_NE(result.failures[0].text.find("cannot be created: Is a directory"), std::string::npos);
  EXPECT_EQ(ReadCsv(FindExport(out_, "op_summary")).rows.size(), kTasks);
  EXPECT_EQ(ReadCsv(FindExport(out_, "task_time")).rows.size(), kTasks);
  EXPECT_TRUE(fs::exists(out_ / "msprof_20260101000000.pftrace"));
  EXPECT_TRUE(fs::exists(out_ / "README.txt"));
  EXPECT_FALSE(fs::exists(out_ / "msprof_20260101000000.json"));
}

TEST_F(ExportFailures, ATableThatCannotBeWrittenCostsItselfAlone) {
  const auto result = ExportWithout("op_summary_20260101000000.csv");
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].tables, "op_summary");
  EXPECT_FALSE(result.rows.contains("op_summary"));
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.rows.at("op_statistic"), 1u);
  EXPECT_TRUE(fs::exists(out_ / "msprof_20260101000000.json"));
}

TEST_F(ExportFailures, ExportsIntoOneDirectoryAtOnceAreAllWhole) {
  constexpr size_t kExports = 4;
  std::array<ExportResult, kExports> results;
  const auto profile = Profile::Open(prof_);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      analysis::ExportOptions options;
      options.output = out_;
      result = analysis::Export(profile, options);
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<fs::path> names;
  for (const auto& result : results) {
    EXPECT_TRUE(result.failures.empty()) << result.failures.front().text;
    for (const auto& file : result.files) {
      EXPECT_TRUE(fs::exists(file)) << file;
      if (file.filename() == "README.txt") continue;
      EXPECT_TRUE(names.insert(file).second) << file << " was written twice";
      if (file.filename().string().starts_with("op_summary")) {
        EXPECT_EQ(ReadCsv(file).rows.size(), kTasks) << file;
      }
    }
  }
  size_t there = 0;
  for (const auto& entry : fs::directory_iterator(out_)) there += entry.path().filename() != "README.txt";
  EXPECT_EQ(there, names.size()) << "nothing else is left there";
}

TEST_F(ExportFailures, AClaimIsHeldByOneAndIsVoidAfterwards) {
  OutputClaim first, second;
  EXPECT_TRUE(first.Take(directory_.path(), "x"));
  EXPECT_FALSE(second.Take(directory_.path(), "x"));
  EXPECT_TRUE(second.Take(directory_.path(), "y"));
  first.Release();
  EXPECT_TRUE(second.Take(directory_.path(), "x"));
  second.Release();
  std::ofstream(directory_.path() / ".npuprof-x") << "of a process that died";
  EXPECT_TRUE(first.Take(directory_.path(), "x"));
}

}  // namespace
}  // namespace npuprof::test
