// SPDX-License-Identifier: Apache-2.0
#include "analysis/columns.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/error.h"

namespace npuprof::analysis {
namespace {

constexpr std::string_view kMissing = "N/A", kMicros = "(us)";

template <typename T>
std::optional<T> Parsed(std::string_view text) {
  if (text.ends_with('\t')) text.remove_suffix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "1234.567" as 1234567: exact, which a double of today's time in microseconds is not.
std::optional<int64_t> Thousandths(std::string_view text) {
  if (text.ends_with('\t')) text.remove_suffix(1);
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point + 4 != text.size() || point > 15) return std::nullopt;
  return Parsed<int64_t>(std::string(text.substr(0, point)) + std::string(text.substr(point + 1)));
}

// The values of all texts of a column, if every one that is used has one. A cell that is missing has none and uses none.
template <typename T, typename Parse>
bool Convert(const Column& column, Parse parse, std::vector<T>* out) {
  std::vector<std::optional<T>> values;
  for (const std::string& text : column.texts) values.push_back(parse(text));
  for (size_t row = 0; row < column.codes.size(); ++row) {
    const bool missing = !column.valid.empty() && column.valid[row] == 0;
    const auto value = missing ? std::optional(T{}) : values[column.codes[row]];
    if (!value) return false;
    out->push_back(*value);
  }
  return true;
}

}  // namespace

Column& ColumnTable::Next(Column::Kind kind) {
  Column& column = columns_.at(next_++);
  if (column.kind == Column::Kind::kNone) {
    column.kind = kind;
    column.integers.resize(kind == Column::Kind::kInteger || kind == Column::Kind::kNanoseconds ? rows_ : 0);
    column.reals.resize(kind == Column::Kind::kReal ? rows_ : 0);
    column.codes.resize(kind == Column::Kind::kText ? rows_ : 0);
    if (kind == Column::Kind::kText && rows_ > 0) column.texts.emplace_back();
    const size_t unit = column.name.find(kMicros);
    if (kind == Column::Kind::kNanoseconds && unit != std::string::npos)
      column.name.replace(unit, kMicros.size(), "(ns)");
  }
  if (column.kind != kind) throw Error("column " + column.name + " holds cells of two kinds");
  if (!column.valid.empty()) column.valid.push_back(1);
  return column;
}

void ColumnTable::Missing() {
  Column& column = columns_.at(next_++);
  if (column.valid.empty()) column.valid.assign(rows_, 1);
  column.valid.push_back(0);
  switch (column.kind) {
    case Column::Kind::kNone:
      break;
    case Column::Kind::kInteger:
    case Column::Kind::kNanoseconds:
      column.integers.push_back(0);
      break;
    case Column::Kind::kReal:
      column.reals.push_back(0);
      break;
    case Column::Kind::kText:
      column.codes.push_back(0);
      break;
  }
}

void ColumnTable::Text(std::string_view text) {
  if (header_) {
    columns_.emplace_back().name = text;
    numbers_.emplace_back();
    return;
  }
  if (text == kMissing) {
    Missing();
    return;
  }
  Column& column = Next(Column::Kind::kText);
  auto& numbers = numbers_[next_ - 1];
  const auto [place, fresh] = numbers.try_emplace(std::string(text), column.texts.size());
  if (fresh) column.texts.emplace_back(text);
  column.codes.push_back(place->second);
}

void ColumnTable::Number(uint64_t value) {
  Next(Column::Kind::kInteger).integers.push_back(static_cast<int64_t>(value));
}

void ColumnTable::Nanoseconds(int64_t ns) {
  Next(Column::Kind::kNanoseconds).integers.push_back(ns);
}

void ColumnTable::Real(double value) {
  if (std::isfinite(value)) {
    Next(Column::Kind::kReal).reals.push_back(value);
  } else {
    Missing();
  }
}

void ColumnTable::EndRow() {
  if (!header_) {
    if (next_ != columns_.size())
      throw Error("a row with another number of cells than the table has columns");
    ++rows_;
  }
  header_ = false;
  next_ = 0;
}

void ColumnTable::Finish(bool parse) {
  for (Column& column : columns_) {
    if (column.kind == Column::Kind::kNone) {
      column.kind = Column::Kind::kReal;
      column.reals.resize(rows_);
    }
    if (!parse || column.kind != Column::Kind::kText) continue;
    Column as = column;
    if (Convert<int64_t>(column, Parsed<int64_t>, &as.integers)) {
      as.kind = Column::Kind::kInteger;
    } else if (column.name.find(kMicros) != std::string::npos &&
               (as.integers.clear(), Convert<int64_t>(column, Thousandths, &as.integers))) {
      as.kind = Column::Kind::kNanoseconds;
      as.name.replace(as.name.find(kMicros), kMicros.size(), "(ns)");
    } else if (Convert<double>(column, Parsed<double>, &as.reals)) {
      as.kind = Column::Kind::kReal;
      as.integers.clear();
    } else {
      continue;
    }
    as.codes.clear();
    as.texts.clear();
    column = std::move(as);
  }
}

}  // namespace npuprof::analysis
