// SPDX-License-Identifier: Apache-2.0
// What plots need beside the figures: how the time was spent bin by bin, tasks or their sums, loads of cores, bandwidths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/insight/time_split.h"

namespace npuprof::analysis {

struct TaskBar {
  int64_t begin_ns = 0, length_ns = 0;
  uint32_t name = 0;  ///< index of Overview::names
  uint16_t stream = 0;
};

struct BinOperator {
  uint32_t name = 0;  ///< index of Overview::names
  uint64_t count = 0;
  int64_t total_ns = 0;
};

/// Busy shares of cores, bin by bin, as records of blocks or samples of cores tell.
struct CoreLoads {
  std::vector<std::string> labels;        ///< "cube 0", ...
  std::vector<std::vector<double>> rows;  ///< by core, then by bin
};

/// Of main memory, all channels together, in stretches of equal length from begin to end; MB/s as the table hbm has it.
struct Bandwidth {
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<double> read, write;
};

struct DeviceOverview {
  int device = 0;
  int64_t begin_ns = 0, end_ns = 0;
  std::vector<TimeSplit> bins;  ///< of equal length
  std::vector<TaskBar> tasks;   ///< operators in order of start; empty if aggregated
  std::vector<std::vector<BinOperator>>
      bin_operators;  ///< by the bin in which they started; only if aggregated
  CoreLoads cores;
  Bandwidth bandwidth;
};

struct Overview {
  std::vector<DeviceOverview> devices;
  std::vector<std::string> names;
  bool aggregated = false;  ///< too many operators to list each
};

}  // namespace npuprof::analysis
