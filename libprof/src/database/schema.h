// SPDX-License-Identifier: Apache-2.0
// The published tables: names, columns and enumerations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace npuprof::database {

struct Column {
  enum Kind { kInteger, kNumeric, kReal, kText };
  std::string name;
  Kind kind = kInteger;
  bool primary = false;  ///< the table's key
};

struct TableSpec {
  std::string_view name;
  /// "name name:n name:r name:t name:k": INTEGER, NUMERIC, REAL, TEXT, and INTEGER PRIMARY KEY.
  std::string_view columns;
  const char* index = nullptr;  ///< statement that makes it
};

struct Enumeration {
  const char* table;
  std::vector<std::pair<int64_t, const char*>> names;
};

/// Null if there is none of that name.
const TableSpec* FindTable(std::string_view name);
std::vector<Column> ColumnsOf(const TableSpec& spec);
const char* SqlType(Column::Kind kind);
/// Tables that every database has, whatever is in it.
const std::vector<Enumeration>& Enumerations();

}  // namespace npuprof::database
