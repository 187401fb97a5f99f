// SPDX-License-Identifier: Apache-2.0
// Calls that end where the program has no memory left.
#include "drain/disk_thread.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "drain/writer.h"
#include "support.h"

namespace {
// From the end of a call on, until the next begins: what its thread does then may find no memory.
constinit thread_local bool t_no_memory = false;
}  // namespace

void* operator new(size_t size) {
  void* memory = t_no_memory ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace npuprof::drain {
namespace {

constexpr unsigned kCalls = 200;  // more than a container keeps room for

TEST(DiskThread, CallEndsWithoutMemory) {
  unsigned called = 0, told = 0;
  DiskThread thread(nullptr);
  ASSERT_TRUE(thread.works());
  for (unsigned i = 0; i < kCalls; ++i) {
    thread.Post(
        FileCall::kOpen,
        [&] {
          t_no_memory = true;
          ++called;
        },
        [&] { ++told; });
  }
  EXPECT_TRUE(Eventually([&] {
    while (thread.Reap()) continue;
    return thread.idle();
  }));
  EXPECT_EQ(called, kCalls);
  EXPECT_EQ(told, kCalls);
}

TEST(PwritevWriterTest, WriteThatEndsWithoutMemoryIsReaped) {
  DiskThread thread(nullptr);
  const auto writer = MakePwritevWriter(&thread, [](int, const iovec*, int, off_t) -> ssize_t {
    t_no_memory = true;
    return 1;
  });
  std::vector<WriteOp> ops(kCalls);
  for (WriteOp& op : ops) ASSERT_TRUE(writer->Submit(&op));
  writer->Kick();
  unsigned reaped = 0;
  EXPECT_TRUE(Eventually([&] {
    while (const WriteOp* op = writer->Reap()) reaped += op->result == 1 ? 1 : 0;
    return reaped == kCalls;
  })) << reaped;
  EXPECT_EQ(writer->in_flight(), 0u);
}

}  // namespace
}  // namespace npuprof::drain
