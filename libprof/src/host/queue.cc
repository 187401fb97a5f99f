// SPDX-License-Identifier: Apache-2.0
#include "host/queue.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "host/clock.h"

namespace npuprof::host {
namespace {

// Initial-exec: reading it never allocates, which a general dynamic thread variable of a loaded library may do at
// a thread's first access, possibly inside a signal handler.
__attribute__((tls_model("initial-exec"))) thread_local Queue* t_queue = nullptr;

pthread_key_t g_exit_key;
bool g_exit_key_made = false;

int Membarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

uint16_t LevelOf(const void* record) {
  uint16_t level;
  std::memcpy(&level, static_cast<const std::byte*>(record) + 2, sizeof(level));
  return level;
}
uint32_t TypeOf(const void* record) {
  uint32_t type;
  std::memcpy(&type, static_cast<const std::byte*>(record) + 4, sizeof(type));
  return type;
}
uint32_t ThreadOf(const void* record) {
  uint32_t thread;
  std::memcpy(&thread, static_cast<const std::byte*>(record) + 8, sizeof(thread));
  return thread;
}

}  // namespace

std::atomic<uint32_t> QueueSet::epoch_{0};

QueueSet::QueueSet() {
  // Made early, so that its number is small and pthread_setspecific() needs no memory.
  g_exit_key_made = pthread_key_create(&g_exit_key, &QueueSet::Release) == 0;
}

QueueSet& QueueSet::Process() {
  // Never destroyed: threads may report until the process is gone.
  static QueueSet& set = *new QueueSet;
  return set;
}

namespace {
__attribute__((constructor)) void MakeAtLoad() {
  QueueSet::Process();
}
}  // namespace

void QueueSet::Release(void* queue) {
  t_queue = nullptr;
  static_cast<Queue*>(queue)->owned.store(false, std::memory_order_release);
}

Queue* QueueSet::Adopt() {
  if (!pool_.reserved()) return nullptr;
  for (size_t i = 0; i < kQueues; ++i) {
    Queue& queue = queues_[i];
    bool expected = false;
    if (queue.owned.load(std::memory_order_relaxed) ||
        !queue.owned.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) {
      continue;
    }
    // Until the pointer is set a signal handler would adopt another queue, which is wasteful but right.
    if (!queue.tail) {
      Segment* segment = pool_.Take(0);
      if (!segment) {
        queue.owned.store(false, std::memory_order_release);
        return nullptr;
      }
      queue.tail = segment;
      queue.used = 0;
      queue.first.store(segment, std::memory_order_release);
    }
    size_t used = used_.load(std::memory_order_relaxed);
    while (used < i + 1 && !used_.compare_exchange_weak(used, i + 1, std::memory_order_acq_rel)) {
    }
    t_queue = &queue;
    if (g_exit_key_made) pthread_setspecific(g_exit_key, &queue);
    return &queue;
  }
  return nullptr;
}

bool QueueSet::Push(Queue& queue, uint32_t epoch, RecordClass record_class, bool aging, const void* record) {
  const size_t size = RecordSize(record_class);
  const size_t needed = sizeof(Entry) + size;
  if (queue.used + needed > Segment::Capacity()) {
    // A quarter stays for threads that have nothing yet.
    Segment* segment = pool_.Take(pool_.total() / 4);
    if (!segment) return false;
    queue.tail->next.store(segment, std::memory_order_release);
    queue.tail = segment;
    queue.used = 0;
  }
  std::byte* place = queue.tail->data() + queue.used;
  const Entry entry{epoch, record_class, aging, static_cast<uint16_t>(size)};
  std::memcpy(place, &entry, sizeof(entry));
  std::memcpy(place + sizeof(entry), record, size);
  queue.used += static_cast<uint32_t>(needed);
  queue.tail->published.store(queue.used, std::memory_order_release);
  return true;
}

bool QueueSet::Report(RecordClass record_class, bool aging, const void* record) {
  auto lose = [&](LossCause cause) {
    losses_.Count(record_class, LevelOf(record), TypeOf(record), cause);
    loss_places_.Note(ThreadOf(record), cause, Cycles());
    return false;
  };
  Queue* queue = t_queue;
  if (!queue) {
    queue = Adopt();
    if (!queue) return lose(LossCause::kNoRing);
  }
  const uint32_t reports = queue->reports.load(std::memory_order_relaxed);
  if (reports & 1) return lose(LossCause::kNested);
  queue->reports.store(reports + 1, std::memory_order_relaxed);
  // Only the compiler must keep the order here: a signal handler runs on this thread, and Close() orders the
  // store before its reading with a barrier on all running threads.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  const bool kept = epoch == 0 || Push(*queue, epoch, record_class, aging, record);
  if (!kept) lose(LossCause::kRingFull);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  queue->reports.store(reports + 2, std::memory_order_release);
  return kept;
}

// Only while nobody reads.
void QueueSet::Discard(Queue& queue) {
  if (!queue.head) queue.head = queue.first.load(std::memory_order_acquire);
  while (queue.head) {
    Segment* next = queue.head->next.load(std::memory_order_acquire);
    if (!next) {
      queue.read = queue.head->published.load(std::memory_order_acquire);
      return;
    }
    pool_.Give(std::exchange(queue.head, next));
  }
}

// Gives back what every reader is through with.
void QueueSet::Reclaim(size_t index) {
  Queue& queue = queues_[index];
  const auto needs = [&](const Reader* reader) {
    const Reader::Cursor& at = reader->cursors_[index];
    return !at.over && (at.segment == nullptr || at.segment == queue.head);
  };
  while (queue.head && std::none_of(readers_.begin(), readers_.end(), needs)) {
    Segment* next = queue.head->next.load(std::memory_order_acquire);
    if (!next) return;
    pool_.Give(std::exchange(queue.head, next));
    queue.read = 0;
  }
}

bool QueueSet::AnyOpen() const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const Reader* reader) { return reader->state_ == Reader::State::kOpen; });
}

void QueueSet::CollectLosses() {
  const auto for_all = [this](auto&& add) {
    for (Reader* reader : readers_) {
      if (reader->state_ != Reader::State::kClosed) add(*reader);
    }
  };
  losses_.Take([&](RecordClass record_class, uint16_t level, uint32_t type, unsigned cause, uint64_t count) {
    for_all([&](Reader& reader) { reader.lost_[{record_class, level, type, cause}] += count; });
  });
  loss_places_.Take([&](uint32_t thread, unsigned cause, uint64_t count, uint64_t first, uint64_t last) {
    // A report that is being counted at this moment left its time to those before it.
    if (first > last) first = last = Cycles();
    for_all([&](Reader& reader) {
      auto [place, fresh] = reader.places_.try_emplace({thread, cause}, Reader::Place{0, first, last});
      place->second.count += count;
      place->second.first = std::min(place->second.first, first);
      place->second.last = std::max(place->second.last, last);
    });
  });
}

bool QueueSet::Open(size_t segments, Reader* reader) {
  std::lock_guard<std::mutex> lock(consumer_);
  if (!pool_.reserved() && !pool_.Reserve(segments)) return false;
  Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  if (readers_.empty()) {
    // Nothing is accepted now and nobody reads: what is left belongs to collections that ended.
    const size_t used = this->used();
    for (size_t i = 0; i < used; ++i) Discard(queues_[i]);
  }
  const auto counts = [](const Reader* other) { return other->state_ != Reader::State::kClosed; };
  if (std::any_of(readers_.begin(), readers_.end(), counts)) {
    CollectLosses();
  } else {
    losses_.Clear();
    loss_places_.Clear();
  }
  if (++last_epoch_ == 0) ++last_epoch_;
  reader->cursors_.assign(kQueues, {});
  reader->lost_.clear();
  reader->places_.clear();
  reader->begin_ = last_epoch_;
  reader->span_ = Reader::kForEver;
  readers_.push_back(reader);
  reader->state_ = Reader::State::kOpen;
  epoch_.store(last_epoch_, std::memory_order_release);
  return true;
}

void QueueSet::Close(Reader* reader) {
  {
    std::lock_guard<std::mutex> lock(consumer_);
    if (reader->state_ != Reader::State::kOpen) return;
    reader->state_ = Reader::State::kClosing;
    if (++last_epoch_ == 0) ++last_epoch_;
    reader->span_ = last_epoch_ - reader->begin_;
    epoch_.store(AnyOpen() ? last_epoch_ : 0, std::memory_order_seq_cst);
  }
  const bool ordered = Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  // Without the barrier a report may still be on its way for as long as a store takes to become visible.
  timespec rest{0, 100'000};
  if (!ordered) {
    timespec longer{0, 5'000'000};
    nanosleep(&longer, nullptr);
  }
  // A thread may be stopped in the middle (debugger, priorities): it is not waited for without end, its record
  // carries the epoch and so cannot reach another collection. Later reports know of the end.
  for (size_t i = 0, patience = 1000; i < used(); ++i) {
    const uint32_t seen = queues_[i].reports.load(std::memory_order_acquire);
    while ((seen & 1) != 0 && queues_[i].reports.load(std::memory_order_acquire) == seen && patience > 0) {
      nanosleep(&rest, nullptr);
      --patience;
    }
  }
  std::lock_guard<std::mutex> lock(consumer_);
  CollectLosses();
  reader->state_ = Reader::State::kClosed;
}

void QueueSet::Leave(Reader* reader) {
  Close(reader);
  std::lock_guard<std::mutex> lock(consumer_);
  if (std::erase(readers_, reader) == 0) return;
  reader->state_ = Reader::State::kOut;
  if (readers_.empty()) return;  // the next Open() sees to what is left
  for (size_t i = 0; i < used(); ++i) Reclaim(i);
}

void QueueSet::ResetInChild() {
  // A thread that is not in the child may have held it, and changed what it protects.
  new (&consumer_) std::mutex;
  new (&readers_) std::vector<Reader*>;
  epoch_.store(0);
  t_queue = nullptr;
  if (g_exit_key_made) pthread_setspecific(g_exit_key, nullptr);
  pool_.DropInChild();
  for (size_t i = 0; i < used(); ++i) {
    Queue& queue = queues_[i];
    queue.owned.store(false);
    queue.reports.store(0);
    queue.first.store(nullptr);
    queue.tail = queue.head = nullptr;
    queue.used = queue.read = 0;
  }
  used_.store(0);
  losses_.Clear();
  loss_places_.Clear();
}

}  // namespace npuprof::host
