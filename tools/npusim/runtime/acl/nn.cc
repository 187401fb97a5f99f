// SPDX-License-Identifier: Apache-2.0
// Two-stage operators (aclnn).
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_matmul.h>
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_softmax.h>
#include <fmt/format.h>

#include <memory>
#include <string>

#include "runtime/acl/api.h"
#include "runtime/acl/convert.h"

using namespace npusim;

struct aclTensor {
  ops::Tensor tensor;
  void* data;
};

struct aclScalar {
  aclDataType type;
};

struct aclOpExecutor {
  RtOperator op;
};

namespace {

// First stage of every operator: plan it and hand out an executor.
int Prepare(const char* name, const char* type, std::initializer_list<const aclTensor*> inputs,
            const aclTensor* output, uint64_t* workspace_size, aclOpExecutor** executor,
            const std::string& attributes = "") {
  if (int code = NotNull({{"out", output}, {"workspaceSize", workspace_size}, {"executor", executor}}))
    return code;
  ops::Operator op;
  op.name = name;
  op.type = type;
  op.is_static = false;
  for (const aclTensor* t : inputs) {
    if (int code = NotNull({{"an input", t}})) return code;
    op.inputs.push_back(t->tensor);
  }
  op.outputs.push_back(output->tensor);
  try {
    auto made = std::make_unique<aclOpExecutor>(
        aclOpExecutor{ToLaunchable(op, ops::PlanOperator(op, PlanningCores()))});
    if (!attributes.empty()) made->op.attributes = HashOf(attributes);
    *workspace_size = 0;
    *executor = made.release();
    return ACL_SUCCESS;
  } catch (const ops::OperatorError& e) {
    return rtFail(ACL_ERROR_INVALID_PARAM, e.what());
  }
}

int Run(AclCall call, aclOpExecutor* executor, aclrtStream stream) {
  AclSpan span(call);
  if (int code = NotNull({{"executor", executor}})) return code;
  const std::unique_ptr<aclOpExecutor> used(executor);
  return rtLaunchOperator(used->op, stream);
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t*, int64_t, aclFormat format, const int64_t*, uint64_t,
                           void* tensorData) {
  if (viewDimsNum > 8 || (viewDimsNum > 0 && viewDims == nullptr)) {
    rtFail(ACL_ERROR_INVALID_PARAM,
           fmt::format("{} dimensions: allowed are 0 to 8 at an address", viewDimsNum));
    return nullptr;
  }
  auto* t = new aclTensor;
  t->tensor.dtype = dataType;
  t->tensor.format = format;
  t->tensor.shape.assign(viewDims, viewDims + viewDimsNum);
  t->data = tensorData;
  return t;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return ACL_SUCCESS;
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return value == nullptr || ops::DTypeBits(dataType) == 0 ? nullptr : new aclScalar{dataType};
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  delete scalar;
  return ACL_SUCCESS;
}

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other, const aclScalar* alpha,
                                     aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  if (int code = NotNull({{"alpha", alpha}})) return code;
  return Prepare("aclnnAdd_AddAiCore_Add", "Add", {self, other}, out, workspaceSize, executor);
}

aclnnStatus aclnnAdd(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return Run(AclCall::kAdd, executor, stream);
}

aclnnStatus aclnnMatmulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                                        int8_t cubeMathType, uint64_t* workspaceSize,
                                        aclOpExecutor** executor) {
  return Prepare("aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", {self, mat2}, out, workspaceSize, executor,
                 fmt::format("cubeMathType:{}", cubeMathType));
}

aclnnStatus aclnnMatmul(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return Run(AclCall::kMatmul, executor, stream);
}

aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* workspaceSize,
                                      aclOpExecutor** executor) {
  return Prepare("aclnnRelu_ReluAiCore_Relu", "Relu", {self}, out, workspaceSize, executor);
}

aclnnStatus aclnnRelu(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return Run(AclCall::kRelu, executor, stream);
}

aclnnStatus aclnnSoftmaxGetWorkspaceSize(const aclTensor* self, int64_t dim, aclTensor* out,
                                         uint64_t* workspaceSize, aclOpExecutor** executor) {
  if (int code = NotNull({{"self", self}})) return code;
  const auto dims = static_cast<int64_t>(self->tensor.shape.size());
  if (dim < -dims || dim >= dims)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("dimension {} of a tensor with {}", dim, dims));
  return Prepare("aclnnSoftmax_SoftmaxAiCore_SoftmaxV2", "SoftmaxV2", {self}, out, workspaceSize, executor,
                 fmt::format("dim:{}", dim));
}

aclnnStatus aclnnSoftmax(void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  return Run(AclCall::kSoftmax, executor, stream);
}
