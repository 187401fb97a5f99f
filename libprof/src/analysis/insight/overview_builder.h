// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/clock.h"
#include "analysis/diagnostics.h"
#include "analysis/insight/overview.h"
#include "analysis/profile.h"
#include "analysis/slices.h"
#include "analysis/string_pool.h"
#include "analysis/task_view.h"

namespace npuprof::analysis {

/// Gathers what an overview has, one device after the other. Memory: the tasks that are listed, and the sums of a device by bin.
class OverviewBuilder {
 public:
  /// The least operators of a bin beyond kMostOfBin are one, "(others)".
  static constexpr size_t kBins = 600, kMostOfBin = 40;

  OverviewBuilder(size_t most_tasks, const StringPool& pool) : most_tasks_(most_tasks), pool_(pool) {}

  void BeginDevice(int device, int64_t begin_ns, int64_t end_ns);
  /// Operators in order of start.
  void Add(const TaskView& view);
  DeviceOverview& device() { return out_.devices.back(); }
  void EndDevice();
  Overview Finish();

 private:
  static constexpr uint32_t kOthers =
      UINT32_MAX;  // until Finish() names are numbers of the pool; none has this one

  size_t most_tasks_;
  const StringPool& pool_;
  Overview out_;
  size_t tasks_ = 0;
  std::vector<std::unordered_map<uint32_t, BinOperator>> bins_;
};

/// From the records of blocks of a device (of mixed kernels), or from its samples of cores. Broken records are reported.
CoreLoads ReadCoreLoads(const DeviceInfo& info, const Slices& slices, const Profile& profile, size_t place,
                        int64_t begin_ns, int64_t end_ns, Diagnostics* diagnostics);
/// From hbm.data. What a sample counted is spread over the time since the one before it; at most kMostPoints stretches of
/// equal length.
constexpr size_t kMostPoints = 1000;
Bandwidth ReadBandwidth(const Slices& slices, const Profile& profile, size_t place, Diagnostics* diagnostics);

}  // namespace npuprof::analysis
