// SPDX-License-Identifier: Apache-2.0
// A session's memory for one ring and the event ring, as the reader and the producer see it.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/ring.h"

struct TestRing {
  npuprof_ring_ctrl ctrl{};
  npuprof_ring_tail tail{};
  std::vector<uint64_t> data;
  npc_ring ring{};

  TestRing(uint32_t slots, uint32_t record_size, npc_ring* events = nullptr, bool overwrite = false,
           uint32_t index = 1)
      : data(size_t{slots} * record_size / 8) {
    npc_ring_setup setup{};
    setup.ctrl = &ctrl;
    setup.tail = &tail;
    setup.data = data.data();
    setup.events = events;
    setup.slots = slots;
    setup.record_size = record_size;
    setup.index = index;
    setup.overwrite = overwrite;
    npc_ring_init(&ring, &setup);
  }

  // As if that many records had already passed through the ring.
  void StartAt(uint64_t position) {
    ring.head = ring.tail_seen = position;
    ctrl.head = tail.tail = position;
  }

  bool Write(uint64_t value, uint64_t clock) {
    std::vector<uint64_t> record(ring.record_size / 8, value);
    const bool kept = npc_ring_write(&ring, record.data(), clock);
    npc_ring_publish(&ring);
    return kept;
  }

  uint64_t At(uint64_t position) const {
    return data[(position & (ring.slots - 1)) * (ring.record_size / 8)];
  }
};

struct TestSession {
  TestRing events{16, sizeof(npuprof_rec_event), nullptr, false, 0};
  TestRing ring;
  explicit TestSession(uint32_t slots = 16, bool overwrite = false)
      : ring(slots, 64, &events.ring, overwrite) {}

  npuprof_rec_event Event(uint64_t position) const {
    npuprof_rec_event event;
    std::memcpy(&event, &events.data[(position % 16) * 8], sizeof event);
    return event;
  }
  uint64_t CountInGaps() const {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < events.ctrl.head; ++k) sum += Event(k).count;
    return sum;
  }
};
