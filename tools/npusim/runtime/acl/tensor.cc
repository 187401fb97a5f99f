// SPDX-License-Identifier: Apache-2.0
// Data buffers and tensor descriptions.
#include <fmt/format.h>

#include <new>

#include "runtime/acl/api.h"
#include "runtime/ops/operator.h"

using namespace npusim;

size_t aclDataTypeSize(aclDataType dataType) {
  return ops::DTypeBits(dataType) / 8;
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new (std::nothrow) aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  if (int code = NotNull({{"dataBuffer", dataBuffer}})) return code;
  delete dataBuffer;
  return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  if (int code = NotNull({{"dataBuffer", dataBuffer}})) return code;
  *dataBuffer = {data, size};
  return ACL_SUCCESS;
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? nullptr : dataBuffer->data;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? 0 : dataBuffer->size;
}

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  if (numDims < 0 || (numDims > 0 && dims == nullptr)) {
    rtFail(ACL_ERROR_INVALID_PARAM,
           fmt::format("{} dimensions at {}", numDims, static_cast<const void*>(dims)));
    return nullptr;
  }
  return new (std::nothrow) aclTensorDesc{dataType, format, std::vector<int64_t>(dims, dims + numDims), ""};
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  delete desc;
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_DT_UNDEFINED : desc->type;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_FORMAT_UNDEFINED : desc->format;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  if (desc == nullptr) return 0;
  size_t n = 1;
  for (int64_t d : desc->dims) n *= d < 0 ? 0 : static_cast<size_t>(d);
  return n;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : (aclGetTensorDescElementCount(desc) * ops::DTypeBits(desc->type) + 7) / 8;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : desc->dims.size();
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  if (int code = NotNull({{"desc", desc}, {"dimSize", dimSize}})) return code;
  if (index >= desc->dims.size())
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("dimension {} of {}", index, desc->dims.size()));
  *dimSize = desc->dims[index];
  return ACL_SUCCESS;
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  return desc == nullptr || index >= desc->dims.size() ? -1 : desc->dims[index];
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  if (desc != nullptr) desc->name = name == nullptr ? "" : name;
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return desc == nullptr ? "" : desc->name.c_str();
}
