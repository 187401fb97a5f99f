// SPDX-License-Identifier: Apache-2.0
#include "runtime/acl/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/acl/api.h"

namespace npusim {
namespace {

MsrofTensorData Describe(const ops::Tensor& t, MsprofGeTensorType direction) {
  MsrofTensorData d{};
  d.tensorType = direction;
  d.format = static_cast<uint32_t>(t.format);
  d.dataType = static_cast<uint32_t>(t.dtype);
  for (size_t i = 0; i < std::min<size_t>(t.shape.size(), MSPROF_GE_TENSOR_DATA_SHAPE_LEN); i++)
    d.shape[i] = static_cast<uint32_t>(t.shape[i]);
  return d;
}

}  // namespace

RtOperator ToLaunchable(const ops::Operator& op, const ops::Plan& plan) {
  std::string kernel = "te_" + op.type + "_0";
  std::transform(kernel.begin(), kernel.end(), kernel.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  RtOperator r;
  r.name = HashOf(op.name);
  r.type = HashOf(op.type);
  r.kernel = HashOf(kernel);
  r.task_type = plan.task_type;
  r.block_dim = plan.block_dim;
  r.mix_ratio = plan.mix_ratio;
  r.is_static = op.is_static;
  r.duration_ns = plan.duration_ns;
  r.work = plan.work;
  for (const auto& t : op.inputs) r.tensors.push_back(Describe(t, MSPROF_GE_TENSOR_TYPE_INPUT));
  for (const auto& t : op.outputs) r.tensors.push_back(Describe(t, MSPROF_GE_TENSOR_TYPE_OUTPUT));
  return r;
}

ops::Cores PlanningCores() {
  void* context = nullptr;
  int32_t device = 0;
  if (rtCtxGetCurrent(&context) == ACL_SUCCESS)
    rtGetDevice(&device);
  else
    rtTakeMessage();  // not this call's failure
  RtDeviceShape shape{24, 48};
  rtDeviceShape(static_cast<uint32_t>(device), &shape);
  return {shape.cube_cores, shape.vector_cores};
}

int ReadModel(const char* path, ops::ModelFile* model) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  const int reason = in ? 0 : errno;
  if (!std::filesystem::is_regular_file(path, error) || !in || !(text << in.rdbuf())) {
    return rtFail(ACL_ERROR_INVALID_FILE,
                  fmt::format("model {} cannot be read: {}", path,
                              reason ? std::strerror(reason) : "it is no file with contents"));
  }
  try {
    *model = ops::ParseModel(text.str(), path, PlanningCores());
  } catch (const ops::ModelError& e) {
    return rtFail(ACL_ERROR_PARSE_MODEL, e.what());
  }
  return ACL_SUCCESS;
}

}  // namespace npusim
