// SPDX-License-Identifier: Apache-2.0
#include "analysis/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "csv.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::CsvFile;
using analysis::TextBuffer;

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

std::string Text(const std::function<void(TextBuffer&)>& append) {
  TextBuffer text;
  append(text);
  return std::string(text.view());
}

TEST(Text, NumbersAreSpelledLikeTheLibraryDoes) {
  std::mt19937_64 random(1);
  std::vector<double> values = {0,     0.0004,  0.0005,       0.0015, 0.5,  1,
                                36.25, 99.9995, 1e8 + 0.0005, 1e11,   1e12, 9.1e12};
  for (int i = 0; i < 20'000; ++i) {
    const double mantissa = static_cast<double>(random() % 1'000'000'007);
    values.push_back(mantissa / std::pow(10, static_cast<double>(random() % 12)));
    values.push_back(static_cast<double>(random() % 2'000'000) / 2000);  // half of them in the middle
  }
  for (const double value : values) {
    for (const double signed_value : {value, -value}) {
      char fixed[400];
      std::snprintf(fixed, sizeof(fixed), "%.3f", signed_value);
      EXPECT_EQ(Text([&](TextBuffer& text) { text.Fixed(signed_value); }), fixed);
      const std::string decimal = Text([&](TextBuffer& text) { text.Decimal(signed_value); });
      if (value >= 9e12) continue;
      EXPECT_EQ(std::stod(decimal), std::round(signed_value * 1000) / 1000) << decimal;
      EXPECT_NE(decimal.find('.'), std::string::npos) << decimal;
      EXPECT_LE(decimal.size() - decimal.find('.'), 4u) << decimal;
    }
  }
  EXPECT_EQ(Text([](TextBuffer& text) { text.Decimal(std::nan("")); }), "N/A");
  EXPECT_EQ(Text([](TextBuffer& text) { text.Decimal(100); }), "100.0");
  EXPECT_EQ(Text([](TextBuffer& text) { text.Decimal(0.55); }), "0.55");
  EXPECT_EQ(Text([](TextBuffer& text) { text.Fixed(1e300); }).size(), 305u);
}

TEST(Text, MomentsKeepTheirSignAndTheirZeros) {
  for (const auto& [ns, micros, brief, json] :
       std::vector<std::tuple<int64_t, const char*, const char*, const char*>>{
           {0, "0.000", "0", "0.0"},
           {1'234'567, "1234.567", "1234.567", "1234.567"},
           {1'500'000, "1500.000", "1500", "1500.0"},
           {-99'800, "-99.800", "-99.8", "-99.8"},
           {INT64_MIN, "-9223372036854775.808", "-9223372036854775.808", "-9223372036854775.808"}}) {
    EXPECT_EQ(analysis::Micros(ns), micros);
    EXPECT_EQ(analysis::ShortMicros(ns), brief);
    EXPECT_EQ(analysis::JsonMicros(ns), json);
  }
}

TEST(Text, WhatNeedsQuotesOrEscapesGetsThem) {
  EXPECT_EQ(Text([](TextBuffer& text) { text.CsvCell("a b"); }), "a b");
  EXPECT_EQ(Text([](TextBuffer& text) { text.CsvCell("a,\"b\""); }), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(analysis::JsonString("a/b c"), "\"a/b c\"");
  EXPECT_EQ(analysis::JsonString("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
  EXPECT_EQ(analysis::JsonString("\xc3\xa9\xff"), "\"\xc3\xa9\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace npuprof::test
