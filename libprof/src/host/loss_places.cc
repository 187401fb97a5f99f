// SPDX-License-Identifier: Apache-2.0
#include "host/loss_places.h"

#include "host/loss_table.h"

namespace npuprof::host {
namespace {
// A thread that loses may lose millions; it finds its row near where its number leads.
constexpr size_t kProbes = 16;
}  // namespace

LossPlaces::Row* LossPlaces::Find(uint64_t key) {
  const size_t own = rows_.size() - kLossCauses;
  const size_t start = static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> 32) % own;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    Row& row = rows_[(start + probe) % own];
    uint64_t present = row.key.load(std::memory_order_relaxed);
    if (present == key) return &row;
    if (present == 0 &&
        (row.key.compare_exchange_strong(present, key, std::memory_order_relaxed) || present == key)) {
      return &row;
    }
  }
  return nullptr;
}

void LossPlaces::Note(uint32_t thread, LossCause cause, uint64_t cycles) {
  const auto number = static_cast<unsigned>(cause);
  Row* row = Find(Key(thread, number));
  if (!row) {
    row = &rows_[rows_.size() - kLossCauses + number];
    row->key.store(Key(kOthers, number), std::memory_order_relaxed);
  }
  // A signal handler, or another thread of the last rows, may come in between with a time of its own.
  for (uint64_t first = row->first.load(std::memory_order_relaxed);
       cycles < first && !row->first.compare_exchange_weak(first, cycles, std::memory_order_relaxed);) {
  }
  for (uint64_t last = row->last.load(std::memory_order_relaxed);
       cycles > last && !row->last.compare_exchange_weak(last, cycles, std::memory_order_relaxed);) {
  }
  row->count.fetch_add(1, std::memory_order_release);
}

void LossPlaces::Clear() {
  for (Row& row : rows_) {
    row.count.store(0, std::memory_order_relaxed);
    row.key.store(0, std::memory_order_relaxed);
    row.first.store(UINT64_MAX, std::memory_order_relaxed);
    row.last.store(0, std::memory_order_relaxed);
  }
}

}  // namespace npuprof::host
