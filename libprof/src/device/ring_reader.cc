// SPDX-License-Identifier: Apache-2.0
#include "device/ring_reader.h"

#include <algorithm>

namespace npuprof::device {

RingReader::RingReader(const npuprof_ring_ctrl* ctrl, npuprof_ring_tail* tail, const void* data,
                       uint32_t slots, uint32_t record_size)
    : ctrl_(ctrl),
      shared_tail_(tail),
      data_(static_cast<const std::byte*>(data)),
      slots_(slots),
      record_size_(record_size) {}

uint64_t RingReader::head() const {
  return __atomic_load_n(&ctrl_->head, __ATOMIC_ACQUIRE);
}

RingReader::Run RingReader::Peek() {
  const uint64_t published = head();
  if (published - next_ > slots_) {
    // Not even a full ring can be that far ahead; what lies there belongs to nobody.
    overrun_ += published - next_;
    next_ = published;
    __atomic_store_n(&shared_tail_->tail, next_, __ATOMIC_RELEASE);
    return {};
  }
  const uint64_t slot = next_ & (slots_ - 1);
  const uint64_t count = std::min<uint64_t>(published - next_, slots_ - slot);
  return {data_ + slot * record_size_, static_cast<size_t>(count)};
}

void RingReader::Release(size_t count) {
  next_ += count;
  // The copies must be done before the producer sees the room.
  __atomic_store_n(&shared_tail_->tail, next_, __ATOMIC_RELEASE);
}

uint64_t RingReader::waiting() const {
  return std::min<uint64_t>(head() - next_, slots_);
}
uint64_t RingReader::lost() const {
  return __atomic_load_n(&ctrl_->lost_records, __ATOMIC_RELAXED);
}

uint64_t RingReader::lost_by_cause(unsigned cause) const {
  constexpr unsigned kCauses = sizeof ctrl_->lost_by_cause / sizeof ctrl_->lost_by_cause[0];
  return cause < kCauses ? __atomic_load_n(&ctrl_->lost_by_cause[cause], __ATOMIC_RELAXED) : 0;
}

uint32_t RingReader::state() const {
  return __atomic_load_n(&ctrl_->state, __ATOMIC_ACQUIRE);
}

}  // namespace npuprof::device
