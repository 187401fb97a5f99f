// SPDX-License-Identifier: Apache-2.0
#include "host/loss_table.h"

#include "host/queue.h"

namespace npuprof::host {
namespace {
// The last rows take what no longer finds a row of its own, one per class.
constexpr size_t kOverflowRows = 3;
}  // namespace

const char* LossCauseName(unsigned cause) {
  constexpr const char* kNames[kLossCauses] = {"ring_full", "nested", "no_ring"};
  return cause < kLossCauses ? kNames[cause] : "unknown";
}

void LossTable::Count(RecordClass record_class, uint16_t level, uint32_t type, LossCause cause) {
  const bool calls = record_class == RecordClass::kApiEvent;
  const uint64_t key = Key(record_class, calls ? 0 : level, calls ? 0 : type);
  const size_t own = rows_.size() - kOverflowRows;
  Row* row = nullptr;
  for (size_t i = 0; i < own; ++i) {
    uint64_t present = 0;
    if (rows_[i].key.compare_exchange_strong(present, key, std::memory_order_acq_rel) || present == key) {
      row = &rows_[i];
      break;
    }
  }
  if (!row) {
    row = &rows_[own + static_cast<size_t>(record_class)];
    row->key.store(Key(record_class, 0, 0), std::memory_order_release);
  }
  row->lost[static_cast<unsigned>(cause)].fetch_add(1, std::memory_order_relaxed);
}

void LossTable::Clear() {
  for (Row& row : rows_) {
    row.key.store(0, std::memory_order_relaxed);
    for (auto& count : row.lost) count.store(0, std::memory_order_relaxed);
  }
}

}  // namespace npuprof::host
