// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "runtime/ops/operator.h"

namespace npusim::ops {
namespace {

struct DTypeInfo {
  const char* name;
  int number;
  unsigned bits;
};

constexpr std::array<DTypeInfo, 18> kDTypes = {{{"FLOAT", 0, 32},
                                                {"FLOAT16", 1, 16},
                                                {"INT8", 2, 8},
                                                {"INT32", 3, 32},
                                                {"UINT8", 4, 8},
                                                {"INT16", 6, 16},
                                                {"UINT16", 7, 16},
                                                {"UINT32", 8, 32},
                                                {"INT64", 9, 64},
                                                {"UINT64", 10, 64},
                                                {"DOUBLE", 11, 64},
                                                {"BOOL", 12, 8},
                                                {"COMPLEX64", 16, 64},
                                                {"COMPLEX128", 17, 128},
                                                {"BF16", 27, 16},
                                                {"INT4", 29, 4},
                                                {"UINT1", 30, 1},
                                                {"COMPLEX32", 33, 32}}};

constexpr std::array<std::pair<const char*, int>, 9> kFormats = {{{"NCHW", 0},
                                                                  {"NHWC", 1},
                                                                  {"ND", 2},
                                                                  {"NC1HWC0", 3},
                                                                  {"FRACTAL_Z", 4},
                                                                  {"HWCN", 16},
                                                                  {"NDHWC", 27},
                                                                  {"FRACTAL_NZ", 29},
                                                                  {"NCDHW", 30}}};

uint64_t Product(const std::vector<int64_t>& dims) {
  uint64_t n = 1;
  for (int64_t d : dims) n *= d < 0 ? 0 : static_cast<uint64_t>(d);
  return n;
}

uint64_t BytesOf(uint64_t elements, int dtype) {
  return (elements * DTypeBits(dtype) + 7) / 8;
}

}  // namespace

unsigned DTypeBits(int acl_dtype) {
  for (const auto& t : kDTypes)
    if (t.number == acl_dtype) return t.bits;
  return acl_dtype >= 34 && acl_dtype <= 36 ? 8 : 0;  // eight-bit floats
}

int DTypeByName(const std::string& name) {
  for (const auto& t : kDTypes)
    if (name == t.name) return t.number;
  return -1000;
}

int FormatByName(const std::string& name) {
  for (const auto& [text, number] : kFormats)
    if (name == text) return number;
  return -1000;
}

uint64_t Tensor::Elements() const {
  return Product(True());
}
uint64_t Tensor::Bytes() const {
  return BytesOf(Elements(), dtype);
}
uint64_t Tensor::StorageBytes() const {
  return BytesOf(Product(shape), dtype);
}

int64_t Operator::Attr(const std::string& key, size_t index, int64_t fallback) const {
  auto it = attrs.find(key);
  return it == attrs.end() || index >= it->second.size() ? fallback : it->second[index];
}

}  // namespace npusim::ops
