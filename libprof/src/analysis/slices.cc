// SPDX-License-Identifier: Apache-2.0
#include "analysis/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace npuprof::analysis {
namespace {

constexpr std::string_view kMark = ".slice_";

// Only plain names with a plain number count: "x.slice_0.done" and "x.slice_0.complete" are markers.
bool Split(std::string_view name, std::string_view* base, uint64_t* number) {
  const size_t at = name.rfind(kMark);
  if (at == std::string_view::npos || at == 0) return false;
  const auto digits = name.substr(at + kMark.size());
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) return false;
  *base = name.substr(0, at);
  return true;
}

std::string Range(uint64_t first, uint64_t last) {
  return first == last ? fmt::format("slice {}", first) : fmt::format("slices {} to {}", first, last);
}

}  // namespace

SliceIndex::SliceIndex(const std::filesystem::path& root, const std::vector<std::string>& parts,
                       Diagnostics* diagnostics) {
  namespace fs = std::filesystem;
  for (const auto& part : parts) {
    std::error_code error;
    fs::directory_iterator it(root / part / "data", error), end;
    for (; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (!it->is_regular_file(ignored)) continue;
      const std::string file = it->path().filename().string();
      std::string_view base;
      Slice slice;
      if (!Split(file, &base, &slice.number)) continue;
      slice.bytes = it->file_size(ignored);
      if (ignored) continue;
      slice.path = it->path();
      slice.name = part + "/data/" + file;
      slices_[part + "/data/" + std::string(base)].push_back(std::move(slice));
    }
    if (diagnostics && error && error != std::errc::no_such_file_or_directory)
      diagnostics->Failed(part + "/data", "cannot be read: " + error.message());
  }
  for (auto& [base, slices] : slices_) {
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.number < b.number; });
    for (size_t i = 1; diagnostics && i < slices.size(); ++i) {
      if (!BehindHole(slices, i)) continue;
      const uint64_t first = slices[i - 1].number + 1, last = slices[i].number - 1;
      diagnostics->Failed(base,
                          fmt::format("{} {} missing", Range(first, last), first == last ? "is" : "are"));
    }
  }
}

const Slices& SliceIndex::Get(const std::string& base) const {
  static const Slices kNone;
  asked_.insert(base);
  const auto it = slices_.find(base);
  return it == slices_.end() ? kNone : it->second;
}

std::map<std::string, std::string> SliceIndex::MissingInFront() const {
  std::map<std::string, std::string> out;
  for (const auto& [base, slices] : slices_) {
    if (slices.front().number > 0) out[base] = Range(0, slices.front().number - 1);
  }
  return out;
}

std::vector<std::string> SliceIndex::Unread() const {
  std::vector<std::string> out;
  for (const auto& [base, slices] : slices_) {
    if (!asked_.contains(base) && TotalBytes(slices) > 0) out.push_back(base);
  }
  return out;
}

uint64_t TotalBytes(const Slices& slices) {
  uint64_t total = 0;
  for (const auto& slice : slices) total += slice.bytes;
  return total;
}

size_t LikelyRecords(const Slices& slices, uint32_t record_bytes) {
  constexpr uint64_t kMost = 1 << 20;
  return static_cast<size_t>(std::min(TotalBytes(slices) / record_bytes, kMost));
}

}  // namespace npuprof::analysis
