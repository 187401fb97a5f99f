// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ring_fixture.h"

namespace {

// The reader's half as a client would write it, on another thread.
TEST(RingThreads, ReaderSeesWholeRecordsInOrderAndTheRestIsCounted) {
  constexpr uint64_t kRecords = 400000;
  TestSession s(256);
  std::atomic<bool> done{false};
  uint64_t read = 0, torn = 0, backwards = 0, next = 0;
  std::thread reader([&] {
    uint64_t tail = 0;
    for (;;) {
      const bool last = done.load(std::memory_order_acquire);
      const uint64_t head = __atomic_load_n(&s.ring.ctrl.head, __ATOMIC_ACQUIRE);
      for (; tail != head; ++tail, ++read) {
        const uint64_t* record = &s.ring.data[(tail & 255) * 8];
        for (int w = 1; w < 8; ++w) torn += record[w] != record[0];
        backwards += record[0] < next;
        next = record[0] + 1;
      }
      __atomic_store_n(&s.ring.tail.tail, tail, __ATOMIC_RELEASE);
      if (last) return;
      std::this_thread::yield();
    }
  });
  uint64_t kept = 0;
  for (uint64_t k = 0; k < kRecords; ++k) {
    uint64_t record[8] = {k, k, k, k, k, k, k, k};
    kept += npc_ring_write(&s.ring.ring, record, k);
    npc_ring_publish(&s.ring.ring);
    if (k % 512 == 0) std::this_thread::yield();
  }
  done.store(true, std::memory_order_release);
  reader.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(backwards, 0u);
  EXPECT_EQ(read, kept);
  EXPECT_EQ(kept + s.ring.ctrl.lost_records, kRecords);
  EXPECT_GE(kept, 256u);
}

}  // namespace
