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

  /// Gives both back, once nobody writes a manifest: behind a disk that may not answer only where that may take its time.
  void GiveBack() {
    const std::lock_guard<std::mutex> lock(mutex);
    end.Release();
    names.Release();
  }
};

}  // namespace npuprof
