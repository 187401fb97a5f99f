// SPDX-License-Identifier: Apache-2.0
// Cost rules by operator family; one function per family, chosen by type in types.cc.
#ifndef NPUSIM_RUNTIME_OPS_RULES_H
#define NPUSIM_RUNTIME_OPS_RULES_H

#include <algorithm>
#include <string>

#include "runtime/ops/operator.h"

namespace npusim::ops {

// Steps per element of a vector operator: plain ones at the speed of the data type, and misc ones
// (conversion, selection, the iterations of transcendental functions).
struct VectorCost {
  uint32_t steps = 1;
  uint32_t misc = 0;
};

// Everything a rule may look at.
struct Request {
  const Operator& op;
  const Cores& cores;
  VectorCost cost;
};

Plan ConvolutionRule(const Request& r);
Plan MatMulRule(const Request& r);
Plan AttentionRule(const Request& r);
Plan ElementwiseRule(const Request& r);  // steps per output element
Plan ReductionRule(const Request& r);    // steps per element of the first input: reductions, norms, softmax
Plan PoolingRule(const Request& r);      // one step per element of each window
Plan LayoutRule(const Request& r);       // moves the first input, one misc step per output element
Plan GatherRule(const Request& r);       // reads as many bytes as it writes, one scalar step per row
Plan ScatterRule(const Request& r);      // reads and writes the updates (third input)
Plan AiCpuRule(const Request& r);

// -- helpers shared by the rules --

[[noreturn]] void Fail(const Operator& op, const std::string& what);

inline uint64_t CeilDiv(uint64_t a, uint64_t b) {
  return (a + b - 1) / b;
}

std::string Show(const std::vector<int64_t>& shape);

// Checks that the operator has the counts of tensors; throws OperatorError.
void NeedTensors(const Operator& op, size_t inputs, size_t outputs);

// Adds @p steps element operations under the data type's own event.
void AddVector(npusim_work& work, int dtype, uint64_t steps);

// Blocks of a vector kernel over @p bytes: a block is worth starting from 4 KiB on.
uint32_t VectorBlocks(uint64_t bytes, const Cores& cores);

// Reads and writes: @p unique bytes come from memory once, the rest of the traffic hits L2.
void SetTraffic(npusim_work& work, uint64_t read, uint64_t write, uint64_t unique);

// Tiles of an m x n result on the cube cores: 128 x 256, halved along the longer side until every core has one or
// the tile is 16 x 16.
struct Tiling {
  uint64_t tile_m, tile_n;
  uint64_t tiles_m, tiles_n;
  uint32_t blocks;
};
Tiling TileCube(uint64_t m, uint64_t n, uint64_t batch, uint32_t cores);

}  // namespace npusim::ops

#endif  // NPUSIM_RUNTIME_OPS_RULES_H
