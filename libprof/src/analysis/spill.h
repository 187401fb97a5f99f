// SPDX-License-Identifier: Apache-2.0
// Arrays that may be larger than memory should be: small ones live in memory, large ones in files without a name that are
// mapped, of which only as much stays resident as a limit allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace npuprof::analysis {

class SpillStore;

/// Where the arrays of one export live. One thread.
class SpillSpace {
 public:
  static constexpr size_t kInMemory = 48 << 20;

  /// Files are made in `directory`, which has to exist once the first one is needed: when all arrays together would be
  /// larger than `in_memory` bytes. Of what is in files about twice as much stays resident.
  explicit SpillSpace(std::filesystem::path directory = {}, size_t in_memory = kInMemory);
  ~SpillSpace();
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  void SetDirectory(std::filesystem::path directory) { directory_ = std::move(directory); }
  /// To be called about as often as an element is touched. Pages that go now and then come back from the page cache.
  void Tick() {
    if (++ticks_ % kTicks == 0 && !mapped_.empty()) Limit();
  }
  /// How much is sorted at a time.
  size_t part_bytes() const {
    return std::clamp<size_t>(in_memory_limit_ / 4, size_t{64} << 10, size_t{16} << 20);
  }
  /// Bytes of arrays that are in files.
  uint64_t spilled() const { return spilled_; }

 private:
  friend class SpillStore;
  static constexpr unsigned kTicks = 128;
  size_t ResidentBytes() const;
  void Limit();

  std::filesystem::path directory_;
  int statistics_;  ///< what the system says of this process
  size_t in_memory_limit_;
  size_t in_memory_ = 0, base_resident_;
  uint64_t spilled_ = 0;
  std::set<SpillStore*> mapped_;
  unsigned ticks_ = 0;
};

/// Bytes of one array. They move when it grows.
class SpillStore {
 public:
  explicit SpillStore(SpillSpace* space) : space_(space) {}
  ~SpillStore() { Free(); }
  SpillStore(SpillStore&& other) noexcept : space_(other.space_) { Swap(&other); }
  SpillStore& operator=(SpillStore&& other) noexcept {
    Swap(&other);
    return *this;
  }
  std::byte* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  bool in_file() const { return fd_ >= 0; }
  /// Throws Error if there is no room in the directory.
  void Reserve(size_t bytes);
  void Free();
  /// Takes the pages out of the process; the contents stay.
  void LetGo();
  SpillSpace* space() const { return space_; }

 private:
  void Swap(SpillStore* other);
  void ReserveFile(size_t bytes);

  SpillSpace* space_;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
  int fd_ = -1;
};

/// A vector of plain values in a SpillSpace.
template <typename T>
class SpillVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SpillVector(SpillSpace* space) : store_(space) {}

  T* data() const { return reinterpret_cast<T*>(store_.data()); }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  SpillSpace* space() const { return store_.space(); }
  T& operator[](size_t index) const { return data()[index]; }
  T& back() const { return data()[size_ - 1]; }
  void push_back(const T& value) {
    if ((size_ + 1) * sizeof(T) > store_.capacity()) reserve(std::max<size_t>(size_ + size_ / 2, 1024));
    data()[size_++] = value;
    store_.space()->Tick();
  }
  void reserve(size_t count) {
    if (count * sizeof(T) > store_.capacity()) store_.Reserve(count * sizeof(T));
  }
  /// New elements are zero bytes.
  void resize(size_t count) {
    reserve(count);
    for (; size_ < count; ++size_) {
      data()[size_] = T();
      store_.space()->Tick();
    }
    size_ = count;
  }
  void clear() {
    store_.Free();
    size_ = 0;
  }
  /// Stable; costs nothing if the order is right already. Large arrays are sorted in parts that are then merged.
  template <typename Less>
  void Sort(Less less) {
    SpillSpace* space = store_.space();
    if (IsSorted(less)) return;
    if (!store_.in_file()) {
      std::stable_sort(begin(), end(), less);
      return;
    }
    const size_t part = std::max<size_t>(space->part_bytes() / sizeof(T), 1);
    std::vector<std::pair<T*, T*>> parts;
    for (size_t from = 0; from < size_; from += part) {
      const size_t to = std::min(from + part, size_);
      std::stable_sort(begin() + from, begin() + to, less);
      parts.emplace_back(begin() + from, begin() + to);
      store_.LetGo();
    }
    // The earlier part first among equals.
    const auto later = [&](size_t a, size_t b) {
      return less(*parts[b].first, *parts[a].first) || (!less(*parts[a].first, *parts[b].first) && a > b);
    };
    std::vector<size_t> heap(parts.size());
    for (size_t i = 0; i < heap.size(); ++i) heap[i] = i;
    std::make_heap(heap.begin(), heap.end(), later);
    SpillVector merged(space);
    merged.reserve(size_);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      auto& [next, last] = parts[heap.back()];
      merged.push_back(*next++);
      if (next == last) {
        heap.pop_back();
      } else {
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
    std::swap(store_, merged.store_);
    std::swap(size_, merged.size_);
  }

 private:
  template <typename Less>
  bool IsSorted(Less less) const {
    for (size_t i = 1; i < size_; ++i) {
      if (less(data()[i], data()[i - 1])) return false;
      store_.space()->Tick();
    }
    return true;
  }

  SpillStore store_;
  size_t size_ = 0;
};

}  // namespace npuprof::analysis
