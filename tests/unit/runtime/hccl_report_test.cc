// SPDX-License-Identifier: Apache-2.0
// What is reported of the tasks of collectives, by algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "hccl_ranks.h"
#include "recorder.h"

namespace {

constexpr uint32_t kOnChip = 0, kHccs = 1, kSdma = 0, kLocal = 2;

// The tasks of collectives as they were reported. Each must lie in the call of its plane, and that in the launch of its
// collective.
std::vector<MsprofHcclInfo> Tasks(const Recorder& r) {
  const auto launches = r.Apis(MSPROF_REPORT_NODE_LEVEL, "launch");
  const auto spans = r.Apis(MSPROF_REPORT_HCCL_NODE_LEVEL, "");
  const auto records = r.Additionals("hccl_info");
  EXPECT_EQ(records.size(), spans.size());
  std::vector<MsprofHcclInfo> tasks;
  for (const auto& a : records) {
    MsprofHcclInfo info;
    memcpy(&info, a.data, sizeof info);
    const auto span = std::find_if(spans.begin(), spans.end(), [&](const MsprofApi& s) {
      return s.threadId == a.threadId && s.beginTime < a.timeStamp && a.timeStamp <= s.endTime;
    });
    EXPECT_NE(span, spans.end());
    if (span == spans.end()) continue;
    EXPECT_EQ(span->itemId, info.itemId);
    EXPECT_EQ(r.NameOf(span->level, span->type), info.planeID == 0 ? "master" : "slave");
    EXPECT_TRUE(std::any_of(launches.begin(), launches.end(), [&](const MsprofApi& l) {
      return l.threadId == a.threadId && l.beginTime <= span->beginTime && span->endTime <= l.endTime;
    }));
    tasks.push_back(info);
  }
  return tasks;
}

// Records @p work of @p ranks ranks.
std::vector<MsprofHcclInfo> Record(uint32_t ranks, const std::function<void(const Member&)>& work) {
  Recorder& r = Recorder::Get();
  r.Clear();
  r.Start(PROF_ACL_API | PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_HCCL_TRACE);
  Everyone(ranks, work);
  r.Stop();
  return Tasks(r);
}

void AllReduceOfThirty(const Member& m) {
  auto* d = m.Device(std::vector<float>(30, 1));
  ASSERT_EQ(HcclAllReduce(d, d, 30, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream), HCCL_SUCCESS);
}

// How often tasks of a plane and a name are there.
std::map<std::pair<uint32_t, std::string>, int> ByPlane(const std::vector<MsprofHcclInfo>& tasks) {
  std::map<std::pair<uint32_t, std::string>, int> counts;
  for (const auto& t : tasks) counts[{t.planeID, Recorder::Get().Text(t.itemId)}]++;
  return counts;
}

void ExpectOperators(const std::string& algorithm) {
  const Recorder& r = Recorder::Get();
  EXPECT_EQ(r.Apis(MSPROF_REPORT_ACL_LEVEL, "HcclAllReduce").size(), 3u);
  const auto launches = r.Apis(MSPROF_REPORT_NODE_LEVEL, "launch");
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(r.Text(launches[0].itemId), "hcom_allReduce_");
  const auto ops = r.Compacts("hccl_op_info");
  ASSERT_EQ(ops.size(), 3u);
  for (const auto& op : ops) {
    const uint64_t count = op.data.hcclopInfo.count,
                   name = op.data.hcclopInfo.algType;  // unaligned in its packed record
    EXPECT_EQ(count, 30u);
    EXPECT_EQ(op.data.hcclopInfo.dataType, HCCL_DATA_TYPE_FP32);
    EXPECT_EQ(r.Text(name), algorithm);
  }
}

TEST(HcclReport, MeshesHaveAPlanePerPeer) {
  const ScopedVariable algorithm("HCCL_ALGO", "level0:fullmesh");
  const auto tasks = Record(3, AllReduceOfThirty);
  ExpectOperators("MESH");
  for (const auto& t : tasks) EXPECT_EQ(t.rankSize, 3u);
  // Each of three ranks reduces one peer's part on either plane and fetches one peer's result.
  auto per_plane = ByPlane(tasks);
  EXPECT_EQ((per_plane[{0, "Reduce_Inline"}]), 3);
  EXPECT_EQ((per_plane[{1, "Reduce_Inline"}]), 3);
  EXPECT_EQ((per_plane[{1, "Memcpy"}]), 3);
  EXPECT_EQ((per_plane[{0, "Memcpy"}]), 3 * 4);
}

TEST(HcclReport, RingsHaveAPlanePerWayRound) {
  const auto tasks = Record(3, AllReduceOfThirty);
  ExpectOperators("RING");
  auto per_plane = ByPlane(tasks);
  constexpr int kRanks = 3, kSteps = 2;
  for (uint32_t plane : {0u, 1u}) EXPECT_EQ((per_plane[{plane, "Reduce_Inline"}]), kRanks * kSteps) << plane;
  EXPECT_EQ((per_plane[{1, "Memcpy"}]), kRanks * kSteps);
  EXPECT_EQ((per_plane[{0, "Memcpy"}]), kRanks * (kSteps + 2)) << "in and out, too";
  // Two notifies either way in each step of both halves; the planes meet at the begin and at the end.
  for (const char* name : {"Notify_Record", "Notify_Wait"})
    for (uint32_t plane : {0u, 1u})
      EXPECT_EQ((per_plane[{plane, name}]), kRanks * (2 * kSteps * 2 + 1)) << plane << name;
}

// Whom a rank deals with on which plane: it reads from the one behind and waits for both neighbours.
TEST(HcclReport, RanksOfARingDealWithTheirNeighboursAlone) {
  constexpr uint32_t kRanks = 5;
  for (const auto& t : Record(kRanks, AllReduceOfThirty)) {
    const uint32_t next = (t.localRank + 1) % kRanks, previous = (t.localRank + kRanks - 1) % kRanks;
    const std::string name = Recorder::Get().Text(t.itemId);
    if (t.remoteRank == t.localRank) {
      EXPECT_EQ(t.linkType, kOnChip);
      EXPECT_EQ(t.transportType, t.dataSize > 0 ? kSdma : kLocal) << name;
      continue;
    }
    EXPECT_EQ(t.linkType, kHccs);
    EXPECT_EQ(t.transportType, kSdma);
    ASSERT_TRUE(t.remoteRank == next || t.remoteRank == previous) << name;
    if (t.dataSize == 0) continue;
    EXPECT_EQ(t.remoteRank, t.planeID == 0 ? previous : next) << name;
    EXPECT_EQ(t.notifyID, UINT64_MAX);
    EXPECT_NE(t.srcAddr, 0u);
    EXPECT_NE(t.dstAddr, 0u);
  }
}

// A record of a notify on one rank and the wait for it on another name the same one, as often.
TEST(HcclReport, EachNotifyIsRaisedAsOftenAsItIsAwaited) {
  for (const uint32_t ranks : {2u, 4u}) {
    std::map<uint64_t, std::map<std::string, std::multiset<std::pair<uint32_t, uint32_t>>>> notifies;
    for (const auto& t : Record(ranks, AllReduceOfThirty)) {
      const std::string name = Recorder::Get().Text(t.itemId);
      if (name == "Notify_Record") notifies[t.notifyID][name].insert({t.localRank, t.remoteRank});
      if (name == "Notify_Wait") notifies[t.notifyID][name].insert({t.remoteRank, t.localRank});
    }
    EXPECT_FALSE(notifies.empty());
    for (auto& [id, sides] : notifies) EXPECT_EQ(sides["Notify_Record"], sides["Notify_Wait"]) << id;
  }
}

// Bytes that rank @p rank read from its peers in tasks of @p name.
uint64_t Read(const std::vector<MsprofHcclInfo>& tasks, uint32_t rank, const std::string& name) {
  uint64_t bytes = 0;
  for (const auto& t : tasks)
    if (t.localRank == rank && t.remoteRank != rank && Recorder::Get().Text(t.itemId) == name)
      bytes += t.dataSize;
  return bytes;
}

// Each collective moves over the links what its algorithm has to, to the byte.
TEST(HcclReport, EveryByteIsAccountedFor) {
  constexpr uint64_t kCount = 1003, kSize = sizeof(float);
  for (const uint32_t ranks : {2u, 3u, 4u, 8u}) {
    SCOPED_TRACE(ranks);
    auto tasks = Record(ranks, [](const Member& m) {
      auto* d = m.Device(std::vector<float>(kCount, 1));
      ASSERT_EQ(HcclAllReduce(d, d, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
    });
    uint64_t reduced = 0, copied = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
      reduced += Read(tasks, rank, "Reduce_Inline");
      copied += Read(tasks, rank, "Memcpy");
    }
    EXPECT_EQ(reduced, kCount * kSize * (ranks - 1));
    EXPECT_EQ(copied, kCount * kSize * (ranks - 1));

    tasks = Record(ranks, [](const Member& m) {
      auto* mine = m.Device(std::vector<float>(kCount, 1));
      auto* all = m.Device(std::vector<float>(kCount * m.size, 1));
      ASSERT_EQ(HcclAllGather(mine, all, kCount, HCCL_DATA_TYPE_FP32, m.comm, m.stream), HCCL_SUCCESS);
      ASSERT_EQ(HcclReduceScatter(all, mine, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, m.comm, m.stream),
                HCCL_SUCCESS);
    });
    for (uint32_t rank = 0; rank < ranks; rank++) {
      EXPECT_EQ(Read(tasks, rank, "Memcpy"), kCount * kSize * (ranks - 1));
      EXPECT_EQ(Read(tasks, rank, "Reduce_Inline"), kCount * kSize * (ranks - 1));
    }

    tasks = Record(ranks, [](const Member& m) {
      auto* d = m.Device(std::vector<float>(kCount, 1));
      ASSERT_EQ(HcclBroadcast(d, kCount, HCCL_DATA_TYPE_FP32, 1, m.comm, m.stream), HCCL_SUCCESS);
    });
    for (uint32_t rank = 0; rank < ranks; rank++) {
      EXPECT_EQ(Read(tasks, rank, "Memcpy"), rank == 1 ? 0 : kCount * kSize);
      EXPECT_EQ(Read(tasks, rank, "Reduce_Inline"), 0u);
    }
  }
}

// The pieces of a broadcast follow each other: with 4 ranks and 1 MiB either way there are floor(sqrt(2 * 16)).
TEST(HcclReport, BroadcastsGoAroundInPieces) {
  constexpr size_t kCount = (2 << 20) / sizeof(float);
  auto tasks = Record(4, [](const Member& m) {
    auto* d = m.Device(std::vector<float>(kCount, static_cast<float>(m.rank)));
    ASSERT_EQ(HcclBroadcast(d, kCount, HCCL_DATA_TYPE_FP32, 2, m.comm, m.stream), HCCL_SUCCESS);
    EXPECT_EQ(m.Host(d, kCount), std::vector<float>(kCount, 2));
  });
  std::map<std::pair<uint32_t, uint32_t>, int> pieces;  // by rank and plane
  for (const auto& t : tasks)
    if (t.localRank != t.remoteRank && t.dataSize > 0) pieces[{t.localRank, t.planeID}]++;
  EXPECT_EQ(pieces.size(), 6u);
  for (const auto& [at, count] : pieces) EXPECT_EQ(count, 5) << at.first << " on plane " << at.second;
}

}  // namespace
