// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "analysis/spill.h"

namespace npuprof::analysis {

/// Every distinct text once, numbered from 0; number 0 is "N/A". Texts stay where they are.
class StringPool {
 public:
  explicit StringPool(SpillSpace* space);
  uint32_t Add(std::string_view text);
  std::string_view operator[](uint32_t id) const {
    space_->Tick();
    return {texts_[id].data, texts_[id].length};
  }
  size_t size() const { return texts_.size(); }

 private:
  struct Text {
    const char* data;
    uint32_t length, hash;
  };
  static constexpr size_t kFirstChunk = 64 << 10, kLargestChunk = 64 << 20;

  const char* Copy(std::string_view text);
  void Rehash(size_t slots);
  uint32_t* SlotOf(std::string_view text, uint32_t hash) const;

  SpillSpace* space_;
  std::deque<SpillStore> chunks_;
  size_t used_ = 0;  // of the last chunk
  SpillVector<Text> texts_;
  SpillVector<uint32_t> slots_;  // number + 1, or 0; their count is a power of two
};

/// From numbers that are spread evenly or not to smaller ones.
class SpillMap {
 public:
  explicit SpillMap(SpillSpace* space) : space_(space), entries_(space) {}
  void Set(uint64_t key, uint32_t value);
  /// Null if the key was never set. Valid until the next Set().
  const uint32_t* Find(uint64_t key) const;

 private:
  struct Entry {
    uint64_t key;
    uint32_t value;
    uint32_t used;
  };
  Entry* Place(uint64_t key) const;
  void Grow();

  SpillSpace* space_;
  SpillVector<Entry> entries_;  // their count is a power of two, or 0
  size_t used_ = 0;
};

}  // namespace npuprof::analysis
