// SPDX-License-Identifier: Apache-2.0
// Profiles two-stage operators with and without attributes.
//
// usage: attributes DIR TYPES
// Runs a softmax, a matrix product and a ReLU, each three times, with data types TYPES.
#include <aclnnop/aclnn_matmul.h>
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_softmax.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"

namespace {

aclTensor* Square(int64_t edge, void* memory) {
  const int64_t shape[] = {edge, edge};
  const int64_t strides[] = {edge, 1};
  aclTensor* tensor = aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, shape, 2, memory);
  if (tensor == nullptr) Check(-1, "aclCreateTensor");
  return tensor;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: attributes DIR TYPES\n");
    return 2;
  }
  constexpr int64_t kEdge = 64;
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  void* memory = nullptr;
  Check(aclrtMalloc(&memory, 3 * kEdge * kEdge * 2, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  aclTensor *a = Square(kEdge, memory), *b = Square(kEdge, memory), *out = Square(kEdge, memory);

  Check(aclprofInit(argv[1], std::strlen(argv[1])), "aclprofInit");
  uint32_t device = 0;
  aclprofConfig* config =
      aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, std::strtoull(argv[2], nullptr, 0));
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");
  for (int round = 0; round < 3; round++) {
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    Check(aclnnSoftmaxGetWorkspaceSize(a, -1, out, &workspace, &executor), "aclnnSoftmaxGetWorkspaceSize");
    Check(aclnnSoftmax(nullptr, workspace, executor, stream), "aclnnSoftmax");
    Check(aclnnMatmulGetWorkspaceSize(a, b, out, 1, &workspace, &executor), "aclnnMatmulGetWorkspaceSize");
    Check(aclnnMatmul(nullptr, workspace, executor, stream), "aclnnMatmul");
    Check(aclnnReluGetWorkspaceSize(a, out, &workspace, &executor), "aclnnReluGetWorkspaceSize");
    Check(aclnnRelu(nullptr, workspace, executor, stream), "aclnnRelu");
  }
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");

  for (aclTensor* tensor : {a, b, out}) Check(aclDestroyTensor(tensor), "aclDestroyTensor");
  Check(aclrtFree(memory), "aclrtFree");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
