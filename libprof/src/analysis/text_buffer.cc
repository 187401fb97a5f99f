// SPDX-License-Identifier: Apache-2.0
#include "analysis/text_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace npuprof::analysis {
namespace {

constexpr uint8_t kCsvQuotes = 1, kJsonEscapes = 2;

constexpr std::array<uint8_t, 256> Classify() {
  std::array<uint8_t, 256> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    if (c == ',' || c == '"' || c == '\r' || c == '\n') classes[c] |= kCsvQuotes;
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') classes[c] |= kJsonEscapes;
  }
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = Classify();

bool Has(std::string_view text, uint8_t what) {
  uint8_t seen = 0;
  for (const char c : text) seen |= kClasses[static_cast<uint8_t>(c)];
  return seen & what;
}

}  // namespace

void TextBuffer::Grow(size_t bytes) {
  const size_t capacity = std::max({size_ + bytes, 2 * capacity_, size_t{512}});
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

void TextBuffer::Strip(size_t from, size_t decimals) {
  const size_t least = from + decimals;
  while (size_ > least && data_[size_ - 1] == '0') --size_;
  if (size_ == from) --size_;
}

TextBuffer& TextBuffer::Micros(int64_t ns) {
  uint64_t size = static_cast<uint64_t>(ns);
  if (ns < 0) {
    Add('-');
    size = -size;
  }
  Number(size / 1000);
  const auto rest = static_cast<uint32_t>(size % 1000);
  char* at = Room(4);
  at[0] = '.';
  at[1] = static_cast<char>('0' + rest / 100);
  at[2] = static_cast<char>('0' + rest / 10 % 10);
  at[3] = static_cast<char>('0' + rest % 10);
  size_ += 4;
  return *this;
}

TextBuffer& TextBuffer::ShortMicros(int64_t ns) {
  Micros(ns);
  Strip(size_ - 3, 0);
  return *this;
}

TextBuffer& TextBuffer::JsonMicros(int64_t ns) {
  Micros(ns);
  Strip(size_ - 3, 1);
  return *this;
}

TextBuffer& TextBuffer::Fixed(double value) {
  // Where the third decimal is in doubt by an error of the product, the library decides from all digits.
  constexpr double kLargest = 1e9, kDoubt = 1e-4;
  const double thousandths = value * 1000;
  if (value >= 0 && value < kLargest && !std::signbit(value)) {
    const double below = std::floor(thousandths), rest = thousandths - below;
    if (std::fabs(rest - 0.5) > kDoubt) return Micros(static_cast<int64_t>(below) + (rest > 0.5 ? 1 : 0));
  }
  char text[400];  // the largest double has 309 digits
  const auto end = fmt::format_to_n(text, sizeof(text), "{:.3f}", value);
  return Add({text, end.size});
}

TextBuffer& TextBuffer::ShortDecimal(double value) {
  Fixed(value);
  if (std::isfinite(value)) Strip(size_ - 3, 0);
  return *this;
}

TextBuffer& TextBuffer::Whole(double value) {
  char text[400];
  const auto end = fmt::format_to_n(text, sizeof(text), "{:.0f}", value);
  return Add({text, end.size});
}

TextBuffer& TextBuffer::Decimal(double value) {
  if (!std::isfinite(value)) return Add("N/A");
  // Below this the three decimals are also the shortest form of the rounded value.
  constexpr double kExact = 1e11;
  const double thousandths = value * 1000;
  if (std::fabs(value) < kExact) {
    const double rounded = std::round(thousandths);
    if (rounded != 0 || !std::signbit(rounded)) return JsonMicros(static_cast<int64_t>(rounded));
  }
  // Beyond 2^53 there are no decimals left to round, and scaling would only do harm.
  return JsonReal(std::fabs(value) < 9e12 ? std::round(thousandths) / 1000 : value);
}

TextBuffer& TextBuffer::JsonReal(double value) {
  const size_t from = size_;
  Shortest(value);
  if (view().substr(from).find_first_of(".e") == std::string_view::npos) Add(".0");
  return *this;
}

TextBuffer& TextBuffer::Shortest(double value) {
  char text[40];
  const auto end = fmt::format_to_n(text, sizeof(text), "{}", value);
  return Add({text, end.size});
}

TextBuffer& TextBuffer::JsonString(std::string_view text) {
  if (!Has(text, kJsonEscapes)) return Add('"').Add(text).Add('"');
  return Add(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

TextBuffer& TextBuffer::CsvCell(std::string_view text) {
  if (!Has(text, kCsvQuotes)) return Add(text);
  Add('"');
  for (const char c : text) {
    if (c == '"') Add('"');
    Add(c);
  }
  return Add('"');
}

}  // namespace npuprof::analysis
