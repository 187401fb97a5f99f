// SPDX-License-Identifier: Apache-2.0
// Properties of the cost model: nothing counts faster than the hardware it describes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model_device.h"

namespace npusim_test {
namespace {

constexpr uint64_t kOverhead = 500;  // documented cycles of each block before its work

struct Result {
  uint64_t start = 0, end = 0;
  npusim_totals totals{};
  uint64_t duration() const { return end - start; }
};

// Runs tasks one after the other on stream 1; `look` may read event totals afterwards.
template <class Look>
Result RunTasks(const std::vector<npusim_task>& tasks, Look look,
                const npusim_model_config& config = Defaults()) {
  Device d(config);
  uint64_t cookie = 0;
  for (npusim_task t : tasks) {
    t.cookie = ++cookie;
    EXPECT_EQ(d.Submit(t), 0);
  }
  d.Finish();
  EXPECT_EQ(d.ended.size(), tasks.size());
  look(d);
  return {d.started.front().ns, d.ended.back().ns, d.Totals()};
}
Result RunTasks(const std::vector<npusim_task>& tasks) {
  return RunTasks(tasks, [](Device&) {});
}

uint64_t Event(Device& d, int kind, uint16_t event) {
  return npusim_model_event_total(d.model(), kind, event);
}

npusim_task RandomKernel(std::mt19937_64& random, npusim_task_kind kind) {
  auto upto = [&](double decades) {
    std::uniform_real_distribution<double> u(0, decades);
    return random() % 4 ? static_cast<uint64_t>(std::pow(10.0, u(random))) : 0;
  };
  npusim_task t = Task(kind, 1, 1 + static_cast<uint32_t>(random() % 200));
  t.mix_ratio = static_cast<uint8_t>(1 + random() % 2);
  t.work.macs_fp16 = upto(11);
  t.work.macs_int8 = upto(11);
  t.work.vec_fp32 = upto(9);
  t.work.vec_fp16 = upto(9);
  t.work.vec_int32 = upto(9);
  t.work.vec_misc = upto(8);
  t.work.scalar = upto(6);
  t.work.read_bytes = upto(9);
  t.work.write_bytes = upto(9);
  t.work.l1_read_bytes = upto(9);
  t.work.l0c_to_l1_bytes = upto(8);
  t.work.ub_read_bytes = upto(9);
  t.work.ub_write_bytes = upto(9);
  t.work.l2_hit_ppm = static_cast<uint32_t>(random() % 1'000'001);
  t.cycles = random() % 3 ? 0 : upto(6);
  return t;
}

class ModelCostKinds : public testing::TestWithParam<npusim_task_kind> {};

TEST_P(ModelCostKinds, NoRatioExceedsOneAndNoLevelItsPeak) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 100; ++round) {
    const npusim_task task = RandomKernel(random, GetParam());
    uint64_t hbm = 0;
    const Result r = RunTasks({task}, [&](Device& d) {
      const npusim_totals totals = d.Totals();
      for (int kind = 0; kind < 2; ++kind) {
        const uint64_t cycles = totals.cycles[kind];
        for (uint16_t ratio : {0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x49,  0x4a,  0x4b,
                               0x4c, 0x4d, 0x4e, 0x4f, 0x64, 0x65, 0x66, 0x302, 0x303, 0x12c})
          ASSERT_LE(Event(d, kind, ratio), cycles) << std::hex << ratio;
        ASSERT_LE(Event(d, kind, 0x416) + Event(d, kind, 0x417), cycles);
        ASSERT_LE(Event(d, kind, 0x55), Event(d, kind, 0x54));
        // Bytes per counted request by the weights of the published formulas, peak bytes per core cycle.
        const struct {
          uint16_t event;
          uint64_t bytes, peak;
        } levels[] = {{0x0f, 256, 64},  {0x10, 256, 64},    {0x15, 128, 592},   {0x16, 128, 336},
                      {0x31, 512, 512}, {0x1b, 512, 512},   {0x1c, 512, 256},   {0x21, 512, 512},
                      {0x22, 256, 256}, {0x28, 1024, 1024}, {0x2a, 1024, 1024}, {0x43, 32, 512},
                      {0x44, 32, 256},  {0x3d, 128, 64},    {0x3e, 128, 64}};
        for (const auto& level : levels)
          ASSERT_LE(Event(d, kind, level.event) * level.bytes, cycles * level.peak)
              << std::hex << level.event;
        hbm += 8 * (Event(d, kind, 0x12) + Event(d, kind, 0x13));
      }
    });
    ASSERT_LE(hbm, r.totals.hbm_bytes[0] + r.totals.hbm_bytes[1]);
    ASSERT_LE(r.totals.hbm_bytes[0] + r.totals.hbm_bytes[1], 1600 * r.duration());
    // 1.8 cycles per nanosecond and core.
    ASSERT_LE(r.totals.cycles[0] * 10, r.duration() * 24 * 18);
    ASSERT_LE(r.totals.cycles[1] * 10, r.duration() * 48 * 18);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ModelCostKinds,
                         testing::Values(NPUSIM_TASK_CUBE, NPUSIM_TASK_VECTOR, NPUSIM_TASK_MIX_AIC,
                                         NPUSIM_TASK_MIX_AIV));

TEST(ModelCost, ConcurrentStreamsShareHbmWithinItsPeak) {
  std::mt19937_64 random(7);
  Device d;
  uint64_t asked = 0;
  for (uint16_t i = 0; i < 200; ++i) {
    npusim_task t =
        Task(i % 2 ? NPUSIM_TASK_VECTOR : NPUSIM_TASK_CUBE, i, 1 + static_cast<uint32_t>(random() % 24));
    t.stream = static_cast<uint16_t>(i % 8);
    t.work.read_bytes = random() % 20'000'000;
    t.work.write_bytes = random() % 10'000'000;
    asked += t.work.read_bytes + t.work.write_bytes;
    d.Submit(t);
  }
  const uint32_t hbm = REFNPU_UNIT(REFNPU_UNIT_HBM, 0);
  uint64_t last = 0, total = 0;
  while (d.Totals().ended < 200) {
    d.Advance(d.Now() + 10'000);
    d.W32(hbm + REFNPU_UNIT_LATCH, 1);
    total = 0;
    for (uint32_t i = 0; i < d.R32(hbm + REFNPU_UNIT_COUNT); ++i) total += d.R64(hbm + REFNPU_UNIT_TOTAL(i));
    // Reads and writes of a transfer are rounded down apart, at most one byte each.
    ASSERT_LE(total - last, 1600u * 10'000 + 2);
    last = total;
  }
  EXPECT_EQ(total, asked);
  EXPECT_EQ(d.Totals().hbm_bytes[0] + d.Totals().hbm_bytes[1], asked);
}

TEST(ModelCost, CoreCyclesOfConcurrentStreamsFitTheirCores) {
  Device d;
  for (uint16_t i = 0; i < 300; ++i) {
    npusim_task t = Task(static_cast<npusim_task_kind>(i % 4), i, 1 + i % 70u, 1000u + i * 37u);
    t.stream = static_cast<uint16_t>(i % 9);
    d.Submit(t);
  }
  d.Finish();
  EXPECT_LE(d.Totals().cycles[0] * 10, d.Now() * 24 * 18);
  EXPECT_LE(d.Totals().cycles[1] * 10, d.Now() * 48 * 18);
}

TEST(ModelCost, CubeOperationsFollowFromThePublishedFormula) {
  npusim_task t = Task(NPUSIM_TASK_CUBE, 1, 24);
  t.work.macs_fp16 = 4096ull * 123'456;
  t.work.macs_int8 = 8192ull * 777;
  const Result r = RunTasks({t}, [&](Device& d) {
    EXPECT_EQ(8192 * Event(d, 0, 0x49) + 16384 * Event(d, 0, 0x4a),
              2 * (t.work.macs_fp16 + t.work.macs_int8));
  });
  EXPECT_EQ(r.totals.macs, t.work.macs_fp16 + t.work.macs_int8);
}

TEST(ModelCost, VectorOperationsFollowFromThePublishedFormula) {
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.vec_fp16 = 128 * 1001 + 64;
  t.work.vec_fp32 = 64 * 2003;
  t.work.vec_int32 = 64 * 11;
  t.work.vec_misc = 32 * 17;
  RunTasks({t}, [&](Device& d) {
    const uint64_t operations = 128 * Event(d, 1, 0x4c) + 64 * Event(d, 1, 0x4d) + 64 * Event(d, 1, 0x4b) +
                                64 * Event(d, 1, 0x4e) + 32 * Event(d, 1, 0x4f);
    EXPECT_EQ(operations, t.work.vec_fp16 + t.work.vec_fp32 + t.work.vec_int32 + t.work.vec_misc);
  });
}

TEST(ModelCost, MemoryAccessFormulasGiveBackTheBytes) {
  npusim_task cube = Task(NPUSIM_TASK_CUBE, 1, 24);
  cube.work.macs_fp16 = 1'000'000;
  cube.work.read_bytes = 1 << 20;
  cube.work.write_bytes = 1 << 18;
  cube.work.l0c_to_l1_bytes = 1 << 16;
  npusim_task vector = Task(NPUSIM_TASK_VECTOR, 2, 48);
  vector.work.read_bytes = 3 << 20;
  vector.work.write_bytes = 1 << 19;
  RunTasks({cube, vector}, [&](Device& d) {
    EXPECT_EQ((Event(d, 0, 0x32) - Event(d, 0, 0x206)) * 1024 / 4, cube.work.read_bytes);
    EXPECT_EQ(Event(d, 0, 0x206) * 1024 / 8, cube.work.l0c_to_l1_bytes);
    EXPECT_EQ((Event(d, 0, 0x20c) - Event(d, 0, 0x206)) * 1024 / 8, cube.work.write_bytes);
    EXPECT_EQ((Event(d, 0, 0x50d) + Event(d, 0, 0x50e)) * 1024 / 8, cube.work.read_bytes);
    EXPECT_EQ(Event(d, 0, 0x50c) * 1024 / 8, cube.work.write_bytes);
    EXPECT_EQ(Event(d, 1, 0x3e) * 1024 / 8, vector.work.read_bytes);
    EXPECT_EQ(Event(d, 1, 0x3d) * 1024 / 8, vector.work.write_bytes);
  });
}

TEST(ModelCost, CacheLinesSplitByTheHitShare) {
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.read_bytes = 128 * 1'000'000;
  t.work.write_bytes = 128 * 100'000;
  t.work.l2_hit_ppm = 750'000;
  RunTasks({t}, [&](Device& d) {
    EXPECT_EQ(Event(d, 1, 0x504) + Event(d, 1, 0x508), 750'000u);
    EXPECT_EQ(Event(d, 1, 0x506) + Event(d, 1, 0x50a), 250'000u);
    EXPECT_EQ(Event(d, 1, 0x500), 75'000u);
    EXPECT_EQ(Event(d, 1, 0x502), 25'000u);
  });
}

// Doubling the work of the bound resource doubles the time beyond the overhead; rounds stay whole.
TEST(ModelCost, DoublingABoundDoublesItsTime) {
  struct Case {
    const char* what;
    npusim_task_kind kind;
    uint64_t npusim_work::*field;
    uint64_t work;
    bool hbm;
  } cases[] = {
      {"cube", NPUSIM_TASK_CUBE, &npusim_work::macs_fp16, 24ull * 4096 * 90'000, false},
      {"cube int8", NPUSIM_TASK_CUBE, &npusim_work::macs_int8, 24ull * 8192 * 90'000, false},
      {"vector fp32", NPUSIM_TASK_VECTOR, &npusim_work::vec_fp32, 48ull * 64 * 90'000, false},
      {"vector fp16", NPUSIM_TASK_VECTOR, &npusim_work::vec_fp16, 48ull * 128 * 90'000, false},
      {"L1", NPUSIM_TASK_CUBE, &npusim_work::l1_read_bytes, 24ull * 512 * 90'000, false},
      {"UB", NPUSIM_TASK_VECTOR, &npusim_work::ub_read_bytes, 48ull * 512 * 90'000, false},
      {"HBM", NPUSIM_TASK_VECTOR, &npusim_work::read_bytes, 160'000'000, true},
  };
  for (const Case& c : cases) {
    npusim_task t = Task(c.kind, 1, c.kind == NPUSIM_TASK_CUBE ? 24 : 48);
    t.work.*c.field = c.work;
    const uint64_t once = RunTasks({t}).duration();
    t.work.*c.field = 2 * c.work;
    const uint64_t twice = RunTasks({t}).duration();
    // HBM overlaps the overhead, the pipes follow it. Times are rounded up to nanoseconds and whole cycles.
    const double overhead = c.hbm ? 0 : static_cast<double>(kOverhead) / 1.8;
    EXPECT_NEAR((static_cast<double>(twice) - overhead) / (static_cast<double>(once) - overhead), 2.0, 1e-4)
        << c.what;
  }
}

TEST(ModelCost, WorkThatIsNotTheBoundCostsNothing) {
  npusim_task t = Task(NPUSIM_TASK_CUBE, 1, 24);
  t.work.macs_fp16 = 24ull * 4096 * 90'000;
  const uint64_t bound = RunTasks({t}).duration();
  t.work.read_bytes = 24 * 1'000'000;
  t.work.l2_hit_ppm = 1'000'000;
  EXPECT_EQ(RunTasks({t}).duration(), bound);
}

TEST(ModelCost, CyclesAloneGiveExactlyThatTimeAndAHalfBusyPipe) {
  const Result r = RunTasks({Task(NPUSIM_TASK_CUBE, 1, 48, 18'000)}, [](Device& d) {
    EXPECT_EQ(Event(d, 0, 0x0a), 48u * 9000);
    EXPECT_EQ(d.Totals().hbm_bytes[0], 0u);
  });
  EXPECT_EQ(r.duration(), 20'000u);
  EXPECT_EQ(r.totals.cycles[0], 48u * 18'000);
}

TEST(ModelCost, EmptyKernelCostsItsOverhead) {
  const Result r = RunTasks({Task(NPUSIM_TASK_VECTOR, 1, 1)});
  // One block with its 100 scalar instructions, the busiest pipe, behind the overhead.
  EXPECT_EQ(r.totals.cycles[1], kOverhead + 100);
}

TEST(ModelCost, SlowerDeviceHasProportionallyLowerPeaks) {
  npusim_model_config c = Defaults();
  c.time_scale_ppm = 3'000'000;
  npusim_task t = Task(NPUSIM_TASK_VECTOR, 1, 48);
  t.work.read_bytes = 160'000'000;
  const uint64_t normal = RunTasks({t}).duration();
  const uint64_t slow = RunTasks(
                            {t}, [](Device&) {}, c)
                            .duration();
  EXPECT_NEAR(static_cast<double>(slow) / static_cast<double>(normal), 3.0, 1e-4);
}

}  // namespace
}  // namespace npusim_test
