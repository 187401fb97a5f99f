// SPDX-License-Identifier: Apache-2.0
// What the counters of a task say about the work that was done, by the chip's table of metrics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/device_trace.h"
#include "analysis/insight/insight.h"

namespace npuprof::analysis {

/// Sums over tasks of one kind of core.
struct PipeWork {
  double cycles = 0;
  std::array<double, kPipes> busy{};  ///< cycles in which the pipe worked
  double operations = 0;
  double bytes = 0;
};

/// Of one device; what its counters do not allow stays zero and is told by the has_ functions.
class Pipes {
 public:
  explicit Pipes(const DeviceInfo& device);
  void Add(CoreSide side, uint64_t cycles, const std::array<uint64_t, 8>& counters, PipeWork* into) const;
  bool has(CoreSide side, Pipe pipe) const { return !At(side).busy[static_cast<size_t>(pipe)].empty(); }
  bool has_operations(CoreSide side) const { return !At(side).operations.empty(); }
  bool has_bytes(CoreSide side) const { return !At(side).bytes.empty(); }

 private:
  struct Term {
    size_t counter;
    double factor;
  };
  using Terms = std::vector<Term>;
  struct Side {
    std::array<Terms, kPipes> busy;
    Terms operations, bytes;
  };
  const Side& At(CoreSide side) const { return sides_[side == CoreSide::kCube ? 0 : 1]; }

  std::array<Side, 2> sides_;
};

Peaks PeaksOf(const DeviceInfo& device);

}  // namespace npuprof::analysis
