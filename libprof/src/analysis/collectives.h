// SPDX-License-Identifier: Apache-2.0
// Operators that several ranks carry out together: each is many tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/dictionary.h"
#include "analysis/slices.h"
#include "analysis/task_view.h"
#include "analysis/text.h"

namespace npuprof::analysis {

/// Gathers the tasks of collectives and sums these up by device and type.
class Collectives {
 public:
  /// Learns from the host's calls which parts of launches are beside the master plane. Before the first task.
  void LoadPlanes(const SliceIndex& index, const Dictionary& names, const StringPool& pool,
                  const std::function<void(uint64_t)>& progress);
  /// A task with an operator of type COMMUNICATION in its launch, which is `op`; tasks of a device come in order of start.
  /// A collective lasts from the first task of its master plane to the last.
  void Add(const TaskView& view, const Operator& op);
  /// Writes communication_statistic, largest total first. Returns the rows; without any, no file is written.
  uint64_t Write(const TablePlace& place, const StringPool& pool) const;

 private:
  struct Instance {
    uint32_t type = 0;         ///< StringPool id
    uint32_t first_track = 0;  ///< met again when a captured graph is replayed
    int64_t start_ns = 0, end_ns = 0;
  };
  struct Interval {
    uint64_t begin, end;  ///< host cycles
  };
  bool IsSlave(const Track& track) const;

  std::unordered_map<uint32_t, std::vector<Interval>> slaves_;  ///< by launch, in order
  using Key = std::tuple<int, uint32_t, uint32_t>;              // device, launch, name
  std::map<Key, size_t> latest_;
  std::vector<std::pair<int, Instance>> instances_;
};

}  // namespace npuprof::analysis
