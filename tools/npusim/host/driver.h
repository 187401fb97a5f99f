/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of one simulated NPU: what npuprof.ko is to a real one. It knows the device through registers,
 * interrupts and the memory the device writes, and owns nothing that a kernel driver could not own.
 *
 * Every function is called with the host's lock held and the model at the time given as now_ns.
 */
#ifndef NPUSIM_HOST_DRIVER_H
#define NPUSIM_HOST_DRIVER_H

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/registers.h"
#include "host/session.h"
#include "host/settings.h"
#include "npuprof.h"
#include "refnpu_regs.h"

namespace npusim {

/** REFNPU_UNIT_* of a sampled channel that is not about cores. */
uint32_t UnitOf(uint32_t channel);

class Driver {
 public:
  Driver(npusim_model* model, uint32_t id, const Faults& faults);

  // --- Requests of uapi/npuprof.h; each returns 0 or a negative errno of that header ---
  int Query(npuprof_query* query);
  int AddRing(Session& session, npuprof_add_ring* add);
  int Start(Session& session, npuprof_control* control, uint64_t now_ns);
  /** First half of STOP: ends the window for starts. */
  int BeginStop(Session& session, npuprof_control* control, uint64_t now_ns);
  /** True if no task of the session's window runs any more. */
  bool Drained(const Session& session);
  /** Second half of STOP: publishes everything and lets go of the hardware. */
  int FinishStop(Session& session, npuprof_control* control, uint64_t now_ns);
  int Freeze(Session& session, npuprof_control* control, uint64_t now_ns);
  int Flush(Session& session, npuprof_control* control, uint64_t now_ns);
  int Stats(Session& session, npuprof_stats* stats);
  /** Reads the device clock, which stands at the time of the model. */
  int Clock(Session& session, uint64_t* clock);

  void Attach(Session* session) { sessions_.push_back(session); }
  /** The session is about to be destroyed: stops it if it runs, and gives back all it owned. */
  void Release(Session& session, uint64_t now_ns);

  // --- The device's side ---
  /** Interrupt from within the model, which must not be called now. */
  void Interrupt(uint32_t vector);
  /** The device writes to memory. Writes outside of the rings of open sessions do nothing. */
  void DmaWrite(uint64_t address, const void* data, size_t length);
  /** When Service() is needed at the latest. */
  uint64_t deadline() const { return deadline_ns_; }
  bool interrupted() const { return interrupts_ != 0; }
  /**
   * Interrupts and timers.
   * @param real_ns time of the host, ahead of the model's if the thread is late
   */
  void Service(uint64_t now_ns, uint64_t real_ns);

  bool gone() const { return gone_; }
  /** True from the moment the device is taken away, while the model still ends its tasks. */
  bool removing() const { return removing_; }
  /** Interrupts that the drop_irq fault swallowed. */
  uint64_t swallowed() const { return swallowed_; }

 private:
  /** A FIFO that the driver empties: four of the task scheduler and one per core. */
  struct Fifo {
    uint32_t base = 0;
    uint32_t depth = 0;
    Session* session = nullptr;
    Ring* ring = nullptr;  // nullptr: not in use
    uint64_t lost = 0;
    bool polling = false;
    uint64_t drain_ns = NPC_TIME_NEVER;
  };

  // driver.cc
  int Claim(Session& session, npuprof_add_ring* add);
  Session*& OwnerOf(const npuprof_add_ring& add);
  uint64_t SampleCost(const npuprof_add_ring& add) const;
  /** Whether a sampled ring goes over registers, and what that costs. */
  int Admit(npuprof_add_ring* add, uint64_t* load, bool* prefers_device);
  int ScheduleEvents(Session& session, const npuprof_add_ring& add, npc_slots slots[2]);
  void EmitClock(Session& session, uint64_t now_ns);
  void ReadTaskCounts(Session& session);
  void UpdateDeadline();
  void ServiceSession(Session& session, uint64_t now_ns);
  uint32_t CoreIndex(const npuprof_add_ring& add) const;
  bool OwnsWindow(const Session& session) const { return window_ == &session; }

  // arm.cc: programming the device for a session and taking that back
  int Arm(Session& session, uint64_t now_ns, bool registers_only);
  void Disarm(Session& session);
  void ArmWindow(Session& session);
  void ArmFifo(Fifo& fifo, Session& session, Ring& ring);
  int ArmQueue(Session& session, Ring& ring);
  void ArmSampledCore(Session& session, Ring& ring, uint64_t now_ns);
  void ArmSampledUnit(Session& session, Ring& ring, uint64_t now_ns);
  void AddToGroup(Session& session, Ring& ring, uint64_t now_ns);
  bool WantsDevicePath(const Session& session, const Ring& ring) const;

  // collect.cc: from the device into the rings
  void HandleInterrupts(uint64_t now_ns);
  void HandleFifoInterrupt(Fifo& fifo, uint64_t now_ns);
  void ServiceFifos(uint64_t now_ns);
  uint32_t Drain(Fifo& fifo, uint64_t now_ns);
  bool PollQueue(Session& session, Ring& ring, uint64_t now_ns);
  void PollQueues(Session& session, uint64_t now_ns);
  /** Takes the latched values of the first @p counters counters. */
  void ReadCore(uint32_t core, uint32_t counters, npc_core_reading* reading);
  void SampleCore(Session& session, Ring& ring, uint64_t now_ns);
  void SampleUnit(Session& session, Ring& ring, uint64_t now_ns);
  void Sample(Session& session, SampleGroup& group, uint64_t now_ns);
  void SampleDue(Session& session, SampleGroup& group, uint64_t now_ns);
  /** Everything that waits in the device. */
  void PublishAll(Session& session, uint64_t now_ns);
  /** The same and, of sampled channels, what was counted since the last sample. */
  void PublishRest(Session& session, uint64_t now_ns);

  // fault.cc: devices that reset or go away
  void ServiceFaults(uint64_t now_ns);
  void LoseCutRecords(Session& session, npuprof_loss_cause cause);
  void Reset(uint64_t now_ns);
  void Remove(uint64_t now_ns);

  npusim_model* model_;
  Registers registers_;
  uint32_t id_;
  Faults faults_;
  npuprof_query caps_{};
  std::vector<Session*> sessions_;
  std::array<uint32_t, REFNPU_UNITS> unit_totals_{};
  uint64_t load_ = 0;  // of sampling over registers, as admitted

  Session* window_ = nullptr;  // who records tasks
  std::array<Session*, NPUPROF_CHANNEL_COUNT> channel_owner_{};
  std::vector<Session*> core_owner_;  // who samples a core
  std::vector<bool> queue_used_;
  std::vector<Fifo> fifos_;  // task FIFOs, then one per core
  std::vector<Fifo*> fifos_in_use_;
  std::vector<Ring*> core_ring_;  // sampled over registers, by core

  uint32_t interrupts_ = 0;  // vectors not handled yet
  uint64_t drop_left_ = 0;
  uint64_t swallowed_ = 0;
  uint64_t watchdog_ns_ = NPC_TIME_NEVER;
  uint64_t reset_ns_ = NPC_TIME_NEVER;
  uint64_t remove_ns_ = NPC_TIME_NEVER;
  uint64_t deadline_ns_ = NPC_TIME_NEVER;
  uint64_t real_ns_ = 0;
  bool faults_armed_ = false;
  bool removing_ = false;
  bool gone_ = false;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_DRIVER_H
