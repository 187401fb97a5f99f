// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "host/loss_places.h"
#include "host/loss_table.h"
#include "host/reader.h"
#include "host/segment_pool.h"

/// Queues between the threads that report and the drain: one per thread, single producer, read by one thread, made of
/// segments from a common bounded pool. A thread that ends leaves its queue, with what is still in it, to the next.
/// Collections that run at the same time read the same queues; a segment goes when all of them are through with it.
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
  uint32_t epoch;  ///< tells which collections were open
  RecordClass record_class;
  bool aging;     ///< may be deleted at the storage limit
  uint16_t size;  ///< of the record

  const std::byte* record() const { return reinterpret_cast<const std::byte*>(this) + sizeof(Entry); }
};
static_assert(sizeof(Entry) == 8);

struct Queue {
  std::atomic<bool> owned{false};
  /// Odd while the owner is inside a report. Tells a signal handler that it interrupted one, and Close() whether the
  /// report that it saw under way has ended.
  std::atomic<uint32_t> reports{0};
  /// Where the consumer starts; never changes after the first owner set it, until the queue is emptied by Open().
  std::atomic<Segment*> first{nullptr};

  // Producer.
  Segment* tail = nullptr;
  uint32_t used = 0;

  // Consumer: the oldest segment that somebody may still read, and where new readers begin in it.
  Segment* head = nullptr;
  uint32_t read = 0;
};

/// All queues of the process.
class QueueSet {
 public:
  static constexpr size_t kQueues = 1024;

  static QueueSet& Process();

  /// Starts a collection beside those that run: from now on reports are its own too. The first one empties the queues of
  /// what was left and sets losses to zero.
  /// @param segments size of the pool, taken at the first call only
  /// @return false if there is no memory
  bool Open(size_t segments, Reader* reader);
  /// Ends it. When this returns no report is under way any more that belongs to it, and what was accepted is in the
  /// queues for it to read. What others lose in the moments until then is counted here as well.
  void Close(Reader* reader);
  /// It reads no more.
  void Leave(Reader* reader);
  /// True while anything is open; one relaxed load.
  static bool Collecting() { return epoch_.load(std::memory_order_relaxed) != 0; }

  /// Adds a record to the calling thread's queue, without lock, system call or waiting; a thread's first report
  /// adopts a queue. @return false if the record was dropped; it is counted then
  bool Report(RecordClass record_class, bool aging, const void* record);

  /// Held by whoever reads.
  std::mutex& consumer() { return consumer_; }
  /// Calls @p take(entry) for records of @p reader until it returns false (the record stays) or @p budget bytes were
  /// passed. With consumer() held. @return false if @p take refused
  template <typename Take>
  bool Consume(size_t queue, Reader& reader, size_t* budget, Take&& take);
  /// Adds what was lost until now to all collections that are open. With consumer() held.
  void CollectLosses();
  /// Queues that ever had an owner are below this index.
  size_t used() const { return used_.load(std::memory_order_acquire); }

  const SegmentPool& pool() const { return pool_; }

  /// Child of fork: forgets everything; nothing is accepted until the next Open().
  void ResetInChild();

 private:
  QueueSet();
  Queue* Adopt();
  static void Release(void* queue);
  bool Push(Queue& queue, uint32_t epoch, RecordClass record_class, bool aging, const void* record);
  void Discard(Queue& queue);
  void Reclaim(size_t queue);
  bool AnyOpen() const;

  static std::atomic<uint32_t> epoch_;
  std::mutex consumer_;  // the two below
  uint32_t last_epoch_ = 0;
  std::vector<Reader*> readers_;
  SegmentPool pool_;
  LossTable losses_;
  LossPlaces loss_places_;
  std::atomic<size_t> used_{0};
  Queue queues_[kQueues];
};

template <typename Take>
bool QueueSet::Consume(size_t index, Reader& reader, size_t* budget, Take&& take) {
  if (reader.state_ == Reader::State::kOut) return true;
  Queue& queue = queues_[index];
  Reader::Cursor& cursor = reader.cursors_[index];
  if (cursor.over) return true;
  if (!cursor.segment) {
    if (!queue.head) queue.head = queue.first.load(std::memory_order_acquire);
    if (!queue.head) return true;
    cursor.segment = queue.head;
    cursor.read = queue.read;
  }
  for (;;) {
    Segment* segment = cursor.segment;
    const uint32_t published = segment->published.load(std::memory_order_acquire);
    while (cursor.read < published) {
      const auto* entry = reinterpret_cast<const Entry*>(segment->data() + cursor.read);
      if (*budget == 0) return true;
      // Others may report for as long as they like: the end of this collection does not wait for theirs.
      if (reader.IsLater(entry->epoch)) {
        cursor.over = true;
        Reclaim(index);
        return true;
      }
      // Reports from before and after lie in the same segments, and one that began before may have landed later.
      if (reader.Owns(entry->epoch) && !take(*entry)) return false;
      cursor.read += static_cast<uint32_t>(sizeof(Entry)) + entry->size;
      *budget -= *budget < sizeof(Entry) + entry->size ? *budget : sizeof(Entry) + entry->size;
    }
    Segment* next = segment->next.load(std::memory_order_acquire);
    if (!next) return true;
    // The producer published for the last time before it set next.
    if (cursor.read < segment->published.load(std::memory_order_acquire)) continue;
    cursor.segment = next;
    cursor.read = 0;
    Reclaim(index);
  }
}

}  // namespace npuprof::host
