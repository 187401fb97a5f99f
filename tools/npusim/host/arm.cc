// SPDX-License-Identifier: Apache-2.0
// Programming the device for a session, and taking that back.
#include <algorithm>
#include <cerrno>

#include "core/validate.h"
#include "host/driver.h"
#include "host/timing.h"
#include "refnpu_regs.h"

namespace npusim {
namespace {

constexpr uint32_t kAllInterrupts =
    REFNPU_INT_FIFO | REFNPU_INT_OVERFLOW | REFNPU_INT_QUEUE | REFNPU_INT_BLOCK | REFNPU_INT_DRAINED;

/** Fastest that any event of a core may count per cycle: a wide path in bytes. */
constexpr uint64_t kCountsPerCycle = 64;

struct TraceChannel {
  uint32_t enable;
  uint32_t fifo;
};

/** What the task scheduler calls a channel; enable is 0 for channels that are not its own. */
TraceChannel TraceOf(uint32_t channel) {
  switch (channel) {
    case NPUPROF_CHANNEL_TASK_LOG:
      return {REFNPU_TRACE_LOG, REFNPU_FIFO_LOG};
    case NPUPROF_CHANNEL_TASK_PMU:
      return {REFNPU_TRACE_PMU, REFNPU_FIFO_PMU};
    case NPUPROF_CHANNEL_TS_TRACK:
      return {REFNPU_TRACE_TRACK, REFNPU_FIFO_TRACK};
    case NPUPROF_CHANNEL_AICPU:
      return {REFNPU_TRACE_AICPU, REFNPU_FIFO_AICPU};
    case NPUPROF_CHANNEL_SOC_PMU:
      return {REFNPU_TRACE_SOC, REFNPU_FIFO_SOC};
    default:
      return {0, 0};
  }
}

bool AllCounted(const npc_slots& slots, const npc_schedule& schedule) {
  return npc_slots_in_order(&slots) && slots.count == schedule.used;
}

}  // namespace

uint32_t UnitOf(uint32_t channel) {
  switch (channel) {
    case NPUPROF_CHANNEL_HBM:
      return REFNPU_UNIT_HBM;
    case NPUPROF_CHANNEL_LLC:
      return REFNPU_UNIT_LLC;
    case NPUPROF_CHANNEL_L2:
      return REFNPU_UNIT_L2;
    case NPUPROF_CHANNEL_NIC:
      return REFNPU_UNIT_NIC;
    case NPUPROF_CHANNEL_LINK:
      return REFNPU_UNIT_LINK;
    case NPUPROF_CHANNEL_PCIE:
      return REFNPU_UNIT_PCIE;
    case NPUPROF_CHANNEL_FLOWS:
      return REFNPU_UNIT_FLOWS;
    case NPUPROF_CHANNEL_ACCELERATORS:
      return REFNPU_UNIT_ACC;
    default:
      return REFNPU_UNIT_DVPP;
  }
}

bool Driver::WantsDevicePath(const Session& session, const Ring& ring) const {
  const npuprof_add_ring& config = ring.config;
  if (config.flags & (NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_OVERWRITE)) return false;
  if (config.flags & NPUPROF_RING_DEVICE_PATH) return true;
  if (npc_channel_sampled(config.channel)) return ring.prefers_device;
  // The fault is about interrupts of FIFOs, so there must be FIFOs.
  if (faults_.drop_irq > 0) return false;
  // A device that composes a record puts all its counters in, in its own order.
  if (config.channel != NPUPROF_CHANNEL_TASK_PMU && config.channel != NPUPROF_CHANNEL_BLOCK_PMU) return true;
  if (config.channel == NPUPROF_CHANNEL_BLOCK_PMU) {
    const bool vector = config.core_kind == NPUPROF_CORE_VECTOR;
    return AllCounted(ring.entries.slots[vector], session.schedules[vector]);
  }
  return AllCounted(ring.entries.slots[0], session.schedules[0]) &&
         AllCounted(ring.entries.slots[1], session.schedules[1]);
}

void Driver::ArmFifo(Fifo& fifo, Session& session, Ring& ring) {
  fifo.session = &session;
  fifo.ring = &ring;
  fifo.lost = 0;
  fifo.polling = false;
  fifo.drain_ns = NPC_TIME_NEVER;
  fifos_in_use_.push_back(&fifo);
  registers_.Write32(fifo.base + REFNPU_FIFO_CTRL, REFNPU_FIFO_FLUSH);
  registers_.Write32(fifo.base + REFNPU_FIFO_WATERMARK, 1);
  registers_.Write32(fifo.base + REFNPU_FIFO_CTRL, REFNPU_FIFO_ENABLE);
}

int Driver::ArmQueue(Session& session, Ring& ring) {
  const auto free = std::find(queue_used_.begin(), queue_used_.end(), false);
  if (free == queue_used_.end()) return -EBUSY;
  const uint32_t queue = static_cast<uint32_t>(free - queue_used_.begin());
  const bool per_core = npc_channel_per_core(ring.config.channel);
  const uint32_t core = per_core ? ring.core_index : NPC_CORE_DEVICE;
  npc_credit_init(&ring.credit, &ring.producer, 0);
  ring.dropped = 0;
  ring.queue_wake = 1;
  registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_CHANNEL), ring.config.channel | core << 16);
  registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_BASE), session.DataAddress(ring));
  registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_SLOTS), ring.config.slots);
  registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_PAGE_SHIFT), 0);
  registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_HEAD_ADDRESS), session.HeadAddress(ring));
  registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_CREDIT), ring.credit.limit);
  registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_PERIOD_NS), ring.config.period_ns);
  registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
  registers_.Write64(REFNPU_QUEUE(queue, REFNPU_QUEUE_WAKE), ring.queue_wake);
  if (registers_.Read32(REFNPU_QUEUE(queue, REFNPU_QUEUE_CTRL)) != REFNPU_QUEUE_ENABLE) return -EIO;
  queue_used_[queue] = true;
  ring.queue = static_cast<int>(queue);
  ring.device_path = true;
  return 0;
}

void Driver::ArmSampledCore(Session& session, Ring& ring, uint64_t now_ns) {
  const uint32_t core = ring.core_index;
  const bool vector = ring.config.core_kind == NPUPROF_CORE_VECTOR;
  const __u16* events = vector ? ring.config.vector_events : ring.config.cube_events;
  const npc_slots& slots = ring.entries.slots[vector];
  // Sampled often enough, a counter cannot pass its range unseen, and interrupts would only cost.
  const bool interrupts =
      ring.config.period_ns > npc_counter_deadline_ns(caps_.counter_bits, caps_.core_hz * kCountsPerCycle);
  registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_CTRL), REFNPU_CORE_RESET);
  for (uint32_t i = 0; i < caps_.counters; ++i)
    registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_EVENT(i)), i < slots.count ? events[i] : 0);
  if (interrupts) {
    // From half of the range on, the first interrupt leaves half a range of time to answer it.
    for (uint32_t i = 0; i < slots.count; ++i)
      registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_COUNTER(i)),
                         static_cast<uint32_t>(npc_counter_preset(caps_.counter_bits)));
  }
  registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_CTRL),
                     interrupts ? REFNPU_CORE_ENABLE | REFNPU_CORE_INT : REFNPU_CORE_ENABLE);
  if (ring.device_path) return;
  npc_core_reading reading;
  registers_.Write32(REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
  ReadCore(core, slots.count, &reading);
  npc_core_start(&ring.core, slots.count, caps_.counter_bits, caps_.cycle_bits, &reading);
  core_ring_[core] = &ring;
  AddToGroup(session, ring, now_ns);
}

void Driver::ArmSampledUnit(Session& session, Ring& ring, uint64_t now_ns) {
  const uint32_t unit = UnitOf(ring.config.channel);
  registers_.Write32(REFNPU_UNIT(unit, REFNPU_UNIT_CTRL), ring.config.options);
  if (ring.device_path) return;
  ring.unit.resize(unit_totals_[unit]);
  registers_.Write32(REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
  for (uint32_t i = 0; i < ring.unit.size(); ++i)
    npc_counter_start(&ring.unit[i], 64, registers_.Read64(REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i))));
  AddToGroup(session, ring, now_ns);
}

void Driver::AddToGroup(Session& session, Ring& ring, uint64_t now_ns) {
  const uint64_t period = ring.config.period_ns;
  for (SampleGroup& group : session.groups) {
    if (group.period_ns == period) {
      group.rings.push_back(&ring);
      return;
    }
  }
  session.groups.push_back({period, now_ns, now_ns + period, {&ring}});
}

void Driver::ArmWindow(Session& session) {
  uint32_t enable = 0;
  for (const auto& ring : session.rings()) {
    enable |= TraceOf(ring->config.channel).enable;
    if (ring->config.channel == NPUPROF_CHANNEL_BLOCK_PMU)
      enable |= ring->config.options ? REFNPU_TRACE_MIX_BLOCK : REFNPU_TRACE_BLOCK;
  }
  for (uint32_t kind = 0; kind < 2; ++kind) {
    const npc_schedule& schedule = session.schedules[kind];
    for (uint32_t i = 0; i < caps_.counters; ++i)
      registers_.Write32(REFNPU_TRACE_EVENT(kind, i), i < schedule.used ? schedule.events[i] : 0);
  }
  registers_.Write32(REFNPU_TRACE_ENABLE, enable);
  registers_.Write32(REFNPU_TRACE_WINDOW, 1);
}

int Driver::Arm(Session& session, uint64_t now_ns, bool registers_only) {
  session.groups.clear();
  bool queues = false;
  for (const auto& owned : session.rings()) {
    Ring& ring = *owned;
    const uint32_t channel = ring.config.channel;
    if (channel == NPUPROF_CHANNEL_EVENTS) continue;
    ring.device_path = !registers_only && WantsDevicePath(session, ring);
    // Counters before the queue: a sampling queue starts from what they say when it is enabled.
    if (channel == NPUPROF_CHANNEL_CORE_SAMPLE) {
      ArmSampledCore(session, ring, now_ns);
    } else if (npc_channel_sampled(channel)) {
      ArmSampledUnit(session, ring, now_ns);
    }
    if (ring.device_path) {
      const int error = ArmQueue(session, ring);
      if (error != 0) return error;
      queues = true;
    } else if (channel == NPUPROF_CHANNEL_BLOCK_PMU) {
      ArmFifo(fifos_[REFNPU_FIFOS + ring.core_index], session, ring);
    } else if (TraceOf(channel).enable) {
      ArmFifo(fifos_[TraceOf(channel).fifo], session, ring);
    }
  }
  session.poll_interval_ns = kPollMinNs;
  session.poll_ns = queues ? now_ns + kPollMinNs : NPC_TIME_NEVER;
  if (!fifos_in_use_.empty()) watchdog_ns_ = now_ns + kWatchdogNs;
  registers_.Write32(REFNPU_INT_ENABLE, kAllInterrupts);
  if (OwnsWindow(session)) {
    drop_left_ = faults_.drop_irq;
    ArmWindow(session);
  }
  return 0;
}

void Driver::LoseCutRecords(Session& session, npuprof_loss_cause cause) {
  registers_.Write32(REFNPU_TRACE_WINDOW, 0);
  registers_.Write32(REFNPU_TRACE_ENABLE, 0);
  const uint64_t clock = registers_.Read64(REFNPU_CLOCK);
  for (const auto& ring : session.rings()) {
    const uint32_t channel = ring->config.channel;
    uint32_t cut = 0;
    if (channel == NPUPROF_CHANNEL_BLOCK_PMU)
      cut = registers_.Read32(REFNPU_CORE(ring->core_index, REFNPU_CORE_CUT));
    else if (TraceOf(channel).enable)
      cut = registers_.Read32(REFNPU_TRACE_CUT(TraceOf(channel).fifo));
    npc_ring_lose(&ring->producer, cause, cut, clock, clock);
  }
}

void Driver::Disarm(Session& session) {
  if (OwnsWindow(session)) {
    registers_.Write32(REFNPU_TRACE_WINDOW, 0);
    registers_.Write32(REFNPU_TRACE_ENABLE, 0);
    for (Fifo* fifo : fifos_in_use_) {
      registers_.Write32(fifo->base + REFNPU_FIFO_CTRL, 0);
      fifo->ring = nullptr;
      fifo->session = nullptr;
    }
    fifos_in_use_.clear();
    watchdog_ns_ = NPC_TIME_NEVER;
  }
  for (const auto& owned : session.rings()) {
    Ring& ring = *owned;
    if (ring.queue >= 0) {
      const uint32_t queue = static_cast<uint32_t>(ring.queue);
      registers_.Write32(REFNPU_QUEUE(queue, REFNPU_QUEUE_CTRL), 0);
      queue_used_[queue] = false;
      ring.queue = -1;
    }
    if (ring.config.channel == NPUPROF_CHANNEL_CORE_SAMPLE) {
      registers_.Write32(REFNPU_CORE(ring.core_index, REFNPU_CORE_CTRL), 0);
      core_ring_[ring.core_index] = nullptr;
    }
  }
  session.groups.clear();
  session.poll_ns = NPC_TIME_NEVER;
}

}  // namespace npusim
