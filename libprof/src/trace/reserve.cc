// SPDX-License-Identifier: Apache-2.0
#include "trace/reserve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/quiet_write.h"

namespace npuprof::trace {
namespace {

// Where a file cannot be without a name it has one for a moment. Should the process die in that moment, the name is one of
// those that npuprof repair removes.
int OpenNamed(const std::string& directory) {
  const std::string path = directory + "/.reserve.new";
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  const int error = errno;
  if (fd >= 0) unlink(path.c_str());
  errno = error;
  return fd;
}

// False with errno. Not every file system knows how to allocate; all of them know how to write.
bool Allocate(int fd, size_t bytes) {
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
  if (errno != EOPNOTSUPP) return false;
  const char zeros[4096] = {};
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(fd, zeros, std::min(sizeof zeros, bytes - done), static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

SpaceReserve::~SpaceReserve() {
  Release();
}

Status SpaceReserve::Take(const std::string& directory, size_t bytes, bool unnamed) {
  Release();
  const QuietWrite quiet;
  if (unnamed) fd_ = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) fd_ = OpenNamed(directory);
  int error = fd_ < 0 ? errno : 0;
  identity_ = FdIdentity(fd_);
  if (fd_ >= 0 && !Allocate(fd_, bytes)) error = errno;
  if (error == 0) return Status::Ok();
  Release();
  return Status::Fail(
      ErrorKind::kIo,
      fmt::format("no {} KiB could be kept free in {} ({}); should the disk fill up, names and the manifest "
                  "may be incomplete",
                  bytes >> 10, directory, std::strerror(error)),
      error);
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
