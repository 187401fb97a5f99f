// SPDX-License-Identifier: Apache-2.0
#include "analysis/overlap.h"

#include <algorithm>

namespace npuprof::analysis {

std::vector<Span> Union(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (span.end <= span.begin) continue;
    if (!out.empty() && span.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, span.end);
    } else {
      out.push_back(span);
    }
  }
  return out;
}

void Overlap::Add(int64_t begin, int64_t end, bool computes) {
  first_ns_ = std::min(first_ns_, begin);
  last_ns_ = std::max(last_ns_, end);
  if (!computes || end <= begin) return;
  if (!computing_.empty() && begin <= computing_.back().end) {
    computing_.back().end = std::max(computing_.back().end, end);
  } else {
    computing_.push_back({begin, end});
  }
}

void Overlap::ForEach(const std::vector<Span>& communicating,
                      const std::function<void(OverlapKind, const Span&)>& visit) const {
  SpillSpace* space = computing_.space();
  const auto show = [&](OverlapKind kind, int64_t begin, int64_t end) {
    space->Tick();
    if (begin < end) visit(kind, {begin, end});
  };
  for (const Span& span : computing_) show(OverlapKind::kComputing, span.begin, span.end);
  for (const Span& span : communicating) show(OverlapKind::kCommunicating, span.begin, span.end);
  const Span* compute = computing_.begin();
  for (Span left : communicating) {
    while (compute != computing_.end() && compute->end <= left.begin) {
      space->Tick();
      ++compute;
    }
    for (const Span* cut = compute; cut != computing_.end() && cut->begin < left.end; ++cut) {
      show(OverlapKind::kOnlyCommunicating, left.begin, cut->begin);
      left.begin = std::max(left.begin, cut->end);
    }
    show(OverlapKind::kOnlyCommunicating, left.begin, left.end);
  }
  if (empty()) return;
  int64_t busy_until = first_ns_;
  auto communicate = communicating.begin();
  for (compute = computing_.begin(); compute != computing_.end() || communicate != communicating.end();) {
    const bool computes = communicate == communicating.end() ||
                          (compute != computing_.end() && compute->begin <= communicate->begin);
    const Span busy = computes ? *compute++ : *communicate++;
    show(OverlapKind::kFree, busy_until, busy.begin);
    busy_until = std::max(busy_until, busy.end);
  }
  show(OverlapKind::kFree, busy_until, last_ns_);
}

void Overlap::Clear() {
  computing_.clear();
  first_ns_ = INT64_MAX;
  last_ns_ = INT64_MIN;
}

}  // namespace npuprof::analysis
