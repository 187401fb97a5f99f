// SPDX-License-Identifier: Apache-2.0
#include "drain/staging_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace npuprof::drain {

uint64_t StagingHolds(uint64_t staging, uint64_t files, uint64_t slice_bytes) {
  const uint64_t blocks = staging / kBlockBytes, part_filled = 3 * files;
  return blocks <= part_filled ? 0 : (blocks - part_filled) * slice_bytes / (slice_bytes / kBlockBytes + 1);
}

StagingPool::StagingPool(size_t bytes) : blocks_(std::max<size_t>(bytes / kBlockBytes, 4)) {
  void* memory = mmap(nullptr, blocks_ * kBlockBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  madvise(base_, blocks_ * kBlockBytes, MADV_DONTFORK);
  free_.reserve(blocks_);
}

StagingPool::~StagingPool() {
  if (base_ != nullptr) munmap(base_, blocks_ * kBlockBytes);
}

std::byte* StagingPool::Acquire() {
  std::byte* block = nullptr;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else if (touched_ < blocks_) {
    block = base_ + touched_++ * kBlockBytes;
  }
  peak_ = std::max(peak_, touched_ - free_.size());
  return block;
}

void StagingPool::Release(std::byte* block) {
  free_.push_back(block);
}

}  // namespace npuprof::drain
