// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "device/device_file.h"
#include "npuprof.h"
#include "npuprof_records.h"

namespace npuprof::device {

/// A device in the memory of the test, which plays the producer. Shared, so that the test can go on with it
/// after handing it to a session.
struct FakeDevice {
  npuprof_query query = {};
  std::vector<npuprof_ring_ctrl> control;
  std::vector<npuprof_ring_tail> tails;
  std::vector<char> data;
  std::map<unsigned long, int> refuse;  // request -> errno
  std::vector<npuprof_clock> clocks;    // answers to CLOCK, the last one repeats
  size_t clock_calls = 0;
  npuprof_control last_stop = {};
  int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

  FakeDevice() {
    query.abi_major = NPUPROF_ABI_MAJOR;
    query.record_formats = NPUPROF_RECORDS_VERSION;
    query.channels = 0xffe;
    query.clock_hz = 50'000'000;
    query.max_data_bytes = 1 << 26;
    query.device_flags = NPUPROF_DEVICE_SIMULATED;
    Grow(NPUPROF_CHANNEL_EVENTS, 16, sizeof(npuprof_rec_event), 0xffff, 0);
  }
  ~FakeDevice() { close(wake); }

  void Grow(uint32_t channel, uint32_t slots, uint32_t size, uint16_t core, uint16_t kind) {
    npuprof_ring_ctrl entry = {};
    entry.channel = channel;
    entry.slots = slots;
    entry.record_size = size;
    entry.data_offset = data.size();
    entry.core = core;
    entry.core_kind = kind;
    control.push_back(entry);
    tails.emplace_back();
    data.resize((data.size() + size_t{slots} * size + 4095) / 4096 * 4096);
  }

  /// Publishes a record as a correct producer does. @return false and counts if the ring is full
  bool Put(unsigned ring, const void* record) {
    npuprof_ring_ctrl& entry = control[ring];
    const uint64_t tail = __atomic_load_n(&tails[ring].tail, __ATOMIC_ACQUIRE);
    if (entry.head - tail >= entry.slots) {
      ++entry.lost_records;
      ++entry.lost_by_cause[NPUPROF_LOSS_RING_FULL];
      return false;
    }
    std::memcpy(data.data() + entry.data_offset + (entry.head & (entry.slots - 1)) * entry.record_size,
                record, entry.record_size);
    __atomic_store_n(&entry.head, entry.head + 1, __ATOMIC_RELEASE);
    return true;
  }
};

class FakeFile final : public DeviceFile {
 public:
  explicit FakeFile(std::shared_ptr<FakeDevice> device) : device_(std::move(device)) {}

  int Ioctl(unsigned long request, void* argument) override {
    if (device_->refuse.count(request) != 0) return -device_->refuse[request];
    if (request == NPUPROF_IOC_QUERY) {
      const uint32_t size = static_cast<npuprof_query*>(argument)->size;
      *static_cast<npuprof_query*>(argument) = device_->query;
      static_cast<npuprof_query*>(argument)->size = size;
    } else if (request == NPUPROF_IOC_ADD_RING) {
      auto& ring = *static_cast<npuprof_add_ring*>(argument);
      const uint32_t sizes[NPUPROF_CHANNEL_COUNT] = {64, 64, 128, 40, 128, 96, 32, 32,
                                                     32, 32, 32,  64, 32,  32, 80};
      ring.ring = static_cast<uint32_t>(device_->control.size());
      ring.record_size = sizes[ring.channel];
      device_->Grow(ring.channel, ring.slots, ring.record_size, ring.core, ring.core_kind);
      ring.data_offset = device_->control.back().data_offset;
    } else if (request == NPUPROF_IOC_CLOCK) {
      auto& clocks = device_->clocks;
      if (clocks.empty()) clocks.push_back({});
      *static_cast<npuprof_clock*>(argument) = clocks[std::min(device_->clock_calls++, clocks.size() - 1)];
    } else if (request == NPUPROF_IOC_STOP) {
      device_->last_stop = *static_cast<npuprof_control*>(argument);
    }
    return 0;
  }
  int Map(uint64_t area, size_t, void** address) override {
    *address = area == NPUPROF_MMAP_CONTROL ? static_cast<void*>(device_->control.data())
               : area == NPUPROF_MMAP_TAILS ? static_cast<void*>(device_->tails.data())
                                            : static_cast<void*>(device_->data.data());
    return 0;
  }
  int PollFd() const override { return device_->wake; }
  void ClearWake() override {
    uint64_t value;
    if (read(device_->wake, &value, sizeof value) < 0) return;
  }
  Backend backend() const override { return Backend::kSim; }
  std::string version() const override { return "fake 1"; }
  std::string description() const override { return "fake NPU"; }

 private:
  std::shared_ptr<FakeDevice> device_;
};

}  // namespace npuprof::device
