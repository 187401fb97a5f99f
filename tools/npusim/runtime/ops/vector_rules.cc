// SPDX-License-Identifier: Apache-2.0
// Operators of the vector cores and the AI CPU.
#include <fmt/format.h>

#include "runtime/ops/rules.h"

namespace npusim::ops {
namespace {

uint64_t SumBytes(const std::vector<Tensor>& tensors) {
  uint64_t n = 0;
  for (const Tensor& t : tensors) n += t.Bytes();
  return n;
}

// A kernel that reads and writes so many bytes and takes @p steps steps of the operator's cost.
Plan VectorPlan(const Request& r, int dtype, uint64_t steps, uint64_t read, uint64_t write) {
  Plan p;
  p.task_type = NPUSIM_OP_AI_VECTOR_CORE;
  p.block_dim = VectorBlocks(std::max(read, write), r.cores);
  AddVector(p.work, dtype, steps * r.cost.steps);
  p.work.vec_misc += steps * r.cost.misc;
  SetTraffic(p.work, read, write, read + write);
  p.work.scalar = 100ull * p.block_dim;
  return p;
}

}  // namespace

Plan ElementwiseRule(const Request& r) {
  NeedTensors(r.op, 1, 1);
  const Tensor& y = r.op.outputs[0];
  for (const Tensor& x : r.op.inputs)
    if (x.Elements() > y.Elements())
      Fail(r.op, fmt::format("input {} has more elements than output {}", Show(x.True()), Show(y.True())));
  return VectorPlan(r, r.op.inputs[0].dtype, y.Elements(), SumBytes(r.op.inputs), SumBytes(r.op.outputs));
}

Plan ReductionRule(const Request& r) {
  NeedTensors(r.op, 1, 1);
  const Tensor &x = r.op.inputs[0], &y = r.op.outputs[0];
  if (y.Elements() > x.Elements())
    Fail(r.op, fmt::format("output {} has more elements than input {}", Show(y.True()), Show(x.True())));
  return VectorPlan(r, x.dtype, x.Elements(), SumBytes(r.op.inputs), SumBytes(r.op.outputs));
}

Plan PoolingRule(const Request& r) {
  NeedTensors(r.op, 1, 1);
  const int64_t window = r.op.Attr("ksize", 0, 0) * r.op.Attr("ksize", 1, 0);
  if (window < 1) Fail(r.op, "attribute ksize must give height and width of the window, each at least 1");
  return VectorPlan(r, r.op.inputs[0].dtype, r.op.outputs[0].Elements() * static_cast<uint64_t>(window),
                    SumBytes(r.op.inputs), SumBytes(r.op.outputs));
}

Plan LayoutRule(const Request& r) {
  NeedTensors(r.op, 1, 1);
  uint64_t elements = 0;
  for (const Tensor& y : r.op.outputs) elements += y.Elements();
  const uint64_t write = SumBytes(r.op.outputs);
  return VectorPlan(r, r.op.inputs[0].dtype, elements, std::min(SumBytes(r.op.inputs), write), write);
}

Plan GatherRule(const Request& r) {
  NeedTensors(r.op, 2, 1);
  const Tensor &index = r.op.inputs[1], &y = r.op.outputs[0];
  Plan p = VectorPlan(r, y.dtype, y.Elements(), y.Bytes() + index.Bytes(), y.Bytes());
  p.work.scalar += 10 * index.Elements();
  return p;
}

Plan ScatterRule(const Request& r) {
  NeedTensors(r.op, 3, 1);
  const Tensor &index = r.op.inputs[1], &update = r.op.inputs[2];
  Plan p = VectorPlan(r, update.dtype, update.Elements(), update.Bytes() + index.Bytes(), update.Bytes());
  p.work.scalar += 10 * index.Elements();
  return p;
}

Plan AiCpuRule(const Request& r) {
  NeedTensors(r.op, 1, 1);
  Plan p;
  p.task_type = NPUSIM_OP_AI_CPU;
  p.duration_ns = 20'000 + 5 * r.op.inputs[0].Elements();  // start-up, then about a sort step per element
  return p;
}

}  // namespace npusim::ops
