// SPDX-License-Identifier: Apache-2.0
// Collectives against a reference: each data type and reduction, sizes that do not divide, in place and not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "hccl_ranks.h"
#include "runtime/core/half.h"
#include "runtime/hccl/algorithm.h"

namespace {

using npusim::Algorithm;
using npusim::Algorithms;
using npusim::Collective;

// Turns elements of the type into numbers and back, for arithmetic that the reference does by itself.
template <typename T>
struct Plain {
  using Element = T;
  static long double Read(T v) { return static_cast<long double>(v); }
  static T Write(int v) { return static_cast<T>(v); }
};
struct Half {
  using Element = uint16_t;
  static long double Read(uint16_t v) { return npusim::HalfToFloat(v); }
  static uint16_t Write(int v) { return npusim::FloatToHalf(static_cast<float>(v)); }
};
struct Bf16 {
  using Element = uint16_t;
  static long double Read(uint16_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v) << 16); }
  static uint16_t Write(int v) {  // small integers, so nothing is cut off
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16);
  }
};

// What rank @p rank contributes at place @p at: small, so that no type rounds or overflows, product of 8 ranks included.
int Value(uint32_t rank, size_t at) {
  const size_t mixed = at * 2654435761u + rank * 40503u;
  return (mixed >> 7) % 5 == 0 && rank < 6 ? 2 : 1;
}

long double Reference(HcclReduceOp op, uint32_t ranks, size_t at) {
  long double result = Value(0, at);
  for (uint32_t rank = 1; rank < ranks; rank++) {
    const long double v = Value(rank, at);
    if (op == HCCL_REDUCE_SUM) result += v;
    if (op == HCCL_REDUCE_PROD) result *= v;
    if (op == HCCL_REDUCE_MAX) result = std::max(result, v);
    if (op == HCCL_REDUCE_MIN) result = std::min(result, v);
  }
  return result;
}

template <typename T>
void CheckType(const Member& m, HcclDataType type, size_t count) {
  using Element = typename T::Element;
  std::vector<Element> mine(count * m.size);
  for (size_t k = 0; k < mine.size(); k++) mine[k] = T::Write(Value(m.rank, k));
  for (const HcclReduceOp op : {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN}) {
    SCOPED_TRACE(testing::Message() << "type " << type << " op " << op << " count " << count << " of "
                                    << m.size);
    // In place.
    auto* both = m.Device(mine);
    ASSERT_EQ(HcclAllReduce(both, both, mine.size(), type, op, m.comm, m.stream), HCCL_SUCCESS);
    // The parts of a reduce-scatter, and the input stays.
    auto* send = m.Device(mine);
    auto* part = m.Device(std::vector<Element>(count));
    ASSERT_EQ(HcclReduceScatter(send, part, count, type, op, m.comm, m.stream), HCCL_SUCCESS);
    // Gathered they are what the all-reduce gave, in place at the rank's own part.
    auto* all = m.Device(std::vector<Element>(mine.size()));
    ASSERT_EQ(aclrtMemcpyAsync(all + m.rank * count, count * sizeof(Element), part, count * sizeof(Element),
                               ACL_MEMCPY_DEVICE_TO_DEVICE, m.stream),
              ACL_SUCCESS);
    ASSERT_EQ(HcclAllGather(all + m.rank * count, all, count, type, m.comm, m.stream), HCCL_SUCCESS);
    const auto reduced = m.Host(both, mine.size());
    for (size_t k = 0; k < reduced.size(); k++)
      ASSERT_EQ(T::Read(reduced[k]), Reference(op, m.size, k)) << "element " << k;
    EXPECT_EQ(m.Host(all, mine.size()), reduced);
    EXPECT_EQ(m.Host(send, mine.size()), mine);
    for (void* p : {static_cast<void*>(both), static_cast<void*>(send), static_cast<void*>(part),
                    static_cast<void*>(all)})
      EXPECT_EQ(aclrtFree(p), ACL_SUCCESS);
  }
}

class RingOf : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Hccl, RingOf, testing::Values(2u, 3u, 4u, 5u, 7u, 8u),
                         testing::PrintToStringParamName());

TEST_P(RingOf, EachTypeAndReductionAgreesWithAReference) {
  Everyone(GetParam(), [](const Member& m) {
    for (const size_t count : {1u, 2u, 13u, 130u}) {
      CheckType<Plain<int8_t>>(m, HCCL_DATA_TYPE_INT8, count);
      CheckType<Plain<int16_t>>(m, HCCL_DATA_TYPE_INT16, count);
      CheckType<Plain<int32_t>>(m, HCCL_DATA_TYPE_INT32, count);
      CheckType<Half>(m, HCCL_DATA_TYPE_FP16, count);
      CheckType<Plain<float>>(m, HCCL_DATA_TYPE_FP32, count);
      CheckType<Plain<int64_t>>(m, HCCL_DATA_TYPE_INT64, count);
      CheckType<Plain<uint64_t>>(m, HCCL_DATA_TYPE_UINT64, count);
      CheckType<Plain<uint8_t>>(m, HCCL_DATA_TYPE_UINT8, count);
      CheckType<Plain<uint16_t>>(m, HCCL_DATA_TYPE_UINT16, count);
      CheckType<Plain<uint32_t>>(m, HCCL_DATA_TYPE_UINT32, count);
      CheckType<Plain<double>>(m, HCCL_DATA_TYPE_FP64, count);
      CheckType<Bf16>(m, HCCL_DATA_TYPE_BFP16, count);
    }
  });
}

// Fewer elements than ranks or ways round leave ranks without a chunk.
TEST_P(RingOf, AnyCountOfElementsIsReducedAndSpread) {
  Everyone(GetParam(), [](const Member& m) {
    for (size_t count = 1; count <= 2 * m.size + 1; count++) {
      std::vector<int64_t> mine(count), sum(count);
      for (size_t k = 0; k < count; k++) {
        mine[k] = static_cast<int64_t>((m.rank + 1) * 1000 + k);
        for (uint32_t rank = 0; rank < m.size; rank++) sum[k] += static_cast<int64_t>((rank + 1) * 1000 + k);
      }
      auto *d = m.Device(mine), *e = m.Device(mine);
      ASSERT_EQ(HcclAllReduce(d, d, count, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
      const auto root = static_cast<uint32_t>(count) % m.size;
      ASSERT_EQ(HcclBroadcast(e, count, HCCL_DATA_TYPE_INT64, root, m.comm, m.stream), HCCL_SUCCESS);
      EXPECT_EQ(m.Host(d, count), sum);
      for (size_t k = 0; k < count; k++) mine[k] = static_cast<int64_t>((root + 1) * 1000 + k);
      EXPECT_EQ(m.Host(e, count), mine);
    }
  });
}

// Sums of any floats round differently by order, but every rank has the same ones, and they are near the exact sum.
TEST_P(RingOf, RanksAgreeToTheBitOnSumsThatRound) {
  constexpr size_t kCount = 5003;
  std::vector<std::vector<float>> inputs(GetParam(), std::vector<float>(kCount)), sums(GetParam());
  std::mt19937 random(7);
  std::uniform_real_distribution<float> any(-1000, 1000);
  for (auto& input : inputs)
    for (float& v : input) v = any(random);
  Everyone(GetParam(), [&](const Member& m) {
    auto *d = m.Device(inputs[m.rank]), *sum = m.Device(std::vector<float>(kCount));
    ASSERT_EQ(HcclAllReduce(d, sum, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_SUCCESS);
    sums[m.rank] = m.Host(sum, kCount);
  });
  for (size_t k = 0; k < kCount; k++) {
    double exact = 0, size = 0;
    for (const auto& input : inputs) exact += input[k], size += std::abs(input[k]);
    for (const auto& sum : sums)
      ASSERT_EQ(std::memcmp(&sum[k], &sums[0][k], sizeof(float)), 0) << "element " << k;
    ASSERT_NEAR(sums[0][k], exact, size * GetParam() * 1.2e-7) << "element " << k;
  }
}

TEST(Ring, RoundsCoverMoreThanTheStagingBuffers) {
  constexpr size_t kCount = (40 << 20) / sizeof(float) + 3, kPart = kCount / 3;
  Everyone(3, [](const Member& m) {
    auto* d = m.Device(std::vector<float>(kCount, static_cast<float>(m.rank) + 0.5f));
    auto* part = m.Device(std::vector<float>(kPart));
    ASSERT_EQ(HcclReduceScatter(d, part, kPart, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, m.comm, m.stream),
              HCCL_SUCCESS);
    EXPECT_EQ(m.Host(part, kPart), std::vector<float>(kPart, 2.5f));
    ASSERT_EQ(HcclAllGather(part, d, kPart, HCCL_DATA_TYPE_FP32, m.comm, m.stream), HCCL_SUCCESS);
    EXPECT_EQ(m.Host(d, kPart * 3), std::vector<float>(kPart * 3, 2.5f));
    auto* own = m.Device(std::vector<float>(kCount, static_cast<float>(m.rank)));
    ASSERT_EQ(HcclBroadcast(own, kCount, HCCL_DATA_TYPE_FP32, 1, m.comm, m.stream), HCCL_SUCCESS);
    EXPECT_EQ(m.Host(own, kCount), std::vector<float>(kCount, 1));
  });
}

// Whoever comes first waits; no order of beginning lets two wait for each other.
TEST(Ring, RanksMayBeginInAnyOrder) {
  constexpr uint32_t kRanks = 4;
  std::vector<uint32_t> order = {0, 1, 2, 3};
  do {
    std::vector<int32_t> devices = {0, 1, 2, 3};
    HcclComm comms[kRanks];
    ASSERT_EQ(HcclCommInitAll(kRanks, devices.data(), comms), HCCL_SUCCESS);
    aclrtStream streams[kRanks];
    void* buffers[kRanks];
    const std::vector<int32_t> ones(11, 1);
    for (const uint32_t rank : order) {
      ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
      ASSERT_EQ(aclrtCreateStream(&streams[rank]), ACL_SUCCESS);
      ASSERT_EQ(aclrtMalloc(&buffers[rank], sizeof(int32_t) * 11, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemcpy(buffers[rank], 44, ones.data(), 44, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
      for (int k = 0; k < 2; k++)
        ASSERT_EQ(HcclAllReduce(buffers[rank], buffers[rank], 11, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                comms[rank], streams[rank]),
                  HCCL_SUCCESS);
      ASSERT_EQ(HcclBroadcast(buffers[rank], 11, HCCL_DATA_TYPE_INT32, order[0], comms[rank], streams[rank]),
                HCCL_SUCCESS);
    }
    for (const uint32_t rank : order) {
      ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(streams[rank], 60'000), ACL_SUCCESS) << "rank " << rank;
      EXPECT_EQ(static_cast<int32_t*>(buffers[rank])[10], 16);
      EXPECT_EQ(HcclCommDestroy(comms[rank]), HCCL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// A communicator may take both ways in turn; the notifies of one never satisfy the other.
TEST(Ring, MeshesAndRingsFollowEachOther) {
  const ScopedVariable algorithm("HCCL_ALGO", "allreduce=level0:fullmesh/broadcast=level0:fullmesh");
  Everyone(4, [](const Member& m) {
    auto* d = m.Device(std::vector<int64_t>(9, m.rank == 0));
    auto* all = m.Device(std::vector<int64_t>(36));
    int64_t expected = 1;
    for (int k = 0; k < 6; k++) {
      ASSERT_EQ(HcclAllReduce(d, d, 9, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
      ASSERT_EQ(HcclAllGather(d, all, 9, HCCL_DATA_TYPE_INT64, m.comm, m.stream), HCCL_SUCCESS);
      ASSERT_EQ(HcclReduceScatter(all, d, 9, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
      ASSERT_EQ(HcclBroadcast(d, 9, HCCL_DATA_TYPE_INT64, 3, m.comm, m.stream), HCCL_SUCCESS);
      ASSERT_EQ(HcclBarrier(m.comm, m.stream), HCCL_SUCCESS);
      expected *= k == 0 ? 4 : 16;
    }
    EXPECT_EQ(m.Host(d, 9), std::vector<int64_t>(9, expected));
  });
}

Algorithms Chosen(const char* text) {
  Algorithms chosen{};
  std::string why;
  EXPECT_TRUE(npusim::ReadAlgorithms(text, &chosen, &why)) << text << ": " << why;
  return chosen;
}

Algorithm Of(const Algorithms& chosen, Collective which) {
  return chosen[static_cast<size_t>(which)];
}

TEST(HcclAlgo, ChoosesByOperatorAndTheRingOtherwise) {
  for (const char* text :
       {static_cast<const char*>(nullptr), "", "level0:NA;level1:ring", "level0:ring", "level1:H-D_R"}) {
    const Algorithms ring = Chosen(text);
    for (const auto which :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast})
      EXPECT_EQ(Of(ring, which), Algorithm::kRing);
    EXPECT_EQ(Of(ring, Collective::kBarrier), Algorithm::kMesh);
  }
  EXPECT_EQ(Of(Chosen("level0:fullmesh;level1:NHR"), Collective::kBroadcast), Algorithm::kMesh);
  const Algorithms some =
      Chosen("allreduce=level0:fullmesh;level1:NHR/alltoall=level1:pairwise/others=level0:ring");
  EXPECT_EQ(Of(some, Collective::kAllReduce), Algorithm::kMesh);
  EXPECT_EQ(Of(some, Collective::kAllGather), Algorithm::kRing);
  const Algorithms others = Chosen("others=level0:fullmesh/allgather=level0:NA");
  EXPECT_EQ(Of(others, Collective::kReduceScatter), Algorithm::kMesh);
  EXPECT_EQ(Of(others, Collective::kAllGather), Algorithm::kRing);
}

TEST(HcclAlgo, WhatIsNotAllowedIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"ring", "\"ring\""},
      {"level0:mash", "\"mash\""},
      {"level0:ring;level0:ring", "\"level0:ring\""},
      {"level1:fullmesh", "\"fullmesh\""},
      {"level0:ring;", "\"\""},
      {"level9:ring", "\"level9:ring\""},
      {"allreduce=level0:ring/level0:ring", "\"level0:ring\""},
      {"allsum=level0:ring", "\"allsum=level0:ring\""}};
  for (const auto& [text, named] : cases) {
    Algorithms chosen{};
    std::string why;
    EXPECT_FALSE(npusim::ReadAlgorithms(text, &chosen, &why)) << text;
    EXPECT_NE(why.find(named), why.npos) << why;
  }
  const ScopedVariable wrong("HCCL_ALGO", "level0:mash");
  int32_t device = 0;
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitAll(1, &device, &comm), HCCL_E_PARA);
  const char* message = aclGetRecentErrMsg();
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find("HCCL_ALGO: \"mash\""), std::string::npos) << message;
}

}  // namespace
