// SPDX-License-Identifier: Apache-2.0
// The three areas: what can be mapped, how, and what may be written.
#include <sys/mman.h>

#include <cerrno>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

struct Maps : testing::Test {
  Profiler profiler;
  void SetUp() override { ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1); }
  int Map(uint64_t offset, size_t length, int protection = PROT_READ, void** where = nullptr) {
    void* address = nullptr;
    const int error = Backend::Get().Map(profiler.handle(), offset, length, protection, &address);
    if (where != nullptr) *where = address;
    if (error == 0 && where == nullptr) Backend::Get().Unmap(address, length);
    return error;
  }
};

TEST_F(Maps, OnlyTheirOffsetsExist) {
  for (uint64_t offset :
       std::initializer_list<uint64_t>{kPage, NPUPROF_MMAP_TAILS + kPage, NPUPROF_MMAP_DATA + kPage,
                                       uint64_t{0x300000000}, uint64_t{0x7ffffffffffff000}})
    EXPECT_EQ(Map(offset, kPage), -EINVAL) << std::hex << offset;
}

TEST_F(Maps, NoLongerThanTheAreas) {
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, 0), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, 2 * kPage), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_TAILS, 2 * kPage, PROT_READ | PROT_WRITE), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage + 1), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_DATA, 1u << 20), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_DATA, 1u << 24), -EINVAL);
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage), 0);
  EXPECT_EQ(Map(NPUPROF_MMAP_TAILS, kPage, PROT_READ | PROT_WRITE), 0);
}

TEST_F(Maps, GrowWithTheRings) {
  for (uint16_t core = 0; core < profiler.Query().cube_cores && core < 20; ++core)
    ASSERT_GT(profiler.Add(BlockRing(NPUPROF_CORE_CUBE, core, 64)), 0);
  for (uint16_t core = 0; core < profiler.Query().vector_cores && core < 20; ++core)
    ASSERT_GT(profiler.Add(BlockRing(NPUPROF_CORE_VECTOR, core, 64)), 0);
  // 42 rings of 128 bytes do not fit into one page.
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, 2 * kPage), 0);
  EXPECT_EQ(Map(NPUPROF_MMAP_CONTROL, 3 * kPage), -EINVAL);
  profiler.Start();
  profiler.Stop();
}

TEST_F(Maps, MayBeReadTwiceAtOnce) {
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &first), 0);
  ASSERT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &second), 0);
  Work work;
  profiler.Start();
  work.Run(5);
  profiler.Stop();
  EXPECT_EQ(static_cast<npuprof_ring_ctrl*>(first)[1].head, 10u);
  EXPECT_EQ(static_cast<npuprof_ring_ctrl*>(second)[1].head, 10u);
  Backend::Get().Unmap(first, kPage);
  Backend::Get().Unmap(second, kPage);
}

TEST_F(Maps, WritingIntoWhatIsReadOnlyKills) {
  void* address = nullptr;
  ASSERT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address), 0);
  EXPECT_EXIT(static_cast<volatile npuprof_ring_ctrl*>(address)[1].head = 5, testing::KilledBySignal(SIGSEGV),
              "");
  ASSERT_EQ(Map(NPUPROF_MMAP_DATA, kPage, PROT_READ, &address), 0);
  EXPECT_EXIT(*static_cast<volatile char*>(address) = 5, testing::KilledBySignal(SIGSEGV), "");
}

// From here on what a process may ask of mmap() itself.
struct KernelMaps : Maps {
  void SetUp() override {
    NOT_APPLICABLE_ON("sim", "its areas are memory of the same process, mapped one way only");
    Maps::SetUp();
  }
};

TEST_F(KernelMaps, NoWritableControlOrData) {
  for (uint64_t area : std::initializer_list<uint64_t>{NPUPROF_MMAP_CONTROL, NPUPROF_MMAP_DATA}) {
    const int error = Map(area, kPage, PROT_READ | PROT_WRITE);
    EXPECT_TRUE(error == -EPERM || error == -EACCES) << std::hex << area << " " << error;
  }
}

TEST_F(KernelMaps, NoExecutableAreas) {
  for (uint64_t area :
       std::initializer_list<uint64_t>{NPUPROF_MMAP_CONTROL, NPUPROF_MMAP_TAILS, NPUPROF_MMAP_DATA}) {
    const int error = Map(area, kPage, PROT_READ | PROT_EXEC);
    EXPECT_TRUE(error == -EPERM || error == -EACCES) << std::hex << area << " " << error;
  }
}

TEST_F(KernelMaps, ProtectionCannotBeRaisedLater) {
  for (uint64_t area : std::initializer_list<uint64_t>{NPUPROF_MMAP_CONTROL, NPUPROF_MMAP_DATA}) {
    void* address = nullptr;
    ASSERT_EQ(Map(area, kPage, PROT_READ, &address), 0);
    EXPECT_EQ(mprotect(address, kPage, PROT_READ | PROT_WRITE), -1);
    EXPECT_EQ(errno, EACCES);
    EXPECT_EQ(mprotect(address, kPage, PROT_READ | PROT_EXEC), -1);
    EXPECT_EQ(errno, EACCES);
    munmap(address, kPage);
  }
}

TEST_F(KernelMaps, NoPrivateCopyOfTheTails) {
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, profiler.handle(),
                      static_cast<off_t>(NPUPROF_MMAP_TAILS));
  EXPECT_EQ(memory, MAP_FAILED);  // its writes would reach nobody
  if (memory != MAP_FAILED) munmap(memory, kPage);
}

TEST_F(KernelMaps, PartOfAnAreaMayBeGivenBack) {
  npuprof_add_ring big = PmuRing(1024);
  ASSERT_GT(profiler.Add(big), 0);
  void* address = nullptr;
  ASSERT_EQ(Map(NPUPROF_MMAP_DATA, 8 * kPage, PROT_READ, &address), 0);
  EXPECT_EQ(munmap(static_cast<char*>(address) + 2 * kPage, 3 * kPage), 0);
  EXPECT_EQ(*static_cast<volatile char*>(address), 0);
  EXPECT_EQ(static_cast<volatile char*>(address)[7 * kPage], 0);
  EXPECT_EQ(munmap(address, 8 * kPage), 0);
}

TEST_F(KernelMaps, DoNotGrow) {
  void* address = nullptr;
  ASSERT_EQ(Map(NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address), 0);
  EXPECT_EQ(mremap(address, kPage, 4 * kPage, MREMAP_MAYMOVE), MAP_FAILED);
  munmap(address, kPage);
}

TEST_F(KernelMaps, FreshDataIsZero) {
  void* address = nullptr;
  ASSERT_EQ(Map(NPUPROF_MMAP_DATA, kPage, PROT_READ, &address), 0);
  for (size_t k = 0; k < kPage; ++k) ASSERT_EQ(static_cast<volatile char*>(address)[k], 0) << k;
  munmap(address, kPage);
}

}  // namespace
}  // namespace conformance
