// SPDX-License-Identifier: Apache-2.0
#include "database/table_set.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/error.h"

namespace npuprof::database {
namespace {

// Values that one statement takes. More rows to a statement cost SQLite less each; beyond this it hardly matters.
constexpr size_t kValuesPerStatement = 480;

// Readers take TEXT for UTF-8 and refuse what is none.
std::string Readable(std::string_view text) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), ascii)) return std::string(text);
  using nlohmann::json;
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(quoted).get<std::string>();
}

}  // namespace

int64_t Strings::Of(std::string_view raw) {
  const std::string text = Readable(raw);
  const auto [place, fresh] = ids_.try_emplace(text, static_cast<int64_t>(order_.size()));
  if (fresh) order_.push_back(place->first);
  return place->second;
}

int64_t Strings::OfPool(uint32_t id) {
  if (id >= of_pool_.size()) of_pool_.resize(pool_->size(), -1);
  int64_t& known = of_pool_[id];
  if (known < 0) known = Of((*pool_)[id]);
  return known;
}

Table::Table(const TableSpec& spec, SqliteFile* file, Strings* strings)
    : spec_(spec), file_(file), strings_(strings), columns_(ColumnsOf(spec)) {
  batch_ = std::max<size_t>(1, kValuesPerStatement / columns_.size());
}

Table::~Table() {
  sqlite3_finalize(insert_);
}

void Table::Create() {
  if (created_) return;
  created_ = true;
  std::string sql = fmt::format("CREATE TABLE {} (", spec_.name);
  for (size_t i = 0; i < columns_.size(); ++i)
    sql += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", columns_[i].name, SqlType(columns_[i].kind),
                       columns_[i].primary ? " PRIMARY KEY" : "");
  file_->Run(sql + ")");
}

void Table::Row(std::initializer_list<Value> cells) {
  if (cells.size() != columns_.size())
    throw analysis::Error(
        fmt::format("a row of {} has {} values; {} are needed", spec_.name, cells.size(), columns_.size()));
  size_t place = 0;
  for (const Value& value : cells) {
    const Column& column = columns_[place++];
    Cell cell{value.kind, {value.whole}};
    if (value.kind == Value::kFraction) {
      cell.fraction = std::isfinite(value.fraction) ? value.fraction : 0;
    } else if (value.kind == Value::kText && column.kind != Column::kText) {
      cell = {Value::kWhole, {strings_->Of(value.text)}};
    } else if (value.kind == Value::kText) {
      cell.whole = static_cast<int64_t>(texts_.size());
      texts_.push_back(Readable(value.text));
    }
    cells_.push_back(cell);
  }
  ++rows_;
  if (cells_.size() < batch_ * columns_.size()) return;
  if (!insert_) {
    Create();
    insert_ = Prepare(batch_);
  }
  Insert(insert_);
}

sqlite3_stmt* Table::Prepare(size_t rows) {
  std::string one = "(?";
  for (size_t i = 1; i < columns_.size(); ++i) one += ",?";
  one += ")";
  std::string sql = fmt::format("INSERT INTO {} VALUES {}", spec_.name, one);
  for (size_t i = 1; i < rows; ++i) sql += "," + one;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file_->handle(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    file_->Fail("cannot be written");
  return statement;
}

void Table::Insert(sqlite3_stmt* statement) {
  int place = 0;
  for (const Cell& cell : cells_) {
    ++place;
    if (cell.kind == Value::kWhole) {
      sqlite3_bind_int64(statement, place, cell.whole);
    } else if (cell.kind == Value::kFraction) {
      sqlite3_bind_double(statement, place, cell.fraction);
    } else {
      const std::string& text = texts_[static_cast<size_t>(cell.whole)];
      sqlite3_bind_text64(statement, place, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
  }
  const int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (result != SQLITE_DONE) file_->Fail("cannot be written");
  cells_.clear();
  texts_.clear();
}

void Table::Flush() {
  if (cells_.empty()) return;
  Create();
  sqlite3_stmt* rest = Prepare(cells_.size() / columns_.size());
  try {
    Insert(rest);
  } catch (...) {
    sqlite3_finalize(rest);
    throw;
  }
  sqlite3_finalize(rest);
}

Table& TableSet::Of(std::string_view name) {
  const auto known = tables_.find(name);
  if (known != tables_.end()) return *known->second;
  const TableSpec* spec = FindTable(name);
  if (!spec) throw analysis::Error(fmt::format("there is no table {} in the published layout", name));
  return *tables_.emplace(spec->name, std::make_unique<Table>(*spec, file_, &strings_)).first->second;
}

void TableSet::Finish() {
  for (const Enumeration& enumeration : Enumerations()) {
    Table& table = Of(enumeration.table);
    table.Create();
    for (const auto& [id, name] : enumeration.names) table.Row({id, name});
  }
  for (const auto& [name, table] : tables_) table->Flush();
  for (const char* name : {"RANK_DEVICE_MAP", "NPU_INFO"}) Of(name).Create();
  for (const auto& [name, table] : tables_) {
    const TableSpec* spec = FindTable(name);
    if (spec->index && table->rows() > 0) file_->Run(spec->index);
  }
  Table& texts = Of("STRING_IDS");
  texts.Create();
  const auto& all = strings_.all();
  for (size_t i = 0; i < all.size(); ++i) texts.Row({i, all[i]});
  texts.Flush();
  tables_.clear();
}

std::map<std::string, uint64_t> TableSet::rows() const {
  std::map<std::string, uint64_t> rows;
  for (const auto& [name, table] : tables_) rows[std::string(name)] = table->rows();
  return rows;
}

}  // namespace npuprof::database
