// SPDX-License-Identifier: Apache-2.0
// What a device recorded: tasks with start and end, their counters, marks, wraps of task ids.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/export.h"
#include "analysis/host_trace.h"
#include "analysis/slices.h"
#include "analysis/spill.h"

namespace npuprof::analysis {

struct DeviceTask {
  static constexpr uint64_t kNoPmu = UINT64_MAX;
  uint64_t start = 0, end = 0;  ///< device ticks
  uint64_t pmu = kNoPmu;        ///< position of its counter record
  uint32_t track = 0;           ///< index + 1 into the host's tracks, 0 = not tracked
  uint32_t side = 0;            ///< index of side_sums(), 0 = none
  uint16_t stream = 0, task = 0, batch = 0;
  uint16_t context = 0;  ///< sub-tasks: context id
  uint8_t sqe = 0;       ///< scheduler's task type
  bool is_subtask = false;
  bool is_whole = false;  ///< of a task that is shown by its parts, and kept beside them
};
static_assert(sizeof(DeviceTask) == 48, "one per task of the run");

/// Counters of the blocks that ran on the other kind of core of a mixed task.
struct SideSum {
  uint64_t cycles = 0;
  std::array<uint64_t, 8> counters{};
  uint32_t blocks = 0;
};

struct StepMark {
  uint64_t time = 0;  ///< device ticks
  uint64_t index = 0, model = 0;
  uint16_t stream = 0, tag = 0, task = 0;
};

enum class CoreSide : uint8_t { kCube, kVector };

/// One counter record of a task.
struct TaskPmu {
  CoreSide side = CoreSide::kCube;  ///< kind of core that counted
  bool mixed = false;
  uint64_t cycles = 0;
  std::array<uint64_t, 8> counters{};
  uint64_t start = 0, end = 0;
};

class DeviceTrace {
 public:
  DeviceTrace(int device, const SliceIndex& index, SpillSpace* space, Diagnostics* diagnostics);

  /// Marks and wraps; cheap, and needed before the host's batches can be assigned.
  void LoadMarks(const std::function<void(uint64_t)>& progress);
  /// Tasks and, if asked for, the places of their counters; sampled counters have another layout.
  void LoadTasks(bool with_counters, const std::function<void(uint64_t)>& progress);
  /// Ties tasks to the host's tracks; of a fused task either the task or its sub-tasks stay, or with `keep_wholes` both.
  void Join(const HostTrace& host, const class DeviceClock& clock, bool keep_wholes = false);
  /// Orders tasks by start for the exporters.
  void SortByStart();

  const SpillVector<DeviceTask>& tasks() const { return tasks_; }
  const SideSum& side_sum(uint32_t id) const {
    space_->Tick();
    return side_sums_[id];
  }
  const std::vector<StepMark>& marks() const { return marks_; }
  const Flips& flips() const { return flips_; }
  /// Core frequency in MHz valid at a tick; 0 if none was recorded.
  double FrequencyAt(uint64_t ticks) const;
  DeviceCounts& counts() { return counts_; }
  const Slices& pmu_slices() const { return index_.Get(Base("ffts_profile")); }
  /// Decodes a counter record (128 bytes).
  static TaskPmu DecodePmu(const uint8_t* record);

 private:
  struct Ids {
    uint16_t stream, task;
  };
  std::string Base(const char* kind) const;
  Ids Resolve(uint16_t stream, uint16_t task, unsigned sqe) const;
  void LoadTaskLog(const std::function<void(uint64_t)>& progress);
  void LoadPmu(const std::function<void(uint64_t)>& progress);
  void LoadFrequencies(const std::function<void(uint64_t)>& progress);
  void ReadExpansion();
  DeviceTask* Match(const Ids& ids, bool is_subtask, uint16_t context, uint64_t start, uint64_t end);

  int device_;
  const SliceIndex& index_;
  SpillSpace* space_;
  Diagnostics* diagnostics_;
  bool expanded_streams_ = false;
  SpillVector<DeviceTask> tasks_;
  SpillVector<SideSum> side_sums_;
  std::vector<StepMark> marks_;
  Flips flips_;
  std::vector<std::pair<uint64_t, uint32_t>> frequencies_;  // tick, MHz
  DeviceCounts counts_;
};

}  // namespace npuprof::analysis
