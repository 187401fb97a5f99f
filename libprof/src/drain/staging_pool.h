// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npuprof::drain {

/// One block of staging memory: large enough that a write is worth its system call, a multiple of every
/// alignment that O_DIRECT asks for.
inline constexpr size_t kBlockBytes = size_t{256} << 10;

/// How many bytes of records are sure to find room in @p staging bytes while nothing can be written. A file takes up to
/// three blocks that are not full: the one that is written, the one that is filled, and one where a slice of
/// @p slice_bytes ends; each further slice that ends takes one more.
uint64_t StagingHolds(uint64_t staging, uint64_t files, uint64_t slice_bytes);

/// Bounded staging memory, cut into blocks of kBlockBytes. One thread at a time.
class StagingPool {
 public:
  /// Reserves @p bytes of address space (rounded down to whole blocks, at least four); pages come into being
  /// when first used. Not inherited by forked children, which would otherwise copy pages being written.
  explicit StagingPool(size_t bytes);
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  /// A block, or null if all are in use.
  std::byte* Acquire();
  void Release(std::byte* block);

  size_t free_blocks() const { return free_.size() + (blocks_ - touched_); }
  size_t blocks() const { return blocks_; }
  size_t peak_bytes() const { return peak_ * kBlockBytes; }
  std::byte* base() const { return base_; }
  size_t bytes() const { return blocks_ * kBlockBytes; }
  /// Leaves the memory mapped for good: the kernel may still read it.
  void Abandon() { base_ = nullptr; }

 private:
  std::byte* base_ = nullptr;
  size_t blocks_ = 0;
  size_t touched_ = 0;  // blocks handed out at least once
  size_t peak_ = 0;
  std::vector<std::byte*> free_;  // last in, first out: warm pages are used again
};

}  // namespace npuprof::drain
