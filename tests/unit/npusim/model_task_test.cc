// SPDX-License-Identifier: Apache-2.0
// Streams, synchronisation, placement of blocks and the end of the device.
#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model_device.h"

namespace npusim_test {
namespace {

constexpr uint64_t kDispatch = 300;  // documented gap between tasks of a stream
constexpr uint64_t kSync = 100;      // documented time of event tasks

npusim_task Cookie(npusim_task t, uint64_t cookie, uint16_t stream = 1) {
  t.cookie = cookie;
  t.stream = stream;
  return t;
}

TEST(ModelTask, TasksOfAStreamRunInOrderWithTheDispatchGap) {
  Device d;
  for (uint16_t i = 1; i <= 3; ++i) ASSERT_EQ(d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, i, 1, 1800), i)), 0);
  d.Finish();
  ASSERT_EQ(d.ended.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(d.started[i], (Device::Seen{i + 1, kDispatch + i * (1000 + kDispatch)}));
    EXPECT_EQ(d.ended[i], (Device::Seen{i + 1, (i + 1) * (1000 + kDispatch)}));
  }
}

TEST(ModelTask, StreamsRunSideBySideOnFreeCores) {
  Device d;
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 12, 1800), 1, 1));
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 12, 1800), 2, 2));
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 12, 1800), 3, 3));
  d.Finish();
  ASSERT_EQ(d.started.size(), 3u);
  EXPECT_EQ(d.started[0].ns, d.started[1].ns);
  // 24 cores are taken; the third waits for the first cores to be free.
  EXPECT_EQ(d.started[2], (Device::Seen{3, kDispatch + 1000}));
}

TEST(ModelTask, BlocksRunInRoundsOverTheCoresOfTheirKind) {
  for (uint32_t blocks : {1u, 24u, 25u, 48u, 49u, 1000u}) {
    Device d;
    d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, blocks, 1800), 1));
    d.Finish();
    EXPECT_EQ(d.ended[0].ns - d.started[0].ns, (blocks + 23) / 24 * 1000) << blocks;
    EXPECT_EQ(d.Totals().blocks[0], blocks);
  }
}

TEST(ModelTask, ManyBlocksOnUnevenlyBusyCoresKeepEveryCoreAtWork) {
  Device d;
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 7, 18'000), 1, 1));
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 5000, 1800), 2, 2));
  d.Finish();
  // 7 cores are busy for 10 blocks' time; all 24 share the rest: (5000 + 70) / 24 rounds.
  const uint64_t end = std::max(d.ended[0].ns, d.ended[1].ns);
  EXPECT_EQ(end - d.started[0].ns, (5070 + 23) / 24 * 1000u);
  EXPECT_EQ(d.Totals().blocks[0], 5007u);
}

TEST(ModelTask, MixedKernelOccupiesCubeAndVectorCoresTogether) {
  Device d;
  npusim_task mix = Cookie(Task(NPUSIM_TASK_MIX_AIC, 1, 24, 1800), 1, 1);
  d.Submit(mix);
  d.Submit(Cookie(Task(NPUSIM_TASK_VECTOR, 1, 1, 1800), 2, 2));
  d.Finish();
  EXPECT_EQ(d.Totals().blocks[0], 24u);
  EXPECT_EQ(d.Totals().blocks[1], 49u);
  EXPECT_EQ(d.started[1].ns, d.ended[0].ns);
}

TEST(ModelTask, EventWaitHoldsUntilTheRecordSubmittedBeforeIt) {
  Device d;
  npusim_task kernel = Cookie(Task(NPUSIM_TASK_CUBE, 1, 1, 18'000), 1, 1);
  npusim_task record = Cookie(Task(NPUSIM_TASK_EVENT_RECORD, 2), 2, 1);
  npusim_task wait = Cookie(Task(NPUSIM_TASK_EVENT_WAIT, 1), 3, 2);
  record.sync_id = wait.sync_id = 9;
  d.Submit(kernel);
  d.Submit(record);
  d.Submit(wait);
  d.Finish();
  ASSERT_EQ(d.ended.size(), 3u);
  const uint64_t recorded = kDispatch + 10'000 + kDispatch + kSync;
  EXPECT_EQ(d.ended[1], (Device::Seen{2, recorded}));
  EXPECT_EQ(d.ended[2], (Device::Seen{3, recorded + kSync}));
  EXPECT_EQ(d.started[1].cookie, 3u) << "the wait itself starts at once";
}

TEST(ModelTask, EventWaitWithoutRecordPasses) {
  Device d;
  npusim_task wait = Cookie(Task(NPUSIM_TASK_EVENT_WAIT, 1), 3);
  d.Submit(wait);
  d.Finish();
  EXPECT_EQ(d.ended.size(), 1u);
}

TEST(ModelTask, EachNotifyReleasesOneWait) {
  Device d;
  npusim_task wait = Task(NPUSIM_TASK_NOTIFY_WAIT, 1);
  wait.sync_id = 4;
  d.Submit(Cookie(wait, 1, 1));
  d.Submit(Cookie(wait, 2, 2));
  d.Finish();
  EXPECT_TRUE(d.ended.empty());
  EXPECT_EQ(npusim_model_signal(d.model(), 4), 0);
  d.Finish();
  ASSERT_EQ(d.ended.size(), 1u);
  EXPECT_EQ(d.ended[0].cookie, 1u);
  EXPECT_EQ(npusim_model_signal(d.model(), 65536), -EINVAL);
}

TEST(ModelTask, NotifyRecordForAPeerIsHandedToTheHost) {
  Device d;
  npusim_task record = Task(NPUSIM_TASK_NOTIFY_RECORD, 1);
  record.sync_id = 4;
  record.peer = 1;
  d.Submit(record);
  d.Finish();
  ASSERT_EQ(d.peers.size(), 1u);
  EXPECT_EQ(d.peers[0].device, 1u);
  EXPECT_EQ(d.peers[0].id, 4u);
}

TEST(ModelTask, EnginesServeOneTaskAtATime) {
  Device d;
  npusim_task copy = Task(NPUSIM_TASK_PCIE_DMA, 1);
  copy.copy = NPUSIM_COPY_FROM_HOST;
  copy.work.copy_bytes = 25'000;
  d.Submit(Cookie(copy, 1, 1));
  d.Submit(Cookie(copy, 2, 2));
  copy.copy = NPUSIM_COPY_TO_HOST;
  d.Submit(Cookie(copy, 3, 3));
  d.Finish();
  EXPECT_EQ(d.ended[0].ns - d.started[0].ns, 1500u + 1000u);
  EXPECT_EQ(d.started[1].cookie, 3u) << "the other direction is free";
  EXPECT_EQ(d.started[2].ns, d.ended[0].ns);
}

TEST(ModelTask, TimeScaleScalesDurationsOnly) {
  npusim_model_config c = Defaults();
  c.time_scale_ppm = 500'000;
  Device d(c);
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 1, 18'000), 1));
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 1, 18'000), 2));
  d.Finish();
  EXPECT_EQ(d.ended[0].ns - d.started[0].ns, 5000u);
  EXPECT_EQ(d.started[1].ns - d.ended[0].ns, kDispatch);
  EXPECT_EQ(d.Totals().cycles[0], 36'000u);
}

TEST(ModelTask, JitterFollowsTheSeed) {
  npusim_model_config c = Defaults();
  c.jitter_ppm = 100'000;
  c.seed = 1;
  auto cycles = [](const npusim_model_config& config) {
    Device d(config);
    for (uint16_t i = 0; i < 20; ++i) d.Submit(Task(NPUSIM_TASK_CUBE, i, 1, 100'000));
    d.Finish();
    return d.Totals().cycles[0];
  };
  const uint64_t first = cycles(c);
  EXPECT_EQ(first, cycles(c));
  EXPECT_GT(first, 2'000'000u);
  EXPECT_LE(first, 2'200'000u);
  c.seed = 2;
  EXPECT_NE(first, cycles(c));
}

TEST(ModelTask, ReadyTimeHoldsATaskBack) {
  Device d;
  npusim_task t = Cookie(Task(NPUSIM_TASK_CUBE, 1, 1, 1800), 1);
  t.ready_ns = 5'000'000;
  d.Submit(t);
  d.Finish();
  EXPECT_EQ(d.started[0].ns, 5'000'000u);
}

TEST(ModelTask, FieldsOutOfRangeAreRefused) {
  Device d;
  npusim_task t = Task(NPUSIM_TASK_CUBE, 1, 0);
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t.block_dim = 65536;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_MIX_AIC, 1);
  t.mix_ratio = 3;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_KINDS, 1);
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_EVENT_WAIT, 1);
  t.sync_id = 65536;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_CUBE, 1);
  t.work.l2_hit_ppm = 1'000'001;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_CUBE, 1, 1, NPUSIM_MAX_CYCLES + 1);
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_AICPU, 1);
  t.duration_ns = NPUSIM_MAX_DURATION_NS + 1;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  t = Task(NPUSIM_TASK_SDMA, 1);
  t.work.copy_bytes = NPUSIM_MAX_WORK + 1;
  EXPECT_EQ(d.Submit(t), -EINVAL);
  EXPECT_EQ(d.Totals().submitted, 0u);
  npusim_model_config c = Defaults();
  c.cube_cores = 129;
  EXPECT_EQ(npusim_model_create(&c, nullptr, nullptr), nullptr);
}

TEST(ModelTask, FullStreamRefusesUntilATaskEnds) {
  npusim_model_config c = Defaults();
  c.stream_depth = 2;
  Device d(c);
  EXPECT_EQ(d.Submit(Task(NPUSIM_TASK_CUBE, 1)), 0);
  EXPECT_EQ(d.Submit(Task(NPUSIM_TASK_CUBE, 2)), 0);
  EXPECT_EQ(d.Submit(Task(NPUSIM_TASK_CUBE, 3)), -EAGAIN);
  EXPECT_EQ(npusim_model_pending(d.model(), 1), 2u);
  d.Finish();
  EXPECT_EQ(d.Submit(Task(NPUSIM_TASK_CUBE, 3)), 0);
}

TEST(ModelTask, RemovedDeviceReadsAllOnesAndAbortsItsTasks) {
  Device d;
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 1, 18'000), 1));
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 2, 1, 18'000), 2));
  d.Advance(1000);
  npusim_model_remove(d.model());
  EXPECT_EQ(d.R32(REFNPU_ID), UINT32_MAX);
  EXPECT_EQ(d.R64(REFNPU_CLOCK), UINT64_MAX);
  EXPECT_EQ(d.aborted, (std::vector<Device::Seen>{{1, 1000}, {2, 1000}}));
  EXPECT_EQ(d.Submit(Task(NPUSIM_TASK_CUBE, 3)), -ENODEV);
  d.Advance(1'000'000);
  EXPECT_TRUE(d.ended.empty());
  EXPECT_EQ(npusim_model_next_event(d.model()), UINT64_MAX);
}

TEST(ModelTask, ResetLosesStateAndStartsTheClockAnew) {
  Device d;
  d.TraceEvents(0, {0x49});
  d.W32(REFNPU_INT_ENABLE, REFNPU_INT_FIFO);
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 24, 18'000), 1));
  d.Advance(2000);
  npusim_model_reset(d.model());
  EXPECT_EQ(d.aborted.size(), 1u);
  EXPECT_EQ(d.R64(REFNPU_CLOCK), 0u);
  EXPECT_EQ(d.R32(REFNPU_EPOCH), 1u);
  EXPECT_EQ(d.R32(REFNPU_TRACE_EVENT(0, 0)), 0u);
  EXPECT_EQ(d.R32(REFNPU_INT_ENABLE), 0u);
  d.Submit(Cookie(Task(NPUSIM_TASK_CUBE, 1, 24, 1800), 2));
  d.Finish();
  EXPECT_EQ(d.ended, (std::vector<Device::Seen>{{2, 2000 + kDispatch + 1000}}));
  EXPECT_EQ(d.Totals().aborted, 1u);
}

TEST(ModelTask, OneBigStepEqualsManySmallOnes) {
  auto run = [](uint64_t step) {
    Device d;
    for (uint16_t i = 0; i < 200; ++i) {
      npusim_task t = Task(i % 3 ? NPUSIM_TASK_VECTOR : NPUSIM_TASK_CUBE, i, 1 + i % 60);
      t.work.read_bytes = 100'000u * i;
      t.work.vec_fp32 = 5000;
      t.work.macs_fp16 = 700'000;
      d.Submit(Cookie(t, i + 1u, static_cast<uint16_t>(i % 5)));
    }
    for (uint64_t at = step; at <= 40'000'000; at += step) d.Advance(at);
    return std::make_pair(d.started, d.ended);
  };
  const auto big = run(40'000'000);
  ASSERT_EQ(big.second.size(), 200u);
  EXPECT_EQ(run(40'000), big);
  EXPECT_EQ(run(1'000'000), big);
}

}  // namespace
}  // namespace npusim_test
