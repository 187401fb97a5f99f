// SPDX-License-Identifier: Apache-2.0
// A profiler as short as it can be, over either backend.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "backend.h"
#include "npuprof.h"
#include "npuprof_records.h"

namespace conformance {

inline constexpr uint64_t kMs = 1'000'000;
inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kPage = 4096;

npuprof_add_ring DeviceRing(uint32_t channel, uint32_t slots, uint32_t flags = 0);
/// Eight events of matrix cores, two of vector cores.
npuprof_add_ring PmuRing(uint32_t slots, uint32_t flags = 0);
npuprof_add_ring BlockRing(uint16_t kind, uint16_t core, uint32_t slots, uint32_t flags = 0);
npuprof_add_ring SampleRing(uint16_t kind, uint16_t core, uint64_t period_ns, uint32_t slots,
                            const std::vector<uint16_t>& events, uint32_t flags = 0);
npuprof_add_ring UnitRing(uint32_t channel, uint64_t period_ns, uint32_t slots, uint32_t flags = 0);

/// An open session. Every call is checked where a test does not say otherwise.
class Profiler {
 public:
  explicit Profiler(uint32_t device = 0);
  ~Profiler() { Close(); }
  Profiler(const Profiler&) = delete;

  int handle() const { return handle_; }
  int Close();

  /// Fills in the size. @return 0 or a negative errno
  template <class T>
  int Call(unsigned long request, T* argument) {
    argument->size = sizeof(T);
    return Backend::Get().Ioctl(handle_, request, argument);
  }
  /// START, STOP, FREEZE or FLUSH without more.
  int Control(unsigned long request) {
    npuprof_control control{};
    return Call(request, &control);
  }
  npuprof_query Query();
  /// @return the ring's number or a negative errno
  int Add(npuprof_add_ring add);
  /// Maps the three areas.
  void Map();
  npuprof_control Start();
  npuprof_control Stop(uint64_t timeout_ns = 60 * kSecond);
  npuprof_stats Stats();
  void Flush() { ASSERT_EQ(Control(NPUPROF_IOC_FLUSH), 0); }

  const npuprof_ring_ctrl& Ctrl(int ring) const { return control_[ring]; }
  uint64_t Head(int ring) const { return __atomic_load_n(&control_[ring].head, __ATOMIC_ACQUIRE); }
  uint64_t Lost(int ring) const { return __atomic_load_n(&control_[ring].lost_records, __ATOMIC_ACQUIRE); }
  uint64_t Tail(int ring) const { return __atomic_load_n(&tails_[ring].tail, __ATOMIC_RELAXED); }
  void SetTail(int ring, uint64_t tail) { __atomic_store_n(&tails_[ring].tail, tail, __ATOMIC_RELEASE); }

  /// Takes all records that wait.
  template <class T>
  std::vector<T> Read(int ring) {
    const npuprof_ring_ctrl& ctrl = control_[ring];
    EXPECT_EQ(ctrl.record_size, sizeof(T));
    std::vector<T> records;
    const uint64_t head = Head(ring);
    for (uint64_t tail = Tail(ring); tail != head; ++tail) {
      T record;
      std::memcpy(&record, data_ + ctrl.data_offset + (tail & (ctrl.slots - 1)) * sizeof(T), sizeof record);
      records.push_back(record);
    }
    SetTail(ring, head);
    return records;
  }
  /// Records missing according to the event ring, by ring. Takes the events.
  std::map<uint32_t, uint64_t> Gaps();

  bool WaitReadable(int timeout_ms);
  void ClearReady() { Backend::Get().ClearReady(handle_); }

 private:
  int handle_;
  std::vector<npuprof_add_ring> rings_;
  std::vector<std::pair<void*, size_t>> maps_;
  const npuprof_ring_ctrl* control_ = nullptr;
  npuprof_ring_tail* tails_ = nullptr;
  const char* data_ = nullptr;
};

/// Both ways of building records, for tests that hold on each.
struct OnBothPaths : testing::TestWithParam<uint32_t> {
  uint32_t path() const { return GetParam(); }
};
std::string PathName(const testing::TestParamInfo<uint32_t>& path);
#define ON_BOTH_PATHS(suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(                                                                      \
      Paths, suite,                                                                              \
      testing::Values(uint32_t{NPUPROF_RING_REGISTER_PATH}, uint32_t{NPUPROF_RING_DEVICE_PATH}), \
      conformance::PathName)

}  // namespace conformance
