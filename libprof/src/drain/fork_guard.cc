// SPDX-License-Identifier: Apache-2.0
#include "drain/fork_guard.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "drain/drain.h"

namespace npuprof::drain {

void (*g_on_fork_child)() = nullptr;

namespace {

// The child gets descriptors and memory at slightly different moments, while other threads go on opening and
// closing. So an entry names the file as well as the number, and the child closes only what matches.
struct Entry {
  std::atomic<int> fd{-1};
  std::atomic<dev_t> device{0};
  std::atomic<ino_t> inode{0};
};

constexpr size_t kEntries = 1024;
Entry g_entries[kEntries];
std::atomic<unsigned> g_generation{0};

pthread_mutex_t g_opening = PTHREAD_MUTEX_INITIALIZER;
// Of the forking thread: fork handlers run on it, one fork at a time per thread.
thread_local bool t_holds_opening = false;

bool TakeInTime() {
  // Asked for again and again instead of pthread_mutex_clocklock(), which ThreadSanitizer does not see: it would take
  // the unlock for one of a mutex that nobody holds.
  constexpr int kTries = 500;
  bool taken = pthread_mutex_trylock(&g_opening) == 0;
  for (int tries = 0; !taken && tries < kTries; ++tries) {
    const timespec rest{0, 100'000};
    nanosleep(&rest, nullptr);
    taken = pthread_mutex_trylock(&g_opening) == 0;
  }
  return taken;
}

void Prepare() {
  t_holds_opening = TakeInTime();
}

void Parent() {
  if (t_holds_opening) pthread_mutex_unlock(&g_opening);
  t_holds_opening = false;
}

void Child() {
  // Whoever else held it does not exist here.
  if (t_holds_opening) {
    pthread_mutex_unlock(&g_opening);
  } else {
    pthread_mutex_init(&g_opening, nullptr);
  }
  t_holds_opening = false;
  g_generation.fetch_add(1, std::memory_order_relaxed);
  if (g_on_fork_child != nullptr) g_on_fork_child();
  for (Entry& entry : g_entries) {
    const int fd = entry.fd.exchange(-1, std::memory_order_relaxed);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == entry.device.load(std::memory_order_relaxed) &&
        st.st_ino == entry.inode.load(std::memory_order_relaxed)) {
      close(fd);
    }
  }
}

}  // namespace

void InstallForkHandlers() {
  static const int installed = pthread_atfork(Prepare, Parent, Child);
  (void)installed;
}

FdChange::FdChange() {
  InstallForkHandlers();
  holds_ = TakeInTime();
}

FdChange::~FdChange() {
  if (holds_) pthread_mutex_unlock(&g_opening);
}

void GuardFd(int fd) {
  InstallForkHandlers();
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) return;
  constexpr int kReserved = -2;
  for (Entry& entry : g_entries) {
    int expected = -1;
    if (entry.fd.load(std::memory_order_relaxed) != expected) continue;
    if (!entry.fd.compare_exchange_strong(expected, kReserved)) continue;
    entry.device.store(st.st_dev, std::memory_order_relaxed);
    entry.inode.store(st.st_ino, std::memory_order_relaxed);
    entry.fd.store(fd, std::memory_order_release);
    return;
  }
}

void UnguardFd(int fd) {
  for (Entry& entry : g_entries) {
    int expected = fd;
    if (entry.fd.compare_exchange_strong(expected, -1)) return;
  }
}

unsigned ForkGeneration() {
  return g_generation.load(std::memory_order_relaxed);
}

}  // namespace npuprof::drain
