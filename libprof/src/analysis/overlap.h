// SPDX-License-Identifier: Apache-2.0
// When a device computed, communicated, did the one without the other, and neither.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/spill.h"

namespace npuprof::analysis {

/// From `begin` until before `end`, ns.
struct Span {
  int64_t begin, end;
  bool operator==(const Span&) const = default;
};

/// The same time in spans that neither overlap nor touch, in order.
std::vector<Span> Union(std::vector<Span> spans);

/// In the published numbers and order.
enum class OverlapKind : unsigned { kComputing, kCommunicating, kOnlyCommunicating, kFree };

/// What one device did with its time. A span for each stretch of computing is held in the space.
class Overlap {
 public:
  explicit Overlap(SpillSpace* space) : computing_(space) {}

  /// Each task, in order of start; those of operators compute.
  void Add(int64_t begin, int64_t end, bool computes);
  /// All spans of the first kind, then of the next. `communicating` as Union() makes it.
  void ForEach(const std::vector<Span>& communicating,
               const std::function<void(OverlapKind, const Span&)>& visit) const;
  void Clear();
  bool empty() const { return last_ns_ <= first_ns_; }

 private:
  SpillVector<Span> computing_;  // neither overlapping nor touching, in order
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

}  // namespace npuprof::analysis
