// SPDX-License-Identifier: Apache-2.0
// How many records a second each way to disk moves, from memory into closed slices.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "drain/drain.h"
#include "drain/ledger.h"
#include "trace/record_file.h"

namespace npuprof {
namespace {

constexpr size_t kRecord = 128;

// Gives the same block of records again and again, so many in all.
class Feeder final : public drain::Source {
 public:
  Feeder(trace::RecordFile& file, size_t count) : file_(file), left_(count), block_(kRecord * kBlock, 'r') {}
  drain::Progress Poll(const drain::Pass&) override {
    const size_t wanted = std::min(left_, kBlock);
    const size_t took = wanted == 0 ? 0 : file_.Append(block_.data(), wanted, &ledger);
    left_ -= took;
    return {took == wanted && left_ > 0, took < wanted, 0};
  }
  drain::Ledger ledger;

 private:
  static constexpr size_t kBlock = 8192;
  trace::RecordFile& file_;
  size_t left_;
  std::string block_;
};

void Drain(benchmark::State& state, drain::Options::Choice choice) {
  constexpr size_t kCount = 2'000'000;
  uint64_t cpu = 0;
  for (auto _ : state) {
    // Below the working directory, because /tmp may be no disk.
    char name[] = "npuprof_bench_XXXXXX";
    const std::string directory = mkdtemp(name);
    drain::Options options;
    options.path = choice;
    auto collection = drain::Drain::Process().Open(options, nullptr, nullptr);
    trace::RecordSpec spec;
    spec.directory = directory;
    spec.name = "bench.data";
    spec.record_size = kRecord;
    trace::RecordFile file(*collection, spec);
    auto feeder = std::make_shared<Feeder>(file, kCount);
    collection->Add(feeder);
    if (!collection->Finish(std::chrono::seconds(60)).ok() || feeder->ledger.written != kCount) {
      state.SkipWithError("not every record was written");
    }
    state.SetLabel(drain::PathName(collection->path()));
    cpu += collection->cost().cpu_ns;
    state.PauseTiming();
    collection.reset();
    std::filesystem::remove_all(directory);
    state.ResumeTiming();
  }
  const auto records = static_cast<double>(state.iterations()) * kCount;
  state.SetItemsProcessed(static_cast<int64_t>(records));
  state.SetBytesProcessed(static_cast<int64_t>(records * kRecord));
  state.counters["drain_ns_per_record"] = static_cast<double>(cpu) / records;
}

BENCHMARK_CAPTURE(Drain, uring, drain::Options::Choice::kUring)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Drain, direct, drain::Options::Choice::kDirect)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Drain, pwritev, drain::Options::Choice::kPwritev)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace npuprof

BENCHMARK_MAIN();
