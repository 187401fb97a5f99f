// SPDX-License-Identifier: Apache-2.0
#include "analysis/spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "analysis/no_room.h"

namespace npuprof::analysis {
namespace {

// A file that nobody sees and that is gone with its descriptor.
int OpenUnnamed(const std::filesystem::path& directory) {
  int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  std::string name = (directory / ".npuprof-XXXXXX").string();
  fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

}  // namespace

SpillSpace::SpillSpace(std::filesystem::path directory, size_t in_memory)
    : directory_(std::move(directory)),
      statistics_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      in_memory_limit_(in_memory),
      base_resident_(ResidentBytes()) {}

SpillSpace::~SpillSpace() {
  if (statistics_ >= 0) ::close(statistics_);
}

// 0 if the system does not tell.
size_t SpillSpace::ResidentBytes() const {
  char text[128];
  const ssize_t got = statistics_ < 0 ? -1 : ::pread(statistics_, text, sizeof(text) - 1, 0);
  if (got <= 0) return 0;
  text[got] = '\0';
  char* second = nullptr;
  std::strtoul(text, &second, 10);
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return std::strtoul(second, nullptr, 10) * page;
}

void SpillSpace::Limit() {
  const size_t resident = ResidentBytes();
  // Who cannot know how much there is lets go always.
  if (resident != 0 && resident < base_resident_ + 3 * in_memory_limit_) return;
  for (SpillStore* store : mapped_) store->LetGo();
}

void SpillStore::Swap(SpillStore* other) {
  const auto rename = [](SpillStore* from, SpillStore* to) {
    if (from->space_->mapped_.erase(from) > 0) to->space_->mapped_.insert(to);
  };
  const bool mine = in_file(), theirs = other->in_file();
  if (mine != theirs) mine ? rename(this, other) : rename(other, this);
  std::swap(space_, other->space_);
  std::swap(data_, other->data_);
  std::swap(capacity_, other->capacity_);
  std::swap(fd_, other->fd_);
}

void SpillStore::Reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  if (in_file() || space_->in_memory_ + bytes > space_->in_memory_limit_) {
    ReserveFile(bytes);
    return;
  }
  auto* data = static_cast<std::byte*>(std::realloc(data_, bytes));
  if (!data) throw std::bad_alloc();
  space_->in_memory_ += bytes - capacity_;
  data_ = data;
  capacity_ = bytes;
}

void SpillStore::ReserveFile(size_t bytes) {
  const auto fail = [&](int error) {
    throw NoRoom(fmt::format("{} has no room for {} bytes of a sorted copy of the records: {}",
                             space_->directory_.string(), bytes, std::strerror(error)));
  };
  const int fd = in_file() ? fd_ : OpenUnnamed(space_->directory_);
  if (fd < 0) fail(errno);
  // A hole that finds no block when it is written through a mapping would end the program.
  if (const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)); error != 0) {
    if (!in_file()) ::close(fd);
    fail(error);
  }
  void* data = in_file() ? ::mremap(data_, capacity_, bytes, MREMAP_MAYMOVE)
                         : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    if (!in_file()) ::close(fd);
    fail(error);
  }
  if (!in_file()) {
    if (capacity_ > 0) std::memcpy(data, data_, capacity_);
    std::free(data_);
    space_->in_memory_ -= capacity_;
    capacity_ = 0;
    space_->mapped_.insert(this);
  }
  space_->spilled_ += bytes - capacity_;
  fd_ = fd;
  data_ = static_cast<std::byte*>(data);
  capacity_ = bytes;
}

void SpillStore::Free() {
  if (in_file()) {
    ::munmap(data_, capacity_);
    ::close(fd_);
    space_->mapped_.erase(this);
    space_->spilled_ -= capacity_;
  } else {
    std::free(data_);
    space_->in_memory_ -= capacity_;
  }
  data_ = nullptr;
  capacity_ = 0;
  fd_ = -1;
}

void SpillStore::LetGo() {
  if (in_file()) ::madvise(data_, capacity_, MADV_DONTNEED);
}

}  // namespace npuprof::analysis
