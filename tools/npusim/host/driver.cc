// SPDX-License-Identifier: Apache-2.0
#include "host/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/budget.h"
#include "core/validate.h"
#include "host/npusim_host.h"
#include "host/timing.h"
#include "refnpu_regs.h"

namespace npusim {
namespace {

constexpr uint32_t kChipA2 = 5;

bool EventKnown(const npc_device*, npuprof_core_kind, __u16 event) {
  return npusim_model_event_known(event) != 0;
}

bool BelongsToWindow(uint32_t channel) {
  return channel == NPUPROF_CHANNEL_TASK_LOG || channel == NPUPROF_CHANNEL_TASK_PMU ||
         channel == NPUPROF_CHANNEL_TS_TRACK || channel == NPUPROF_CHANNEL_AICPU ||
         channel == NPUPROF_CHANNEL_SOC_PMU || channel == NPUPROF_CHANNEL_BLOCK_PMU;
}

/** Charges the time until its end to a session. */
class BusyTime {
 public:
  explicit BusyTime(Session& session) : session_(session), begin_(Host::NowNs()) {}
  ~BusyTime() { session_.account.busy_ns += Host::NowNs() - begin_; }

 private:
  Session& session_;
  uint64_t begin_;
};

}  // namespace

Driver::Driver(npusim_model* model, uint32_t id, const Faults& faults)
    : model_(model), registers_(model), id_(id), faults_(faults) {
  const uint32_t cores = registers_.Read32(REFNPU_CAP_CORES);
  const uint32_t counters = registers_.Read32(REFNPU_CAP_COUNTERS);
  const uint32_t units = registers_.Read32(REFNPU_CAP_UNITS);
  const uint32_t depth = registers_.Read32(REFNPU_CAP_FIFO);
  caps_.size = sizeof caps_;
  caps_.abi_major = NPUPROF_ABI_MAJOR;
  caps_.abi_minor = NPUPROF_ABI_MINOR;
  caps_.device_id = id;
  caps_.chip = kChipA2;
  caps_.device_flags = NPUPROF_DEVICE_OVERWRITE | NPUPROF_DEVICE_WRITTEN;
  if (registers_.Read32(REFNPU_CAP_FLAGS) & REFNPU_CAP_SIMULATED)
    caps_.device_flags |= NPUPROF_DEVICE_SIMULATED;
  caps_.cube_cores = static_cast<__u16>(cores & 0xffff);
  caps_.vector_cores = static_cast<__u16>(cores >> 16);
  caps_.counters = static_cast<__u16>(counters & 0xff);
  caps_.counter_bits = static_cast<__u8>(counters >> 8);
  caps_.cycle_bits = static_cast<__u8>(counters >> 16);
  caps_.clock_hz = registers_.Read64(REFNPU_CAP_CLOCK_HZ);
  caps_.core_hz = registers_.Read64(REFNPU_CAP_CORE_HZ);
  caps_.channels = (uint64_t{1} << NPUPROF_CHANNEL_COUNT) - 1 - (1u << NPUPROF_CHANNEL_EVENTS);
  caps_.min_period_ns = kMinPeriodNs;
  caps_.max_period_ns = kMaxPeriodNs;
  caps_.hbm_channels = static_cast<__u16>(units & 0xff);
  caps_.llc_channels = static_cast<__u16>(units >> 8 & 0xff);
  caps_.max_data_bytes = Session::kMaxDataBytes;
  caps_.record_formats = NPUPROF_RECORDS_VERSION;
  caps_.aicpu_cores = registers_.Read32(REFNPU_CAP_AICPU);
  std::strncpy(caps_.name, "simulated reference NPU", sizeof caps_.name - 1);

  const uint32_t all = caps_.cube_cores + caps_.vector_cores;
  core_owner_.resize(all);
  core_ring_.resize(all);
  queue_used_.resize(registers_.Read32(REFNPU_CAP_QUEUES));
  fifos_.resize(REFNPU_FIFOS + all);
  for (uint32_t f = 0; f < fifos_.size(); ++f) {
    const bool task = f < REFNPU_FIFOS;
    fifos_[f].base = task ? REFNPU_FIFO(f, 0) : REFNPU_CORE(f - REFNPU_FIFOS, REFNPU_CORE_FIFO);
    fifos_[f].depth = task ? depth & 0xffff : depth >> 16;
  }

  for (uint32_t unit = 0; unit < REFNPU_UNITS; ++unit)
    unit_totals_[unit] = registers_.Read32(REFNPU_UNIT(unit, REFNPU_UNIT_COUNT));

  // What a reading costs, the way SampleCore() does it.
  constexpr int kRuns = 64;
  npc_core_reading reading;
  uint64_t best = std::numeric_limits<__u32>::max();
  // The quickest of many: whatever else the CPU did meanwhile is no cost of sampling.
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t begin = Host::NowNs();
    registers_.Write32(REFNPU_CORE(0, REFNPU_CORE_LATCH), 1);
    ReadCore(0, caps_.counters, &reading);
    best = std::min(best, Host::NowNs() - begin);
  }
  caps_.sample_cost_ns = static_cast<__u32>(std::max<uint64_t>(1, best));
}

uint32_t Driver::CoreIndex(const npuprof_add_ring& add) const {
  return add.core_kind == NPUPROF_CORE_VECTOR ? caps_.cube_cores + add.core : add.core;
}

int Driver::Query(npuprof_query* query) {
  if (gone_) return -ENODEV;
  const int error = npc_check_query(query);
  if (error != 0) return error;
  *query = caps_;
  return 0;
}

Session*& Driver::OwnerOf(const npuprof_add_ring& add) {
  if (BelongsToWindow(add.channel)) return window_;
  if (add.channel == NPUPROF_CHANNEL_CORE_SAMPLE) return core_owner_[CoreIndex(add)];
  return channel_owner_[add.channel];
}

int Driver::Claim(Session& session, npuprof_add_ring* request) {
  const npuprof_add_ring& add = *request;
  Session*& owner = OwnerOf(add);
  if (owner && owner != &session) {
    request->owner_pid = static_cast<__u32>(getpid());
    return -EBUSY;
  }
  for (const auto& ring : session.rings()) {
    const npuprof_add_ring& other = ring->config;
    if (other.channel == add.channel && other.core == add.core && other.core_kind == add.core_kind)
      return -EBUSY;
    if (other.channel == NPUPROF_CHANNEL_BLOCK_PMU && add.channel == NPUPROF_CHANNEL_BLOCK_PMU &&
        other.options != add.options)
      return -EINVAL;
  }
  owner = &session;
  return 0;
}

int Driver::ScheduleEvents(Session& session, const npuprof_add_ring& add, npc_slots slots[2]) {
  if (add.channel == NPUPROF_CHANNEL_CORE_SAMPLE) {
    // A sampled core has counters of its own for this.
    const bool vector = add.core_kind == NPUPROF_CORE_VECTOR;
    npc_schedule own;
    npc_schedule_init(&own, caps_.counters);
    return npc_schedule_add(&own, vector ? add.vector_events : add.cube_events,
                            vector ? add.vector_event_count : add.cube_event_count, &slots[vector]);
  }
  npc_schedule cube = session.schedules[0];
  npc_schedule vector = session.schedules[1];
  int error = npc_schedule_add(&cube, add.cube_events, add.cube_event_count, &slots[0]);
  if (error == 0) error = npc_schedule_add(&vector, add.vector_events, add.vector_event_count, &slots[1]);
  if (error != 0) return error;
  if ((add.flags & NPUPROF_RING_DEVICE_PATH) &&
      !(npc_slots_in_order(&slots[0]) && npc_slots_in_order(&slots[1])))
    return -EOPNOTSUPP;
  session.schedules[0] = cube;
  session.schedules[1] = vector;
  return 0;
}

uint64_t Driver::SampleCost(const npuprof_add_ring& add) const {
  if (add.channel == NPUPROF_CHANNEL_CORE_SAMPLE) return caps_.sample_cost_ns;
  // A latch and a time beside the totals; a core has a latch, cycles and overflow beside its counters.
  return uint64_t{caps_.sample_cost_ns} * (unit_totals_[UnitOf(add.channel)] + 2) / (caps_.counters + 3u);
}

int Driver::Admit(npuprof_add_ring* add, uint64_t* load, bool* prefers_device) {
  *prefers_device = (add->flags & NPUPROF_RING_DEVICE_PATH) != 0;
  if (!npc_channel_sampled(add->channel) || *prefers_device) return 0;
  const uint64_t before = load_;
  __u64 used = load_;
  __u64 period_ns = add->period_ns;
  const int error = npc_load_admit(&used, SampleCost(*add), &period_ns);
  load_ = used;
  *load = load_ - before;
  if (error == 0) return 0;
  if (!(add->flags & (NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_OVERWRITE))) {
    *prefers_device = true;
    return 0;
  }
  add->period_ns = period_ns;
  return error;
}

int Driver::AddRing(Session& session, npuprof_add_ring* add) {
  if (gone_) return -ENODEV;
  add->owner_pid = 0;
  const npc_device device{&caps_, EventKnown};
  int error = npc_check_add_ring(add, &device);
  if (error != 0) return error;
  if (session.state != State::kIdle) return -EBUSY;
  if (session.rings().size() == 1) {
    for (npc_schedule& schedule : session.schedules) npc_schedule_init(&schedule, caps_.counters);
  }
  Session*& owner = OwnerOf(*add);
  Session* const before = owner;
  const npc_schedule schedules[2] = {session.schedules[0], session.schedules[1]};
  npc_slots slots[2] = {};
  error = Claim(session, add);
  if (error != 0) return error;
  Ring* ring = nullptr;
  uint64_t load = 0;
  bool prefers_device = false;
  error = ScheduleEvents(session, *add, slots);
  if (error == 0) error = Admit(add, &load, &prefers_device);
  if (error == 0) error = session.Place(add, &ring);
  if (error != 0) {
    owner = before;
    load_ -= load;
    session.schedules[0] = schedules[0];
    session.schedules[1] = schedules[1];
    return error;
  }
  ring->load = load;
  ring->prefers_device = prefers_device;
  ring->entries.slots[0] = slots[0];
  ring->entries.slots[1] = slots[1];
  if (npc_channel_per_core(add->channel)) {
    ring->core_index = CoreIndex(*add);
    ring->entries.core = static_cast<__u8>(add->core);
  }
  return 0;
}

void Driver::EmitClock(Session& session, uint64_t now_ns) {
  npuprof_clock bracket{};
  // The simulated clock stands while it is read: a bracket without width.
  bracket.host_before_ns = bracket.host_after_ns = now_ns;
  bracket.device_clock = registers_.Read64(REFNPU_CLOCK);
  npuprof_rec_event event;
  npc_event_clock(&event, session.epoch, &bracket);
  session.Emit(event, bracket.device_clock, now_ns);
  session.clock_event_ns = now_ns + kClockEventNs;
}

void Driver::ReadTaskCounts(Session& session) {
  if (!OwnsWindow(session) || gone_) return;
  session.tasks_started = session.started_before + registers_.Read64(REFNPU_TRACE_STARTED);
  session.tasks_ended = session.ended_before + registers_.Read64(REFNPU_TRACE_ENDED);
}

int Driver::Start(Session& session, npuprof_control* control, uint64_t now_ns) {
  if (gone_) return -ENODEV;
  registers_.ChargeTo(&session.account);
  BusyTime busy(session);
  if (session.state == State::kRunning && session.frozen) {
    for (const auto& ring : session.rings()) npc_ring_freeze(&ring->producer, false);
    session.frozen = false;
    control->clock = registers_.Read64(REFNPU_CLOCK);
    control->monotonic_raw_ns = now_ns;
    return 0;
  }
  if (session.state == State::kStopped) return -EINVAL;
  if (session.state != State::kIdle) return -EBUSY;
  if (faults_.refuse_start) return -EIO;

  const int error = Arm(session, now_ns, false);
  if (error != 0) {
    Disarm(session);
    return error;
  }
  session.state = State::kRunning;
  session.SetState(NPUPROF_RING_RUNNING);
  control->clock = registers_.Read64(OwnsWindow(session) ? REFNPU_TRACE_T0 : REFNPU_CLOCK);
  control->monotonic_raw_ns = now_ns;
  control->straddling = OwnsWindow(session) ? registers_.Read32(REFNPU_TRACE_AT_OPEN) : 0;
  EmitClock(session, now_ns);
  if (!faults_armed_) {
    faults_armed_ = true;
    if (faults_.reset_at_ms) reset_ns_ = now_ns + *faults_.reset_at_ms * 1'000'000;
    if (faults_.surprise_remove_at_ms) remove_ns_ = now_ns + *faults_.surprise_remove_at_ms * 1'000'000;
  }
  session.SendWakeup();
  UpdateDeadline();
  return 0;
}

int Driver::BeginStop(Session& session, npuprof_control* control, uint64_t now_ns) {
  if (gone_) return -ENODEV;
  if (session.state != State::kRunning) return -EINVAL;
  registers_.ChargeTo(&session.account);
  session.state = State::kStopping;
  control->clock = registers_.Read64(REFNPU_CLOCK);
  control->monotonic_raw_ns = now_ns;
  if (OwnsWindow(session)) {
    registers_.Write32(REFNPU_TRACE_WINDOW, 0);
    control->clock = registers_.Read64(REFNPU_TRACE_T1);
    session.straddling = registers_.Read32(REFNPU_TRACE_RUNNING);
  }
  return 0;
}

bool Driver::Drained(const Session& session) {
  return gone_ || !OwnsWindow(session) || registers_.Read32(REFNPU_TRACE_RUNNING) == 0;
}

int Driver::FinishStop(Session& session, npuprof_control* control, uint64_t now_ns) {
  if (gone_) return -ENODEV;
  registers_.ChargeTo(&session.account);
  BusyTime busy(session);
  control->straddling = session.straddling;
  ReadTaskCounts(session);
  PublishRest(session, now_ns);
  EmitClock(session, now_ns);
  Disarm(session);
  session.clock_event_ns = NPC_TIME_NEVER;
  session.CloseGaps();
  session.state = State::kStopped;
  session.SetState(NPUPROF_RING_STOPPED);
  session.WakeReader();
  session.SendWakeup();
  UpdateDeadline();
  return 0;
}

int Driver::Freeze(Session& session, npuprof_control* control, uint64_t now_ns) {
  if (gone_) return -ENODEV;
  if (session.state != State::kRunning) return -EINVAL;
  registers_.ChargeTo(&session.account);
  bool any = false;
  for (const auto& ring : session.rings()) any |= ring->producer.overwrite;
  if (!any) return -EINVAL;
  if (!session.frozen) {
    PublishAll(session, now_ns);
    for (const auto& ring : session.rings()) npc_ring_freeze(&ring->producer, true);
    session.frozen = true;
  }
  control->clock = registers_.Read64(REFNPU_CLOCK);
  control->monotonic_raw_ns = now_ns;
  session.WakeReader();
  session.SendWakeup();
  UpdateDeadline();
  return 0;
}

int Driver::Flush(Session& session, npuprof_control* control, uint64_t now_ns) {
  if (gone_) return -ENODEV;
  if (session.state != State::kRunning) return -EINVAL;
  registers_.ChargeTo(&session.account);
  PublishAll(session, now_ns);
  session.CloseGaps();
  control->clock = registers_.Read64(REFNPU_CLOCK);
  control->monotonic_raw_ns = now_ns;
  session.WakeReader();
  session.SendWakeup();
  UpdateDeadline();
  return 0;
}

int Driver::Stats(Session& session, npuprof_stats* stats) {
  const int error = npc_check_stats(stats);
  if (error != 0) return error;
  if (session.state == State::kRunning || session.state == State::kStopping) {
    registers_.ChargeTo(&session.account);
    ReadTaskCounts(session);
  }
  stats->interrupts = session.account.interrupts;
  stats->register_reads = session.account.reads;
  stats->register_writes = session.account.writes;
  stats->busy_ns = session.account.busy_ns;
  stats->records = stats->lost_records = 0;
  for (const auto& ring : session.rings()) {
    stats->records += ring->producer.head;
    stats->lost_records += ring->producer.lost;
  }
  stats->tasks_started = session.tasks_started;
  stats->tasks_ended = session.tasks_ended;
  return 0;
}

int Driver::Clock(Session& session, uint64_t* clock) {
  if (gone_) return -ENODEV;
  registers_.ChargeTo(&session.account);
  *clock = registers_.Read64(REFNPU_CLOCK);
  return 0;
}

void Driver::Release(Session& session, uint64_t now_ns) {
  if (!gone_ && (session.state == State::kRunning || session.state == State::kStopping)) {
    registers_.ChargeTo(&session.account);
    if (OwnsWindow(session)) registers_.Write32(REFNPU_TRACE_WINDOW, 0);
    PublishAll(session, now_ns);
    Disarm(session);
  }
  const auto forget = [&](Session*& owner) {
    if (owner == &session) owner = nullptr;
  };
  for (const auto& ring : session.rings()) load_ -= ring->load;
  forget(window_);
  for (Session*& owner : channel_owner_) forget(owner);
  for (Session*& owner : core_owner_) forget(owner);
  std::erase(sessions_, &session);
  registers_.ChargeToSelf();
  UpdateDeadline();
}

void Driver::DmaWrite(uint64_t address, const void* data, size_t length) {
  const bool allowed =
      std::any_of(sessions_.begin(), sessions_.end(), [&](Session* s) { return s->Owns(address, length); });
  if (!allowed) return;
  if (length == sizeof(uint64_t) && address % sizeof(uint64_t) == 0) {
    uint64_t value;
    std::memcpy(&value, data, sizeof value);
    __atomic_store_n(reinterpret_cast<uint64_t*>(address), value, __ATOMIC_RELEASE);
    return;
  }
  std::memcpy(reinterpret_cast<void*>(address), data, length);
}

void Driver::Interrupt(uint32_t vector) {
  // Lost on its way: the device waits for an acknowledgement, the driver knows nothing of it.
  if (REFNPU_INT_FIFO == 1u << vector && drop_left_ > 0) {
    --drop_left_;
    ++swallowed_;
    return;
  }
  interrupts_ |= 1u << vector;
}

void Driver::ServiceSession(Session& session, uint64_t now_ns) {
  if (session.state == State::kRunning || session.state == State::kStopping) {
    if (now_ns >= session.poll_ns) PollQueues(session, now_ns);
    for (SampleGroup& group : session.groups) {
      if (now_ns >= group.next_ns) SampleDue(session, group, now_ns);
    }
    if (now_ns >= session.clock_event_ns) EmitClock(session, now_ns);
  }
  session.CheckLatency(now_ns);
  session.SendWakeup();
}

void Driver::Service(uint64_t now_ns, uint64_t real_ns) {
  real_ns_ = real_ns;
  if (now_ns >= reset_ns_ || now_ns >= remove_ns_) ServiceFaults(now_ns);
  if (!gone_) {
    if (now_ns >= watchdog_ns_) {
      watchdog_ns_ = now_ns + kWatchdogNs;
      interrupts_ |= REFNPU_INT_FIFO;
    }
    if (window_) {
      registers_.ChargeTo(&window_->account);
      BusyTime busy(*window_);
      if (interrupts_) HandleInterrupts(now_ns);
      ServiceFifos(now_ns);
    } else if (interrupts_) {
      registers_.ChargeToSelf();
      HandleInterrupts(now_ns);
    }
  }
  for (Session* session : sessions_) {
    if (!gone_) registers_.ChargeTo(&session->account);
    BusyTime busy(*session);
    ServiceSession(*session, now_ns);
  }
  UpdateDeadline();
}

void Driver::UpdateDeadline() {
  uint64_t next = std::min(reset_ns_, remove_ns_);
  if (!gone_) {
    next = std::min(next, watchdog_ns_);
    for (const Fifo* fifo : fifos_in_use_) next = std::min(next, fifo->drain_ns);
  }
  for (const Session* session : sessions_) {
    next = std::min(next, session->latency_deadline());
    if (gone_ || (session->state != State::kRunning && session->state != State::kStopping)) continue;
    next = std::min({next, session->poll_ns, session->clock_event_ns});
    for (const SampleGroup& group : session->groups) next = std::min(next, group.next_ns);
  }
  deadline_ns_ = next;
}

}  // namespace npusim
