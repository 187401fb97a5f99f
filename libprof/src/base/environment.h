// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof {

/// The whole number, digits only, that environment variable @p name holds; nothing if it is not set or empty. A
/// value outside @p low to @p high gives nothing too, and appends a sentence to @p warnings that names it, what is
/// allowed and, in the words of @p instead, what is taken.
inline std::optional<uint64_t> NumberFromEnvironment(const char* name, uint64_t low, uint64_t high,
                                                     std::string_view instead,
                                                     std::vector<std::string>* warnings) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size() && number >= low && number <= high)
    return number;
  warnings->push_back(fmt::format("{} is \"{}\"; allowed is a whole number from {} to {}; taken is {}", name,
                                  text, low, high, instead));
  return std::nullopt;
}

}  // namespace npuprof
