// SPDX-License-Identifier: Apache-2.0
#include "analysis/text.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "csv.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::CsvFile;

std::set<std::string> Names(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

void Fill(CsvFile* file, uint64_t rows) {
  file->Cell("n");
  file->EndRow();
  for (uint64_t i = 0; i < rows; ++i) {
    file->Cell(std::to_string(i));
    file->EndRow();
  }
}

TEST(CsvSlices, ATableBecomesSeveralFilesOnlyAboveItsMostRows) {
  for (const auto& [rows, files] : std::map<uint64_t, std::set<std::string>>{
           {10, {"op_summary_20260101000000.csv"}},
           {11, {"op_summary_slice_0_20260101000000.csv", "op_summary_slice_1_20260101000000.csv"}},
           {20, {"op_summary_slice_0_20260101000000.csv", "op_summary_slice_1_20260101000000.csv"}}}) {
    TemporaryDirectory directory;
    const fs::path path = directory.path() / "op_summary_20260101000000.csv";
    CsvFile file(path, 10);
    Fill(&file, rows);
    file.Commit();
    EXPECT_EQ(file.rows(), rows + 1);
    EXPECT_EQ(Names(directory.path()), files) << rows;
    uint64_t next = 0;
    for (const fs::path& slice : CsvFile::FilesOf(path, rows, 10)) {
      const Csv csv = ReadCsv(slice);
      EXPECT_EQ(csv.header, std::vector<std::string>{"n"});
      for (const auto& row : csv.rows) EXPECT_EQ(row.at("n"), std::to_string(next++));
    }
    EXPECT_EQ(next, rows);
  }
}

TEST(CsvSlices, AMillionRowsFitIntoOneFile) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "task_time_20260101000000.csv";
  CsvFile file(path);
  Fill(&file, 1'000'001);
  file.Commit();
  const auto files = CsvFile::FilesOf(path, 1'000'001);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].filename(), "task_time_slice_0_20260101000000.csv");
  EXPECT_EQ(fs::file_size(files[1]), std::string("n\n1000000\n").size());
}

TEST(CsvSlices, NothingOfATableThatIsGivenUpStaysBehind) {
  TemporaryDirectory directory;
  {
    CsvFile file(directory.path() / "hbm_20260101000000.csv", 10);
    Fill(&file, 25);
  }
  EXPECT_EQ(Names(directory.path()), std::set<std::string>());
}

}  // namespace
}  // namespace npuprof::test
