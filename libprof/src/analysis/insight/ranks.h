// SPDX-License-Identifier: Apache-2.0
// Who came late to collectives.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/dictionary.h"
#include "analysis/insight/insight.h"
#include "analysis/task_view.h"

namespace npuprof::analysis {

/// Gathers the collectives of all devices and finds the same one on each. The k-th of a name on one device is the k-th of that
/// name on another if both have equally many and the two overlap in time.
class Ranks {
 public:
  struct Instance {
    int device = 0;
    uint32_t name = 0, first_track = 0;
    int64_t begin_ns = 0, end_ns = 0;
    int last = -1;  ///< device that came last, once Match() has run; -1 if it is on one device alone
  };

  /// A task of a collective; tasks of a device come in order of start.
  void Add(const TaskView& view, const Operator& collective);
  /// After the last device.
  void Match(const StringPool& pool, Insight* into);
  /// In which stretches a device took part in collectives, in order and apart from each other.
  std::vector<std::pair<int64_t, int64_t>> Spans(int device) const;

 private:
  using Key = std::tuple<int, uint32_t, uint32_t>;  // device, launch, name
  void Blame(Insight* into) const;

  std::vector<Instance> instances_;
  std::map<Key, size_t> latest_;
};

}  // namespace npuprof::analysis
