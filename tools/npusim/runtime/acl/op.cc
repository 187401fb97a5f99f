// SPDX-License-Identifier: Apache-2.0
// Single operators by name, and kernels from binaries.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/acl/api.h"
#include "runtime/acl/convert.h"

using namespace npusim;

struct aclopAttr {
  std::map<std::string, std::vector<int64_t>> numbers;
};

namespace {

int SetNumbers(aclopAttr* attr, const char* name, std::vector<int64_t> values) {
  if (int code = NotNull({{"attr", attr}, {"attrName", name}})) return code;
  attr->numbers[name] = std::move(values);
  return ACL_SUCCESS;
}

int Collect(const char* what, int count, aclTensorDesc* descs[], aclDataBuffer* buffers[], int code,
            std::vector<ops::Tensor>* out) {
  if (count < 0 || (count > 0 && (descs == nullptr || buffers == nullptr)))
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("{} {}s without descriptions or buffers", count, what));
  for (int i = 0; i < count; i++) {
    if (descs[i] == nullptr || buffers[i] == nullptr)
      return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} {} is null", what, i));
    ops::Tensor t;
    t.dtype = descs[i]->type;
    t.format = descs[i]->format;
    t.shape = descs[i]->dims;
    if (buffers[i]->size < t.StorageBytes())
      return rtFail(code, fmt::format("{} {} needs {} bytes, its buffer has {}", what, i, t.StorageBytes(),
                                      buffers[i]->size));
    out->push_back(std::move(t));
  }
  return ACL_SUCCESS;
}

}  // namespace

aclopAttr* aclopCreateAttr(void) {
  return new aclopAttr;
}
void aclopDestroyAttr(const aclopAttr* attr) {
  delete attr;
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return SetNumbers(attr, attrName, {attrValue != 0});
}

aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return SetNumbers(attr, attrName, {attrValue});
}

// Numbers with fractions and texts never decide what an operator costs.
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float) {
  return NotNull({{"attr", attr}, {"attrName", attrName}});
}

aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return NotNull({{"attr", attr}, {"attrName", attrName}, {"attrValue", attrValue}});
}

aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values) {
  if (numValues < 0 || (numValues > 0 && values == nullptr))
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} values at null", numValues));
  return SetNumbers(attr, attrName, std::vector<int64_t>(values, values + numValues));
}

aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                        aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                        aclDataBuffer* outputs[], aclopAttr* attr, aclrtStream stream) {
  AclSpan span(AclCall::kOpExecute);
  if (int code = NotNull({{"opType", opType}})) return code;
  ops::Operator op;
  op.name = op.type = opType;
  op.is_static = false;
  if (int code = Collect("input", numInputs, inputDesc, inputs, ACL_ERROR_OP_INPUT_NOT_MATCH, &op.inputs))
    return code;
  if (int code =
          Collect("output", numOutputs, outputDesc, outputs, ACL_ERROR_OP_OUTPUT_NOT_MATCH, &op.outputs))
    return code;
  if (attr != nullptr) op.attrs = attr->numbers;
  try {
    return rtLaunchOperator(ToLaunchable(op, ops::PlanOperator(op, PlanningCores())), stream);
  } catch (const ops::UnknownType& e) {
    return rtFail(ACL_ERROR_OP_NOT_FOUND, e.what());
  } catch (const ops::OperatorError& e) {
    return rtFail(ACL_ERROR_OP_INPUT_NOT_MATCH, e.what());
  }
}

namespace {

struct Binary {
  std::map<std::string, RtOperator> kernels;
};

struct Binaries {
  std::mutex mutex;
  std::vector<std::unique_ptr<Binary>> loaded;
};

Binaries& Loaded() {
  static auto* binaries = new Binaries;
  return *binaries;
}

// Needs the mutex.
Binary* FindBinary(const void* handle) {
  for (auto& b : Loaded().loaded)
    if (b.get() == handle) return b.get();
  rtFail(ACL_ERROR_RT_INVALID_HANDLE, fmt::format("{} is no kernel binary, or it was unloaded", handle));
  return nullptr;
}

}  // namespace

aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions*, aclrtBinHandle* binHandle) {
  if (int code = NotNull({{"binPath", binPath}, {"binHandle", binHandle}})) return code;
  ops::ModelFile file;
  if (int code = ReadModel(binPath, &file)) return code;
  auto binary = std::make_unique<Binary>();
  for (size_t i = 0; i < file.ops.size(); i++)
    binary->kernels.emplace(file.ops[i].name, ToLaunchable(file.ops[i], file.plans[i]));
  std::lock_guard lock(Loaded().mutex);
  *binHandle = binary.get();
  Loaded().loaded.push_back(std::move(binary));
  return ACL_SUCCESS;
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
  std::lock_guard lock(Loaded().mutex);
  Binary* binary = FindBinary(binHandle);
  if (binary == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
  std::erase_if(Loaded().loaded, [&](const auto& b) { return b.get() == binary; });
  return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName,
                                aclrtFuncHandle* funcHandle) {
  if (int code = NotNull({{"kernelName", kernelName}, {"funcHandle", funcHandle}})) return code;
  std::lock_guard lock(Loaded().mutex);
  Binary* binary = FindBinary(binHandle);
  if (binary == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
  auto it = binary->kernels.find(kernelName);
  if (it == binary->kernels.end())
    return rtFail(ACL_ERROR_KERNEL_NOT_FOUND, fmt::format("the binary has no kernel {}", kernelName));
  *funcHandle = &it->second;
  return ACL_SUCCESS;
}

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t blockDim, const void* argsData,
                           size_t argsSize, aclrtStream stream) {
  AclSpan span(AclCall::kLaunchKernel);
  if (int code = NotNull({{"funcHandle", funcHandle}})) return code;
  if (argsSize > 0 && argsData == nullptr) return rtFail(ACL_ERROR_INVALID_PARAM, "argsData is null");
  if (blockDim < 1 || blockDim > 65535)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("{} blocks: allowed are 1 to 65535", blockDim));
  const auto& kernel = *static_cast<const RtOperator*>(funcHandle);
  if (kernel.block_dim == blockDim) return rtLaunchOperator(kernel, stream);
  RtOperator op = kernel;
  op.block_dim = blockDim;
  return rtLaunchOperator(op, stream);
}
