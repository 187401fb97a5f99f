// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace npuprof {

/// Locks that are only ever held for moments. A fork takes them first, so that the child gets what they protect whole
/// and unlocked. On a busy machine their holder may not run for longer than it holds them, so it is waited for: five
/// seconds in all. Where a signal handler forks, the holder may be the forking thread itself; then the child gets a new lock
/// at once, and what lies behind it as it is.
namespace fork_locks {

struct Lock {
  bool (*try_lock)();
  bool (*is_mine)();
  void (*unlock)();
  void (*renew)();  ///< in the child: whoever held it does not exist there
};

void Prepare(const Lock* locks, unsigned count);
void Parent(const Lock* locks, unsigned count);
void Child(const Lock* locks, unsigned count);

}  // namespace fork_locks
}  // namespace npuprof
