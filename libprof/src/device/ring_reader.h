// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "npuprof.h"

namespace npuprof::device {

/// The consumer's side of one ring. One thread at a time.
class RingReader {
 public:
  /// A run of records that lie one after the other.
  struct Run {
    const std::byte* data = nullptr;
    size_t count = 0;
  };

  RingReader() = default;
  /// @p ctrl and @p tail are the ring's entries, @p data its slot 0. Geometry is given, not read from @p
  /// ctrl, so that whatever happens to shared memory later no read leaves the ring.
  RingReader(const npuprof_ring_ctrl* ctrl, npuprof_ring_tail* tail, const void* data, uint32_t slots,
             uint32_t record_size);

  /// Unread records up to the end of the ring's memory; call again after Release() for the rest. Empty if
  /// none.
  Run Peek();
  /// Gives the first @p count records of the last run back to the producer.
  void Release(size_t count);
  /// Unread records, at most slots.
  uint64_t waiting() const;

  uint64_t head() const;  ///< records published so far
  uint64_t tail() const { return next_; }
  uint64_t lost() const;  ///< records the producer could not keep
  uint64_t lost_by_cause(unsigned cause) const;
  uint32_t state() const;  ///< NPUPROF_RING_*
  uint32_t slots() const { return slots_; }
  uint32_t record_size() const { return record_size_; }
  /// Records skipped because the producer's head was more than slots ahead, which a correct one never does.
  uint64_t overrun() const { return overrun_; }

 private:
  const npuprof_ring_ctrl* ctrl_ = nullptr;
  npuprof_ring_tail* shared_tail_ = nullptr;
  const std::byte* data_ = nullptr;
  uint32_t slots_ = 0;
  uint32_t record_size_ = 0;
  uint64_t next_ = 0;
  uint64_t overrun_ = 0;
};

}  // namespace npuprof::device
