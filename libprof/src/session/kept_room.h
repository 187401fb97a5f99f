// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "trace/reserve.h"

namespace npuprof {

/// What those share who replace the manifest, and may outlive the session where a disk does not answer.
struct KeptRoom {
  std::mutex mutex;  ///< held while a manifest is written
  /// Room for the end of the run, and for dictionaries once the disk is full; it is given back then.
  trace::SpaceReserve end, names;

  /// Gives both back. @p wait  for whoever writes a manifest; false where that may never end: room that cannot be had at
  /// once stays taken then
  void GiveBack(bool wait) {
    std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
    if (wait) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return;
    }
    end.Release();
    names.Release();
  }
};

}  // namespace npuprof
