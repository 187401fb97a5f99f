// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace npuprof::device {

/// a * b / c in whole numbers, rounded down, without losing high bits; 0 if @p c is 0. A double would lose the low
/// bits of clocks that have run for months.
inline uint64_t MulDiv(uint64_t a, uint64_t b, uint64_t c) {
  return c == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b / c);
}

}  // namespace npuprof::device
