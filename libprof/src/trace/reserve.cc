// SPDX-License-Identifier: Apache-2.0
#include "trace/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/quiet_write.h"

namespace npuprof::trace {

SpaceReserve::~SpaceReserve() {
  Release();
}

bool SpaceReserve::Take(const std::string& directory, size_t bytes) {
  Release();
  const QuietWrite quiet;
  fd_ = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  identity_ = FdIdentity(fd_);
  if (fd_ >= 0 && fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
  Release();
  return false;
}

void SpaceReserve::Release() {
  // Where the program closed it, the number may be that of a file of its own, which must not be emptied.
  if (identity_.Holds(fd_)) {
    if (ftruncate(fd_, 0) != 0) {
      // Closing gives the space back as well, unless a child has the file open.
    }
    close(fd_);
  }
  fd_ = -1;
}

}  // namespace npuprof::trace
