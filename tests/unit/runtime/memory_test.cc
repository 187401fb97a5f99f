// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>

#include "acl/acl.h"
#include "npusim/npusim.h"
#include "npusim/npusim_device.h"

namespace {

class Memory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  void TearDown() override { EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS); }

  void* Alloc(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    return p;
  }
};

std::vector<uint32_t> Counting(size_t n) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), 1u);
  return v;
}

TEST_F(Memory, CopiesCarryBytesToTheDeviceWithinItAndBack) {
  const auto source = Counting(10'000);
  const size_t bytes = source.size() * sizeof(uint32_t);
  std::vector<uint32_t> target(source.size());
  void *a = Alloc(bytes), *b = Alloc(bytes);
  aclrtStream stream;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(a, bytes, source.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(b, bytes, a, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(target.data(), bytes, b, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(target, source);
}

TEST_F(Memory, SynchronousCopyIsDoneWhenItReturns) {
  const auto source = Counting(1000);
  std::vector<uint32_t> target(source.size());
  void* a = Alloc(4000);
  ASSERT_EQ(aclrtMemcpy(a, 4000, source.data(), 4000, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(target.data(), 4000, a, 4000, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(target, source);
}

TEST_F(Memory, AsynchronousCopyWaitsForItsTurn) {
  const auto source = Counting(16);
  void* a = Alloc(64);
  ASSERT_EQ(aclrtMemset(a, 64, 0, 64), ACL_SUCCESS);
  // 0.2 s of kernel in front of the copy.
  ASSERT_EQ(npusimLaunch(nullptr, "long", "Long", NPUSIM_OP_AI_CORE, 1, 360'000'000, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(a, 64, source.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr), ACL_SUCCESS);
  const uint32_t seen = *static_cast<volatile uint32_t*>(a);
  aclrtStreamStatus status;
  ASSERT_EQ(aclrtStreamQuery(nullptr, &status), ACL_SUCCESS);
  if (status == ACL_STREAM_STATUS_NOT_READY) {
    EXPECT_EQ(seen, 0u);
  }
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(*static_cast<uint32_t*>(a), 1u);
}

TEST_F(Memory, FillSetsEveryByteAndNoMore) {
  auto* a = static_cast<unsigned char*>(Alloc(256));
  ASSERT_EQ(aclrtMemset(a, 256, 0, 256), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(a, 256, 0x5a, 100), ACL_SUCCESS);
  EXPECT_EQ(std::count(a, a + 256, 0x5a), 100);
  EXPECT_EQ(a[99], 0x5a);
  EXPECT_EQ(a[100], 0);
}

TEST_F(Memory, CopiesBetweenDevicesWork) {
  void* a = Alloc(64);
  ASSERT_EQ(aclrtMemset(a, 64, 7, 64), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  void* b = Alloc(64);
  ASSERT_EQ(aclrtMemcpy(b, 64, a, 64, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(static_cast<char*>(b)[63], 7);
  ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
}

TEST_F(Memory, InformationFollowsAllocations) {
  size_t before = 0, total = 0, during = 0, after = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  EXPECT_EQ(before, total);
  void* a = Alloc(1 << 20);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &during, &total), ACL_SUCCESS);
  EXPECT_EQ(before - during, size_t{1} << 20);
  ASSERT_EQ(aclrtFree(a), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(after, before);
}

TEST_F(Memory, WhatTheProgramHoldsIsToldByModule) {
  constexpr uint32_t kProgram = 33;
  const auto held = [](uint32_t device) {
    npusim_dev_module modules[8];
    const int count = npusim_dev_module_memory(device, modules, 8);
    for (int i = 0; i < count; i++)
      if (modules[i].module == kProgram) return modules[i].bytes;
    return uint64_t{0};
  };
  void *a = Alloc(1), *b = Alloc(1000);
  EXPECT_EQ(held(0), 512u + 1024u) << "in whole pieces of 512 bytes";
  EXPECT_EQ(npusim_dev_module_memory(0, nullptr, 0), 1) << "the number of modules, also without room";
  EXPECT_EQ(aclrtFree(a), ACL_SUCCESS);
  EXPECT_EQ(held(0), 1024u);
  EXPECT_EQ(aclrtFree(b), ACL_SUCCESS);
  EXPECT_EQ(held(0), 0u);
  EXPECT_EQ(npusim_dev_module_memory(0, nullptr, 0), 1) << "who held some before is still named";
  EXPECT_EQ(npusim_dev_module_memory(64, nullptr, 0), -ENODEV);
}

TEST_F(Memory, RefusalsHaveTheirCodesAndNameTheValue) {
  void* a = nullptr;
  int on_stack = 0;
  EXPECT_EQ(aclrtMalloc(&a, size_t{65} << 30, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find(std::to_string(size_t{65} << 30)), std::string::npos);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr) << "reading forgets";
  EXPECT_EQ(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&a, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(&on_stack), ACL_ERROR_RT_PARAM_INVALID);
  a = Alloc(16);
  EXPECT_EQ(aclrtMemcpy(a, 8, &on_stack, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("16 bytes do not fit"), std::string::npos);
  EXPECT_EQ(aclrtMemcpy(a, 16, nullptr, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(a, 16, &on_stack, 4, static_cast<aclrtMemcpyKind>(9)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(a), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(a), ACL_ERROR_RT_PARAM_INVALID) << "freed twice";
}

}  // namespace
