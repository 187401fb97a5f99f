// SPDX-License-Identifier: Apache-2.0
// Text as it is put together for a file: numbers and names appended without a detour through strings.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace npuprof::analysis {

/// Grows as needed and keeps its memory when cleared.
class TextBuffer {
 public:
  TextBuffer& Add(std::string_view text) {
    std::memcpy(Room(text.size()), text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  TextBuffer& Add(char c) {
    *Room(1) = c;
    ++size_;
    return *this;
  }
  TextBuffer& Number(uint64_t value) {
    char* at = Room(kLongestNumber);
    size_ += static_cast<size_t>(std::to_chars(at, at + kLongestNumber, value).ptr - at);
    return *this;
  }
  /// Nanoseconds as microseconds with three decimals: 1234567 -> "1234.567".
  TextBuffer& Micros(int64_t ns);
  /// The same without trailing zeros: 1500000 -> "1500", 99800 -> "99.8".
  TextBuffer& ShortMicros(int64_t ns);
  /// The JSON number for nanoseconds in microseconds, at least one decimal: 99.8, 100.0.
  TextBuffer& JsonMicros(int64_t ns);
  /// Three decimals, correctly rounded: 0.550, 100.000.
  TextBuffer& Fixed(double value);
  /// At most three decimals, no trailing zeros: 36.25, 9.483, 16.
  TextBuffer& ShortDecimal(double value);
  /// Without decimals.
  TextBuffer& Whole(double value);
  /// Rounded to three decimals, at least one of them shown: 0.55, 100.0; "N/A" if it is no number.
  TextBuffer& Decimal(double value);
  /// As many digits as it takes to read the same value back: 0.55, 100.
  TextBuffer& Shortest(double value);
  /// The same with at least one decimal, so that JSON takes it for no integer: 0.55, 100.0.
  TextBuffer& JsonReal(double value);
  /// Quoted and escaped for JSON; bytes that are no UTF-8 become U+FFFD.
  TextBuffer& JsonString(std::string_view text);
  /// A cell of a table, quoted if it has to be.
  TextBuffer& CsvCell(std::string_view text);

  std::string_view view() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }
  void Clear() { size_ = 0; }

 private:
  static constexpr size_t kLongestNumber = 24;

  /// `bytes` at the end, not counted yet.
  char* Room(size_t bytes) {
    if (bytes > capacity_ - size_) Grow(bytes);
    return data_.get() + size_;
  }
  void Grow(size_t bytes);
  /// Takes zeros off the end, and the point if it comes last; keeps `decimals` digits behind the point.
  void Strip(size_t from, size_t decimals);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace npuprof::analysis
