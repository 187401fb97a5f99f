// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ops/rules.h"

namespace npusim::ops {
namespace {
constexpr int kFloat = 0, kFloat16 = 1, kBf16 = 27, kBool = 12;
}

void Fail(const Operator& op, const std::string& what) {
  throw OperatorError(fmt::format("operator {} ({}): {}", op.name, op.type, what));
}

std::string Show(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

void NeedTensors(const Operator& op, size_t inputs, size_t outputs) {
  if (op.inputs.size() < inputs || op.outputs.size() < outputs)
    Fail(op, fmt::format("has {} inputs and {} outputs, needs at least {} and {}", op.inputs.size(),
                         op.outputs.size(), inputs, outputs));
}

void AddVector(npusim_work& work, int dtype, uint64_t steps) {
  if (dtype == kFloat16 || dtype == kBf16)
    work.vec_fp16 += steps;
  else if (dtype == kFloat)
    work.vec_fp32 += steps;
  else if (dtype == kBool)
    work.vec_misc += steps;
  else
    work.vec_int32 += steps * std::max(1u, DTypeBits(dtype) / 32);  // wider integers take several passes
}

uint32_t VectorBlocks(uint64_t bytes, const Cores& cores) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(CeilDiv(bytes, 4096), 1, cores.vector));
}

void SetTraffic(npusim_work& work, uint64_t read, uint64_t write, uint64_t unique) {
  work.read_bytes = read;
  work.write_bytes = write;
  const uint64_t all = read + write;
  if (all > unique)  // in double: the product of bytes and 10^6 may pass 64 bits
    work.l2_hit_ppm =
        static_cast<uint32_t>(1e6 * (1.0 - static_cast<double>(unique) / static_cast<double>(all)));
}

Tiling TileCube(uint64_t m, uint64_t n, uint64_t batch, uint32_t cores) {
  Tiling t{128, 256, 0, 0, 0};
  t.tile_m = std::min(t.tile_m, 16 * CeilDiv(m, 16));
  t.tile_n = std::min(t.tile_n, 16 * CeilDiv(n, 16));
  auto count = [&] { return batch * CeilDiv(m, t.tile_m) * CeilDiv(n, t.tile_n); };
  auto half = [](uint64_t x) { return 16 * CeilDiv(x, 32); };
  while (count() < cores && (t.tile_m > 16 || t.tile_n > 16)) {
    uint64_t& side = t.tile_n >= t.tile_m ? t.tile_n : t.tile_m;
    side = half(side);
  }
  t.tiles_m = CeilDiv(m, t.tile_m);
  t.tiles_n = CeilDiv(n, t.tile_n);
  t.blocks = static_cast<uint32_t>(std::min<uint64_t>(count(), cores));
  return t;
}

}  // namespace npusim::ops
