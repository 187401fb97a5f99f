// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "device/ring_reader.h"
#include "fake_device.h"

namespace npuprof::device {
namespace {

constexpr uint32_t kSlots = 16;

class RingTest : public testing::Test {
 protected:
  RingTest() {
    device_.Grow(NPUPROF_CHANNEL_HBM, kSlots, sizeof(npuprof_rec_bandwidth), 0xffff, 0);
    reader_ = RingReader(&device_.control[1], &device_.tails[1],
                         device_.data.data() + device_.control[1].data_offset, kSlots,
                         sizeof(npuprof_rec_bandwidth));
  }
  bool Put(uint64_t number) {
    npuprof_rec_bandwidth record = {};
    record.value = number;
    return device_.Put(1, &record);
  }
  static uint64_t Number(const RingReader::Run& run, size_t i) {
    npuprof_rec_bandwidth record;
    std::memcpy(&record, run.data + i * sizeof record, sizeof record);
    return record.value;
  }
  FakeDevice device_;
  RingReader reader_;
};

TEST_F(RingTest, RunsEndAtTheEndOfMemoryAndGoOnAtItsStart) {
  for (uint64_t k = 0; k < 10; ++k) ASSERT_TRUE(Put(k));
  EXPECT_EQ(reader_.Peek().count, 10u);
  reader_.Release(10);
  for (uint64_t k = 10; k < 26; ++k) ASSERT_TRUE(Put(k));
  ASSERT_FALSE(Put(99));
  EXPECT_EQ(reader_.waiting(), kSlots);
  EXPECT_EQ(reader_.lost(), 1u);
  EXPECT_EQ(reader_.lost_by_cause(NPUPROF_LOSS_RING_FULL), 1u);
  EXPECT_EQ(reader_.lost_by_cause(77), 0u);
  RingReader::Run run = reader_.Peek();
  ASSERT_EQ(run.count, 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(Number(run, i), 10 + i);
  reader_.Release(6);
  run = reader_.Peek();
  ASSERT_EQ(run.count, 10u);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(Number(run, i), 16 + i);
  reader_.Release(3);
  EXPECT_EQ(Number(reader_.Peek(), 0), 19u);
  EXPECT_EQ(device_.tails[1].tail, 19u);
}

TEST_F(RingTest, HeadThatIsTooFarAheadIsCountedAndNotRead) {
  device_.control[1].head = 1000;
  EXPECT_EQ(reader_.Peek().count, 0u);
  EXPECT_EQ(reader_.overrun(), 1000u);
  EXPECT_EQ(reader_.waiting(), 0u);
  ASSERT_TRUE(Put(5));
  EXPECT_EQ(Number(reader_.Peek(), 0), 5u);
  // Going backwards is the same: the difference is enormous.
  device_.control[1].head = 1;
  EXPECT_EQ(reader_.Peek().count, 0u);
}

TEST_F(RingTest, GeometryInSharedMemoryIsNotTrustedLater) {
  for (uint64_t k = 0; k < kSlots; ++k) ASSERT_TRUE(Put(k));
  device_.control[1].slots = 1u << 30;
  device_.control[1].record_size = 1u << 20;
  EXPECT_EQ(reader_.Peek().count, kSlots);
  EXPECT_EQ(reader_.record_size(), sizeof(npuprof_rec_bandwidth));
}

TEST_F(RingTest, ProducerAndConsumerAgreeUnderLoad) {
  constexpr uint64_t kCount = 200'000;
  std::thread producer([&] {
    for (uint64_t k = 0; k < kCount;) {
      if (Put(k)) {
        ++k;
      } else {
        std::this_thread::yield();
      }
    }
  });
  uint64_t next = 0;
  while (next < kCount) {
    const RingReader::Run run = reader_.Peek();
    for (size_t i = 0; i < run.count; ++i) {
      if (Number(run, i) != next) ADD_FAILURE() << "record " << next << " is " << Number(run, i);
      ++next;
    }
    reader_.Release(run.count);
    if (run.count == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(reader_.overrun(), 0u);
}

}  // namespace
}  // namespace npuprof::device
