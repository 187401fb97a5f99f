// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "profiling/aprof_pub.h"
#include "session/record_tap.h"

namespace npuprof {

/// Makes operators out of records while they pass: what the host told of a launch, and when the device ran it. One thread
/// at a time.
///
/// The host tells of a launch in pieces, in this order on its thread: the task (device, stream, number), the span of the
/// launch (name), the operator (type), and at last the span of the model's execution, in which all of them lie. The device
/// tells of the task in its own time. Numbers of tasks come again, but in the order of launches: the first launch that
/// waits belongs to the first run that waits. Either side may have lost records. A run that began before its launch did is
/// of an earlier one that nobody told; and once a task of a stream was met, launches before it in that stream are of runs
/// that were lost.
class OpJoiner final : public RecordTap {
 public:
  struct Operator {
    uint32_t model = 0, device = 0, thread = 0;
    uint64_t name = 0, type = 0;  ///< numbers of the dictionary; type 0: not told
    uint64_t start = 0, end = 0;  ///< device clock
    uint64_t clock_hz = 0;        ///< of the device
  };
  /// @p emit gets operators of models, from whoever brings the record that completes them.
  explicit OpJoiner(std::function<void(const Operator&)> emit) : emit_(std::move(emit)) {}

  void Host(const host::Entry& entry) override;
  void Device(const DeviceRecords& records) override;

 private:
  struct Key {
    uint32_t device;
    uint16_t stream, task;
    auto operator<=>(const Key&) const = default;
  };
  struct Launch {
    Key key{};
    uint64_t time = 0;   ///< host cycles
    uint64_t begin = 0;  ///< of the call that launched it; 0: not told
    uint32_t thread = 0, model = 0;
    uint64_t name = 0, type = 0;
    enum { kOpen, kOfModel, kOfNone } state = kOpen;
  };
  struct Run {
    uint64_t start = 0, end = 0, clock_hz = 0;
    uint64_t host_start = 0;  ///< on the host's clock; 0: unknown
    bool ended = false;
  };
  struct Task {
    std::deque<std::shared_ptr<Launch>> launches;
    std::deque<Run> runs;
  };
  using Tasks = std::map<Key, Task>;
  using Pending = std::deque<std::shared_ptr<Launch>>;

  void Track(const MsprofCompactInfo& record);
  void Name(const MsprofApi& launch);
  void Describe(const MsprofCompactInfo& record);
  void Close(const MsprofApi& execution);
  void Settle(Launch* launch, bool of_model, uint32_t model);
  void Match(const Key& key);
  void DropLaunchesBefore(Tasks::iterator met);

  const std::function<void(const Operator&)> emit_;
  Tasks tasks_;
  std::unordered_map<uint32_t, Pending>
      threads_;  ///< launches of which nobody knows yet whether they are a model's
};

}  // namespace npuprof
