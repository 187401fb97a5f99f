// SPDX-License-Identifier: Apache-2.0
#include "analysis/string_pool.h"

#include <bit>
#include <cstring>
#include <functional>
#include <utility>

namespace npuprof::analysis {
namespace {

constexpr size_t kFirstSlots = 1024;

}  // namespace

StringPool::StringPool(SpillSpace* space) : space_(space), texts_(space), slots_(space) {
  slots_.resize(kFirstSlots);
  Add("N/A");
}

const char* StringPool::Copy(std::string_view text) {
  if (chunks_.empty() || text.size() > chunks_.back().capacity() - used_) {
    const size_t next =
        chunks_.empty() ? kFirstChunk : std::min(2 * chunks_.back().capacity(), kLargestChunk);
    chunks_.emplace_back(space_).Reserve(std::max(next, text.size()));
    used_ = 0;
  }
  char* place = reinterpret_cast<char*>(chunks_.back().data()) + used_;
  std::memcpy(place, text.data(), text.size());
  used_ += text.size();
  return place;
}

uint32_t* StringPool::SlotOf(std::string_view text, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    uint32_t& slot = slots_[at];
    if (slot == 0) return &slot;
    const Text& known = texts_[slot - 1];
    if (known.hash == hash && std::string_view(known.data, known.length) == text) return &slot;
  }
}

void StringPool::Rehash(size_t count) {
  SpillVector<uint32_t> slots(space_);
  slots.resize(count);
  const size_t mask = count - 1;
  for (size_t id = 0; id < texts_.size(); ++id) {
    size_t at = texts_[id].hash & mask;
    while (slots[at] != 0) at = (at + 1) & mask;
    slots[at] = static_cast<uint32_t>(id) + 1;
    space_->Tick();
  }
  std::swap(slots_, slots);
}

uint32_t StringPool::Add(std::string_view text) {
  space_->Tick();
  const auto hash = static_cast<uint32_t>(std::hash<std::string_view>()(text));
  if (uint32_t* slot = SlotOf(text, hash); *slot != 0) return *slot - 1;
  if (2 * (texts_.size() + 1) > slots_.size()) Rehash(2 * slots_.size());
  const auto id = static_cast<uint32_t>(texts_.size());
  texts_.push_back({Copy(text), static_cast<uint32_t>(text.size()), hash});
  *SlotOf(text, hash) = id + 1;
  return id;
}

SpillMap::Entry* SpillMap::Place(uint64_t key) const {
  // The upper bits of this product depend on all of the key; hashes of the format's kind differ little between names.
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const size_t mask = entries_.size() - 1;
  const int shift = 64 - std::countr_zero(entries_.size());
  for (size_t at = static_cast<size_t>(key * kOdd >> shift);; at = (at + 1) & mask) {
    Entry& entry = entries_[at];
    if (entry.used == 0 || entry.key == key) return &entry;
  }
}

void SpillMap::Grow() {
  SpillVector<Entry> old(space_);
  std::swap(entries_, old);
  entries_.resize(old.empty() ? kFirstSlots : 2 * old.size());
  for (const Entry& entry : old) {
    if (entry.used != 0) *Place(entry.key) = entry;
    space_->Tick();
  }
}

void SpillMap::Set(uint64_t key, uint32_t value) {
  space_->Tick();
  if (2 * (used_ + 1) > entries_.size()) Grow();
  Entry* entry = Place(key);
  if (entry->used == 0) ++used_;
  *entry = {key, value, 1};
}

const uint32_t* SpillMap::Find(uint64_t key) const {
  space_->Tick();
  if (entries_.empty()) return nullptr;
  const Entry* entry = Place(key);
  return entry->used != 0 ? &entry->value : nullptr;
}

}  // namespace npuprof::analysis
