// SPDX-License-Identifier: Apache-2.0
// What the model costs its host: tiny tasks with device-written log and counters, and sampled cores.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "model/npusim_model.h"
#include "npuprof.h"
#include "refnpu_regs.h"

namespace {

constexpr uint64_t kBase = 0x1000;

struct Bench {
  Bench() : memory(64 << 20) {
    npusim_model_config config;
    npusim_model_defaults(&config);
    npusim_model_ops ops{};
    ops.dma_write = [](void* ctx, uint64_t address, const void* data, size_t size) {
      std::memcpy(&static_cast<Bench*>(ctx)->memory[address - kBase], data, size);
    };
    model = npusim_model_create(&config, &ops, this);
  }
  ~Bench() { npusim_model_destroy(model); }

  void Queue(uint32_t q, uint32_t channel, uint32_t core, uint64_t offset, uint32_t slots, uint64_t period) {
    npusim_model_write32(model, REFNPU_QUEUE(q, REFNPU_QUEUE_CHANNEL), channel | core << 16);
    npusim_model_write64(model, REFNPU_QUEUE(q, REFNPU_QUEUE_BASE), kBase + offset);
    npusim_model_write32(model, REFNPU_QUEUE(q, REFNPU_QUEUE_SLOTS), slots);
    npusim_model_write64(model, REFNPU_QUEUE(q, REFNPU_QUEUE_CREDIT), UINT64_MAX);
    npusim_model_write64(model, REFNPU_QUEUE(q, REFNPU_QUEUE_PERIOD_NS), period);
    npusim_model_write32(model, REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
  }

  std::vector<char> memory;
  npusim_model* model;
};

npusim_task Tiny(uint32_t blocks) {
  npusim_task t{};
  t.kind = NPUSIM_TASK_VECTOR;
  t.block_dim = blocks;
  t.cycles = 1000;
  return t;
}

void Trace(Bench& b) {
  for (uint32_t i = 0; i < 8; ++i)
    npusim_model_write32(b.model, REFNPU_TRACE_EVENT(1, i), i == 0 ? 0x8 : 0x9 + i);
  b.Queue(0, NPUPROF_CHANNEL_TASK_LOG, 0, 0, 1 << 18, 0);
  b.Queue(1, NPUPROF_CHANNEL_TASK_PMU, 0, 32 << 20, 1 << 17, 0);
  npusim_model_write32(b.model, REFNPU_TRACE_ENABLE, REFNPU_TRACE_LOG | REFNPU_TRACE_PMU);
  npusim_model_write32(b.model, REFNPU_TRACE_WINDOW, 1);
}

// One task at a time, each step of the model on its own: the worst case.
void TinyTaskStepwise(benchmark::State& state) {
  Bench b;
  Trace(b);
  npusim_task t = Tiny(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    npusim_model_submit(b.model, &t);
    for (uint64_t next; (next = npusim_model_next_event(b.model)) != UINT64_MAX;)
      npusim_model_advance(b.model, next);
    t.task_id++;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(TinyTaskStepwise)->Arg(1)->Arg(48);

// A thousand tasks queued, then one advance.
void TinyTaskBatch(benchmark::State& state) {
  Bench b;
  Trace(b);
  npusim_task t = Tiny(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) {
      npusim_model_submit(b.model, &t);
      t.task_id++;
    }
    npusim_model_advance(b.model, npusim_model_now(b.model) + 10'000'000);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(TinyTaskBatch)->Arg(1)->Arg(48);

// One second of 72 cores sampled at 1 kHz while they work through 5,000 tasks.
void SampledSecond(benchmark::State& state) {
  Bench b;
  for (uint32_t c = 0; c < 72; ++c) {
    for (uint32_t i = 0; i < 8; ++i)
      npusim_model_write32(b.model, REFNPU_CORE(c, REFNPU_CORE_EVENT(i)), i == 0 ? 0x8 : 0x9 + i);
    npusim_model_write32(b.model, REFNPU_CORE(c, REFNPU_CORE_CTRL), REFNPU_CORE_ENABLE);
    b.Queue(c, NPUPROF_CHANNEL_CORE_SAMPLE, c, c << 18, 1024, 1'000'000);
  }
  npusim_task t = Tiny(48);
  t.cycles = 100'000;
  for (auto _ : state) {
    for (int i = 0; i < 5000; ++i) npusim_model_submit(b.model, &t);
    npusim_model_advance(b.model, npusim_model_now(b.model) + 1'000'000'000);
  }
  state.counters["cpu_share"] = benchmark::Counter(static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(SampledSecond)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
