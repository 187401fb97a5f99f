// SPDX-License-Identifier: Apache-2.0
#include "analysis/last_writes.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace npuprof::analysis {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{10};

// A lease for reading is granted on a file that nobody has open for writing, which a write under way counts as.
bool IsOpenForWriting(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  // Who opens it for writing right now has the holder told by a signal; SIGIO would end this process.
  bool written = false;
  if (fcntl(fd, F_SETSIG, SIGURG) == 0) {
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
      fcntl(fd, F_SETLEASE, F_UNLCK);
    } else {
      written = errno == EAGAIN;
    }
  }
  close(fd);
  return written;
}

bool IsUnfinishedSlice(const fs::path& path) {
  if (path.filename().string().find(".slice_") == std::string::npos || path.extension() == ".done")
    return false;
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(path, ignored)) &&
         !fs::exists(path.string() + ".done", ignored);
}

std::optional<fs::path> FindWritten(const fs::path& root) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    if (IsUnfinishedSlice(it->path()) && IsOpenForWriting(it->path())) return it->path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> AwaitLastWrites(const fs::path& root, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const auto written = FindWritten(root);
    if (!written) return std::nullopt;
    if (Clock::now() >= deadline) return written->lexically_relative(root).string();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace npuprof::analysis
