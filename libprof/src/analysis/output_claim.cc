// SPDX-License-Identifier: Apache-2.0
#include "analysis/output_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analysis/error.h"

namespace npuprof::analysis {

bool OutputClaim::Take(const std::filesystem::path& directory, const std::string& name) {
  Release();
  path_ = directory / (".npuprof-" + name);
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd_ < 0) throw Error(fmt::format("{} cannot be created: {}", path_.string(), std::strerror(errno)));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd_);
      fd_ = -1;
      return false;
    }
    struct stat status {};
    if (::fstat(fd_, &status) == 0 && status.st_nlink > 0) return true;
    ::close(fd_);  // whoever had it removed it in the meantime
  }
}

void OutputClaim::Release() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());  // while it is held, so that it is nobody else's
  ::close(fd_);
  fd_ = -1;
}

}  // namespace npuprof::analysis
