// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace npuprof::host {

enum class RecordClass : uint8_t;

/// Why a report was dropped.
enum class LossCause : unsigned {
  kRingFull = 0,  ///< no queue memory was left
  kNested = 1,    ///< the report came from a signal handler that interrupted a report of the same thread
  kNoRing = 2,    ///< no queue was left for one more thread
};
inline constexpr unsigned kLossCauses = 3;
/// "ring_full", "nested", "no_ring"
const char* LossCauseName(unsigned cause);

/// Counts dropped records by kind and cause, without lock; safe in signal handlers.
class LossTable {
 public:
  struct Row {
    std::atomic<uint64_t> key{0};  ///< 0: unused
    std::atomic<uint64_t> lost[kLossCauses] = {};
  };

  /// @p type decides the kind for compact and additional records; calls (class 0) are one kind.
  void Count(RecordClass record_class, uint16_t level, uint32_t type, LossCause cause);
  void Clear();

  /// Calls @p row(record_class, level, type, cause, count) for every count above 0. Kinds beyond the table's room
  /// come as level and type 0 of their class.
  template <typename Row>
  void ForEach(Row&& row) const;
  /// The same, and sets each count to 0; none is missed while others are counted.
  template <typename Row>
  void Take(Row&& row);

  static constexpr uint64_t Key(RecordClass record_class, uint16_t level, uint32_t type) {
    return (uint64_t{1} << 63) | (uint64_t{static_cast<uint8_t>(record_class)} << 48) |
           (uint64_t{level} << 32) | type;
  }

 private:
  template <typename Rows, typename CountOf, typename Visit>
  static void Walk(Rows& rows, CountOf&& count_of, Visit&& visit);

  std::array<Row, 128> rows_;
};

template <typename Rows, typename CountOf, typename Visit>
void LossTable::Walk(Rows& rows, CountOf&& count_of, Visit&& visit) {
  for (auto& row : rows) {
    const uint64_t key = row.key.load(std::memory_order_acquire);
    if (key == 0) continue;
    for (unsigned cause = 0; cause < kLossCauses; ++cause) {
      const uint64_t count = count_of(row.lost[cause]);
      if (count == 0) continue;
      visit(static_cast<RecordClass>((key >> 48) & 0x7f), static_cast<uint16_t>(key >> 32),
            static_cast<uint32_t>(key), cause, count);
    }
  }
}
template <typename Visit>
void LossTable::ForEach(Visit&& visit) const {
  Walk(
      rows_, [](const std::atomic<uint64_t>& lost) { return lost.load(std::memory_order_relaxed); }, visit);
}
template <typename Visit>
void LossTable::Take(Visit&& visit) {
  Walk(
      rows_, [](std::atomic<uint64_t>& lost) { return lost.exchange(0, std::memory_order_relaxed); }, visit);
}

}  // namespace npuprof::host
