// SPDX-License-Identifier: Apache-2.0
// What a run means: where the time of each device went and why. Formulas of all figures: docs/insight.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/error.h"
#include "analysis/insight/overview.h"
#include "analysis/insight/time_split.h"
#include "analysis/profile.h"

namespace npuprof::analysis {

/// What limits an operator.
enum class Bound : uint8_t { kCube, kVector, kMemory, kScalar, kLaunch, kCommunication, kUnknown };
constexpr size_t kBounds = 7;
/// "cube", "vector", "memory", "scalar", "launch", "communication", "unknown".
const char* BoundName(Bound bound);

enum class Pipe : uint8_t { kCube, kVector, kScalar, kMte1, kMte2, kMte3, kFixpipe };
constexpr size_t kPipes = 7;
const char* PipeName(Pipe pipe);

/// Times are wall clock ns; texts are plain.
struct Gap {
  int64_t begin_ns = 0, end_ns = 0;
  Cause cause = Cause::kUnknown;
  PerCause parts{};         ///< add up to the length
  std::string next;         ///< operator that ended it, empty for the last one of a device
  uint64_t next_index = 0;  ///< its number among the operators of the device, in order of start
  uint16_t stream = 0;      ///< that it ran on
  int straggler = -1;       ///< of kCollectiveWait: the device that came last, -1 if not known
};

/// A stretch in which the device again and again waited for the host.
struct HostBoundPhase {
  int64_t begin_ns = 0, end_ns = 0, idle_ns = 0;
  uint64_t operators = 0, gaps = 0;
};

/// Computing and communication at the same time. window = compute + exposed + free.
struct Overlap {
  int64_t compute_ns = 0, communication_ns = 0, exposed_ns = 0, free_ns = 0;
};

struct StepSplit {
  uint64_t index = 0, model = 0;
  int64_t begin_ns = 0, end_ns = 0;
  TimeSplit time;
};

/// Operators of one device that have name, type and kind of core in common.
struct OperatorSum {
  int device = 0;
  std::string name, type, core;
  uint64_t count = 0;
  int64_t total_ns = 0, min_ns = INT64_MAX, max_ns = 0;
  int64_t waited_ns = 0;                             ///< gaps before them that the host caused
  uint64_t counted = 0;                              ///< tasks with counters
  std::array<std::optional<double>, kPipes> busy{};  ///< busy cycles / cycles
  std::optional<double> operations;                  ///< of the cube, or of the vector unit if it was counted
  std::optional<double> bytes;                       ///< to and from main memory
  bool bytes_counted = false;                        ///< else those of the tensors
  std::optional<double> intensity;                   ///< operations per byte
  std::optional<double> rate;                        ///< operations per second while they ran
  std::optional<double> roof;                        ///< operations per second that peaks and intensity allow
  Bound bound = Bound::kUnknown;
};

/// A device among those that took part in the same collectives.
struct RankSum {
  int device = 0;
  uint64_t collectives = 0, matched = 0;  ///< matched: found on other devices too
  uint64_t last = 0;                      ///< how often it came last
  int64_t waiting_ns = 0;                 ///< time from its arrivals to those of the last
  int64_t held_up_ns = 0;                 ///< time that others so waited for it
};

struct CollectiveSum {
  int device = 0;
  std::string name;
  uint64_t count = 0;
  int64_t total_ns = 0, max_ns = 0;
};

/// Most that a device can do, by the model of its chip.
struct Peaks {
  double cube_operations = 0;    ///< per second, fp16; a multiply-accumulate is two
  double vector_operations = 0;  ///< per second, fp16
  double memory_bytes = 0;       ///< per second
};

struct DeviceInsight {
  int device = 0;
  bool simulated = false;
  uint64_t clock_error_ns = 0;
  uint64_t operators = 0, counted = 0;
  int64_t begin_ns = 0, end_ns = 0;
  TimeSplit time;
  Overlap overlap;
  Peaks peaks;
  std::array<uint64_t, kCauses> gap_counts{};
  std::vector<Gap> gaps;  ///< the longest ones (InsightOptions::most_gaps), in order of time
  std::vector<HostBoundPhase> phases;
  std::vector<StepSplit> steps;
  std::array<int64_t, kBounds> by_bound{};  ///< ns of operators, and of collectives
};

struct Insight {
  std::vector<DeviceInsight> devices;
  std::vector<OperatorSum> operators;  ///< by device, then by total, largest first
  std::vector<CollectiveSum> collectives;
  std::vector<RankSum> ranks;
  std::vector<std::string> missing;  ///< what was not collected, and what cannot be told without it
  std::vector<Warning> warnings;     ///< those of the profile among them
  std::vector<Warning> failures;     ///< of these, what is there and could not be used: parts, slices
  uint64_t broken_records = 0;
  std::optional<Overview> overview;  ///< if asked for
};

struct InsightOptions {
  size_t most_gaps = 10'000;
  bool overview = false;
  size_t most_tasks = 100'000;  ///< of an overview that are listed one by one; of more there are sums
  std::function<void(const std::string& stage, uint64_t done, uint64_t total)> progress;
};

/// Reads the records of `profile`. Memory grows with the number of tasks (about 160 bytes each), not with the size of files.
/// Throws Error.
Insight Analyse(const Profile& profile, const InsightOptions& options = {});

}  // namespace npuprof::analysis
