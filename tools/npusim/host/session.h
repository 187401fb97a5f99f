/* SPDX-License-Identifier: Apache-2.0 */
/* One opened device: its rings, their memory and the descriptor that wakes the reader. */
#ifndef NPUSIM_HOST_SESSION_H
#define NPUSIM_HOST_SESSION_H

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd_identity.h"
#include "core/credit.h"
#include "core/entry.h"
#include "core/record.h"
#include "core/ring.h"
#include "core/schedule.h"
#include "core/wakeup.h"
#include "host/registers.h"
#include "host/shared_area.h"
#include "npuprof.h"

namespace npusim {

enum class State { kIdle, kRunning, kStopping, kStopped };

/** One ring of a session. */
struct Ring {
  npuprof_add_ring config{};
  npc_ring producer{};
  npc_wakeup wakeup{};

  uint64_t load = 0;            // share of the budget of its device
  bool prefers_device = false;  // sampling it over registers would cost too much

  // Device-written path.
  bool device_path = false;
  int queue = -1;
  npc_credit credit{};
  uint64_t queue_wake = 0;  // the device interrupts when it has written so many
  uint64_t dropped = 0;     // of the device's count, how many are accounted for

  // Register path.
  npc_entry_context entries{};    // FIFO entries to records
  npc_core core{};                // extended counters of a sampled core
  uint32_t core_index = 0;        // in the register map
  std::vector<npc_counter> unit;  // totals of a sampled unit
};

/** Rings sampled together: those of one session with one period. */
struct SampleGroup {
  uint64_t period_ns = 0;
  uint64_t last_ns = 0;
  uint64_t next_ns = 0;
  std::vector<Ring*> rings;
};

class Session {
 public:
  /** Bytes of ring data a session may have. */
  static constexpr uint64_t kMaxDataBytes = uint64_t{1} << 30;
  static constexpr uint32_t kEventSlots = 1024;

  /** @param stall_drain fault: the producer never sees the reader's tails of the rings added
   *  @return nullptr if there is no memory or descriptor; errno says which */
  static std::unique_ptr<Session> Create(uint32_t device, bool stall_drain);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  uint32_t device() const { return device_; }
  int poll_fd() const { return poll_fd_; }
  Ring& events() { return *rings_.front(); }
  std::vector<std::unique_ptr<Ring>>& rings() { return rings_; }

  /** Gives a checked ring memory and a place. @return 0, -ENOSPC, -ENOMEM */
  int Place(npuprof_add_ring* add, Ring** ring);

  /** Maps an area NPUPROF_MMAP_*. @return 0 or -EINVAL, -ENOMEM */
  int Map(uint64_t offset, size_t length, void** address);

  /** True if the device may write these bytes. */
  bool Owns(uint64_t address, size_t length) const;
  uint64_t DataAddress(const Ring& ring) const;
  uint64_t HeadAddress(const Ring& ring) const;

  /** To be called when the ring's head may have moved: notes who must be woken and when to look again. */
  void Touch(Ring& ring, uint64_t now_ns);
  /** Looks at all rings whose records may have waited long enough. */
  void CheckLatency(uint64_t now_ns);
  /** When CheckLatency() has something to do. */
  uint64_t latency_deadline() const { return latency_ns_; }
  /** Wakes the reader with the next SendWakeup(). */
  void WakeReader() { wake_ = true; }
  /** One write to the descriptor for everything since the last call. */
  void SendWakeup();

  /** Sends every open gap to the event ring, as far as that has room. */
  void CloseGaps();
  void SetState(uint32_t ring_state);
  /** Puts one record into the event ring. */
  void Emit(const npuprof_rec_event& event, uint64_t clock, uint64_t now_ns);

  State state = State::kIdle;
  bool frozen = false;
  bool gone = false;
  uint32_t epoch = 0;
  uint64_t tasks_started = 0;
  uint32_t straddling = 0;  // recorded tasks that ran when the window ended
  uint64_t tasks_ended = 0;
  uint64_t started_before = 0;  // of them, before the last reset
  uint64_t ended_before = 0;
  Account account;
  npc_schedule schedules[2];  // of task and block snapshots: 0 cube, 1 vector
  std::vector<SampleGroup> groups;
  uint64_t poll_ns = NPC_TIME_NEVER;  // when device-written rings are looked at
  uint64_t poll_interval_ns = 0;
  uint64_t polled_ns = 0;  // when they were looked at last
  uint64_t clock_event_ns = NPC_TIME_NEVER;

 private:
  Session(uint32_t device, bool stall_drain) : device_(device), stall_drain_(stall_drain) {}
  npuprof_ring_ctrl* Control(uint32_t ring) const;
  npuprof_ring_tail* Tail(uint32_t ring) const;
  Ring* AddRing(const npuprof_add_ring& config, bool stalled);

  uint32_t device_;
  bool stall_drain_;
  int poll_fd_ = -1;
  npuprof::FdIdentity poll_identity_{-1};
  std::unique_ptr<SharedArea> control_;
  std::unique_ptr<SharedArea> tails_;
  std::unique_ptr<SharedArea> data_;
  uint64_t data_bytes_ = 0;
  std::vector<std::unique_ptr<Ring>> rings_;
  npuprof_ring_tail stalled_tail_{};
  uint64_t latency_ns_ = NPC_TIME_NEVER;
  bool wake_ = false;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_SESSION_H
