// SPDX-License-Identifier: Apache-2.0
#include "host/shared_area.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace npusim {

std::unique_ptr<SharedArea> SharedArea::Create(const char* name, size_t bytes) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  void* data = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  madvise(data, bytes, MADV_DONTDUMP);
  return std::unique_ptr<SharedArea>(new SharedArea(fd, static_cast<std::byte*>(data), bytes));
}

SharedArea::~SharedArea() {
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.length);
  munmap(data_, size_);
  close(fd_);
}

int SharedArea::Map(size_t length, bool writable, void** address) {
  if (length == 0 || length > size_) return -EINVAL;
  void* mapped = mmap(nullptr, length, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                      MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (mapped == MAP_FAILED) return -errno;
  // As of /dev/npuprof: a forked child does not inherit the rings, and core dumps do not hold them.
  madvise(mapped, length, MADV_DONTFORK);
  madvise(mapped, length, MADV_DONTDUMP);
  mappings_.push_back({mapped, length});
  *address = mapped;
  return 0;
}

}  // namespace npusim
