// SPDX-License-Identifier: Apache-2.0
#include "host/queue.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <new>

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
  if (queue->busy.load(std::memory_order_relaxed)) return lose(LossCause::kNested);
  queue->busy.store(true, std::memory_order_relaxed);
  // Only the compiler must keep the order here: a signal handler runs on this thread, and Close() orders the
  // store before its reading with a barrier on all running threads.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  const bool kept = epoch == 0 || Push(*queue, epoch, record_class, aging, record);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  queue->busy.store(false, std::memory_order_release);
  return kept || lose(LossCause::kRingFull);
}

void QueueSet::Discard(Queue& queue) {
  size_t budget = SIZE_MAX;
  Consume(queue, &budget, [](const Entry&) { return true; });
}

uint32_t QueueSet::Open(size_t segments) {
  std::lock_guard<std::mutex> lock(consumer_);
  if (!pool_.reserved() && !pool_.Reserve(segments)) return 0;
  Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  // Nothing is accepted now and no drain reads: what is left belongs to a collection that ended.
  const size_t used = this->used();
  for (size_t i = 0; i < used; ++i) {
    Discard(queues_[i]);
    queues_[i].last_thread = UINT64_MAX;
  }
  losses_.Clear();
  loss_places_.Clear();
  if (++last_epoch_ == 0) ++last_epoch_;
  epoch_.store(last_epoch_, std::memory_order_release);
  return last_epoch_;
}

void QueueSet::Close() {
  epoch_.store(0, std::memory_order_seq_cst);
  const bool ordered = Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  // Without the barrier a report may still be on its way for as long as a store takes to become visible.
  timespec rest{0, 100'000};
  if (!ordered) {
    timespec longer{0, 5'000'000};
    nanosleep(&longer, nullptr);
  }
  // A thread may be stopped in the middle (debugger, priorities): it is not waited for without end, its record
  // carries the epoch and so cannot reach another collection.
  for (size_t i = 0, patience = 1000; i < used() && patience > 0;) {
    if (queues_[i].busy.load(std::memory_order_acquire)) {
      nanosleep(&rest, nullptr);
      --patience;
    } else {
      ++i;
    }
  }
}

void QueueSet::ResetInChild() {
  new (&consumer_) std::mutex;  // a thread that is not in the child may have held it
  epoch_.store(0);
  t_queue = nullptr;
  if (g_exit_key_made) pthread_setspecific(g_exit_key, nullptr);
  pool_.DropInChild();
  for (size_t i = 0; i < used(); ++i) {
    Queue& queue = queues_[i];
    queue.owned.store(false);
    queue.busy.store(false);
    queue.first.store(nullptr);
    queue.tail = queue.head = nullptr;
    queue.used = queue.read = 0;
  }
  used_.store(0);
  losses_.Clear();
  loss_places_.Clear();
}

}  // namespace npuprof::host
