// SPDX-License-Identifier: Apache-2.0
// A model with a memory of its own for device-written queues, and what its host saw.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/npusim_model.h"
#include "npuprof.h"
#include "npuprof_records.h"
#include "refnpu_regs.h"

namespace npusim_test {

inline npusim_model_config Defaults() {
  npusim_model_config config;
  npusim_model_defaults(&config);
  return config;
}

// A task of one kind on stream 1; tests change what they care about.
inline npusim_task Task(npusim_task_kind kind, uint16_t task_id, uint32_t blocks = 1, uint64_t cycles = 0) {
  npusim_task t{};
  t.stream = 1;
  t.task_id = task_id;
  t.kind = static_cast<uint8_t>(kind);
  t.mix_ratio = 2;
  t.block_dim = blocks;
  t.cycles = cycles;
  t.peer = NPUSIM_LOCAL;
  return t;
}

class Device {
 public:
  struct Seen {
    uint64_t cookie;
    uint64_t ns;
    bool operator==(const Seen&) const = default;
  };
  struct Peer {
    uint32_t device, id;
    uint64_t ns;
  };

  explicit Device(const npusim_model_config& config = Defaults(), size_t memory = 0) : memory_(memory) {
    npusim_model_ops ops{};
    ops.irq = [](void* c, uint32_t vector) { static_cast<Device*>(c)->irqs[vector]++; };
    ops.dma_write = [](void* c, uint64_t address, const void* data, size_t size) {
      static_cast<Device*>(c)->Write(address, data, size);
    };
    ops.task_started = [](void* c, uint64_t k, uint64_t ns) {
      static_cast<Device*>(c)->started.push_back({k, ns});
    };
    ops.task_ended = [](void* c, uint64_t k, uint64_t ns) {
      static_cast<Device*>(c)->ended.push_back({k, ns});
    };
    ops.task_aborted = [](void* c, uint64_t k, uint64_t ns) {
      static_cast<Device*>(c)->aborted.push_back({k, ns});
    };
    ops.notify_peer = [](void* c, uint32_t device, uint32_t id, uint64_t ns) {
      static_cast<Device*>(c)->peers.push_back({device, id, ns});
    };
    model_ = npusim_model_create(&config, &ops, this);
    if (!model_) throw std::invalid_argument("the model refused its configuration");
  }
  ~Device() { npusim_model_destroy(model_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  npusim_model* model() { return model_; }
  uint32_t R32(uint32_t offset) { return npusim_model_read32(model_, offset); }
  uint64_t R64(uint32_t offset) { return npusim_model_read64(model_, offset); }
  void W32(uint32_t offset, uint32_t value) { npusim_model_write32(model_, offset, value); }
  void W64(uint32_t offset, uint64_t value) { npusim_model_write64(model_, offset, value); }
  int Submit(const npusim_task& task) { return npusim_model_submit(model_, &task); }
  // Records kept and lost for a channel.
  std::pair<uint64_t, uint64_t> Made(uint32_t channel, uint32_t core = NPUSIM_NO_CORE) {
    npusim_record_counts counts;
    if (npusim_model_record_counts(model_, channel, core, &counts) != 0)
      throw std::invalid_argument("no such channel or core");
    return {counts.kept, counts.lost};
  }
  void Advance(uint64_t ns) { npusim_model_advance(model_, ns); }
  uint64_t Now() { return npusim_model_now(model_); }
  npusim_totals Totals() {
    npusim_totals t;
    npusim_model_totals(model_, &t);
    return t;
  }
  // Lets everything that is queued happen; samplers must be off.
  void Finish() {
    for (uint64_t next; (next = npusim_model_next_event(model_)) != UINT64_MAX;) Advance(next);
  }

  // Selects events of task snapshots.
  void TraceEvents(int kind, const std::vector<uint32_t>& events) {
    for (size_t i = 0; i < events.size(); ++i)
      W32(static_cast<uint32_t>(REFNPU_TRACE_EVENT(kind, i)), events[i]);
  }
  void EnableFifo(uint32_t fifo, uint32_t watermark = 0) {
    W32(REFNPU_FIFO(fifo, REFNPU_FIFO_WATERMARK), watermark);
    W32(REFNPU_FIFO(fifo, REFNPU_FIFO_CTRL), REFNPU_FIFO_ENABLE);
  }
  using Entry = std::vector<uint64_t>;
  // Pops all entries of the FIFO whose registers begin at `base`.
  std::vector<Entry> PopAll(uint32_t base) {
    std::vector<Entry> all;
    while (R32(base + REFNPU_FIFO_COUNT)) {
      Entry e(REFNPU_FIFO_WORDS);
      for (uint32_t w = 0; w < REFNPU_FIFO_WORDS; ++w) e[w] = R64(base + REFNPU_FIFO_DATA(w));
      all.push_back(e);
      W32(base + REFNPU_FIFO_POP, 1);
    }
    return all;
  }

  // Address 0 is never memory, as on a real bus.
  static constexpr uint64_t kBase = 0x1000;
  void AddQueue(uint32_t q, uint32_t channel, uint32_t core, uint64_t address, uint32_t slots,
                uint64_t credit, uint64_t period = 0) {
    W32(REFNPU_QUEUE(q, REFNPU_QUEUE_CHANNEL), channel | core << 16);
    W64(REFNPU_QUEUE(q, REFNPU_QUEUE_BASE), address);
    W32(REFNPU_QUEUE(q, REFNPU_QUEUE_SLOTS), slots);
    W64(REFNPU_QUEUE(q, REFNPU_QUEUE_CREDIT), credit);
    W64(REFNPU_QUEUE(q, REFNPU_QUEUE_PERIOD_NS), period);
    W32(REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
  }
  template <class Record>
  std::vector<Record> Records(uint64_t address, size_t count) {
    std::vector<Record> out(count);
    std::memcpy(out.data(), &memory_.at(address - kBase), count * sizeof(Record));
    return out;
  }
  void Write(uint64_t address, const void* data, size_t size) {
    if (address < kBase || address - kBase + size > memory_.size())
      throw std::out_of_range("device wrote outside its memory");
    std::memcpy(&memory_[address - kBase], data, size);
  }

  std::map<uint32_t, int> irqs;
  std::vector<Seen> started, ended, aborted;
  std::vector<Peer> peers;

 private:
  std::vector<unsigned char> memory_;
  npusim_model* model_ = nullptr;
};

}  // namespace npusim_test
