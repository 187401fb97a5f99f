// SPDX-License-Identifier: Apache-2.0
#include "session/fork_locks.h"

#include <time.h>

namespace npuprof::fork_locks {
namespace {
// Handlers run on the forking thread, one fork at a time per thread.
thread_local unsigned t_held = 0;
constexpr int kTries = 500;
}  // namespace

void Prepare(const Lock* locks, unsigned count) {
  t_held = 0;
  int tries = 0;
  for (unsigned i = 0; i < count; ++i) {
    bool held = locks[i].try_lock();
    for (; !held && tries < kTries; ++tries) {
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
