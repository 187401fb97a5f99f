// SPDX-License-Identifier: Apache-2.0
// A profiler as short as it can be, over npusim_dev_*, and tasks to profile.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "host/host_testing.h"
#include "model/npusim_model.h"
#include "npuprof.h"
#include "npuprof_records.h"
#include "npusim/npusim_device.h"

inline constexpr uint64_t kSecond = 1'000'000'000;

inline npuprof_add_ring DeviceRing(uint32_t channel, uint32_t slots, uint32_t flags = 0) {
  npuprof_add_ring add{};
  add.size = sizeof add;
  add.channel = channel;
  add.core = 0xffff;
  add.slots = slots;
  add.flags = flags;
  return add;
}

inline npuprof_add_ring PmuRing(uint32_t slots, uint32_t flags = 0) {
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_PMU, slots, flags);
  const uint16_t events[8] = {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55};
  std::memcpy(add.cube_events, events, sizeof events);
  add.cube_event_count = 8;
  add.vector_events[0] = 0x8;
  add.vector_events[1] = 0x9;
  add.vector_event_count = 2;
  return add;
}

inline npuprof_add_ring SampleRing(uint16_t kind, uint16_t core, uint64_t period_ns, uint32_t slots,
                                   std::vector<uint16_t> events, uint32_t flags = 0) {
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_CORE_SAMPLE, slots, flags);
  add.core = core;
  add.core_kind = kind;
  add.period_ns = period_ns;
  auto* list = kind == NPUPROF_CORE_CUBE ? add.cube_events : add.vector_events;
  std::copy(events.begin(), events.end(), list);
  (kind == NPUPROF_CORE_CUBE ? add.cube_event_count : add.vector_event_count) =
      static_cast<uint8_t>(events.size());
  return add;
}

inline npusim_task CubeTask(uint16_t stream, uint16_t id, uint64_t cycles = 1800, uint32_t blocks = 4) {
  npusim_task task{};
  task.stream = stream;
  task.task_id = id;
  task.kind = NPUSIM_TASK_CUBE;
  task.block_dim = blocks;
  task.cycles = cycles;
  task.work.macs_fp16 = 4096;
  task.work.read_bytes = 1024;
  task.work.write_bytes = 512;
  task.peer = NPUSIM_LOCAL;
  return task;
}

/** An open session. Every call is checked where a test does not say otherwise. */
class Profiler {
 public:
  explicit Profiler(uint32_t device = 0) : handle_(npusim_dev_open(device)) { EXPECT_GE(handle_, 0); }
  ~Profiler() { Close(); }
  Profiler(const Profiler&) = delete;

  int handle() const { return handle_; }
  int Close() {
    if (handle_ < 0) return -EBADF;
    const int result = npusim_dev_close(handle_);
    handle_ = -1;
    return result;
  }

  template <class T>
  int Call(unsigned long request, T* arg) {
    arg->size = sizeof(T);
    return npusim_dev_ioctl(handle_, request, arg);
  }

  npuprof_query Query() {
    npuprof_query query{};
    EXPECT_EQ(Call(NPUPROF_IOC_QUERY, &query), 0);
    return query;
  }
  int Add(npuprof_add_ring add) {
    const int error = Call(NPUPROF_IOC_ADD_RING, &add);
    if (error != 0) return error;
    rings_.push_back(add);
    return static_cast<int>(add.ring);
  }
  void Map() {
    size_t data = 1024 * sizeof(npuprof_rec_event);
    for (const npuprof_add_ring& ring : rings_)
      data = std::max<size_t>(data, ring.data_offset + size_t{ring.slots} * ring.record_size);
    const size_t count = rings_.size() + 1;
    void* address = nullptr;
    ASSERT_EQ(npusim_dev_mmap(handle_, NPUPROF_MMAP_CONTROL, count * sizeof(npuprof_ring_ctrl), &address), 0);
    control_ = static_cast<const npuprof_ring_ctrl*>(address);
    ASSERT_EQ(npusim_dev_mmap(handle_, NPUPROF_MMAP_TAILS, count * sizeof(npuprof_ring_tail), &address), 0);
    tails_ = static_cast<npuprof_ring_tail*>(address);
    ASSERT_EQ(npusim_dev_mmap(handle_, NPUPROF_MMAP_DATA, data, &address), 0);
    data_ = static_cast<const char*>(address);
  }
  npuprof_control Start() {
    Map();
    npuprof_control control{};
    EXPECT_EQ(Call(NPUPROF_IOC_START, &control), 0);
    return control;
  }
  npuprof_control Stop(uint64_t timeout_ns = 20 * kSecond) {
    npuprof_control control{};
    control.flags = NPUPROF_STOP_WAIT;
    control.timeout_ns = timeout_ns;
    EXPECT_EQ(Call(NPUPROF_IOC_STOP, &control), 0);
    return control;
  }
  npuprof_stats Stats() {
    npuprof_stats stats{};
    EXPECT_EQ(Call(NPUPROF_IOC_STATS, &stats), 0);
    return stats;
  }

  const npuprof_ring_ctrl& Control(int ring) const { return control_[ring]; }
  npuprof_ring_tail& Tail(int ring) { return tails_[ring]; }
  uint64_t Head(int ring) const { return __atomic_load_n(&control_[ring].head, __ATOMIC_ACQUIRE); }

  /** Takes all records that wait. */
  template <class T>
  std::vector<T> Read(int ring) {
    const npuprof_ring_ctrl& control = control_[ring];
    EXPECT_EQ(control.record_size, sizeof(T));
    std::vector<T> records;
    const uint64_t head = Head(ring);
    for (uint64_t tail = tails_[ring].tail; tail != head; ++tail) {
      T record;
      std::memcpy(&record, data_ + control.data_offset + (tail & (control.slots - 1)) * sizeof(T),
                  sizeof record);
      records.push_back(record);
    }
    __atomic_store_n(&tails_[ring].tail, head, __ATOMIC_RELEASE);
    return records;
  }

  /** Records missing according to the event ring, by ring. Takes the events. */
  std::map<uint32_t, uint64_t> Gaps() {
    std::map<uint32_t, uint64_t> gaps;
    for (const npuprof_rec_event& event : Read<npuprof_rec_event>(0)) {
      if (event.kind == NPUPROF_EVENT_GAP) gaps[event.ring] += event.count;
    }
    return gaps;
  }

  bool WaitReadable(int timeout_ms) {
    pollfd fd{npusim_dev_poll_fd(handle_), POLLIN, 0};
    return poll(&fd, 1, timeout_ms) == 1;
  }
  uint64_t ClearWakeups() {
    uint64_t count = 0;
    return read(npusim_dev_poll_fd(handle_), &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int handle_;
  std::vector<npuprof_add_ring> rings_;
  const npuprof_ring_ctrl* control_ = nullptr;
  npuprof_ring_tail* tails_ = nullptr;
  const char* data_ = nullptr;
};

inline void RunTasks(npusim::Host& host, uint64_t count, uint32_t device = 0, uint64_t cycles = 1800) {
  npusim::TaskCounter done;
  for (uint64_t k = 0; k < count; ++k)
    ASSERT_EQ(host.Submit(device, CubeTask(1, static_cast<uint16_t>(k), cycles), &done), 0);
  ASSERT_TRUE(done.WaitFor(count, 60 * kSecond)) << done.ended() << " of " << count;
}

inline npusim_totals Totals(npusim::Host& host, uint32_t device = 0) {
  npusim_totals totals{};
  EXPECT_EQ(host.Totals(device, &totals), 0);
  return totals;
}
