// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace npuprof::host {

enum class LossCause : unsigned;

/// Where in time dropped records are missing, by thread and cause. Without lock; safe in signal handlers.
class LossPlaces {
 public:
  /// Stands for all threads that found no row of their own. No thread has it.
  static constexpr uint32_t kOthers = UINT32_MAX;

  /// A record of @p thread was dropped when the counter of host records (host/clock.h) stood at @p cycles.
  void Note(uint32_t thread, LossCause cause, uint64_t cycles);
  void Clear();

  /// Calls @p visit(thread, cause, count, first, last) for every count above 0; first and last are counter values.
  /// While records are dropped meanwhile, the last may be one behind.
  template <typename Visit>
  void ForEach(Visit&& visit) const;
  /// The same, and forgets them. For a report that is being noted meanwhile first may be above last.
  template <typename Visit>
  void Take(Visit&& visit);

 private:
  struct Row {
    std::atomic<uint64_t> key{0};  ///< 0: unused
    std::atomic<uint64_t> count{0}, first{UINT64_MAX}, last{0};
  };
  static constexpr uint64_t Key(uint32_t thread, unsigned cause) {
    return uint64_t{1} << 63 | uint64_t{cause} << 32 | thread;
  }
  Row* Find(uint64_t key);

  // As many threads as can have queues, and some.
  std::array<Row, 1280 + 3> rows_;
};

template <typename Visit>
void LossPlaces::ForEach(Visit&& visit) const {
  for (const Row& row : rows_) {
    const uint64_t count = row.count.load(std::memory_order_acquire);
    if (count == 0) continue;
    const uint64_t key = row.key.load(std::memory_order_relaxed);
    visit(static_cast<uint32_t>(key), static_cast<unsigned>(key >> 32 & 0xff), count,
          row.first.load(std::memory_order_relaxed), row.last.load(std::memory_order_relaxed));
  }
}

template <typename Visit>
void LossPlaces::Take(Visit&& visit) {
  for (Row& row : rows_) {
    if (row.count.load(std::memory_order_relaxed) == 0) continue;
    const uint64_t count = row.count.exchange(0, std::memory_order_acquire);
    const uint64_t key = row.key.load(std::memory_order_relaxed);
    const uint64_t first = row.first.exchange(UINT64_MAX, std::memory_order_relaxed);
    visit(static_cast<uint32_t>(key), static_cast<unsigned>(key >> 32 & 0xff), count, first,
          row.last.exchange(0, std::memory_order_relaxed));
  }
}

}  // namespace npuprof::host
