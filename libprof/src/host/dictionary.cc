// SPDX-License-Identifier: Apache-2.0
#include "host/dictionary.h"

namespace npuprof::host {
namespace {
uint64_t TypeKey(uint16_t level, uint32_t type) {
  return uint64_t{level} << 32 | type;
}
}  // namespace

Dictionary& Dictionary::Process() {
  // Never destroyed: components report until the process is gone.
  static Dictionary& dictionary = *new Dictionary;
  return dictionary;
}

uint64_t Dictionary::Hash(std::string_view text) {
  uint32_t high = 0, low = 0;
  for (char c : text) {
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(static_cast<signed char>(c)));
    high = high * 29 + value;
    low = low * 131 + value;
  }
  return uint64_t{high} << 32 | low;
}

uint64_t Dictionary::Id(std::string_view text) {
  std::lock_guard<OwnedMutex> lock(mutex_);
  if (auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  uint64_t id = Hash(text);
  // 0 and all ones mean failure to callers.
  while (id == 0 || id == UINT64_MAX || by_id_.contains(id)) ++id;
  const Text& entry = texts_.emplace_back(Text{id, std::string(text)});
  by_id_.emplace(id, &entry);
  by_text_.emplace(entry.text, id);
  return id;
}

const char* Dictionary::Find(uint64_t id) const {
  std::lock_guard<OwnedMutex> lock(mutex_);
  auto known = by_id_.find(id);
  return known == by_id_.end() ? nullptr : known->second->text.c_str();
}

void Dictionary::Name(uint16_t level, uint32_t type, std::string_view name) {
  std::lock_guard<OwnedMutex> lock(mutex_);
  std::string& known = type_names_[TypeKey(level, type)];
  if (known == name) return;
  known = name;
  types_.push_back({level, type, std::string(name)});
}

std::string Dictionary::TypeName(uint16_t level, uint32_t type) const {
  std::lock_guard<OwnedMutex> lock(mutex_);
  auto known = type_names_.find(TypeKey(level, type));
  return known == type_names_.end() ? "" : known->second;
}

size_t Dictionary::texts() const {
  std::lock_guard<OwnedMutex> lock(mutex_);
  return texts_.size();
}

size_t Dictionary::types() const {
  std::lock_guard<OwnedMutex> lock(mutex_);
  return types_.size();
}

}  // namespace npuprof::host
