// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace npuprof::device {

/// Turns quantities into whole units. What was no full unit counts in the next one, so that sums are right.
class Quantiser {
 public:
  /// Units in @p amount, where one unit is @p size / @p parts.
  uint64_t Take(uint64_t amount, unsigned __int128 size, uint64_t parts) {
    if (size == 0) return 0;
    // A sample that was cut short must not tell what a whole one could not.
    rest_ = std::min(rest_, static_cast<uint64_t>((size - 1) / parts));
    const unsigned __int128 scaled = static_cast<unsigned __int128>(amount + rest_) * parts;
    const auto whole = static_cast<uint64_t>(scaled / size);
    rest_ = static_cast<uint64_t>(scaled % size / parts);
    return whole;
  }
  /// What @p amount lacks is not to come later.
  void Drop() { rest_ = 0; }

 private:
  uint64_t rest_ = 0;
};

}  // namespace npuprof::device
