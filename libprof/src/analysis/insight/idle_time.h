// SPDX-License-Identifier: Apache-2.0
// The times in which one device computes nothing, and why.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/insight/activity.h"
#include "analysis/insight/host_calls.h"
#include "analysis/insight/insight.h"

namespace npuprof::analysis {

class IdleTime {
 public:
  /// Gaps below this are what a scheduler needs between two tasks.
  static constexpr int64_t kShortNs = 1000;

  struct Span {
    int64_t begin, end;
  };

  IdleTime(const HostTrace& host, const HostCalls& calls, size_t most_gaps)
      : host_(host), calls_(calls), most_gaps_(most_gaps) {}

  /// Every task of the device, in order of start. Returns how long the device just waited for the host, 0 unless the task
  /// computes.
  int64_t Add(const TaskView& view, Activity activity);
  /// After the last task.
  void Finish(const StringPool& pool, DeviceInsight* into);
  /// How a stretch was spent; what lies outside the window of the device is left out.
  TimeSplit Split(int64_t begin, int64_t end) const;
  /// Everything that is not computing, in order and apart from each other.
  std::vector<Span> Idle() const;

 private:
  static constexpr uint8_t kBetween = kCauses;
  struct Segment {
    int64_t begin, end;
    uint8_t cause;  ///< or kBetween
  };
  struct Running {
    int64_t begin, end;
    uint16_t stream;
    Activity activity;
  };
  struct Next {
    const TaskView* view;
    uint64_t index;
  };
  struct Draft {
    Gap gap;
    uint32_t name;
  };
  using Counts = std::array<unsigned, 6>;  ///< running tasks by activity

  int64_t Close(int64_t begin, int64_t end, const TaskView* next);
  void Append(int64_t begin, int64_t end, uint8_t cause);
  void Keep(Draft draft);
  void Follow(const Gap& gap);
  void EndPhase();

  const HostTrace& host_;
  const HostCalls& calls_;
  size_t most_gaps_;
  bool any_ = false, computed_ = false;
  int64_t window_begin_ = 0, window_end_ = 0, busy_until_ = 0;
  uint64_t operators_ = 0;
  std::vector<Running> running_;  ///< that may reach into the next gap
  std::vector<Segment> segments_;
  std::vector<Draft> gaps_;
  std::array<uint64_t, kCauses> counts_{};
  std::vector<HostBoundPhase> phases_;
  HostBoundPhase phase_;
  uint64_t phase_first_ = 0, phase_last_ = 0;  ///< numbers of operators
};

}  // namespace npuprof::analysis
