// SPDX-License-Identifier: Apache-2.0
// Samplers of shared units, by register and by device-written queue.
#include <gtest/gtest.h>

#include "model_device.h"

namespace npusim_test {
namespace {

std::vector<uint64_t> Latch(Device& d, uint32_t unit) {
  d.W32(REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
  std::vector<uint64_t> totals(d.R32(REFNPU_UNIT(unit, REFNPU_UNIT_COUNT)));
  for (uint32_t i = 0; i < totals.size(); ++i) totals[i] = d.R64(REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i)));
  return totals;
}

uint64_t Sum(const std::vector<uint64_t>& v, size_t first, size_t step) {
  uint64_t sum = 0;
  for (size_t i = first; i < v.size(); i += step) sum += v[i];
  return sum;
}

TEST(ModelUnit, HbmCountsEveryByteOfKernelsAndCopies) {
  Device d;
  npusim_task kernel = Task(NPUSIM_TASK_VECTOR, 1, 48);
  kernel.work.read_bytes = 1'000'003;
  kernel.work.write_bytes = 500'001;
  d.Submit(kernel);
  npusim_task copy = Task(NPUSIM_TASK_SDMA, 2);
  copy.work.copy_bytes = 7'777;
  d.Submit(copy);
  d.Finish();
  const auto hbm = Latch(d, REFNPU_UNIT_HBM);
  ASSERT_EQ(hbm.size(), 8u);
  EXPECT_EQ(Sum(hbm, 0, 2), 1'000'003u + 7'777);
  EXPECT_EQ(Sum(hbm, 1, 2), 500'001u + 7'777);
  EXPECT_EQ(d.Totals().hbm_bytes[0], 1'000'003u + 7'777);
}

TEST(ModelUnit, CacheTrafficGrowsEvenlyOverATask) {
  Device d;
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48, 1'800'000);  // 1 ms
  t.work.read_bytes = 128 * 100'000;
  t.work.l2_hit_ppm = 600'000;
  d.Submit(t);
  d.Advance(300 + 500'000);
  auto l2 = Latch(d, REFNPU_UNIT_L2);
  EXPECT_EQ(l2[0], 30'000u);
  EXPECT_EQ(l2[1], 20'000u);
  d.Finish();
  l2 = Latch(d, REFNPU_UNIT_L2);
  EXPECT_EQ(l2[0], 60'000u);
  EXPECT_EQ(l2[1], 40'000u);
}

TEST(ModelUnit, LlcCountsTheSelectedDirection) {
  Device d;
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.read_bytes = 64 * 1000;
  t.work.write_bytes = 64 * 300;
  t.work.l2_hit_ppm = 500'000;
  d.Submit(t);
  d.Finish();
  for (uint32_t writes : {0u, 1u}) {
    d.W32(REFNPU_UNIT(REFNPU_UNIT_LLC, REFNPU_UNIT_CTRL), writes);
    const auto llc = Latch(d, REFNPU_UNIT_LLC);
    ASSERT_EQ(llc.size(), 16u);
    const uint64_t requests = writes ? 300 : 1000;
    EXPECT_EQ(Sum(llc, 0, 8) + Sum(llc, 1, 8), requests);
    EXPECT_EQ(Sum(llc, 4, 8), requests);
    EXPECT_EQ(Sum(llc, 2, 8), requests / 2);
  }
}

TEST(ModelUnit, NetworkAndMediaEnginesCountTheirTasks) {
  Device d;
  npusim_task send = Task(NPUSIM_TASK_SDMA, 1);
  send.copy = NPUSIM_COPY_NIC_SEND;
  send.work.copy_bytes = 123'456;
  d.Submit(send);
  npusim_task decode = Task(NPUSIM_TASK_DVPP, 2);
  decode.engine = NPUSIM_DVPP_JPEGD;
  decode.duration_ns = 3'000'000;
  decode.work.frames = 4;
  d.Submit(decode);
  d.Finish();
  EXPECT_EQ(Latch(d, REFNPU_UNIT_NIC), (std::vector<uint64_t>{0, 123'456}));
  EXPECT_EQ(d.Totals().nic_bytes[1], 123'456u);
  const auto dvpp = Latch(d, REFNPU_UNIT_DVPP);
  ASSERT_EQ(dvpp.size(), 12u);
  EXPECT_EQ(dvpp[2 * NPUSIM_DVPP_JPEGD], 3000u);
  EXPECT_EQ(dvpp[2 * NPUSIM_DVPP_JPEGD + 1], 4u);
  EXPECT_EQ(Sum(dvpp, 0, 1), 3004u);
}

TEST(ModelUnit, LinksCountTheCopiesThatCrossThem) {
  Device d;
  const struct {
    npusim_copy copy;
    uint64_t bytes;
  } copies[] = {{NPUSIM_COPY_FROM_HOST, 1000},
                {NPUSIM_COPY_TO_HOST, 200},
                {NPUSIM_COPY_FROM_PEER, 30},
                {NPUSIM_COPY_TO_PEER, 4},
                {NPUSIM_COPY_LOCAL, 555'555}};
  for (const auto& c : copies) {
    npusim_task copy =
        Task(c.copy == NPUSIM_COPY_FROM_HOST || c.copy == NPUSIM_COPY_TO_HOST ? NPUSIM_TASK_PCIE_DMA
                                                                              : NPUSIM_TASK_SDMA,
             1);
    copy.copy = static_cast<uint8_t>(c.copy);
    copy.work.copy_bytes = c.bytes;
    d.Submit(copy);
  }
  d.Finish();
  EXPECT_EQ(Latch(d, REFNPU_UNIT_PCIE), (std::vector<uint64_t>{1000, 200}));
  EXPECT_EQ(Latch(d, REFNPU_UNIT_LINK), (std::vector<uint64_t>{30, 4}));
  EXPECT_EQ(Latch(d, REFNPU_UNIT_NIC), (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(d.Totals().pcie_bytes[0], 1000u);
  EXPECT_EQ(d.Totals().pcie_bytes[1], 200u);
  EXPECT_EQ(d.Totals().link_bytes[0], 30u);
  EXPECT_EQ(d.Totals().link_bytes[1], 4u);
}

TEST(ModelUnit, FlowsTellWhoUsedTheMainMemory) {
  Device d;
  npusim_task kernel = Task(NPUSIM_TASK_VECTOR, 1, 48);
  kernel.work.read_bytes = 1'000'003;
  kernel.work.write_bytes = 500'001;
  d.Submit(kernel);
  const struct {
    npusim_copy copy;
    uint64_t bytes;
  } copies[] = {{NPUSIM_COPY_LOCAL, 7'777},    {NPUSIM_COPY_FROM_HOST, 1'000}, {NPUSIM_COPY_TO_HOST, 200},
                {NPUSIM_COPY_FROM_PEER, 30},   {NPUSIM_COPY_TO_PEER, 4},       {NPUSIM_COPY_NIC_SEND, 50'000},
                {NPUSIM_COPY_NIC_RECEIVE, 600}};
  for (const auto& c : copies) {
    npusim_task copy = Task(NPUSIM_TASK_SDMA, 2);
    copy.copy = static_cast<uint8_t>(c.copy);
    copy.work.copy_bytes = c.bytes;
    d.Submit(copy);
  }
  d.Finish();
  const auto flows = Latch(d, REFNPU_UNIT_FLOWS);
  EXPECT_EQ(flows, (std::vector<uint64_t>{1'000'003, 500'001, 7'777, 7'777, 200, 1'000, 4, 30, 50'000, 600}));
  const auto hbm = Latch(d, REFNPU_UNIT_HBM);
  EXPECT_EQ(Sum(flows, 0, 2), Sum(hbm, 0, 2)) << "all of it is of some flow";
  EXPECT_EQ(Sum(flows, 1, 2), Sum(hbm, 1, 2));
}

TEST(ModelUnit, CopyEnginesTellBytesAndTime) {
  Device d;
  npusim_task copy = Task(NPUSIM_TASK_SDMA, 1);
  copy.copy = NPUSIM_COPY_TO_PEER;
  copy.work.copy_bytes = 50 * 998'500;  // 50 bytes per ns, and 1500 ns before the first
  d.Submit(copy);
  copy.stream = 2;
  copy.copy = NPUSIM_COPY_LOCAL;
  copy.work.copy_bytes = 100 * 98'500;
  for (int i = 0; i < 3; ++i) d.Submit(copy);
  d.Advance(300 + 500'000);
  auto acc = Latch(d, REFNPU_UNIT_ACC);
  ASSERT_EQ(acc.size(), 16u);
  EXPECT_EQ(acc[8], 50u * 998'500 / 2) << "half the time, half the bytes";
  EXPECT_EQ(acc[10], 500u);
  d.Finish();
  acc = Latch(d, REFNPU_UNIT_ACC);
  EXPECT_EQ(acc, (std::vector<uint64_t>{3 * 9'850'000, 3 * 9'850'000, 300, 300, 0, 0, 0, 0, 50 * 998'500, 0,
                                        1'000, 0, 0, 0, 0, 0}));
}

TEST(ModelUnit, EachKernelTellsItsLinesOfL2OnBothPaths) {
  for (const bool queue : {true, false}) {
    Device d(Defaults(), 1 << 20);
    if (queue) {
      d.AddQueue(0, NPUPROF_CHANNEL_SOC_PMU, 0, 0x1000, 64, 64, 0);
    } else {
      d.W32(REFNPU_FIFO(REFNPU_FIFO_SOC, REFNPU_FIFO_CTRL), REFNPU_FIFO_ENABLE);
    }
    d.W32(REFNPU_TRACE_ENABLE, REFNPU_TRACE_SOC);
    EXPECT_EQ(d.R32(REFNPU_TRACE_ENABLE), REFNPU_TRACE_SOC);
    d.W32(REFNPU_TRACE_WINDOW, 1);
    npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 8);
    t.work.read_bytes = 128 * 1000;
    t.work.write_bytes = 128 * 300;
    t.work.l2_hit_ppm = 250'000;
    for (uint16_t i = 0; i < 3; ++i) {
      t.task_id = i;
      d.Submit(t);
    }
    d.Finish();
    const uint64_t expected[8] = {1300, 1000, 300, 975, 250, 75, 975, 225};
    if (queue) {
      const auto records = d.Records<npuprof_rec_soc_pmu>(0x1000, 3);
      for (uint16_t i = 0; i < 3; ++i) {
        EXPECT_EQ(records[i].task_id, i);
        EXPECT_EQ(records[i].task_type, NPUPROF_SQE_AIV);
        EXPECT_EQ(records[i].data_type, NPUPROF_SOC_L2);
        for (int k = 0; k < 8; ++k) EXPECT_EQ(records[i].counters[k], expected[k]) << k;
      }
    } else {
      EXPECT_EQ(d.R32(REFNPU_FIFO(REFNPU_FIFO_SOC, REFNPU_FIFO_COUNT)), 3u);
      EXPECT_EQ(REFNPU_W0_TYPE(d.R64(REFNPU_FIFO(REFNPU_FIFO_SOC, REFNPU_FIFO_DATA(0)))), REFNPU_ENTRY_SOC);
      for (int k = 0; k < 8; ++k)
        EXPECT_EQ(d.R64(REFNPU_FIFO(REFNPU_FIFO_SOC, REFNPU_FIFO_DATA(2 + k))), expected[k]) << k;
    }
    EXPECT_EQ(d.Totals().l2_lines[0], 3 * 325u);
    EXPECT_EQ(d.Totals().l2_lines[1], 3 * 975u);
    EXPECT_EQ(d.Made(NPUPROF_CHANNEL_SOC_PMU), std::make_pair(uint64_t{3}, uint64_t{0}));
  }
}

TEST(ModelUnit, QueueSamplesAreDifferencesThatSumToTheTotals) {
  Device d(Defaults(), 1 << 20);
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.read_bytes = 10'000'000;
  t.work.write_bytes = 5'000'000;
  d.Submit(t);
  d.Finish();  // before sampling begins: not in the samples
  d.AddQueue(0, NPUPROF_CHANNEL_HBM, 0, 0x1000, 4096, 4096, 1'000'000);
  const uint64_t begin = d.Now();
  for (uint16_t i = 0; i < 300; ++i) d.Submit(t);
  d.Advance(begin + 10'000'000);
  const uint64_t n = d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER));
  ASSERT_EQ(n, 80u) << "ten periods of four channels and two directions";
  const auto records = d.Records<npuprof_rec_bandwidth>(0x1000, n);
  uint64_t bytes[2] = {};
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(records[i].event, i % 2);
    EXPECT_EQ(records[i].unit, i / 2 % 4);
    EXPECT_EQ(records[i].clock, (begin + (i / 8 + 1) * 1'000'000) / 20);
    bytes[records[i].event] += records[i].value;
    EXPECT_LE(records[i].value, 1600u * 1'000'000);
  }
  ASSERT_EQ(d.Totals().ended, 301u);
  EXPECT_EQ(bytes[0], 300 * 10'000'000u);
  EXPECT_EQ(bytes[1], 300 * 5'000'000u);
  d.W32(REFNPU_QUEUE(0, REFNPU_QUEUE_CTRL), 0);
  d.Finish();
  EXPECT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 80u) << "a disabled queue samples no more";
}

// What was counted since the last sample went unsaid when its queue was switched off.
TEST(ModelUnit, AQueueThatIsSwitchedOffTellsOfTheTimeSinceItsLastSample) {
  Device d(Defaults(), 1 << 20);
  constexpr uint64_t kCoreSamples = 0x80000;
  constexpr uint32_t kCore = 30;
  d.W32(REFNPU_CORE(kCore, REFNPU_CORE_EVENT(0)), 0x4b);
  d.W32(REFNPU_CORE(kCore, REFNPU_CORE_CTRL), REFNPU_CORE_ENABLE);
  d.AddQueue(0, NPUPROF_CHANNEL_HBM, 0, 0x1000, 4096, 4096, 1'000'000);
  d.AddQueue(1, NPUPROF_CHANNEL_CORE_SAMPLE, kCore, kCoreSamples, 64, 64, 3'600'000'000'000);
  d.AddQueue(2, NPUPROF_CHANNEL_L2, 0, 0x40000, 64, 1, 3'600'000'000'000);
  const uint64_t begin = d.Now();
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.vec_fp32 = 48 * 64 * 7001ull;
  t.work.read_bytes = 10'000'000;
  for (uint16_t i = 0; i < 400; ++i) d.Submit(t);
  d.Advance(begin + 1'500'000);
  ASSERT_GT(d.Totals().ended, 0u);
  ASSERT_LT(d.Totals().ended, 400u) << "it is to end in mid-task";
  for (uint32_t q : {0u, 1u, 2u}) d.W32(REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), 0);
  d.W32(REFNPU_CORE(kCore, REFNPU_CORE_LATCH), 1);
  const uint64_t counted = d.R64(REFNPU_CORE(kCore, REFNPU_CORE_CYCLES));
  const uint64_t events = d.R32(REFNPU_CORE(kCore, REFNPU_CORE_COUNTER(0)));
  d.W32(REFNPU_UNIT(REFNPU_UNIT_HBM, REFNPU_UNIT_LATCH), 1);
  uint64_t read = 0;
  for (uint32_t channel = 0; channel < 4; ++channel)
    read += d.R64(REFNPU_UNIT(REFNPU_UNIT_HBM, REFNPU_UNIT_TOTAL(2 * channel)));

  ASSERT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 16u) << "a period, and half of one";
  const auto bytes = d.Records<npuprof_rec_bandwidth>(0x1000, 16);
  uint64_t told = 0;
  for (const auto& record : bytes) told += record.event == 0 ? record.value : 0;
  EXPECT_EQ(bytes[8].clock, (begin + 1'500'000) / 20);
  EXPECT_EQ(told, read);
  EXPECT_GT(told, 0u);
  ASSERT_EQ(d.R64(REFNPU_QUEUE(1, REFNPU_QUEUE_PRODUCER)), 1u);
  const auto sample = d.Records<npuprof_rec_core_sample>(kCoreSamples, 1)[0];
  EXPECT_EQ(sample.cycles, counted);
  EXPECT_EQ(sample.counters[0], events);
  EXPECT_GT(counted, 0u);
  // Under credit like any other: hits, and no room for misses.
  EXPECT_EQ(d.R64(REFNPU_QUEUE(2, REFNPU_QUEUE_PRODUCER)), 1u);
  EXPECT_EQ(d.R64(REFNPU_QUEUE(2, REFNPU_QUEUE_DROPPED)), 1u);
  EXPECT_EQ(d.Made(NPUPROF_CHANNEL_L2), std::make_pair(uint64_t{1}, uint64_t{1}));

  for (uint32_t q : {0u, 1u}) d.W32(REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), 0);
  d.Finish();
  for (uint32_t q : {0u, 1u}) d.W32(REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), 0);
  EXPECT_EQ(d.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 16u) << "one that is off has nothing to tell";
  EXPECT_EQ(d.R64(REFNPU_QUEUE(1, REFNPU_QUEUE_PRODUCER)), 1u);
}

}  // namespace
}  // namespace npusim_test
