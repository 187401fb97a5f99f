// SPDX-License-Identifier: Apache-2.0
// Tasks of every kind; what holds of windows on every backend is in tests/conformance.
#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

// What the driver builds from registers and what the device composes must be the same bytes.
TEST(Paths, BothGiveTheSameRecords) {
  std::vector<npuprof_rec_task_log> log[2];
  std::vector<npuprof_rec_task_pmu> pmu[2];
  std::vector<npuprof_rec_ts_track> track[2];
  std::vector<npuprof_rec_aicpu> aicpu[2];
  std::vector<npuprof_rec_block_pmu> blocks[2];
  for (int path = 0; path < 2; ++path) {
    ScopedHost host{Settings{}};
    Profiler profiler;
    const uint32_t flags = path ? NPUPROF_RING_DEVICE_PATH : NPUPROF_RING_REGISTER_PATH;
    const int log_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 256, flags));
    const int pmu_ring = profiler.Add(PmuRing(256, flags));
    const int track_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TS_TRACK, 256, flags));
    const int aicpu_ring = profiler.Add(DeviceRing(NPUPROF_CHANNEL_AICPU, 256, flags));
    npuprof_add_ring block = PmuRing(256, flags);
    block.channel = NPUPROF_CHANNEL_BLOCK_PMU;
    block.core_kind = NPUPROF_CORE_CUBE;
    block.core = 1;
    block.vector_event_count = 0;
    block.vector_events[0] = block.vector_events[1] = 0;
    const int block_ring = profiler.Add(block);
    profiler.Start();
    npusim::TaskCounter done;
    uint16_t id = 0;
    const auto submit = [&](npusim_task task) {
      task.stream = 5;
      task.task_id = id++;
      ASSERT_EQ(host->Submit(0, task, &done), 0);
    };
    npusim_task task = CubeTask(5, 0, 9000, 24);
    submit(task);
    task.kind = NPUSIM_TASK_VECTOR;
    task.work.vec_fp32 = 100000;
    submit(task);
    task.kind = NPUSIM_TASK_MIX_AIC;
    task.mix_ratio = 2;
    submit(task);
    task.kind = NPUSIM_TASK_MIX_AIV;
    submit(task);
    npusim_task other{};
    other.peer = NPUSIM_LOCAL;
    for (int kind : {NPUSIM_TASK_AICPU, NPUSIM_TASK_STEP, NPUSIM_TASK_FLIP, NPUSIM_TASK_PLACE_HOLDER,
                     NPUSIM_TASK_EVENT_RECORD, NPUSIM_TASK_EVENT_WAIT}) {
      other.kind = static_cast<uint8_t>(kind);
      other.step_tag = 60000;
      other.step_index = 7;
      other.step_model = 9;
      other.flip_count = 3;
      other.duration_ns = kind == NPUSIM_TASK_AICPU ? 20000 : 0;
      submit(other);
    }
    ASSERT_TRUE(done.WaitFor(id, 20 * kSecond));
    profiler.Stop();
    log[path] = profiler.Read<npuprof_rec_task_log>(log_ring);
    pmu[path] = profiler.Read<npuprof_rec_task_pmu>(pmu_ring);
    track[path] = profiler.Read<npuprof_rec_ts_track>(track_ring);
    aicpu[path] = profiler.Read<npuprof_rec_aicpu>(aicpu_ring);
    blocks[path] = profiler.Read<npuprof_rec_block_pmu>(block_ring);
    // Times are those of two runs.
    for (auto& record : log[path]) record.clock = 0;
    for (auto& record : pmu[path]) record.start = record.end = 0;
    for (auto& record : track[path]) record.clock = 0;
    for (auto& record : aicpu[path]) record.submitted = record.scheduled = record.start = record.end = 0;
    for (auto& record : blocks[path]) record.start = record.end = 0;
  }
  const auto same = [](const auto& a, const auto& b, size_t at_least) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GE(a.size(), at_least);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(std::memcmp(&a[k], &b[k], sizeof a[k]), 0) << k;
  };
  same(log[0], log[1], 2 * 8 + 4);  // mixed kernels have sub-tasks
  EXPECT_EQ(log[0].front().stream_id, 5);
  same(pmu[0], pmu[1], 4);
  same(track[0], track[1], 2);
  same(aicpu[0], aicpu[1], 1);
  same(blocks[0], blocks[1], 2);
}

}  // namespace
