// SPDX-License-Identifier: Apache-2.0
// How often to repeat what is only the same again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace conformance {

/// @return @p usual, or less where the kernel under test is so slow that the lab asks for less (NPUPROF_LAB_EFFORT, percent)
inline int Rounds(int usual, int least = 1) {
  const char* effort = std::getenv("NPUPROF_LAB_EFFORT");
  const int percent = effort == nullptr ? 100 : std::atoi(effort);
  return std::max(least, static_cast<int>(int64_t{usual} * percent / 100));
}

}  // namespace conformance
