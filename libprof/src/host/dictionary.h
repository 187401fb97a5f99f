// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/owned_mutex.h"

namespace npuprof::host {

/// Numbers that stand for texts, and names of record types. Grows for the life of the process; every session gets
/// all of it. Any thread; takes a lock.
class Dictionary {
 public:
  struct Text {
    uint64_t id;
    std::string text;
  };
  struct Type {
    uint16_t level;
    uint32_t type;
    std::string name;
  };

  static Dictionary& Process();

  /// Two polynomial hashes over the bytes as signed characters: multiplier 29 in the high half, 131 in the low.
  static uint64_t Hash(std::string_view text);

  /// The number of @p text: its hash, or the next number that is free if another text has that already.
  uint64_t Id(std::string_view text);
  /// The text of a number, valid for ever; nullptr if unknown.
  const char* Find(uint64_t id) const;

  /// Names a type; a second name for the same type replaces the first for files made from then on.
  void Name(uint16_t level, uint32_t type, std::string_view name);
  /// "" if unknown.
  std::string TypeName(uint16_t level, uint32_t type) const;

  /// Entries in the order they came; from @p begin, at most @p limit. Called with what to do for each, under the
  /// lock; stops when @p visit returns false. @return index of the first entry that was not taken
  template <typename Visit>
  size_t ForEachText(size_t begin, size_t limit, Visit&& visit) const;
  template <typename Visit>
  size_t ForEachType(size_t begin, size_t limit, Visit&& visit) const;
  size_t texts() const;
  size_t types() const;

  /// For forks: nobody is inside while the child is made.
  OwnedMutex& mutex() { return mutex_; }

 private:
  template <typename Entries, typename Visit>
  size_t ForEach(const Entries& entries, size_t begin, size_t limit, Visit&& visit) const;

  mutable OwnedMutex mutex_;
  std::deque<Text> texts_;  // addresses stay
  std::unordered_map<uint64_t, const Text*> by_id_;
  std::unordered_map<std::string_view, uint64_t> by_text_;
  std::deque<Type> types_;
  std::unordered_map<uint64_t, std::string> type_names_;
};

template <typename Entries, typename Visit>
size_t Dictionary::ForEach(const Entries& entries, size_t begin, size_t limit, Visit&& visit) const {
  std::lock_guard<OwnedMutex> lock(mutex_);
  size_t i = begin;
  for (; i < entries.size() && i - begin < limit; ++i) {
    if (!visit(entries[i])) break;
  }
  return i;
}
template <typename Visit>
size_t Dictionary::ForEachText(size_t begin, size_t limit, Visit&& visit) const {
  return ForEach(texts_, begin, limit, visit);
}
template <typename Visit>
size_t Dictionary::ForEachType(size_t begin, size_t limit, Visit&& visit) const {
  return ForEach(types_, begin, limit, visit);
}

}  // namespace npuprof::host
