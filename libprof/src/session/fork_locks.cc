// SPDX-License-Identifier: Apache-2.0
#include "session/fork_locks.h"

#include <time.h>

#include <cstdint>

namespace npuprof::fork_locks {
namespace {
// Handlers run on the forking thread, one fork at a time per thread.
thread_local unsigned t_held = 0;
constexpr time_t kPatienceSeconds = 5;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
}  // namespace

void Prepare(const Lock* locks, unsigned count) {
  t_held = 0;
  const int64_t deadline = NowNs() + kPatienceSeconds * 1'000'000'000;
  for (unsigned i = 0; i < count; ++i) {
    bool held = locks[i].try_lock();
    while (!held && !locks[i].is_mine() && NowNs() < deadline) {
      const timespec rest{0, 100'000};
      nanosleep(&rest, nullptr);
      held = locks[i].try_lock();
    }
    if (held) t_held |= 1u << i;
  }
}

void Parent(const Lock* locks, unsigned count) {
  for (unsigned i = count; i-- > 0;) {
    if (t_held >> i & 1) locks[i].unlock();
  }
  t_held = 0;
}

void Child(const Lock* locks, unsigned count) {
  for (unsigned i = count; i-- > 0;) {
    if (t_held >> i & 1) {
      locks[i].unlock();
    } else {
      locks[i].renew();
    }
  }
  t_held = 0;
}

}  // namespace npuprof::fork_locks
