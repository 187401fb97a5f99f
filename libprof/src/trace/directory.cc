// SPDX-License-Identifier: Apache-2.0
#include "trace/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/quiet_write.h"
#include "drain/fork_guard.h"

namespace npuprof::trace {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;
constexpr std::string_view kRefused = "\n\f\r\b\t\v\x7f\"'\\%><|&$;`";
constexpr size_t kPathLimit = 4096;
constexpr unsigned kIndexModulo = 1'000'000;

// mkdir that is content with what is there already.
int MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST) return 0;
  return errno;
}

Status PathError(std::string text, int error) {
  if (error != 0) text += fmt::format(": {}", std::strerror(error));
  return Status::Fail(ErrorKind::kPath, std::move(text), error);
}

uint64_t RandomBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  static uint64_t calls = 0;
  return static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(getpid()) + ++calls;
}

// 8 letters of A to R.
std::string RandomLetters() {
  constexpr unsigned kLetters = 'R' - 'A' + 1;
  uint64_t bits = RandomBits();
  std::string text(8, 'A');
  for (char& c : text) {
    c = static_cast<char>('A' + bits % kLetters);
    bits /= kLetters;
  }
  return text;
}

std::string LocalTime() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}{:03}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1'000'000);
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = EIO;
      return false;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Status CheckOutputPath(std::string_view path) {
  if (path.empty()) return PathError("the output path is empty", 0);
  if (path.size() >= kPathLimit) {
    return Status::Fail(
        ErrorKind::kInvalidArgument,
        fmt::format("the output path has {} bytes; at most {} are allowed", path.size(), kPathLimit - 1));
  }
  const size_t bad = path.find_first_of(kRefused);
  if (bad != std::string_view::npos) {
    const auto c = static_cast<unsigned char>(path[bad]);
    const std::string shown = c > 0x20 && c < 0x7f ? fmt::format("{:c}", c) : fmt::format("byte 0x{:02x}", c);
    return PathError(
        fmt::format("the output path holds {} at position {}; control characters, quotes and any of "
                    "\\ % > < | & $ ; ` are not allowed",
                    shown, bad),
        0);
  }
  return Status::Ok();
}

std::string AbsolutePath(std::string_view path) {
  if (!path.empty() && path[0] == '/') return std::string(path);
  char here[PATH_MAX];
  if (getcwd(here, sizeof here) == nullptr) return std::string(path);
  return fmt::format("{}/{}", here, path);
}

Status LookAtOutputDirectory(const std::string& path) {
  // The deepest part that is there decides.
  std::string part = path;
  struct stat st;
  while (stat(part.c_str(), &st) != 0 && part.size() > 1) {
    if (errno != ENOENT && errno != ENOTDIR)
      return PathError(fmt::format("the output directory {} cannot be created", path), errno);
    const size_t slash = part.rfind('/');
    part.resize(slash == 0 || slash == std::string::npos ? 1 : slash);
  }
  if (!S_ISDIR(st.st_mode))
    return PathError(fmt::format("the output path {} is not a directory", part), ENOTDIR);
  if (access(part.c_str(), W_OK | X_OK) != 0)
    return PathError(fmt::format("the output directory {} is not writable", part), errno);
  // The kernel's own file systems say of themselves that they can be written, and take no directories.
  struct statfs system;
  if (statfs(part.c_str(), &system) == 0 &&
      (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC)) {
    return PathError(fmt::format("the output directory {} cannot be created", path), ENOENT);
  }
  return Status::Ok();
}

Status PrepareOutputDirectory(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    struct stat st;
    if (stat(part.c_str(), &st) != 0) {
      const int error = MakeDirectory(part);
      if (error != 0) return PathError(fmt::format("the output directory {} cannot be created", part), error);
    } else if (!S_ISDIR(st.st_mode)) {
      return PathError(fmt::format("the output path {} is not a directory", part), ENOTDIR);
    }
    if (slash == std::string::npos) break;
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) {
    return PathError(fmt::format("the output directory {} is not writable", path), errno);
  }
  return Status::Ok();
}

Status ProfDirectory::Create(const std::string& output, unsigned index, ProfDirectory* out) {
  if (Status status = PrepareOutputDirectory(output); !status.ok()) return status;
  std::string base = output;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  // mkdir is what makes a name ours: whoever finds it taken draws again.
  int error = EEXIST;
  std::string path;
  for (int attempt = 0; attempt < 100 && error == EEXIST; ++attempt) {
    path = fmt::format("{}{}PROF_{:06}_{}_{:08}{}", base, base.back() == '/' ? "" : "/", index % kIndexModulo,
                       LocalTime(), getpid(), RandomLetters());
    ProfDirectory made;
    made.path_ = path;
    error = mkdir(path.c_str(), kDirectoryMode) == 0 ? 0 : errno;
    if (error == 0) *out = std::move(made);
  }
  if (error == 0) {
    // Ours first: by it a directory is known whose process died before there was more.
    for (const std::string& part : {out->own(), out->host(), out->host_data()}) {
      if (error == 0) error = MakeDirectory(part);
    }
  }
  if (error != 0) return PathError(fmt::format("the directory {} cannot be created", path), error);
  return Status::Ok();
}

Status ProfDirectory::AddDevice(uint32_t id) const {
  int error = MakeDirectory(device(id));
  if (error == 0) error = MakeDirectory(device_data(id));
  if (error != 0) return PathError(fmt::format("the directory {} cannot be created", device_data(id)), error);
  return Status::Ok();
}

std::string ProfDirectory::name() const {
  return path_.substr(path_.rfind('/') + 1);
}
std::string ProfDirectory::host() const {
  return path_ + "/host";
}
std::string ProfDirectory::host_data() const {
  return path_ + "/host/data";
}
std::string ProfDirectory::device(uint32_t id) const {
  return fmt::format("{}/device_{}", path_, id);
}
std::string ProfDirectory::device_data(uint32_t id) const {
  return device(id) + "/data";
}
std::string ProfDirectory::own() const {
  return path_ + "/npuprof";
}

DirectoryLock::~DirectoryLock() {
  Release();
}

Status DirectoryLock::Take(const ProfDirectory& directory) {
  Release();
  path_ = directory.own() + "/lock";
  const drain::FdChange opening;
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  identity_ = FdIdentity(fd_);
  int error = fd_ < 0 ? errno : 0;
  if (fd_ >= 0) drain::GuardFd(fd_);
  if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0) error = errno;
  if (error == 0) return Status::Ok();
  if (fd_ >= 0) {
    drain::UnguardFd(fd_);
    close(fd_);
    if (error != EWOULDBLOCK) unlink(path_.c_str());  // else it is somebody's
  }
  fd_ = -1;
  return Status::Fail(
      ErrorKind::kIo,
      fmt::format("{} cannot be locked ({}); npuprof repair and NPUPROF_KEEP_* of other processes do not see "
                  "that the directory is being written",
                  path_, std::strerror(error)),
      error);
}

void DirectoryLock::Release() {
  if (fd_ < 0) return;
  const drain::FdChange closing;
  drain::UnguardFd(fd_);
  if (identity_.Holds(fd_)) {
    unlink(path_.c_str());
    close(fd_);
  }
  fd_ = -1;
}

Status WriteWhole(const std::string& path, std::string_view content, bool done, bool keep) {
  // The temporary name starts with a dot: readers count files by their prefix.
  const size_t slash = path.rfind('/') + 1;
  const std::string temporary = fmt::format("{}.{}.new", path.substr(0, slash), path.substr(slash));
  const QuietWrite quiet;
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (!WriteAll(fd, content) || (keep && fsync(fd) != 0)) error = errno;
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) unlink(temporary.c_str());
  }
  if (error != 0) {
    return Status::Fail(ErrorKind::kIo, fmt::format("{} cannot be written: {}", path, std::strerror(error)),
                        error);
  }
  if (!done) return Status::Ok();
  return WriteWhole(path + ".done", fmt::format("filesize:{}\n", content.size()), false);
}

}  // namespace npuprof::trace
