// SPDX-License-Identifier: Apache-2.0
// The other end of the emulated devices: tasks, totals, faults and removal, without the runtime. See
// tools/npusim/model/npusim_port.h. Threads may share it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "npusim_port.h"

namespace selftest {

class Port {
 public:
  /// Opens NPUSIM_PORT; one at a time can. Failures end the program: nothing can be tested without.
  Port();
  ~Port();
  Port(const Port&) = delete;

  npusim_totals Totals(uint32_t device = 0);
  npusim_port_stats Stats(uint32_t device = 0);
  npusim_port_info Info(uint32_t device = 0);
  /// Nanoseconds of the clock that npusim_task.ready_ns is on.
  uint64_t Now();
  uint64_t EventTotal(uint32_t kind, uint32_t event, uint32_t device = 0);
  /// What the device made for a ring of @p channel; @p core counts matrix cores first.
  npusim_record_counts Records(uint32_t channel, uint32_t core = NPUSIM_NO_CORE, uint32_t device = 0);
  /// @return 0 or a negative errno
  int Remove(uint32_t device = 0);
  int Insert(uint32_t device = 0);
  int Fault(npusim_port_fault_kind kind, uint64_t value, uint32_t device = 0);

  /// Queues @p count kernels of matrix cores on @p stream, nobody is told of their ends.
  void Submit(uint64_t count, uint64_t cycles = 1800, uint32_t blocks = 4, uint16_t stream = 1,
              uint32_t device = 0);
  void Submit(const npusim_task& task, uint32_t device = 0);
  /// The same kernels, one every @p interval_ns from @p begin_ns on.
  void SubmitSpread(uint64_t count, uint64_t begin_ns, uint64_t interval_ns, uint64_t cycles = 1800,
                    uint32_t blocks = 4, uint16_t stream = 1, uint32_t device = 0);
  /// One task that runs so long; matrix cores have a bound of some seconds, AI CPUs have none that matters.
  void SubmitLong(uint64_t milliseconds, uint32_t device = 0);
  /// Until the device has ended (or aborted) all that it took. False after a minute.
  bool Drain(uint32_t device = 0);
  bool WaitStarted(uint64_t started, uint32_t device = 0);

 private:
  void Send(const void* message, size_t size);
  npusim_port_header* Receive();
  template <class Reply>
  int Ask(npusim_port_header* request, Reply* reply);
  int Command(uint16_t type, uint32_t device);

  std::mutex mutex_;
  int fd_ = -1;
  uint32_t sequence_ = 0;
  uint16_t next_task_ = 0;
  alignas(8) unsigned char message_[NPUSIM_PORT_MAX_SIZE] = {};
};

}  // namespace selftest
