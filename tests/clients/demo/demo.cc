// SPDX-License-Identifier: Apache-2.0
// Trains on two simulated devices under the profiler, in the published order of calls.
//
// usage: demo DIR MODEL IMAGE_DIR TOTALS_FILE [STEPS]
// PROF_* goes into DIR; TOTALS_FILE receives what the model of each device counted inside the window.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "acl/acl_prof.h"
#include "npusim/npusim.h"
#include "worker.h"

namespace {

using demo::Check;
constexpr uint32_t kDevices = 2;

std::vector<std::string> ImagesIn(const std::string& dir) {
  std::vector<std::string> images;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().extension() == ".jpg") images.push_back(entry.path());
  std::sort(images.begin(), images.end());
  if (images.empty()) throw std::runtime_error(dir + " holds no .jpg file");
  return images;
}

std::vector<npusimDeviceTotals> Totals() {
  std::vector<npusimDeviceTotals> totals(kDevices);
  for (uint32_t i = 0; i < kDevices; i++)
    Check(npusimTotals(i, &totals[i], sizeof(totals[i])), "npusimTotals");
  return totals;
}

void WriteTotals(const std::string& path, const std::vector<npusimDeviceTotals>& first,
                 const std::vector<npusimDeviceTotals>& last) {
  std::ofstream file(path);
  file << "{\"devices\": [";
  for (uint32_t i = 0; i < kDevices; i++)
    file << (i != 0 ? ", " : "") << "{\"id\": " << i
         << ", \"submitted\": " << last[i].tasksSubmitted - first[i].tasksSubmitted
         << ", \"started\": " << last[i].tasksStarted - first[i].tasksStarted
         << ", \"ended\": " << last[i].tasksEnded - first[i].tasksEnded
         << ", \"kernels\": " << last[i].kernelsEnded - first[i].kernelsEnded << "}";
  file << "]}\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void PrintSteps(const std::vector<std::unique_ptr<demo::Worker>>& workers) {
  std::printf("step  device 0 [ms]  device 1 [ms]  images [ms]  lock wait [ms]  page faults\n");
  for (size_t i = 0; i < workers[0]->steps().size(); i++) {
    const demo::Step &a = workers[0]->steps()[i], &b = workers[1]->steps()[i];
    const int step = static_cast<int>(i);
    std::printf("%4d  %13.2f  %13.2f  %11.2f  %14.2f  %11llu%s\n", step, a.ms, b.ms,
                std::max(a.images_ms, b.images_ms), std::max(a.lock_wait_ms, b.lock_wait_ms),
                static_cast<unsigned long long>(a.page_faults + b.page_faults),
                demo::IsLockStep(step)    ? "  one lock"
                : demo::IsFaultStep(step) ? "  fresh memory"
                                          : "");
  }
}

// Runs the steps of every worker in its own thread. The window is profiled from when all are set up until all
// are done; a worker that fails still comes to the barriers, so that the others are not left waiting.
class Training {
 public:
  Training(std::vector<std::unique_ptr<demo::Worker>>& workers, int steps) : barrier_(kDevices + 1) {
    for (auto& worker : workers)
      threads_.emplace_back([this, &worker, steps] {
        Guarded([&] { worker->SetUp(); });
        barrier_.arrive_and_wait();  // set up
        barrier_.arrive_and_wait();  // profiling runs
        for (int i = 0; i < steps; i++) {
          Guarded([&] { worker->Run(i); });
          barrier_step_.arrive_and_wait();
        }
        barrier_.arrive_and_wait();  // done
        barrier_.arrive_and_wait();  // profiling ended
        Guarded([&] { worker->TearDown(kDevices); });
      });
  }

  /// Waits until every worker has come to the next point.
  void Pass() { barrier_.arrive_and_wait(); }

  /// Waits for the end and throws what a worker threw.
  void Finish() {
    for (std::thread& thread : threads_) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  template <typename F>
  void Guarded(F f) {
    if (failed_) return;
    try {
      f();
    } catch (...) {
      const std::lock_guard<std::mutex> hold(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  std::barrier<> barrier_;
  std::barrier<> barrier_step_{kDevices};  // as in training: nobody runs a step ahead
  std::vector<std::thread> threads_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Lives in main(), beyond any exception: its threads may still use it when the program gives up.
struct Demo {
  demo::Shared shared;
  std::vector<std::unique_ptr<demo::Worker>> workers;
  std::optional<Training> training;
};

void Run(char** argv, Demo* demo) {
  const std::string dir = argv[1];
  demo->shared.model = argv[2];
  demo->shared.images = ImagesIn(argv[3]);

  Check(aclInit(nullptr), "aclInit");
  int32_t ids[kDevices] = {0, 1};
  HcclComm comms[kDevices];
  Check(HcclCommInitAll(kDevices, ids, comms), "HcclCommInitAll");
  for (uint32_t i = 0; i < kDevices; i++)
    demo->workers.push_back(std::make_unique<demo::Worker>(i, comms[i], &demo->shared));
  Training& training = demo->training.emplace(demo->workers, demo->shared.steps);
  training.Pass();

  uint32_t devices[kDevices] = {0, 1};
  const std::string sampled = "cpu,mem";
  Check(aclprofInit(dir.c_str(), dir.size()), "aclprofInit");
  aclprofConfig* config =
      aclprofCreateConfig(devices, kDevices, ACL_AICORE_PIPE_UTILIZATION, nullptr,
                          ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS |
                              ACL_PROF_HCCL_TRACE | ACL_PROF_RUNTIME_API);
  if (config == nullptr) throw std::runtime_error("aclprofCreateConfig returned NULL");
  Check(aclprofSetConfig(ACL_PROF_HOST_SYS, sampled.c_str(), sampled.size()), "aclprofSetConfig");
  Check(aclprofStart(config), "aclprofStart");
  const auto first = Totals();
  training.Pass();  // the steps begin
  training.Pass();  // and have ended
  const auto last = Totals();
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");
  training.Pass();
  training.Finish();

  for (HcclComm comm : comms) Check(HcclCommDestroy(comm), "HcclCommDestroy");
  Check(aclFinalize(), "aclFinalize");
  WriteTotals(argv[4], first, last);
  PrintSteps(demo->workers);
}

}  // namespace

int main(int argc, char** argv) {
  Demo demo;
  if (argc == 6) demo.shared.steps = std::atoi(argv[5]);
  if (argc < 5 || argc > 6 || demo.shared.steps < 1) {
    std::fprintf(stderr, "usage: demo DIR MODEL IMAGE_DIR TOTALS_FILE [STEPS]\n");
    return 2;
  }
  try {
    Run(argv, &demo);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "demo: %s\n", e.what());
    std::_Exit(1);  // other threads may still wait for what will not come
  }
  return 0;
}
