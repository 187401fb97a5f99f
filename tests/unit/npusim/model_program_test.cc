// SPDX-License-Identifier: Apache-2.0
// Whole random programs: the same records however time is cut up, and no access that upsets the model.
#include <gtest/gtest.h>

#include <random>

#include "model_device.h"

namespace npusim_test {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

npusim_task RandomTask(std::mt19937_64& random, uint16_t id) {
  npusim_task t = Task(static_cast<npusim_task_kind>(random() % NPUSIM_TASK_KINDS), id);
  t.stream = static_cast<uint16_t>(random() % 6);
  t.block_dim = 1 + static_cast<uint32_t>(random() % 100);
  t.mix_ratio = static_cast<uint8_t>(1 + random() % 2);
  t.copy = static_cast<uint8_t>(random() % (NPUSIM_COPY_NIC_RECEIVE + 1));
  t.engine = static_cast<uint8_t>(random() % NPUSIM_DVPP_ENGINES);
  t.sync_id = static_cast<uint32_t>(random() % 4);
  t.cycles = random() % 2 ? random() % 20'000 : 0;
  t.duration_ns = random() % 2 ? random() % 30'000 : 0;
  t.step_index = id;
  t.cookie = id + 1u;
  t.work.macs_fp16 = random() % 100'000'000;
  t.work.vec_fp32 = random() % 10'000'000;
  t.work.read_bytes = random() % 3'000'000;
  t.work.write_bytes = random() % 1'000'000;
  t.work.copy_bytes = random() % 1'000'000;
  t.work.l2_hit_ppm = static_cast<uint32_t>(random() % 1'000'001);
  t.work.frames = static_cast<uint32_t>(random() % 3);
  return t;
}

// Everything a profiler could have collected, and what the runtime saw.
struct Outcome {
  std::vector<std::vector<unsigned char>> queues;
  std::vector<uint64_t> written, dropped;
  std::vector<Device::Seen> started, ended;
  std::vector<uint32_t> counters;
  bool operator==(const Outcome&) const = default;
};

Outcome RunProgram(uint64_t seed, uint64_t step) {
  constexpr uint32_t kSize = 1 << 18;  // bytes of each queue
  std::mt19937_64 random(seed);
  Device d(Defaults(), 12 * kSize);
  d.TraceEvents(0, {0x416, 0x302, 0xc, 0x303});
  d.TraceEvents(1, {0x8, 0xc, 0xd, 0x54});
  const struct {
    uint32_t channel, core, size, period;
  } channels[] = {{NPUPROF_CHANNEL_TASK_LOG, 0, 64, 0},         {NPUPROF_CHANNEL_TASK_PMU, 0, 128, 0},
                  {NPUPROF_CHANNEL_TS_TRACK, 0, 40, 0},         {NPUPROF_CHANNEL_AICPU, 0, 64, 0},
                  {NPUPROF_CHANNEL_BLOCK_PMU, 5, 128, 0},       {NPUPROF_CHANNEL_CORE_SAMPLE, 2, 96, 13'000},
                  {NPUPROF_CHANNEL_CORE_SAMPLE, 40, 96, 7'001}, {NPUPROF_CHANNEL_HBM, 0, 32, 50'000},
                  {NPUPROF_CHANNEL_LLC, 0, 32, 90'000},         {NPUPROF_CHANNEL_DVPP, 0, 32, 77'000},
                  {NPUPROF_CHANNEL_NIC, 0, 32, 33'333}};
  for (uint32_t core : {2u, 40u}) {
    d.W32(REFNPU_CORE(core, REFNPU_CORE_EVENT(0)), core == 2 ? 0x49 : 0x4b);
    d.W32(REFNPU_CORE(core, REFNPU_CORE_EVENT(1)), 0xc);
    d.W32(REFNPU_CORE(core, REFNPU_CORE_CTRL), REFNPU_CORE_ENABLE);
  }
  uint32_t q = 0;
  for (const auto& c : channels) {
    // The credit of some queues runs out.
    d.AddQueue(q, c.channel, c.core, Device::kBase + q * kSize, 1024, q % 3 == 1 ? 300 : 1024, c.period);
    q++;
  }
  d.W32(REFNPU_TRACE_ENABLE, 0x1f);
  for (uint16_t i = 0; i < 150; ++i) EXPECT_EQ(d.Submit(RandomTask(random, i)), 0);
  auto to = [&](uint64_t ns) {
    while (d.Now() + step < ns) d.Advance(d.Now() + step);
    d.Advance(ns);
  };
  to(kMillisecond / 10);
  d.W32(REFNPU_TRACE_WINDOW, 1);
  to(2 * kMillisecond);
  d.W32(REFNPU_LATCH_ALL, 1);
  Outcome out;
  for (uint32_t core : {2u, 40u}) out.counters.push_back(d.R32(REFNPU_CORE(core, REFNPU_CORE_COUNTER(0))));
  d.W32(REFNPU_TRACE_WINDOW, 0);
  for (uint32_t id = 0; id < 4; ++id) {  // whoever still waits for a notify
    for (int i = 0; i < 50; ++i) npusim_model_signal(d.model(), id);
  }
  to(60 * kMillisecond);
  for (uint32_t i = 0; i < q; ++i) {
    out.written.push_back(d.R64(REFNPU_QUEUE(i, REFNPU_QUEUE_PRODUCER)));
    out.dropped.push_back(d.R64(REFNPU_QUEUE(i, REFNPU_QUEUE_DROPPED)));
    out.queues.push_back(d.Records<unsigned char>(
        Device::kBase + i * kSize, channels[i].size * std::min<uint64_t>(1024, out.written[i])));
  }
  out.started = d.started;
  out.ended = d.ended;
  return out;
}

TEST(ModelProgram, RecordsAreTheSameHoweverTimeIsCutUp) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Outcome whole = RunProgram(seed, 100 * kMillisecond);
    ASSERT_EQ(whole.ended.size(), 150u) << seed;
    ASSERT_GT(whole.written[0], 0u);
    ASSERT_GT(whole.written[4], 0u);
    EXPECT_EQ(RunProgram(seed, 7'777), whole) << seed;
    EXPECT_EQ(RunProgram(seed, kMillisecond), whole) << seed;
    EXPECT_EQ(RunProgram(seed, 100 * kMillisecond), whole) << "and the same when repeated, seed " << seed;
  }
}

TEST(ModelProgram, ArbitraryRegisterAccessesLeaveTasksAndTotalsAlone) {
  npusim_model_config config = Defaults();
  npusim_model_ops ops{};
  uint64_t written = 0;
  ops.dma_write = [](void* c, uint64_t, const void* data, size_t size) {
    std::vector<unsigned char> copy(size);
    std::memcpy(copy.data(), data, size);
    *static_cast<uint64_t*>(c) += size;
  };
  npusim_model* m = npusim_model_create(&config, &ops, &written);
  ASSERT_NE(m, nullptr);
  std::mt19937_64 random(11);
  for (uint16_t round = 0; round < 200; ++round) {
    // Chance alone would never complete a queue: one is set up soundly before chance goes on.
    const uint32_t q = REFNPU_QUEUE(round % 8, 0);
    npusim_model_write32(m, q + REFNPU_QUEUE_CTRL, 0);
    npusim_model_write32(m, q + REFNPU_QUEUE_CHANNEL, 1 + round % (NPUPROF_CHANNEL_COUNT - 1));
    npusim_model_write32(m, q + REFNPU_QUEUE_SLOTS, 64);
    npusim_model_write64(m, q + REFNPU_QUEUE_BASE, 0x1000);
    npusim_model_write64(m, q + REFNPU_QUEUE_CREDIT, UINT64_MAX);
    npusim_model_write64(m, q + REFNPU_QUEUE_PERIOD_NS, 5000);
    npusim_model_write32(m, q + REFNPU_QUEUE_CTRL, REFNPU_QUEUE_ENABLE);
    npusim_model_write32(m, REFNPU_TRACE_ENABLE, 0x3f);
    npusim_model_write32(m, REFNPU_TRACE_WINDOW, 1);
    for (int i = 0; i < 500; ++i) {
      // Half of the accesses go where the device as a whole and the first cores and queues are.
      static constexpr uint32_t kBlocks[] = {0, 0x400, 0x1000, 0x20000, 0x40000};
      const uint32_t offset =
          static_cast<uint32_t>(random() % 2 ? kBlocks[random() % 5] + random() % 0x400 / 4 * 4
                                             : random() % REFNPU_REGION_SIZE / 4 * 4);
      const uint64_t value = random() >> random() % 64;
      // The bit that would throw away what the round is about is left alone.
      if (offset == REFNPU_CONTROL) continue;
      switch (random() % 4) {
        case 0:
          npusim_model_write32(m, offset, static_cast<uint32_t>(value));
          break;
        case 1:
          npusim_model_write64(m, offset & ~7u, value);
          break;
        case 2:
          npusim_model_read32(m, offset);
          break;
        default:
          npusim_model_read64(m, offset & ~7u);
      }
    }
    npusim_task t = RandomTask(random, round);
    // Waits for a notify that never comes would hold their stream.
    if (t.kind == NPUSIM_TASK_NOTIFY_WAIT) t.kind = NPUSIM_TASK_PLACE_HOLDER;
    ASSERT_EQ(npusim_model_submit(m, &t), 0);
    npusim_model_advance(m, npusim_model_now(m) + 20'000);
  }
  npusim_model_write32(m, REFNPU_CONTROL, REFNPU_CONTROL_RESET_PMU);
  for (uint64_t next; (next = npusim_model_next_event(m)) != UINT64_MAX;) npusim_model_advance(m, next);
  npusim_totals totals;
  npusim_model_totals(m, &totals);
  EXPECT_EQ(totals.ended + totals.marks, 200u);
  EXPECT_EQ(totals.ended, totals.submitted);
  EXPECT_GT(written, 0u) << "no queue wrote anything; the accesses tested too little";
  npusim_model_destroy(m);
}

}  // namespace
}  // namespace npusim_test
