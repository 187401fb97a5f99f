// SPDX-License-Identifier: Apache-2.0
// Tables in memory, a column an array of one type.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace npuprof::analysis {

/// Takes the cells of a table row by row, the first of which holds the names of the columns.
class CellSink {
 public:
  virtual ~CellSink() = default;
  virtual void Text(std::string_view text) = 0;
  virtual void Number(uint64_t value) = 0;
  virtual void Nanoseconds(int64_t ns) = 0;
  virtual void Real(double value) = 0;
  virtual void EndRow() = 0;
};

/// One column. Missing cells ("N/A" in a file) hold 0, and the first text.
struct Column {
  enum class Kind { kNone, kInteger, kNanoseconds, kReal, kText };
  std::string name;  ///< as in the file, but with "(ns)" where that is the unit here and "(us)" there
  Kind kind = Kind::kNone;
  std::vector<int64_t> integers;   ///< of kInteger and kNanoseconds
  std::vector<double> reals;       ///< of kReal
  std::vector<uint32_t> codes;     ///< of kText: which of texts
  std::vector<std::string> texts;  ///< each different one once
  std::vector<uint8_t> valid;      ///< 1, or 0 for a missing cell; empty if none is missing
};

class ColumnTable final : public CellSink {
 public:
  void Text(std::string_view text) override;
  void Number(uint64_t value) override;
  void Nanoseconds(int64_t ns) override;
  void Real(double value) override;
  void EndRow() override;

  /// Once all rows are there. With `parse` columns of texts become numbers where all of their cells are: tables of
  /// samples come as text.
  void Finish(bool parse);
  uint64_t rows() const { return rows_; }
  std::vector<Column>& columns() { return columns_; }

 private:
  Column& Next(Column::Kind kind);
  void Missing();

  std::vector<Column> columns_;
  std::vector<std::unordered_map<std::string, uint32_t>> numbers_;  ///< of texts, by column
  bool header_ = true;
  size_t next_ = 0;
  uint64_t rows_ = 0;
};

/// By the name of the table.
using ColumnTables = std::map<std::string, ColumnTable>;

}  // namespace npuprof::analysis
