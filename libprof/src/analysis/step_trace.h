// SPDX-License-Identifier: Apache-2.0
// Training steps out of the marks of ts_track.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/clock.h"
#include "analysis/device_trace.h"
#include "analysis/text.h"

namespace npuprof::analysis {

/// Times are wall clock ns. What was not marked is absent.
struct Step {
  struct Span {
    int64_t begin, end;
  };
  uint64_t index = 0, model = 0;
  std::optional<int64_t> begin;  ///< start of the step, or end of the one before it
  std::optional<int64_t> forward_begin, backward_end;
  int64_t end = 0;
  std::optional<int64_t> data_bound;  ///< ns from the end of the step before to forward_begin
  std::vector<Span> reduces, next_batches;
};

/// Steps of one device by model and index. Steps without an end are left out.
std::vector<Step> BuildSteps(const std::vector<StepMark>& marks, const DeviceClock& clock);

/// Writes step_trace of all devices. Returns the rows; without any, no file is written.
uint64_t WriteStepTrace(const TablePlace& place, const std::map<int, std::vector<Step>>& steps);

}  // namespace npuprof::analysis
