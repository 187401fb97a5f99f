// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace npuprof {

/// Which file a descriptor stood for when it was opened. A program that closes descriptors it did not open may get their
/// numbers for files of its own; whoever keeps one asks before it writes to it, reads from it or closes it. Event,
/// timer and other descriptors without a file share one inode and are not told apart from one another.
class FdIdentity {
 public:
  explicit FdIdentity(int fd) {
    struct stat st;
    known_ = fd >= 0 && fstat(fd, &st) == 0;
    if (known_) device_ = st.st_dev, inode_ = st.st_ino;
  }
  /// False if @p fd was not open at the start, was closed, or is another file now.
  bool Holds(int fd) const {
    struct stat st;
    return known_ && fstat(fd, &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
  }

 private:
  bool known_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace npuprof
