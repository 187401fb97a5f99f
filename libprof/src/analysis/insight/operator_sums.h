// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/insight/insight.h"
#include "analysis/insight/pipes.h"
#include "analysis/task_view.h"

namespace npuprof::analysis {

/// Sums the operators of one device up by name, type and kind of core, and judges them.
class OperatorSums {
 public:
  OperatorSums(const DeviceInfo& device, const StringPool& pool)
      : device_(device), pool_(pool), pipes_(device), peaks_(PeaksOf(device)) {}

  /// `pmu` is null without counters; `waited_ns` is how long the device waited for the host before.
  void Add(const TaskView& view, const TaskPmu* pmu, const SideSum& side, int64_t waited_ns);
  /// The longest first; adds to `by_bound` what each kind took.
  std::vector<OperatorSum> Finish(std::array<int64_t, kBounds>* by_bound);
  uint64_t counted() const { return counted_; }

 private:
  struct Sum {
    OperatorSum out;
    int64_t counted_ns = 0;
    std::array<PipeWork, 2> work;  ///< cube, vector
    double tensor_bytes = 0;
  };
  double TensorBytes(const Operator& op);
  void Judge(Sum* sum) const;

  const DeviceInfo& device_;
  const StringPool& pool_;
  Pipes pipes_;
  Peaks peaks_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Sum> sums_;  ///< by name, type, kind of core
  std::map<std::array<uint32_t, 4>, double> tensor_bytes_;        ///< by the texts that they come from
  uint64_t counted_ = 0;
};

/// Bytes of tensors as Operator has them: shapes "2,3;4" in quotes, data types "FLOAT16;FLOAT". A type of unknown size, or a
/// tensor without shape, counts nothing.
double BytesOfTensors(std::string_view shapes, std::string_view types);

}  // namespace npuprof::analysis
