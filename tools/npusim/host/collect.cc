// SPDX-License-Identifier: Apache-2.0
// From the device into the rings: interrupts, FIFOs, device-written queues, samples.
#include <algorithm>
#include <bit>

#include "core/validate.h"
#include "host/driver.h"
#include "host/timing.h"
#include "refnpu_regs.h"

namespace npusim {

void Driver::HandleInterrupts(uint64_t now_ns) {
  const uint32_t status = registers_.Read32(REFNPU_INT_STATUS);
  registers_.Write32(REFNPU_INT_STATUS, status);
  if (window_) window_->account.interrupts += static_cast<uint64_t>(std::popcount(interrupts_));
  interrupts_ = 0;
  if (status & REFNPU_INT_FIFO) {
    const uint32_t pending = registers_.Read32(REFNPU_FIFO_PENDING);
    registers_.Write32(REFNPU_FIFO_PENDING, pending);
    for (uint32_t f = 0; f < REFNPU_FIFOS; ++f) {
      if (pending & 1u << f) HandleFifoInterrupt(fifos_[f], now_ns);
    }
  }
  const uint32_t words = (static_cast<uint32_t>(core_ring_.size()) + 31) / 32;
  if (status & REFNPU_INT_BLOCK) {
    for (uint32_t word = 0; word < words; ++word) {
      uint32_t pending = registers_.Read32(REFNPU_BLOCK_PENDING(word));
      if (pending) registers_.Write32(REFNPU_BLOCK_PENDING(word), pending);
      for (; pending; pending &= pending - 1)
        HandleFifoInterrupt(
            fifos_[REFNPU_FIFOS + 32 * word + static_cast<uint32_t>(std::countr_zero(pending))], now_ns);
    }
  }
  if (status & REFNPU_INT_OVERFLOW) {
    for (uint32_t word = 0; word < words; ++word) {
      uint32_t pending = registers_.Read32(REFNPU_OVERFLOW_PENDING(word));
      for (; pending; pending &= pending - 1) {
        const uint32_t core = 32 * word + static_cast<uint32_t>(std::countr_zero(pending));
        npc_core_reading reading;
        registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
        Ring* ring = core_ring_[core];
        ReadCore(core, ring ? ring->core.used : 0, &reading);
        if (ring) npc_core_update(&ring->core, &reading);
      }
    }
  }
  if (status & REFNPU_INT_QUEUE) {
    // Which queue it was does not matter: all of a session are looked at together, in the same service.
    for (Session* session : sessions_) {
      // A queue without credit interrupts anew with the first record that is dropped after each look at it.
      if (session->poll_ns != NPC_TIME_NEVER)
        session->poll_ns = std::min(session->poll_ns, std::max(now_ns, session->polled_ns + kPollMinNs));
    }
  }
}

void Driver::HandleFifoInterrupt(Fifo& fifo, uint64_t now_ns) {
  if (!fifo.ring) return;
  if (fifo.polling) {
    Drain(fifo, now_ns);
    return;
  }
  // The first entry after a pause. Let more gather, but not so many that the FIFO comes near its end.
  fifo.polling = true;
  fifo.drain_ns = now_ns + std::min<uint64_t>(kGatherNs, fifo.ring->config.latency_ns / 2);
  const uint32_t watermark = std::max(1u, fifo.depth / 4);
  registers_.Write32(fifo.base + REFNPU_FIFO_WATERMARK, watermark);
  if (registers_.Read32(fifo.base + REFNPU_FIFO_COUNT) >= watermark) Drain(fifo, now_ns);
}

void Driver::ServiceFifos(uint64_t now_ns) {
  for (Fifo* fifo : fifos_in_use_) {
    if (now_ns < fifo->drain_ns) continue;
    if (Drain(*fifo, now_ns) > 0) {
      fifo->drain_ns = now_ns + std::min<uint64_t>(kGatherNs, fifo->ring->config.latency_ns / 2);
      continue;
    }
    fifo->polling = false;
    fifo->drain_ns = NPC_TIME_NEVER;
    registers_.Write32(fifo->base + REFNPU_FIFO_WATERMARK, 1);
  }
}

uint32_t Driver::Drain(Fifo& fifo, uint64_t now_ns) {
  Ring& ring = *fifo.ring;
  npc_ring& producer = ring.producer;
  const uint32_t count = registers_.Read32(fifo.base + REFNPU_FIFO_COUNT);
  for (uint32_t entry = 0; entry < count; ++entry) {
    __u64 words[REFNPU_FIFO_WORDS];
    words[0] = registers_.Read64(fifo.base + REFNPU_FIFO_DATA(0));
    const uint32_t used = npc_entry_words(words[0]);
    for (uint32_t w = 1; w < used; ++w) words[w] = registers_.Read64(fifo.base + REFNPU_FIFO_DATA(w));
    registers_.Write32(fifo.base + REFNPU_FIFO_POP, 1);
    npc_entry_put(&producer, ring.config.channel, words, &ring.entries,
                  used == 0 ? registers_.Read64(REFNPU_CLOCK) : npc_entry_clock(words));
  }
  // What did not fit came after the entries that did.
  const uint64_t lost = registers_.Read64(fifo.base + REFNPU_FIFO_LOST);
  if (lost != fifo.lost) {
    npc_ring_lose(&producer, NPUPROF_LOSS_FIFO_OVERFLOW, lost - fifo.lost,
                  registers_.Read64(fifo.base + REFNPU_FIFO_LOST_FIRST),
                  registers_.Read64(fifo.base + REFNPU_FIFO_LOST_LAST));
    registers_.Write32(fifo.base + REFNPU_FIFO_LOST_ACK, 1);
    fifo.lost = lost;
  }
  npc_ring_publish(&producer);
  fifo.session->Touch(ring, now_ns);
  return count;
}

bool Driver::PollQueue(Session& session, Ring& ring, uint64_t now_ns) {
  const uint32_t queue = static_cast<uint32_t>(ring.queue);
  npc_ring& producer = ring.producer;
  const uint64_t before = producer.head;
  // Impossible heads are the device's fault; the ring then stands still, which the reader survives.
  npc_ring_follow_device(&producer, registers_.Read64(REFNPU_QUEUE(queue, REFNPU_QUEUE_PRODUCER)));
  const uint64_t dropped = registers_.Read64(REFNPU_QUEUE(queue, REFNPU_QUEUE_DROPPED));
  if (dropped != ring.dropped) {
    npc_ring_lose_at(&producer, NPUPROF_LOSS_NO_CREDIT,
                     registers_.Read64(REFNPU_QUEUE(queue, REFNPU_QUEUE_GAP_POSITION)),
                     dropped - ring.dropped, registers_.Read64(REFNPU_QUEUE(queue, REFNPU_QUEUE_GAP_FIRST)),
                     registers_.Read64(REFNPU_QUEUE(queue, REFNPU_QUEUE_GAP_LAST)));
    registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_GAP_ACK), 1);
    ring.dropped = dropped;
  }
  const bool renewed = npc_credit_renew(&ring.credit, &producer);
  if (renewed) registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_CREDIT), ring.credit.limit);
  session.Touch(ring, now_ns);
  const bool progress = renewed || producer.head != before;
  // When nothing moves, the next record interrupts; until then nobody needs to look often.
  if (!progress && ring.queue_wake != producer.head + 1) {
    ring.queue_wake = producer.head + 1;
    registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_WAKE), ring.queue_wake);
  }
  return progress;
}

void Driver::PollQueues(Session& session, uint64_t now_ns) {
  bool progress = false;
  for (const auto& ring : session.rings()) {
    if (ring->queue >= 0) progress |= PollQueue(session, *ring, now_ns);
  }
  session.poll_interval_ns = progress ? kPollMinNs : std::min(session.poll_interval_ns * 2, kPollMaxNs);
  session.poll_ns = now_ns + session.poll_interval_ns;
  session.polled_ns = now_ns;
}

void Driver::ReadCore(uint32_t core, uint32_t counters, npc_core_reading* reading) {
  for (uint32_t i = 0; i < counters; ++i)
    reading->counters[i] = registers_.Read32(REFNPU_CORE(core, REFNPU_CORE_COUNTER(i)));
  reading->cycles = registers_.Read64(REFNPU_CORE(core, REFNPU_CORE_CYCLES));
  const uint32_t overflow = registers_.Read32(REFNPU_CORE(core, REFNPU_CORE_OVERFLOW));
  reading->overflowed = overflow & npc_counter_mask(NPUPROF_MAX_COUNTERS);
  if (overflow & REFNPU_CORE_OVERFLOW_CYCLES) reading->overflowed |= 1u << NPUPROF_MAX_COUNTERS;
  if (overflow) registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_OVERFLOW), overflow);
}

void Driver::SampleCore(Session& session, Ring& ring, uint64_t now_ns) {
  const bool vector = ring.config.core_kind == NPUPROF_CORE_VECTOR;
  npc_core_reading reading;
  ReadCore(ring.core_index, ring.core.used, &reading);
  npc_core_update(&ring.core, &reading);
  const uint64_t time_ns = registers_.Read64(REFNPU_CORE(ring.core_index, REFNPU_CORE_TIME_NS));
  // Without room the differences stay in the counters and go into the next sample that fits.
  void* slot =
      npc_ring_reserve(&ring.producer, registers_.Read64(REFNPU_CORE(ring.core_index, REFNPU_CORE_TIME)));
  if (slot) {
    npc_record_core_sample(static_cast<npuprof_rec_core_sample*>(slot), &ring.core,
                           &ring.entries.slots[vector], static_cast<__u8>(ring.core_index), time_ns);
    npc_ring_commit(&ring.producer);
    npc_ring_publish(&ring.producer);
  }
  session.Touch(ring, now_ns);
}

void Driver::SampleUnit(Session& session, Ring& ring, uint64_t now_ns) {
  const uint32_t unit = UnitOf(ring.config.channel);
  const uint32_t events = unit == REFNPU_UNIT_LLC ? 8 : 2;
  registers_.Write32(REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
  const uint64_t clock = registers_.Read64(REFNPU_UNIT(unit, REFNPU_UNIT_TIME));
  for (uint32_t i = 0; i < ring.unit.size(); ++i) {
    const uint64_t total = registers_.Read64(REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i)));
    void* slot = npc_ring_reserve(&ring.producer, clock);
    if (!slot) continue;  // as above: the difference is not lost, only the record
    npc_record_bandwidth(static_cast<npuprof_rec_bandwidth*>(slot), clock, i / events, i % events,
                         npc_counter_update(&ring.unit[i], total, false));
    npc_ring_commit(&ring.producer);
  }
  npc_ring_publish(&ring.producer);
  session.Touch(ring, now_ns);
}

void Driver::Sample(Session& session, SampleGroup& group, uint64_t now_ns) {
  size_t cores = 0;
  for (const Ring* ring : group.rings) cores += ring->config.channel == NPUPROF_CHANNEL_CORE_SAMPLE;
  const bool all = cores > core_ring_.size() / 2;
  if (all) registers_.Write32(REFNPU_LATCH_ALL, 1);
  for (Ring* ring : group.rings) {
    if (ring->config.channel != NPUPROF_CHANNEL_CORE_SAMPLE) {
      SampleUnit(session, *ring, now_ns);
      continue;
    }
    if (!all) registers_.Write32(REFNPU_CORE(ring->core_index, REFNPU_CORE_LATCH), 1);
    SampleCore(session, *ring, now_ns);
  }
  group.last_ns = now_ns;
}

void Driver::SampleDue(Session& session, SampleGroup& group, uint64_t now_ns) {
  Sample(session, group, now_ns);
  group.next_ns += group.period_ns;
  if (real_ns_ < group.next_ns + kThrottleNs) return;
  // So late that catching up would cost more than it tells. The next sample covers the whole time.
  const uint64_t skipped = (real_ns_ - group.next_ns) / group.period_ns;
  const uint64_t clock = registers_.Read64(REFNPU_CLOCK);
  for (Ring* ring : group.rings) {
    const uint64_t records = ring->unit.empty() ? 1 : ring->unit.size();
    npc_ring_lose(&ring->producer, NPUPROF_LOSS_THROTTLED, skipped * records, clock, clock);
  }
  group.next_ns += skipped * group.period_ns;
}

void Driver::PublishAll(Session& session, uint64_t now_ns) {
  if (OwnsWindow(session)) {
    for (Fifo* fifo : fifos_in_use_) Drain(*fifo, now_ns);
  }
  for (const auto& ring : session.rings()) {
    if (ring->queue >= 0) PollQueue(session, *ring, now_ns);
  }
}

void Driver::PublishRest(Session& session, uint64_t now_ns) {
  // Queues of samples write a last one when they are switched off. Others could cut off what tasks still have to tell.
  for (const auto& ring : session.rings()) {
    if (ring->queue >= 0 && npc_channel_sampled(ring->config.channel))
      registers_.Write32(REFNPU_QUEUE(static_cast<uint32_t>(ring->queue), REFNPU_QUEUE_CTRL), 0);
  }
  PublishAll(session, now_ns);
  for (SampleGroup& group : session.groups) {
    if (now_ns > group.last_ns) Sample(session, group, now_ns);
  }
}

}  // namespace npusim
