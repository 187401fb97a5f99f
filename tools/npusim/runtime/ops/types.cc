// SPDX-License-Identifier: Apache-2.0
// The table of operator types.
#include <fmt/format.h>

#include <map>

#include "runtime/ops/rules.h"

namespace npusim::ops {
namespace {

struct Type {
  Plan (*rule)(const Request&);
  VectorCost cost = {};
};

const std::map<std::string, Type>& Types() {
  static const std::map<std::string, Type> types = {
      {"Conv2D", {ConvolutionRule}},
      {"DepthwiseConv2D", {ConvolutionRule}},
      {"MatMul", {MatMulRule}},
      {"MatMulV2", {MatMulRule}},
      {"MatMulV3", {MatMulRule}},
      {"BatchMatMul", {MatMulRule}},
      {"BatchMatMulV2", {MatMulRule}},
      {"FlashAttentionScore", {AttentionRule}},
      {"PromptFlashAttention", {AttentionRule}},
      {"IncreFlashAttention", {AttentionRule}},

      {"Add", {ElementwiseRule}},
      {"Adds", {ElementwiseRule}},
      {"Sub", {ElementwiseRule}},
      {"Mul", {ElementwiseRule}},
      {"Muls", {ElementwiseRule}},
      {"RealDiv", {ElementwiseRule, {4, 0}}},
      {"Maximum", {ElementwiseRule}},
      {"Minimum", {ElementwiseRule}},
      {"BiasAdd", {ElementwiseRule}},
      {"Abs", {ElementwiseRule}},
      {"Neg", {ElementwiseRule}},
      {"Relu", {ElementwiseRule}},
      {"LeakyRelu", {ElementwiseRule, {2, 0}}},
      {"Sqrt", {ElementwiseRule, {1, 2}}},
      {"Rsqrt", {ElementwiseRule, {1, 2}}},
      {"Exp", {ElementwiseRule, {1, 2}}},
      {"Sigmoid", {ElementwiseRule, {3, 2}}},
      {"Tanh", {ElementwiseRule, {5, 2}}},
      {"Gelu", {ElementwiseRule, {8, 2}}},
      {"FastGelu", {ElementwiseRule, {4, 2}}},
      {"Swish", {ElementwiseRule, {4, 2}}},
      {"SelectV2", {ElementwiseRule, {0, 2}}},
      {"Cast", {ElementwiseRule, {0, 1}}},

      {"ReduceMean", {ReductionRule}},
      {"ReduceMeanD", {ReductionRule}},
      {"ReduceSum", {ReductionRule}},
      {"ReduceSumD", {ReductionRule}},
      {"ReduceMax", {ReductionRule}},
      {"ArgMaxV2", {ReductionRule, {1, 1}}},
      {"SoftmaxV2", {ReductionRule, {5, 2}}},
      {"LogSoftmaxV2", {ReductionRule, {6, 3}}},
      {"LayerNorm", {ReductionRule, {7, 0}}},
      {"LayerNormV3", {ReductionRule, {7, 0}}},
      {"RmsNorm", {ReductionRule, {4, 0}}},
      {"BatchNorm", {ReductionRule, {2, 0}}},
      {"BNInfer", {ReductionRule, {2, 0}}},

      {"MaxPool", {PoolingRule}},
      {"MaxPoolV3", {PoolingRule}},
      {"AvgPool", {PoolingRule}},
      {"AvgPoolV2", {PoolingRule}},

      {"Transpose", {LayoutRule, {0, 1}}},
      {"TransposeD", {LayoutRule, {0, 1}}},
      {"TransData", {LayoutRule, {0, 1}}},
      {"ConcatD", {LayoutRule, {0, 1}}},
      {"SplitVD", {LayoutRule, {0, 1}}},
      {"StridedSliceD", {LayoutRule, {0, 1}}},
      {"PadD", {LayoutRule, {0, 1}}},
      {"TensorMove", {LayoutRule, {0, 1}}},
      {"GatherV2", {GatherRule, {0, 1}}},
      {"EmbeddingLookup", {GatherRule, {0, 1}}},
      {"ScatterUpdate", {ScatterRule, {0, 1}}},

      {"Unique2", {AiCpuRule}},
      {"NonZero", {AiCpuRule}},
  };
  return types;
}

}  // namespace

bool KnownType(const std::string& type) {
  return Types().contains(type);
}

std::string KnownTypes() {
  std::string text;
  for (const auto& [name, type] : Types()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Plan PlanOperator(const Operator& op, const Cores& cores) {
  auto it = Types().find(op.type);
  if (it == Types().end())
    throw UnknownType(
        fmt::format("operator {} has the unknown type {}; allowed are {}", op.name, op.type, KnownTypes()));
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const Tensor& t : *list)
      for (int64_t d : t.True())
        if (d < 1 || d > (int64_t{1} << 40))
          Fail(op, fmt::format("dimension {} of shape {} must be 1 to 2^40", d, Show(t.True())));
  return it->second.rule({op, cores, it->second.cost});
}

}  // namespace npusim::ops
