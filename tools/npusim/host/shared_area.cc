// SPDX-License-Identifier: Apache-2.0
#include "host/shared_area.h"

#include <sys/mman.h>

#include <cerrno>

namespace npusim {

std::unique_ptr<SharedArea> SharedArea::Create(size_t bytes) {
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_DONTDUMP);
  return std::unique_ptr<SharedArea>(new SharedArea(static_cast<std::byte*>(data), bytes));
}

SharedArea::~SharedArea() {
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.length);
  munmap(data_, size_);
}

int SharedArea::Map(size_t length, bool writable, void** address) {
  if (length == 0 || length > size_) return -EINVAL;
  // An old length of 0 leaves the first mapping in place and makes a second one of the same pages.
  void* mapped = mremap(data_, 0, length, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) return -errno;
  if (!writable && mprotect(mapped, length, PROT_READ) != 0) {
    const int error = errno;
    munmap(mapped, length);
    return -error;
  }
  // As of /dev/npuprof: a forked child does not inherit the rings, and core dumps do not hold them.
  madvise(mapped, length, MADV_DONTFORK);
  madvise(mapped, length, MADV_DONTDUMP);
  mappings_.push_back({mapped, length});
  *address = mapped;
  return 0;
}

}  // namespace npusim
