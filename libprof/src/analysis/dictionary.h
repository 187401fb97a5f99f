// SPDX-License-Identifier: Apache-2.0
// Names: hashes and type numbers to text, each text kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/diagnostics.h"
#include "analysis/slices.h"

namespace npuprof::analysis {

/// Every distinct text once, numbered from 0; number 0 is "N/A".
class StringPool {
 public:
  StringPool() { Add("N/A"); }
  uint32_t Add(std::string_view text);
  const std::string& operator[](uint32_t id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // stable, so that the keys of index_ may point into it
  std::unordered_map<std::string_view, uint32_t> index_;
};

/// hash_dic and type_info_dic of the host part.
class Dictionary {
 public:
  explicit Dictionary(StringPool* pool) : pool_(pool) {}
  void Load(const SliceIndex& index, Diagnostics* diagnostics);

  /// Text of a hash; unknown hashes are shown as their number.
  uint32_t Name(uint64_t hash);
  /// Name of a type of a level; 0 if it was never registered.
  uint32_t Type(uint16_t level, uint32_t type) const;
  bool has_types() const { return !types_.empty(); }

 private:
  StringPool* pool_;
  std::unordered_map<uint64_t, uint32_t> hashes_;
  std::unordered_map<uint64_t, uint32_t> types_;
};

}  // namespace npuprof::analysis
