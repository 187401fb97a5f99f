// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof::trace {

/// A JSON value that is built once and written: keys stay in their order, and bytes that are no UTF-8 become U+FFFD. It is
/// destroyed without asking for memory, so a program that has none left is told so instead of being ended. Lists of pairs
/// whose first halves are texts make objects, as in {{"id", 1}, {"name", "x"}}; other lists make arrays.
class Json {
 public:
  Json(bool value) : scalar_(value ? "true" : "false") {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : scalar_(std::to_string(value)) {}
  Json(std::string_view text);
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const std::map<std::string, std::string>& texts);
  Json(std::initializer_list<Json> list);
  static Json Array() { return Json(Kind::kArray); }
  static Json Object() { return Json(Kind::kObject); }

  /// To an array.
  void Add(Json value) { items_.push_back(std::move(value)); }
  /// The one that was added last.
  Json& Last() { return items_.back(); }
  /// Of an object; a key that is not there is added.
  Json& operator[](std::string_view key);

  /// On one line without blanks, or, if @p indent, each value on a line of its own, one blank further in at each level.
  std::string Write(bool indent) const;

 private:
  enum class Kind { kText, kOther, kArray, kObject };
  explicit Json(Kind kind) : kind_(kind) {}
  void Write(unsigned depth, bool indent, std::string* out) const;

  Kind kind_ = Kind::kOther;
  std::string scalar_;       // as it is written
  std::vector<Json> items_;  // of an object: keys and values in turn
};

}  // namespace npuprof::trace
