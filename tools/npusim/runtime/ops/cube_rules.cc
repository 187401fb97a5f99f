// SPDX-License-Identifier: Apache-2.0
// Operators whose main part runs on the cube unit.
#include <fmt/format.h>

#include "runtime/ops/rules.h"

namespace npusim::ops {
namespace {

constexpr int kFloat = 0, kInt8 = 2, kInt4 = 29;

void AddMacs(npusim_work& work, int dtype, uint64_t macs) {
  if (dtype == kInt8 || dtype == kInt4)
    work.macs_int8 += macs;
  else
    work.macs_fp16 += dtype == kFloat ? 2 * macs : macs;  // single precision takes two passes
}

// Product of m x k and k x n, batch times, results tiled over the cube cores.
Plan CubePlan(const Request& r, uint64_t batch, uint64_t m, uint64_t k, uint64_t n, uint64_t a_bytes,
              uint64_t b_bytes, uint64_t other_read, uint64_t write) {
  const Tensor& a = r.op.inputs[0];
  const Tiling t = TileCube(m, n, batch, r.cores.cube);
  Plan p;
  p.task_type = NPUSIM_OP_AI_CORE;
  p.block_dim = t.blocks;
  AddMacs(p.work, a.dtype, batch * m * k * n);
  // Every tile row needs all of B, every tile column all of A.
  SetTraffic(p.work, a_bytes * t.tiles_n + b_bytes * t.tiles_m + other_read, write,
             a_bytes + b_bytes + other_read + write);
  // From L1 into L0A and L0B: a pass over k for each L0 result of at most 128 x 128.
  const uint64_t l0_m = std::min<uint64_t>(t.tile_m, 128), l0_n = std::min<uint64_t>(t.tile_n, 128);
  p.work.l1_read_bytes =
      batch * k * (m * CeilDiv(n, l0_n) + n * CeilDiv(m, l0_m)) * std::max(1u, DTypeBits(a.dtype) / 8);
  p.work.scalar = 100ull * t.blocks + 20 * batch * t.tiles_m * t.tiles_n;
  return p;
}

}  // namespace

Plan ConvolutionRule(const Request& r) {
  const Operator& op = r.op;
  NeedTensors(op, 2, 1);
  const auto &x = op.inputs[0].True(), &w = op.inputs[1].True(), &y = op.outputs[0].True();
  if (x.size() != 4 || w.size() != 4 || y.size() != 4)
    Fail(op, fmt::format("true shapes {}, {}, {} must have the four dimensions of NCHW", Show(x), Show(w),
                         Show(y)));
  const bool depthwise = op.type == "DepthwiseConv2D";
  const int64_t groups = depthwise ? x[1] : op.Attr("groups", 0, 1);
  if (groups < 1 || w[1] * groups != x[1])
    Fail(op, fmt::format("weights {} in {} groups do not fit {} input channels", Show(w), groups, x[1]));
  for (size_t d = 0; d < 2; d++) {
    const int64_t stride = op.Attr("strides", d, 1), dilation = op.Attr("dilations", d, 1);
    const int64_t pad = op.Attr("pads", 2 * d, 0) + op.Attr("pads", 2 * d + 1, 0);
    if (stride < 1 || dilation < 1)
      Fail(op, fmt::format("stride {} and dilation {} must be at least 1", stride, dilation));
    const int64_t out = (x[2 + d] + pad - dilation * (w[2 + d] - 1) - 1) / stride + 1;
    if (out != y[2 + d])
      Fail(op, fmt::format(
                   "output {} {} does not follow from input {}, kernel {}, stride {}, padding {}: {} would",
                   d == 0 ? "height" : "width", y[2 + d], x[2 + d], w[2 + d], stride, pad, out));
  }
  if (y[0] != x[0] || y[1] != w[0])
    Fail(op, fmt::format("output {} must have batch {} and {} channels", Show(y), x[0], w[0]));

  uint64_t bias = 0;
  for (size_t i = 2; i < op.inputs.size(); i++) bias += op.inputs[i].Bytes();
  // As a product: rows are output positions, columns output channels, depth the window.
  const auto m = static_cast<uint64_t>(y[0] * y[2] * y[3]), n = static_cast<uint64_t>(y[1]);
  const auto k = static_cast<uint64_t>(w[1] * w[2] * w[3]);
  Plan p = CubePlan(r, 1, m, k, n, op.inputs[0].Bytes(), op.inputs[1].Bytes(), bias, op.outputs[0].Bytes());
  return p;
}

Plan MatMulRule(const Request& r) {
  const Operator& op = r.op;
  NeedTensors(op, 2, 1);
  const auto &a = op.inputs[0].True(), &b = op.inputs[1].True(), &c = op.outputs[0].True();
  if (a.size() < 2 || b.size() < 2 || c.size() < 2)
    Fail(op, fmt::format("shapes {}, {}, {} need at least two dimensions", Show(a), Show(b), Show(c)));
  const bool ta = op.Attr("transpose_x1", 0, 0) != 0, tb = op.Attr("transpose_x2", 0, 0) != 0;
  const int64_t m = a[a.size() - (ta ? 1 : 2)], k = a[a.size() - (ta ? 2 : 1)];
  const int64_t kb = b[b.size() - (tb ? 1 : 2)], n = b[b.size() - (tb ? 2 : 1)];
  if (k != kb)
    Fail(op, fmt::format("{} x {}: inner dimensions {} and {} must be equal", Show(a), Show(b), k, kb));
  if (c[c.size() - 2] != m || c[c.size() - 1] != n)
    Fail(op, fmt::format("result {} must end in {},{}", Show(c), m, n));
  uint64_t batch = 1;
  for (size_t i = 0; i + 2 < c.size(); i++) batch *= static_cast<uint64_t>(c[i]);
  uint64_t bias = 0;
  for (size_t i = 2; i < op.inputs.size(); i++) bias += op.inputs[i].Bytes();
  return CubePlan(r, batch, static_cast<uint64_t>(m), static_cast<uint64_t>(k), static_cast<uint64_t>(n),
                  op.inputs[0].Bytes(), op.inputs[1].Bytes(), bias, op.outputs[0].Bytes());
}

Plan AttentionRule(const Request& r) {
  const Operator& op = r.op;
  NeedTensors(op, 3, 1);
  const auto &q = op.inputs[0].True(), &k = op.inputs[1].True(), &v = op.inputs[2].True();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    Fail(op, fmt::format("query {}, key {} and value {} must have the four dimensions of BNSD", Show(q),
                         Show(k), Show(v)));
  if (k[1] < 1 || q[1] % k[1] != 0)
    Fail(op, fmt::format("{} query heads are no multiple of {} key heads", q[1], k[1]));
  if (q[0] != k[0] || q[3] != k[3] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2])
    Fail(op, fmt::format("query {}, key {} and value {} must agree in batch, heads, length and depth",
                         Show(q), Show(k), Show(v)));
  const auto heads = static_cast<uint64_t>(q[0] * q[1]), sq = static_cast<uint64_t>(q[2]);
  const auto sk = static_cast<uint64_t>(k[2]), d = static_cast<uint64_t>(q[3]),
             dv = static_cast<uint64_t>(v[3]);
  const uint64_t rows_per_block = 128;
  const uint64_t row_blocks = CeilDiv(sq, rows_per_block), pieces = heads * row_blocks;

  Plan p;
  p.task_type = NPUSIM_OP_MIX_AIC;
  p.mix_ratio = 2;
  p.block_dim = static_cast<uint32_t>(std::clamp<uint64_t>(pieces, 1, r.cores.cube));
  AddMacs(p.work, op.inputs[0].dtype, heads * sq * sk * (d + dv));
  const uint64_t scores = heads * sq * sk;
  p.work.vec_fp32 = 5 * scores;  // scale, row maximum, difference, exponential's line, row sum
  p.work.vec_misc = 3 * scores;  // exponential, conversion to and from single precision
  uint64_t mask = 0;
  for (size_t i = 3; i < op.inputs.size(); i++) mask += op.inputs[i].Bytes();
  const uint64_t kv = op.inputs[1].Bytes() + op.inputs[2].Bytes();
  const uint64_t group = static_cast<uint64_t>(q[1] / k[1]);
  const uint64_t out = op.outputs[0].Bytes();
  // Scores stay on the chip; key and value are read once per block of query rows.
  SetTraffic(p.work, op.inputs[0].Bytes() + kv * row_blocks * group + mask, out,
             op.inputs[0].Bytes() + kv + mask + out);
  p.work.scalar = 200ull * p.block_dim + 50 * pieces;
  return p;
}

}  // namespace npusim::ops
