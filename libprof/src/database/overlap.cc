// SPDX-License-Identifier: Apache-2.0
#include "database/overlap.h"

#include <algorithm>

namespace npuprof::database {

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

std::vector<Span> Without(const std::vector<Span>& spans, const std::vector<Span>& others) {
  std::vector<Span> out;
  auto other = others.begin();
  for (Span left : spans) {
    while (other != others.end() && other->end <= left.begin) ++other;
    for (auto cut = other; cut != others.end() && cut->begin < left.end; ++cut) {
      if (cut->begin > left.begin) out.push_back({left.begin, cut->begin});
      left.begin = std::max(left.begin, cut->end);
    }
    if (left.begin < left.end) out.push_back(left);
  }
  return out;
}

}  // namespace npuprof::database
