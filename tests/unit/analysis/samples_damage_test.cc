// SPDX-License-Identifier: Apache-2.0
// Bad sampled data: what is broken is counted and stepped over, and a table that cannot be made costs itself alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>

#include "analysis/profile.h"
#include "analysis/samples/line_reader.h"
#include "analysis/samples/task_names.h"
#include "golden.h"

namespace npuprof::test {
namespace {
using analysis::ExportResult;

class SampleDamage : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path from = analysis::Profile::Open(kGolden / "full").path();
    prof_ = directory_.path() / from.filename();
    fs::copy(from, prof_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(prof_))
      fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(prof_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream file(prof_ / name, std::ios::binary | std::ios::trunc);
    file << bytes;
    ASSERT_TRUE(file.flush());
  }
  void Replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = Read(name);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    Write(name, text.replace(at, from.size(), to));
  }
  ExportResult Export() {
    analysis::ExportOptions options;
    options.output = directory_.path() / ("out" + std::to_string(exports_++));
    options.timestamp = "20260101000000";
    if (prepare_) prepare_(options.output);
    return analysis::Export(analysis::Profile::Open(prof_), options);
  }
  Csv Exported(const std::string& table) const {
    return ReadCsv(FindExport(directory_.path() / ("out" + std::to_string(exports_ - 1)), table));
  }

  TemporaryDirectory directory_;
  fs::path prof_;
  std::function<void(const fs::path&)> prepare_;
  int exports_ = 0;
};

const char* const kData = "device_0/data/";

TEST_F(SampleDamage, ATableThatCannotBeMadeCostsItselfAloneAndIsNamed) {
  const auto whole = Export();
  ASSERT_TRUE(whole.failures.empty());
  Replace("device_0/sample.json", "\"llc_profiling\": \"read\"", "\"llc_profiling\": \"capacity\"");
  const auto result = Export();
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].tables, "llc_read_write");
  EXPECT_NE(result.failures[0].text.find("llc_profiling is 'capacity'; read and write are known"),
            std::string::npos)
      << result.failures[0].text;
  auto expected = whole.rows;
  expected.erase("llc_read_write");
  expected["timeline"] = result.rows.at("timeline");
  EXPECT_EQ(result.rows, expected);
}

TEST_F(SampleDamage, ATableThatCannotBeWrittenCostsItselfAloneAndIsNamed) {
  prepare_ = [](const fs::path& output) { fs::create_directories(output / "hbm_20260101000000.csv.part"); };
  const auto result = Export();
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].tables, "hbm");
  EXPECT_NE(result.failures[0].text.find("cannot be created: Is a directory"), std::string::npos);
  EXPECT_FALSE(result.rows.contains("hbm"));
  EXPECT_EQ(result.rows.at("hccs"), 2u);
  EXPECT_GT(result.rows.at("timeline"), 0u);
}

TEST_F(SampleDamage, LinesThatCannotBeReadAreCountedByReasonAndSteppedOver) {
  const std::string nic = std::string(kData) + "nic.data.0.slice_0";
  const std::string text = Read(nic);
  const size_t second = text.find('\n', text.find('\n') + 1) + 1;
  Write(nic, text.substr(0, second) + "1000: 5\nno time at all\n" + text.substr(second) + "17: torn");
  const auto result = Export();
  EXPECT_EQ(result.broken_records, 2u)
      << "words instead of values are a heading, as every slice may begin with one";
  EXPECT_EQ(Exported("nic").rows.at(0).at("rxPacket/s"), "10.0");
  const auto told = [&](const char* reason) {
    return std::any_of(result.warnings.begin(), result.warnings.end(), [&](const analysis::Warning& warning) {
      return warning.file == nic && warning.count == 1 && warning.text.find(reason) != std::string::npos;
    });
  };
  EXPECT_TRUE(told("a line that is not 15 numbers"));
  EXPECT_TRUE(told("torn line at the end"));
}

TEST_F(SampleDamage, ATableThatCannotBeMadeIsMissingInMemoryAlone) {
  Replace("device_0/sample.json", "\"llc_profiling\": \"read\"", "\"llc_profiling\": \"capacity\"");
  const auto profile = analysis::Profile::Open(prof_);
  const auto loaded = analysis::LoadTables(profile, {});
  ASSERT_EQ(loaded.result.failures.size(), 1u);
  EXPECT_EQ(loaded.result.failures[0].tables, "llc_read_write");
  EXPECT_FALSE(loaded.tables.contains("llc_read_write"));
  EXPECT_EQ(loaded.tables.at("hccs").rows(), 2u);
  EXPECT_EQ(analysis::LoadTables(profile, {"hccs"}).tables.size(), 1u);
  EXPECT_THROW(analysis::LoadTables(profile, {"hccs", "llc_read_write"}), analysis::Error);
}

// Formats without a magic number had a hole for records of zeros, which were counted as broken ones at best.
TEST_F(SampleDamage, UnwrittenSpaceInTheMiddleGivesNoRowsOfAnyKind) {
  const auto whole = Export();
  unsigned kinds = 0;
  for (const auto& entry : fs::recursive_directory_iterator(prof_)) {
    const std::string name = fs::relative(entry.path(), prof_).string();
    const size_t slice = name.find(".slice_0");
    if (slice == std::string::npos || entry.path().extension() == ".done") continue;
    const uint32_t bytes = analysis::RecordBytesOf(name.substr(0, slice), false);
    const std::string records = Read(name);
    if (bytes == 0 || records.size() % bytes != 0) continue;
    const size_t half = records.size() / bytes / 2 * bytes;
    Write(name, records.substr(0, half) + std::string(size_t{100} * bytes, '\0') + records.substr(half));
    ++kinds;
  }
  ASSERT_GT(kinds, 10u);
  const auto result = Export();
  EXPECT_EQ(result.rows, whole.rows);
  EXPECT_EQ(result.broken_records, whole.broken_records);
  uint64_t told = 0;
  for (const auto& warning : result.warnings) told += warning.text.find("unused space") != std::string::npos;
  EXPECT_GT(told, 10u);
}

TEST_F(SampleDamage, TimeThatGoesBackCostsTheSampleAndNoRateIsNegative) {
  const std::string hbm = std::string(kData) + "hbm.data.0.slice_0";
  std::string bytes = Read(hbm);
  std::fill_n(bytes.begin() + 24 * 80, 8, '\0');  // the time of one sample of one channel
  Write(hbm, bytes);
  const auto result = Export();
  EXPECT_EQ(result.broken_records, 1u);
  for (const auto& row : Exported("hbm").rows) EXPECT_GT(std::stod(row.at("Read(MB/s)")), 30);
}

TEST_F(SampleDamage, LinesMayStraddleSlices) {
  const std::string first = std::string(kData) + "hccs.data.0.slice_0",
                    second = std::string(kData) + "hccs.data.0.slice_1";
  Export();
  const Csv whole = Exported("hccs");
  const std::string text = Read(first);
  Write(first, text.substr(0, 101));
  Write(second, text.substr(101));
  EXPECT_EQ(Export().broken_records, 0u);
  EXPECT_EQ(Exported("hccs").rows, whole.rows);
}

TEST(TaskNames, OfTasksWhoseRecordsAreMissingNoNameIsGuessed) {
  analysis::TaskNames names;
  for (const uint32_t name : {7, 8, 7}) names.Add(3, 1, name);
  names.Add(3, 2, 9);
  names.Add(3, 2, 9);
  const auto read = [&](size_t first, size_t second) {
    analysis::TaskNames::Records records(&names);
    for (size_t i = 0; i < first; ++i) records.Count(3, 1);
    for (size_t i = 0; i < second; ++i) records.Count(3, 2);
    std::vector<uint32_t> found;
    for (size_t i = 0; i < first; ++i) found.push_back(records.Next(3, 1));
    for (size_t i = 0; i < second; ++i) found.push_back(records.Next(3, 2));
    return found;
  };
  EXPECT_EQ(read(3, 2), (std::vector<uint32_t>{7, 8, 7, 9, 9}));
  EXPECT_EQ(read(2, 1), (std::vector<uint32_t>{0, 0, 9})) << "which of the tasks the two are of is not known";
  EXPECT_EQ(read(0, 3), (std::vector<uint32_t>{9, 9, 9}));
}

TEST_F(SampleDamage, MarksWithAnEndBeforeTheirBeginningAreCounted) {
  const std::string file = "host/data/aging.additional.msproftx.slice_0";
  std::string bytes = Read(file);
  std::fill_n(bytes.begin() + 72, 8, '\0');
  Write(file, bytes);
  EXPECT_EQ(Export().broken_records, 1u);
  EXPECT_EQ(Exported("msprof_tx").rows.size(), 1u);
}

TEST(Lines, LongLinesAndUnwrittenSpaceAreNotKept) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "x.slice_0";
  const size_t most = analysis::LineReader::kMostBytes;
  std::ofstream(path, std::ios::binary) << "first\n"
                                        << std::string(10 * most, 'x') << "\nlast\n"
                                        << std::string(4096, '\0');
  const analysis::Slices slices = {{path, "x", 0, fs::file_size(path)}};
  analysis::Diagnostics diagnostics;
  analysis::LineReader reader(slices, &diagnostics);
  std::vector<std::string> lines;
  for (std::string_view line; reader.Next(&line);) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"first", "last"}));
  EXPECT_EQ(diagnostics.broken(), 1u);
  ASSERT_EQ(diagnostics.warnings().size(), 1u);
  EXPECT_EQ(diagnostics.warnings()[0].offset, 6u);
}

}  // namespace
}  // namespace npuprof::test
