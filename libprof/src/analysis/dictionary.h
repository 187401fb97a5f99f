// SPDX-License-Identifier: Apache-2.0
// Names: hashes and type numbers to text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/diagnostics.h"
#include "analysis/slices.h"
#include "analysis/string_pool.h"

namespace npuprof::analysis {

/// hash_dic and type_info_dic of the host part.
class Dictionary {
 public:
  Dictionary(StringPool* pool, SpillSpace* space) : pool_(pool), hashes_(space) {}
  void Load(const SliceIndex& index, Diagnostics* diagnostics);

  /// Text of a hash; unknown hashes are shown as their number.
  uint32_t Name(uint64_t hash);
  /// Name of a type of a level; 0 if it was never registered.
  uint32_t Type(uint16_t level, uint32_t type) const;
  bool has_types() const { return !types_.empty(); }

 private:
  StringPool* pool_;
  SpillMap hashes_;
  std::unordered_map<uint64_t, uint32_t> types_;
};

}  // namespace npuprof::analysis
