// SPDX-License-Identifier: Apache-2.0
#include "host/segment_pool.h"

#include <sys/mman.h>

#include <new>

namespace npuprof::host {
namespace {
constexpr uint64_t kIndexMask = 0xffffffff;
constexpr uint64_t kTag = uint64_t{1} << 32;
}  // namespace

bool SegmentPool::Reserve(size_t segments) {
  void* map = mmap(nullptr, segments * Segment::kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  auto* base = static_cast<std::byte*>(map);
  total_ = segments;
  // Highest first, so that the lowest is taken first; each header touches one page only.
  for (size_t i = segments; i-- > 0;) {
    auto* segment = new (In(base, i)) Segment;
    segment->index = static_cast<uint32_t>(i);
    Give(segment);
  }
  base_.store(base, std::memory_order_release);
  return true;
}

Segment* SegmentPool::Take(size_t keep) {
  if (free_.load(std::memory_order_relaxed) <= keep) return nullptr;
  uint64_t top = top_.load(std::memory_order_acquire);
  for (;;) {
    const auto index = static_cast<uint32_t>(top & kIndexMask);
    if (index == 0) return nullptr;
    Segment* segment = At(index - 1);
    // May read a value that another thread is changing; then the tag differs and the exchange fails.
    const uint32_t next = std::atomic_ref<uint32_t>(segment->next_free).load(std::memory_order_relaxed);
    const uint64_t wanted = ((top & ~kIndexMask) + kTag) | next;
    if (top_.compare_exchange_weak(top, wanted, std::memory_order_acq_rel, std::memory_order_acquire)) {
      free_.fetch_sub(1, std::memory_order_relaxed);
      segment->published.store(0, std::memory_order_relaxed);
      segment->next.store(nullptr, std::memory_order_relaxed);
      return segment;
    }
  }
}

void SegmentPool::Give(Segment* segment) {
  uint64_t top = top_.load(std::memory_order_relaxed);
  uint64_t wanted;
  do {
    std::atomic_ref<uint32_t>(segment->next_free)
        .store(static_cast<uint32_t>(top & kIndexMask), std::memory_order_relaxed);
    wanted = ((top & ~kIndexMask) + kTag) | (segment->index + 1);
  } while (!top_.compare_exchange_weak(top, wanted, std::memory_order_release, std::memory_order_relaxed));
  free_.fetch_add(1, std::memory_order_relaxed);
}

void SegmentPool::DropInChild() {
  if (std::byte* base = base_.exchange(nullptr)) munmap(base, total_ * Segment::kBytes);
  total_ = 0;
  top_.store(0);
  free_.store(0);
}

}  // namespace npuprof::host
