// SPDX-License-Identifier: Apache-2.0
// Devices that reset or go away while they are being profiled.
#include "host/driver.h"
#include "refnpu_regs.h"

namespace npusim {

void Driver::ServiceFaults(uint64_t now_ns) {
  if (now_ns >= remove_ns_) {
    remove_ns_ = reset_ns_ = NPC_TIME_NEVER;
    Remove(now_ns);
  } else if (now_ns >= reset_ns_) {
    reset_ns_ = NPC_TIME_NEVER;
    Reset(now_ns);
  }
}

void Driver::Reset(uint64_t now_ns) {
  // As a driver resets a device that hangs: save what can be saved, reset, set it up again.
  for (Session* session : sessions_) {
    if (session->state != State::kRunning && session->state != State::kStopping) continue;
    registers_.ChargeTo(&session->account);
    PublishRest(*session, now_ns);
    if (!OwnsWindow(*session)) continue;
    ReadTaskCounts(*session);
    session->started_before = session->tasks_started;
    session->ended_before = session->tasks_ended;
    // Tasks that run will never end: what they would still have told is missing.
    LoseCutRecords(*session, NPUPROF_LOSS_RESET);
  }
  npusim_model_reset(model_);
  interrupts_ = 0;
  for (Session* session : sessions_) {
    if (session->state != State::kRunning && session->state != State::kStopping) continue;
    registers_.ChargeTo(&session->account);
    ++session->epoch;
    for (const auto& ring : session->rings()) {
      npc_ring_close_gaps(&ring->producer);
      npc_ring_set_epoch(&ring->producer, session->epoch);
    }
    npuprof_rec_event event;
    const uint64_t clock = registers_.Read64(REFNPU_CLOCK);
    npc_event_epoch(&event, session->epoch, NPUPROF_LOSS_RESET, clock);
    session->Emit(event, clock, now_ns);
    session->WakeReader();
    Disarm(*session);
    // A queue would begin again with record 0; over registers the ring simply goes on.
    if (session->state == State::kRunning) Arm(*session, now_ns, true);
  }
}

void Driver::Remove(uint64_t now_ns) {
  removing_ = true;
  npusim_model_remove(model_);
  gone_ = true;
  interrupts_ = 0;
  for (Session* session : sessions_) {
    session->gone = true;
    for (const auto& ring : session->rings()) {
      // What the device wrote and published before it went is all there.
      if (ring->queue >= 0)
        npc_ring_follow_device(&ring->producer,
                               __atomic_load_n(&ring->producer.ctrl->head, __ATOMIC_ACQUIRE));
      ring->queue = -1;
      session->Touch(*ring, now_ns);
    }
    npuprof_rec_event event;
    npc_event_epoch(&event, ++session->epoch, NPUPROF_LOSS_REMOVED, 0);
    session->Emit(event, 0, now_ns);
    session->CloseGaps();
    session->SetState(NPUPROF_RING_GONE);
    session->groups.clear();
    session->WakeReader();
  }
  fifos_in_use_.clear();
}

}  // namespace npusim
