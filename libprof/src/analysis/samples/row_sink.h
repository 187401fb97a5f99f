// SPDX-License-Identifier: Apache-2.0
// Where readers put what a database takes: values, not texts.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace npuprof::analysis {

/// One cell. A text is valid for the call that it is passed to.
struct Value {
  enum Kind : uint8_t { kWhole, kFraction, kText };
  template <std::integral Number>
  Value(Number number)
      : kind(kWhole), whole(static_cast<int64_t>(number)) {}             // NOLINT: cells are written plainly
  Value(double number) : kind(kFraction), fraction(number) {}            // NOLINT
  Value(std::string_view words) : kind(kText), whole(0), text(words) {}  // NOLINT
  Value(const char* words) : Value(std::string_view(words)) {}           // NOLINT
  Value(const std::string& words) : Value(std::string_view(words)) {}    // NOLINT

  Kind kind;
  union {
    int64_t whole;
    double fraction;
  };
  std::string_view text;
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  /// `table` is one of the published tables, `cells` are in the order of its columns.
  virtual void Row(const char* table, std::initializer_list<Value> cells) = 0;
};

}  // namespace npuprof::analysis
