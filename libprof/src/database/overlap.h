// SPDX-License-Identifier: Apache-2.0
// When a device computed, communicated, did the one without the other, and neither.
#pragma once

#include <cstdint>
#include <vector>

namespace npuprof::database {

/// From `begin` until before `end`, ns.
struct Span {
  int64_t begin, end;
  bool operator==(const Span&) const = default;
};

/// The same time in spans that neither overlap nor touch, in order.
std::vector<Span> Union(std::vector<Span> spans);
/// What of `spans` is not in `others`; both as Union() makes them.
std::vector<Span> Without(const std::vector<Span>& spans, const std::vector<Span>& others);

}  // namespace npuprof::database
