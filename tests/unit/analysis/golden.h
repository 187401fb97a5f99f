// SPDX-License-Identifier: Apache-2.0
// Known directories, and what the public analysis makes of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/export.h"
#include "csv.h"

namespace npuprof::test {
namespace fs = std::filesystem;
using Row = std::map<std::string, std::string>;

inline const fs::path kGolden = fs::path(NPUPROF_TEST_DATA) / "golden";

class Golden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto profile = analysis::Profile::Open(kGolden / GetParam());
    analysis::ExportOptions options;
    options.output = out_.path();
    result_ = analysis::Export(profile, options);
  }

  Csv Ours(const std::string& table) const { return ReadCsv(FindExport(out_.path(), table)); }
  Csv Theirs(const std::string& table, const std::string& side = "cpp") const {
    return ReadCsv(kGolden / GetParam() / "expected" / (table + "." + side + ".csv"));
  }
  bool Has(const std::string& table) const {
    return fs::exists(kGolden / GetParam() / "expected" / (table + ".cpp.csv"));
  }

  TemporaryDirectory out_;
  analysis::ExportResult result_;
};

inline std::string Key(const Row& row, const std::vector<std::string>& columns) {
  std::string key;
  for (const auto& column : columns) key += row.at(column) + "|";
  return key;
}

// Rows by key; the order of rows is no part of the published format.
inline std::map<std::string, Row> ByKey(const Csv& csv, const std::vector<std::string>& columns) {
  std::map<std::string, Row> rows;
  for (const auto& row : csv.rows) {
    EXPECT_TRUE(rows.emplace(Key(row, columns), row).second) << "two rows with " << Key(row, columns);
  }
  return rows;
}

inline void ExpectSameTable(const Csv& ours, const Csv& theirs, const std::vector<std::string>& key,
                            const std::set<std::string>& except = {}) {
  ASSERT_FALSE(theirs.rows.empty());
  EXPECT_EQ(ours.header, theirs.header);
  const auto our_rows = ByKey(ours, key), their_rows = ByKey(theirs, key);
  ASSERT_EQ(our_rows.size(), their_rows.size());
  for (const auto& [id, row] : their_rows) {
    const auto found = our_rows.find(id);
    ASSERT_NE(found, our_rows.end()) << "no row " << id;
    for (const auto& [column, cell] : row) {
      if (except.contains(column)) continue;
      EXPECT_EQ(found->second.at(column), cell) << id << " " << column;
    }
  }
}

// Place of a layer in the published order.
template <typename Event>
unsigned Layer(const Event& event) {
  return event.at("pid").template get<uint64_t>() >> 5 & 31;
}

}  // namespace npuprof::test
