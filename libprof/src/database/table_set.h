// SPDX-License-Identifier: Apache-2.0
// Rows into the tables of a database: many to a statement, texts by number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/samples/row_sink.h"
#include "analysis/string_pool.h"
#include "database/schema.h"
#include "database/sqlite_file.h"

struct sqlite3_stmt;

namespace npuprof::database {

using analysis::Value;

/// STRING_IDS: every text once, numbered from 0 in the order of first use.
class Strings {
 public:
  explicit Strings(const analysis::StringPool* pool) : pool_(pool) {}
  int64_t Of(std::string_view text);
  /// The same for a number of the pool, without looking at the text again.
  int64_t OfPool(uint32_t id);
  const std::vector<std::string_view>& all() const { return order_; }

 private:
  const analysis::StringPool* pool_;
  std::unordered_map<std::string, int64_t> ids_;  // nodes are stable, so that order_ may point into them
  std::vector<std::string_view> order_;
  std::vector<int64_t> of_pool_;
};

/// One table. It comes into being with its first row, or with Create().
class Table {
 public:
  Table(const TableSpec& spec, SqliteFile* file, Strings* strings);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// A column of texts takes a text, or the number that Strings gave it.
  void Row(std::initializer_list<Value> cells);
  void Create();
  void Flush();
  uint64_t rows() const { return rows_; }

 private:
  sqlite3_stmt* Prepare(size_t rows);
  void Insert(sqlite3_stmt* statement);

  const TableSpec& spec_;
  SqliteFile* file_;
  Strings* strings_;
  std::vector<Column> columns_;
  size_t batch_;
  bool created_ = false;
  sqlite3_stmt* insert_ = nullptr;  // of a whole batch
  struct Cell {
    Value::Kind kind;
    union {
      int64_t whole;
      double fraction;
    };
  };
  std::vector<Cell> cells_;
  std::vector<std::string> texts_;
  uint64_t rows_ = 0;
};

class TableSet : public analysis::RowSink {
 public:
  TableSet(SqliteFile* file, const analysis::StringPool* pool) : file_(file), strings_(pool) {}
  Table& Of(std::string_view name);
  void Row(const char* table, std::initializer_list<Value> cells) override { Of(table).Row(cells); }
  Strings& strings() { return strings_; }
  /// Writes what is left: enumerations, the texts, which come last, and indices.
  void Finish();
  /// Rows by table.
  std::map<std::string, uint64_t> rows() const;

 private:
  SqliteFile* file_;
  Strings strings_;
  std::map<std::string_view, std::unique_ptr<Table>> tables_;
};

}  // namespace npuprof::database
