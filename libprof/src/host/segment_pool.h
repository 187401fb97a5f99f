// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace npuprof::host {

/// A piece of queue memory, filled once from front to back. The producer publishes, the consumer follows.
struct Segment {
  static constexpr size_t kBytes = size_t{256} << 10;

  std::atomic<uint32_t> published{0};   ///< bytes of data() that may be read
  std::atomic<Segment*> next{nullptr};  ///< set once this one takes no more
  uint32_t index = 0;
  uint32_t next_free = 0;  ///< for the pool

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + sizeof(Segment); }
  static constexpr size_t Capacity() { return kBytes - sizeof(Segment); }
};

/// All queue memory of the process: reserved at once, touched as needed, handed out and taken back without lock,
/// system call or waiting. Take() and Give() are safe from any thread and in signal handlers.
class SegmentPool {
 public:
  /// Reserves @p segments (1 to 65535). False if the kernel refuses. Once, before the first Take().
  bool Reserve(size_t segments);
  /// Any thread may ask; true means that all of Reserve() is visible to it.
  bool reserved() const { return base_.load(std::memory_order_acquire) != nullptr; }

  /// An empty segment, or nullptr if none is free or fewer than @p keep would be left.
  Segment* Take(size_t keep);
  void Give(Segment* segment);

  size_t total() const { return total_; }
  size_t free() const { return free_.load(std::memory_order_relaxed); }

  /// Forgets and unmaps everything; only in a forked child, where no other thread is.
  void DropInChild();

 private:
  static Segment* In(std::byte* base, size_t index) {
    return reinterpret_cast<Segment*>(base + index * Segment::kBytes);
  }
  Segment* At(uint32_t index) const { return In(base_.load(std::memory_order_relaxed), index); }

  std::atomic<std::byte*> base_{nullptr};
  size_t total_ = 0;
  // Index + 1 of the first free segment in the low half, a tag against reuse in the high half.
  std::atomic<uint64_t> top_{0};
  std::atomic<size_t> free_{0};
};

}  // namespace npuprof::host
