// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "host/segment_pool.h"

namespace npuprof::host {

enum class RecordClass : uint8_t;

/// One collection's part in the queues: which records belong to it, how far it has read, and what was lost while it was
/// open. Several may read at once, each at its own pace. Everything under QueueSet::consumer().
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Record class, level, type, cause.
  using Kind = std::tuple<RecordClass, uint16_t, uint32_t, unsigned>;
  struct Place {
    uint64_t count = 0, first = 0, last = 0;  ///< counter values
  };
  const std::map<Kind, uint64_t>& lost() const { return lost_; }
  /// By thread and cause.
  const std::map<std::pair<uint32_t, unsigned>, Place>& places() const { return places_; }

  /// True if the last record of this queue that was taken came from another thread, or there was none.
  bool IsFreshThread(size_t queue, uint32_t thread) {
    uint64_t& last = cursors_[queue].last_thread;
    const bool fresh = last != thread;
    last = thread;
    return fresh;
  }

 private:
  friend class QueueSet;
  struct Cursor {
    Segment* segment = nullptr;  ///< nullptr: nothing was read yet
    uint32_t read = 0;
    uint64_t last_thread = UINT64_MAX;
    bool over = false;  ///< met what came after the end; the rest is none of this collection's
  };
  enum class State { kOut, kOpen, kClosing, kClosed };

  bool Owns(uint32_t epoch) const { return epoch - begin_ < span_; }
  /// True for what was reported after the end; in a queue nothing from before follows it.
  bool IsLater(uint32_t epoch) const { return !Owns(epoch) && epoch - begin_ < kForEver; }
  static constexpr uint32_t kForEver = UINT32_MAX / 2;

  State state_ = State::kOut;
  uint32_t begin_ = 0;  ///< the first epoch that is this collection's
  uint32_t span_ = 0;   ///< and how many are
  std::vector<Cursor> cursors_;
  std::map<Kind, uint64_t> lost_;
  std::map<std::pair<uint32_t, unsigned>, Place> places_;
};

}  // namespace npuprof::host
