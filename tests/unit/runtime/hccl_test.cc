// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hccl_ranks.h"
#include "npusim/npusim_device.h"
#include "recorder.h"
#include "runtime/core/half.h"

namespace {

using npusim::FloatToHalf;
using npusim::HalfToFloat;

// Number of ranks, and what HCCL_ALGO says.
class Ranks : public testing::TestWithParam<std::tuple<uint32_t, const char*>> {
 protected:
  void Everyone(const std::function<void(const Member&)>& work) {
    const ScopedVariable algorithm("HCCL_ALGO", std::get<1>(GetParam()));
    ::Everyone(std::get<0>(GetParam()), work);
  }
};
INSTANTIATE_TEST_SUITE_P(Hccl, Ranks,
                         testing::Combine(testing::Values(1u, 2u, 3u, 4u, 5u, 8u),
                                          testing::Values("level0:ring", "level0:fullmesh")),
                         [](const auto& each) {
                           const std::string algorithm = std::get<1>(each.param);
                           return std::to_string(std::get<0>(each.param)) + "_" + algorithm.substr(7);
                         });
TEST_P(Ranks, AllReduceSumsSingleAndHalfPrecisionAndIntegers) {
  constexpr size_t kCount = 1003;  // no multiple of the ranks
  Everyone([](const Member& m) {
    const auto total = static_cast<float>(m.size * (m.size + 1) / 2);
    std::vector<float> f(kCount);
    std::vector<uint16_t> h(kCount);
    std::vector<int32_t> i(kCount);
    for (size_t k = 0; k < kCount; k++) {
      f[k] = static_cast<float>(m.rank + 1) * static_cast<float>(k);
      h[k] = FloatToHalf(static_cast<float>((m.rank + 1) * (k % 32)));
      i[k] = static_cast<int32_t>((m.rank + 1) * k) - 500;
    }
    auto *df = m.Device(f), *rf = m.Device(std::vector<float>(kCount));
    auto* dh = m.Device(h);
    auto* di = m.Device(i);
    ASSERT_EQ(HcclAllReduce(df, rf, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(dh, dh, kCount, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(di, di, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_SUCCESS);
    const auto of = m.Host(rf, kCount);
    const auto oh = m.Host(dh, kCount);
    const auto oi = m.Host(di, kCount);
    for (size_t k = 0; k < kCount; k++) {
      ASSERT_EQ(of[k], total * static_cast<float>(k));
      ASSERT_EQ(HalfToFloat(oh[k]), total * static_cast<float>(k % 32));
      ASSERT_EQ(oi[k],
                static_cast<int32_t>(total) * static_cast<int32_t>(k) - 500 * static_cast<int32_t>(m.size));
    }
    EXPECT_EQ(m.Host(df, kCount), f) << "the input stays";
  });
}

TEST_P(Ranks, ProductMaximumAndMinimum) {
  Everyone([](const Member& m) {
    const auto mine = static_cast<int64_t>(m.rank + 1);
    int64_t product = 1;
    for (uint32_t r = 1; r <= m.size; r++) product *= r;
    const std::vector<std::pair<HcclReduceOp, int64_t>> cases = {
        {HCCL_REDUCE_PROD, product}, {HCCL_REDUCE_MAX, m.size}, {HCCL_REDUCE_MIN, 1}};
    for (const auto& [op, expected] : cases) {
      int64_t* d = m.Device(std::vector<int64_t>(10, mine));
      ASSERT_EQ(HcclAllReduce(d, d, 10, HCCL_DATA_TYPE_INT64, op, m.comm, m.stream), HCCL_SUCCESS);
      EXPECT_EQ(m.Host(d, 10), std::vector<int64_t>(10, expected));
    }
  });
}

TEST_P(Ranks, AllGatherReduceScatterAndBroadcast) {
  constexpr size_t kCount = 37;
  Everyone([](const Member& m) {
    const auto n = static_cast<size_t>(m.size);
    auto* send = m.Device(std::vector<int32_t>(kCount, static_cast<int32_t>(m.rank)));
    auto* gathered = m.Device(std::vector<int32_t>(kCount * n, -1));
    ASSERT_EQ(HcclAllGather(send, gathered, kCount, HCCL_DATA_TYPE_INT32, m.comm, m.stream), HCCL_SUCCESS);
    const auto all = m.Host(gathered, kCount * n);
    for (size_t k = 0; k < all.size(); k++) ASSERT_EQ(all[k], static_cast<int32_t>(k / kCount));

    auto* part = m.Device(std::vector<int32_t>(kCount));
    ASSERT_EQ(
        HcclReduceScatter(gathered, part, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, m.comm, m.stream),
        HCCL_SUCCESS);
    EXPECT_EQ(m.Host(part, kCount), std::vector<int32_t>(kCount, static_cast<int32_t>(m.rank * m.size)));

    for (uint32_t root = 0; root < m.size; root++) {
      ASSERT_EQ(HcclBroadcast(send, kCount, HCCL_DATA_TYPE_INT32, root, m.comm, m.stream), HCCL_SUCCESS);
      EXPECT_EQ(m.Host(send, kCount), std::vector<int32_t>(kCount, 0))
          << "rank 0's value since the first broadcast";
    }
    ASSERT_EQ(HcclBarrier(m.comm, m.stream), HCCL_SUCCESS);
  });
}

TEST_P(Ranks, ManyCollectivesInARowKeepTheirData) {
  Everyone([](const Member& m) {
    auto* d = m.Device(std::vector<int64_t>(8, 1));
    for (int i = 0; i < 15; i++) {
      ASSERT_EQ(HcclAllReduce(d, d, 8, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
      if (i % 4 == 0) {
        ASSERT_EQ(HcclBarrier(m.comm, m.stream), HCCL_SUCCESS);
      }
    }
    int64_t expected = 1;
    for (int i = 0; i < 15; i++) expected *= m.size;
    EXPECT_EQ(m.Host(d, 8), std::vector<int64_t>(8, expected));
  });
}

TEST(Hccl, RoundsCoverMoreThanTheStagingBuffers) {
  constexpr size_t kCount = (40 << 20) / sizeof(float) + 3;
  Everyone(2, [](const Member& m) {
    auto* d = m.Device(std::vector<float>(kCount, static_cast<float>(m.rank) + 0.5f));
    ASSERT_EQ(HcclAllReduce(d, d, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_SUCCESS);
    EXPECT_EQ(m.Host(d, kCount), std::vector<float>(kCount, 2.0f));
  });
}

TEST(Hccl, OneThreadCanDriveAllRanks) {
  int32_t devices[] = {0, 1, 2};
  HcclComm comms[3];
  ASSERT_EQ(HcclCommInitAll(3, devices, comms), HCCL_SUCCESS);
  aclrtStream streams[3];
  void* buffers[3];
  for (int i = 0; i < 3; i++) {
    uint32_t rank = 9;
    ASSERT_EQ(HcclGetRankId(comms[i], &rank), HCCL_SUCCESS);
    EXPECT_EQ(rank, static_cast<uint32_t>(i));
    ASSERT_EQ(aclrtSetDevice(i), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&streams[i]), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&buffers[i], 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(buffers[i], 4, i + 1, 4), ACL_SUCCESS);
  }
  for (int i = 0; i < 3; i++)
    ASSERT_EQ(
        HcclAllReduce(buffers[i], buffers[i], 4, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comms[i], streams[i]),
        HCCL_SUCCESS);
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(aclrtSynchronizeStream(streams[i]), ACL_SUCCESS);
    EXPECT_EQ(static_cast<char*>(buffers[i])[3], 6);
  }
  for (auto& c : comms) EXPECT_EQ(HcclCommDestroy(c), HCCL_SUCCESS);
}

TEST(Hccl, CapturedCollectivesReplay) {
  Everyone(3, [](const Member& m) {
    auto* d = m.Device(std::vector<int32_t>(6, 1));
    aclmdlRI graph = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(m.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(d, d, 6, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, m.comm, m.stream), HCCL_SUCCESS);
    ASSERT_EQ(aclmdlRICaptureEnd(m.stream, &graph), ACL_SUCCESS);
    EXPECT_EQ(m.Host(d, 6), std::vector<int32_t>(6, 1)) << "nothing ran yet";
    for (int i = 0; i < 4; i++) ASSERT_EQ(aclmdlRIExecuteAsync(graph, m.stream), ACL_SUCCESS);
    EXPECT_EQ(m.Host(d, 6), std::vector<int32_t>(6, 81));
    EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  });
}

TEST(Hccl, RefusalsHaveTheirCodes) {
  HcclComm comm;
  HcclRootInfo forged{};
  int32_t twice[] = {0, 0};
  int data[4] = {};
  EXPECT_EQ(HcclCommInitAll(2, twice, &comm), HCCL_E_PARA);
  EXPECT_EQ(HcclCommInitAll(9, twice, &comm), HCCL_E_PARA);
  EXPECT_EQ(HcclCommInitRootInfo(1, &forged, 0, &comm), HCCL_E_PARA);
  EXPECT_EQ(HcclGetRootInfo(nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclCommDestroy(data), HCCL_E_PARA);
  Everyone(2, [&](const Member& m) {
    EXPECT_EQ(HcclAllReduce(nullptr, data, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_E_PTR);
    EXPECT_EQ(HcclAllReduce(data, data, 4, HCCL_DATA_TYPE_INT128, HCCL_REDUCE_SUM, m.comm, m.stream),
              HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclBroadcast(data, 4, HCCL_DATA_TYPE_INT32, 2, m.comm, m.stream), HCCL_E_PARA);
    HcclComm other;
    HcclRootInfo info;
    ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommInitRootInfo(2, &info, 2, &other), HCCL_E_PARA);
  });
}

TEST(Half, ConvertsExactlyAndRoundsToEven) {
  for (uint32_t h = 0; h < 0x10000; h++) {
    const auto bits = static_cast<uint16_t>(h);
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) continue;  // not a number
    ASSERT_EQ(FloatToHalf(HalfToFloat(bits)), bits);
  }
  EXPECT_EQ(FloatToHalf(2049.0f), FloatToHalf(2048.0f));
  EXPECT_EQ(FloatToHalf(2051.0f), FloatToHalf(2052.0f));
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
}

TEST(Hccl, MemoryOfACommunicatorIsToldAsThatOfTheCollectives) {
  constexpr uint32_t kCollectives = 3;
  const auto held = [](uint32_t device) {
    npusim_dev_module modules[8];
    const int count = npusim_dev_module_memory(device, modules, 8);
    for (int i = 0; i < count && i < 8; ++i)
      if (modules[i].module == kCollectives) return modules[i].bytes;
    return uint64_t{0};
  };
  Everyone(2, [&](const Member& m) {
    EXPECT_EQ(held(m.rank), uint64_t{64} << 20)
        << "a place of 32 MiB for what comes in and one for what goes out";
  });
  EXPECT_EQ(held(0), 0u);
  EXPECT_EQ(held(1), 0u);
}

}  // namespace
