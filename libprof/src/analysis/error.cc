// SPDX-License-Identifier: Apache-2.0
#include "analysis/error.h"

#include <fmt/format.h>

#include "analysis/diagnostics.h"

namespace npuprof::analysis {

std::string Warning::Line() const {
  if (count == 0) return file.empty() ? text : fmt::format("{}: {}", file, text);
  if (file.empty()) return fmt::format("{} ({} records)", text, count);
  return fmt::format("{} at byte {}: {} ({} record{})", file, offset, text, count, count == 1 ? "" : "s");
}

void Diagnostics::Warn(std::string file, std::string text) {
  auto [it, fresh] = index_.try_emplace({file, text}, warnings_.size());
  if (fresh) warnings_.push_back({std::move(file), 0, 0, std::move(text)});
}

void Diagnostics::Failed(std::string file, std::string text) {
  const size_t before = warnings_.size();
  Warn(std::move(file), std::move(text));
  if (warnings_.size() > before) failures_.push_back(warnings_.back());
}

void Diagnostics::Record(const std::string& file, uint64_t offset, const std::string& text, bool broken,
                         uint64_t count) {
  if (broken) broken_ += count;
  auto it = index_.find({file, text});
  if (it == index_.end() && warnings_.size() >= kMaxWarnings) {
    // A file of noise must not turn into as many different warnings as it has records.
    static const std::pair<std::string, std::string> kRest("", "further damage of other kinds");
    const auto [rest, fresh] = index_.try_emplace(kRest, warnings_.size());
    if (fresh) warnings_.push_back({kRest.first, 0, 0, kRest.second});
    it = rest;
  } else if (it == index_.end()) {
    it = index_.emplace(std::pair(file, text), warnings_.size()).first;
    warnings_.push_back({file, offset, 0, text});
  }
  warnings_[it->second].count += count;
}

}  // namespace npuprof::analysis
