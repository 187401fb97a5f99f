// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace npuprof::drain {

/// Follows the records of one origin (a ring, a host record kind) through staging into a file. Written on the
/// drain thread; read there, or anywhere once the collection is finished.
/// accepted = written + lost + still staged; after Finish() nothing is staged.
struct Ledger {
  uint64_t accepted = 0;  ///< taken out of the ring
  uint64_t written = 0;   ///< in the file
  uint64_t lost = 0;      ///< accepted, but the file could not be written; the cause is StagedFile::error()
};

}  // namespace npuprof::drain
