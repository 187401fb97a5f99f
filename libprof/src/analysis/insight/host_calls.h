// SPDX-License-Identifier: Apache-2.0
// What threads of the host did while the device had nothing to compute.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/dictionary.h"
#include "analysis/host_trace.h"
#include "analysis/slices.h"

namespace npuprof::analysis {

class HostCalls {
 public:
  using Spans = std::vector<std::pair<int64_t, int64_t>>;  ///< wall clock ns, rising, apart from each other

  void Load(const SliceIndex& index, HostTrace* host, const StringPool& pool,
            const std::function<void(uint64_t)>& progress);
  /// Times in which the thread that submitted `track` waited in a call; null if it never did.
  const Spans* Waits(const Track& track) const;
  /// False if no calls were recorded that would show a wait.
  bool known() const { return known_; }

 private:
  std::vector<uint32_t> threads_;  ///< by number of the call
  std::unordered_map<uint32_t, Spans> waits_;
  bool known_ = false;
};

}  // namespace npuprof::analysis
