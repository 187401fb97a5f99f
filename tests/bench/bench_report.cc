// SPDX-License-Identifier: Apache-2.0
// What reporting costs the program: each kind of record with nobody collecting and while a session runs.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "acl/acl_prof.h"
#include "profiling/aprof_pub.h"
#include "profiling/prof_api.h"

namespace {

// A session in a directory of its own while it lives.
class Session {
 public:
  explicit Session(bool on) {
    if (!on) return;
    char name[] = "/tmp/npuprof_bench_XXXXXX";
    directory_ = mkdtemp(name);
    setenv("NPUPROF_HOST_RING_MB", "1024", 0);
    config_ = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
    if (aclprofInit(directory_.c_str(), directory_.size()) != 0 || aclprofStart(config_) != 0) abort();
  }
  ~Session() {
    if (config_ == nullptr) return;
    if (aclprofStop(config_) != 0 || aclprofFinalize() != 0) abort();
    aclprofDestroyConfig(config_);
    std::filesystem::remove_all(directory_);
  }

 private:
  std::string directory_;
  aclprofConfig* config_ = nullptr;
};

template <typename Record>
Record Make() {
  Record record;
  std::memset(&record, 0, sizeof record);
  record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  record.level = MSPROF_REPORT_TX_LEVEL;
  record.threadId = 1;
  return record;
}

template <typename Record, typename Send>
void Run(benchmark::State& state, Send send) {
  const Session session(state.range(0) != 0);
  const Record record = Make<Record>();
  uint64_t refused = 0;
  for (auto _ : state) refused += send(record) != 0;
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(sizeof(Record)));
  state.counters["refused"] = static_cast<double>(refused);
}

void Call(benchmark::State& state) {
  Run<MsprofApi>(state, [](const MsprofApi& r) { return MsprofReportApi(1, &r); });
}
void Compact(benchmark::State& state) {
  Run<MsprofCompactInfo>(state,
                         [](const MsprofCompactInfo& r) { return MsprofReportCompactInfo(1, &r, sizeof r); });
}
void Additional(benchmark::State& state) {
  Run<MsprofAdditionalInfo>(
      state, [](const MsprofAdditionalInfo& r) { return MsprofReportAdditionalInfo(1, &r, sizeof r); });
}

// No more than the rings take, so that what is measured is keeping a record and not losing it.
BENCHMARK(Call)->ArgName("on")->Arg(0)->Arg(1)->Iterations(1'000'000);
BENCHMARK(Compact)->ArgName("on")->Arg(0)->Arg(1)->Iterations(1'000'000);
BENCHMARK(Additional)->ArgName("on")->Arg(0)->Arg(1)->Iterations(1'000'000);

}  // namespace

BENCHMARK_MAIN();
