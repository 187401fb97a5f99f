// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What must not live on in a forked child: descriptors of the drain. All functions may be called from any
/// thread.
namespace npuprof::drain {

/// Has the child of a fork() close @p fd. The table is bounded; a descriptor that finds no room is simply
/// inherited (and closed by exec, as all of ours are).
void GuardFd(int fd);
/// Call before closing @p fd.
void UnguardFd(int fd);
/// Held while a descriptor is opened and guarded, or unguarded and closed: a fork waits for its end, so that no child inherits what the
/// table does not yet name. Whoever waits, a fork or another change, does so for at most 50 ms: a disk that hangs in open()
/// holds up neither the program nor what is on other disks. A change that goes on then is not seen by a fork.
class FdChange {
 public:
  FdChange();
  ~FdChange();
  FdChange(const FdChange&) = delete;
  FdChange& operator=(const FdChange&) = delete;

 private:
  bool holds_;
};
/// Installs the fork handlers of the process once. GuardFd() does it too.
void InstallForkHandlers();

/// Called in the child, first thing, async-signal-safe; set by the drain.
extern void (*g_on_fork_child)();

}  // namespace npuprof::drain
