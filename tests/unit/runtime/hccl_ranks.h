// SPDX-License-Identifier: Apache-2.0
// Ranks of a communicator, each with a thread and a device of its own.
#ifndef NPUPROF_TESTS_RUNTIME_HCCL_RANKS_H
#define NPUPROF_TESTS_RUNTIME_HCCL_RANKS_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

// What one rank's thread works with.
struct Member {
  uint32_t rank, size;
  HcclComm comm;
  aclrtStream stream;

  template <typename T>
  T* Device(const std::vector<T>& values) const {
    void* p = nullptr;
    const size_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(p, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    return static_cast<T*>(p);
  }
  template <typename T>
  std::vector<T> Host(const T* device, size_t count) const {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    std::vector<T> values(count);
    EXPECT_EQ(
        aclrtMemcpy(values.data(), count * sizeof(T), device, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    return values;
  }
};

// Runs @p work as every rank of a communicator, each on a thread and a device of its own.
inline void Everyone(uint32_t ranks, const std::function<void(const Member&)>& work) {
  HcclRootInfo info;
  ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; rank++)
    threads.emplace_back([&, rank] {
      ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
      Member m{rank, ranks, nullptr, nullptr};
      ASSERT_EQ(aclrtCreateStream(&m.stream), ACL_SUCCESS);
      ASSERT_EQ(HcclCommInitRootInfo(ranks, &info, rank, &m.comm), HCCL_SUCCESS);
      work(m);
      EXPECT_EQ(aclrtSynchronizeStream(m.stream), ACL_SUCCESS);
      EXPECT_EQ(HcclCommDestroy(m.comm), HCCL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
    });
  for (auto& t : threads) t.join();
}

// An environment variable while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ScopedVariable() { unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

#endif  // NPUPROF_TESTS_RUNTIME_HCCL_RANKS_H
