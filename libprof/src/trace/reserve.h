// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/fd_identity.h"
#include "base/status.h"

namespace npuprof::trace {

/// Disk space kept back for what is written last. When records have filled the disk, it lets the manifest still
/// say so. The file has no name, so a process that is killed leaves nothing of it. One thread at a time.
class SpaceReserve {
 public:
  SpaceReserve() = default;
  ~SpaceReserve();
  SpaceReserve(const SpaceReserve&) = delete;
  SpaceReserve& operator=(const SpaceReserve&) = delete;

  /// Takes @p bytes of the disk of @p directory. kIo if there is no room; the end of the run then has to do without.
  /// @p unnamed: false goes the way of file systems that have no files without a name
  Status Take(const std::string& directory, size_t bytes, bool unnamed = true);
  /// Gives the space back, also where a forked child holds the file still. Harmless if nothing was taken.
  void Release();

 private:
  int fd_ = -1;
  FdIdentity identity_{-1};
};

}  // namespace npuprof::trace
