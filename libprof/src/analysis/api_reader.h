// SPDX-License-Identifier: Apache-2.0
// Host activity: api_event records, the two halves of an event joined.
#pragma once

#include <cstdint>
#include <functional>

#include "analysis/diagnostics.h"
#include "analysis/slices.h"

namespace npuprof::analysis {

struct Api {
  uint32_t number = 0;  ///< connection id: 1, 2, ... in file order, the same in every pass
  uint16_t level = 0;
  uint32_t type = 0;
  uint32_t thread = 0;
  uint64_t begin = 0, end = 0;  ///< host cycles, begin < end
  uint64_t item = 0;            ///< hash or model id, by level
};

/// Calls `visit` for every interval. Diagnostics may be null (second pass over the same files).
void ForEachApi(const SliceIndex& index, Diagnostics* diagnostics,
                const std::function<void(uint64_t)>& progress, const std::function<void(const Api&)>& visit);

}  // namespace npuprof::analysis
