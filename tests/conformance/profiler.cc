// SPDX-License-Identifier: Apache-2.0
#include "profiler.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace conformance {

npuprof_add_ring DeviceRing(uint32_t channel, uint32_t slots, uint32_t flags) {
  npuprof_add_ring add{};
  add.size = sizeof add;
  add.channel = channel;
  add.core = 0xffff;
  add.slots = slots;
  add.flags = flags;
  return add;
}

npuprof_add_ring PmuRing(uint32_t slots, uint32_t flags) {
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_PMU, slots, flags);
  const uint16_t events[8] = {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55};
  std::copy(std::begin(events), std::end(events), add.cube_events);
  add.cube_event_count = 8;
  add.vector_events[0] = 0x8;
  add.vector_events[1] = 0x9;
  add.vector_event_count = 2;
  return add;
}

npuprof_add_ring BlockRing(uint16_t kind, uint16_t core, uint32_t slots, uint32_t flags) {
  npuprof_add_ring add = PmuRing(slots, flags);
  add.channel = NPUPROF_CHANNEL_BLOCK_PMU;
  add.core_kind = kind;
  add.core = core;
  if (kind == NPUPROF_CORE_CUBE) {
    add.vector_event_count = 0;
    std::fill(std::begin(add.vector_events), std::end(add.vector_events), uint16_t{0});
  } else {
    add.cube_event_count = 0;
    std::fill(std::begin(add.cube_events), std::end(add.cube_events), uint16_t{0});
  }
  return add;
}

npuprof_add_ring SampleRing(uint16_t kind, uint16_t core, uint64_t period_ns, uint32_t slots,
                            const std::vector<uint16_t>& events, uint32_t flags) {
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_CORE_SAMPLE, slots, flags);
  add.core = core;
  add.core_kind = kind;
  add.period_ns = period_ns;
  const bool cube = kind == NPUPROF_CORE_CUBE;
  std::copy(events.begin(), events.end(), cube ? add.cube_events : add.vector_events);
  (cube ? add.cube_event_count : add.vector_event_count) = static_cast<uint8_t>(events.size());
  return add;
}

npuprof_add_ring UnitRing(uint32_t channel, uint64_t period_ns, uint32_t slots, uint32_t flags) {
  npuprof_add_ring add = DeviceRing(channel, slots, flags);
  add.period_ns = period_ns;
  return add;
}

std::string PathName(const testing::TestParamInfo<uint32_t>& path) {
  return path.param == NPUPROF_RING_REGISTER_PATH ? "Registers" : "DeviceWritten";
}

Profiler::Profiler(uint32_t device) : handle_(Backend::Get().Open(device)) {
  EXPECT_GE(handle_, 0) << std::strerror(-handle_);
}

int Profiler::Close() {
  if (handle_ < 0) return -EBADF;
  for (const auto& [address, length] : maps_) Backend::Get().Unmap(address, length);
  maps_.clear();
  control_ = nullptr;
  tails_ = nullptr;
  data_ = nullptr;
  return Backend::Get().Close(std::exchange(handle_, -1));
}

npuprof_query Profiler::Query() {
  npuprof_query query{};
  EXPECT_EQ(Call(NPUPROF_IOC_QUERY, &query), 0);
  return query;
}

int Profiler::Add(npuprof_add_ring add) {
  const int error = Call(NPUPROF_IOC_ADD_RING, &add);
  if (error != 0) return error;
  rings_.push_back(add);
  return static_cast<int>(add.ring);
}

void Profiler::Map() {
  const auto area = [&](uint64_t offset, size_t bytes, int protection) {
    const size_t length = (bytes + kPage - 1) / kPage * kPage;
    void* address = nullptr;
    EXPECT_EQ(Backend::Get().Map(handle_, offset, length, protection, &address), 0)
        << std::hex << offset << " " << length;
    maps_.emplace_back(address, length);
    return address;
  };
  const size_t count = rings_.size() + 1;
  control_ = static_cast<const npuprof_ring_ctrl*>(
      area(NPUPROF_MMAP_CONTROL, count * sizeof(npuprof_ring_ctrl), PROT_READ));
  tails_ = static_cast<npuprof_ring_tail*>(
      area(NPUPROF_MMAP_TAILS, count * sizeof(npuprof_ring_tail), PROT_READ | PROT_WRITE));
  ASSERT_NE(control_, nullptr);
  ASSERT_NE(tails_, nullptr);
  size_t data = size_t{control_[0].slots} * control_[0].record_size;
  for (const npuprof_add_ring& ring : rings_)
    data = std::max<size_t>(data, ring.data_offset + size_t{ring.slots} * ring.record_size);
  data_ = static_cast<const char*>(area(NPUPROF_MMAP_DATA, data, PROT_READ));
  ASSERT_NE(data_, nullptr);
}

npuprof_control Profiler::Start() {
  if (control_ == nullptr) Map();
  npuprof_control control{};
  EXPECT_EQ(Call(NPUPROF_IOC_START, &control), 0);
  return control;
}

npuprof_control Profiler::Stop(uint64_t timeout_ns) {
  npuprof_control control{};
  control.flags = NPUPROF_STOP_WAIT;
  control.timeout_ns = timeout_ns;
  EXPECT_EQ(Call(NPUPROF_IOC_STOP, &control), 0);
  return control;
}

npuprof_stats Profiler::Stats() {
  npuprof_stats stats{};
  EXPECT_EQ(Call(NPUPROF_IOC_STATS, &stats), 0);
  return stats;
}

std::map<uint32_t, uint64_t> Profiler::Gaps() {
  std::map<uint32_t, uint64_t> gaps;
  for (const npuprof_rec_event& event : Read<npuprof_rec_event>(0)) {
    if (event.kind == NPUPROF_EVENT_GAP) gaps[event.ring] += event.count;
  }
  return gaps;
}

bool Profiler::WaitReadable(int timeout_ms) {
  pollfd fd{Backend::Get().PollFd(handle_), POLLIN, 0};
  return poll(&fd, 1, timeout_ms) == 1 && (fd.revents & POLLIN) != 0;
}

}  // namespace conformance
