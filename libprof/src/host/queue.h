// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "host/loss_places.h"
#include "host/loss_table.h"
#include "host/segment_pool.h"

/// Queues between the threads that report and the drain: one per thread, single producer, single consumer, made of
/// segments from a common bounded pool. A thread that ends leaves its queue, with what is still in it, to the next.
namespace npuprof::host {

enum class RecordClass : uint8_t {
  kApiEvent = 0,    ///< 40 bytes
  kCompact = 1,     ///< 64 bytes
  kAdditional = 2,  ///< 256 bytes
};
constexpr size_t RecordSize(RecordClass record_class) {
  return record_class == RecordClass::kApiEvent ? 40 : record_class == RecordClass::kCompact ? 64 : 256;
}

/// What lies before each record in a queue.
struct Entry {
  uint32_t epoch;  ///< collection the record belongs to
  RecordClass record_class;
  bool aging;     ///< may be deleted at the storage limit
  uint16_t size;  ///< of the record

  const std::byte* record() const { return reinterpret_cast<const std::byte*>(this) + sizeof(Entry); }
};
static_assert(sizeof(Entry) == 8);

struct Queue {
  std::atomic<bool> owned{false};
  /// Set while the owner is inside a report. Tells a signal handler that it interrupted one, and Close() that a
  /// report is under way.
  std::atomic<bool> busy{false};
  /// Where the consumer starts; never changes after the first owner set it, until the queue is emptied by Open().
  std::atomic<Segment*> first{nullptr};

  // Producer.
  Segment* tail = nullptr;
  uint32_t used = 0;

  // Consumer.
  Segment* head = nullptr;
  uint32_t read = 0;
  uint64_t last_thread = UINT64_MAX;
};

/// All queues of the process.
class QueueSet {
 public:
  static constexpr size_t kQueues = 1024;

  static QueueSet& Process();

  /// Starts a collection: queues are emptied of what an earlier one left, losses set to zero, reports accepted.
  /// @param segments size of the pool, taken at the first call only
  /// @return the number of the collection, 0 if there is no memory
  uint32_t Open(size_t segments);
  /// Ends it. When this returns no report is under way any more, and what was accepted is in the queues.
  void Close();
  /// True between Open() and Close(); one relaxed load.
  static bool Collecting() { return epoch_.load(std::memory_order_relaxed) != 0; }

  /// Adds a record to the calling thread's queue, without lock, system call or waiting; a thread's first report
  /// adopts a queue. @return false if the record was dropped; it is counted then
  bool Report(RecordClass record_class, bool aging, const void* record);

  /// Held by the one consumer while it reads, and by Open().
  std::mutex& consumer() { return consumer_; }
  /// The collection that was opened last; a consumer of an earlier one leaves the queues alone.
  uint32_t last_epoch() const { return last_epoch_; }
  /// Calls @p take(entry) for records of the last collection until it returns false (the record stays) or @p budget
  /// bytes were taken. With consumer() held. @return false if @p take refused
  template <typename Take>
  bool Consume(Queue& queue, size_t* budget, Take&& take);
  Queue& queue(size_t index) { return queues_[index]; }
  /// Queues that ever had an owner are below this index.
  size_t used() const { return used_.load(std::memory_order_acquire); }

  LossTable& losses() { return losses_; }
  const LossPlaces& loss_places() const { return loss_places_; }
  const SegmentPool& pool() const { return pool_; }

  /// Child of fork: forgets everything; nothing is accepted until the next Open().
  void ResetInChild();

 private:
  QueueSet();
  Queue* Adopt();
  static void Release(void* queue);
  bool Push(Queue& queue, uint32_t epoch, RecordClass record_class, bool aging, const void* record);
  void Discard(Queue& queue);

  static std::atomic<uint32_t> epoch_;
  std::mutex consumer_;
  uint32_t last_epoch_ = 0;  // under consumer_
  SegmentPool pool_;
  LossTable losses_;
  LossPlaces loss_places_;
  std::atomic<size_t> used_{0};
  Queue queues_[kQueues];
};

template <typename Take>
bool QueueSet::Consume(Queue& queue, size_t* budget, Take&& take) {
  Segment* segment = queue.head;
  if (!segment) {
    segment = queue.head = queue.first.load(std::memory_order_acquire);
    if (!segment) return true;
  }
  const uint32_t epoch = last_epoch_;
  for (;;) {
    const uint32_t published = segment->published.load(std::memory_order_acquire);
    while (queue.read < published) {
      const auto* entry = reinterpret_cast<const Entry*>(segment->data() + queue.read);
      if (*budget == 0) return true;
      // A report that began before an earlier collection closed may have landed later; it belongs to neither.
      if (entry->epoch == epoch && !take(*entry)) return false;
      queue.read += static_cast<uint32_t>(sizeof(Entry)) + entry->size;
      *budget -= *budget < sizeof(Entry) + entry->size ? *budget : sizeof(Entry) + entry->size;
    }
    Segment* next = segment->next.load(std::memory_order_acquire);
    if (!next) return true;
    // The producer published for the last time before it set next.
    if (queue.read < segment->published.load(std::memory_order_acquire)) continue;
    queue.head = next;
    queue.read = 0;
    pool_.Give(segment);
    segment = next;
  }
}

}  // namespace npuprof::host
