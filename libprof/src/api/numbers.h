// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

namespace npuprof::api {

/// C programs pass any number; reading one that is no enumerator as the enumeration would be undefined.
template <typename Enum>
int AsInt(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

}  // namespace npuprof::api
