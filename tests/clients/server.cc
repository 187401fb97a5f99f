// SPDX-License-Identifier: Apache-2.0
// A server that answers requests on many threads and is profiled now and then, by a thread that answers none.
//
// usage: server DIR THREADS WINDOWS
// Each request is a range of its thread around three kernels. A window lasts until each thread has answered some whole
// requests in it. Prints a line of JSON: requests begun and ended for certain inside each window, and all that touched it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

namespace {

constexpr uint64_t kKernels = 3;

void Check(int code, const char* what) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  std::fprintf(stderr, "server: %s returned %d: %s\n", what, code, why != nullptr ? why : "");
  std::exit(1);
}

std::atomic<uint64_t> g_begun{0};
std::vector<std::atomic<uint64_t>> g_ended;  // of each thread
std::atomic<bool> g_stop{false};

// Stamps exist while a session with marks was started; before the first and after the last nobody wants a range.
void Answer(aclrtStream stream, unsigned thread) {
  ++g_begun;
  void* stamp = aclprofCreateStamp();
  if (stamp != nullptr) {
    const std::string text = "request of thread " + std::to_string(thread);
    Check(aclprofSetStampTraceMessage(stamp, text.c_str(), static_cast<uint32_t>(text.size())),
          "aclprofSetStampTraceMessage");
    Check(aclprofPush(stamp), "aclprofPush");
    aclprofDestroyStamp(stamp);
  }
  Check(npusimLaunch(stream, "answer", "MatMul", NPUSIM_OP_AI_CORE, 4, 9000, kKernels), "npusimLaunch");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  if (stamp != nullptr) Check(aclprofPop(), "aclprofPop");
  ++g_ended[thread];
}

uint64_t Ended() {
  uint64_t all = 0;
  for (const auto& of_thread : g_ended) all += of_thread;
  return all;
}

// Of each thread this many more.
void WaitFor(uint64_t requests) {
  std::vector<uint64_t> goals;
  for (const auto& of_thread : g_ended) goals.push_back(of_thread + requests);
  for (size_t thread = 0; thread < goals.size(); ++thread) {
    while (g_ended[thread] < goals[thread]) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Serve(unsigned thread) {
  aclrtStream stream = nullptr;
  Check(aclrtSetDevice(static_cast<int32_t>(thread % 2)), "aclrtSetDevice");
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  while (!g_stop) {
    Answer(stream, thread);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: server DIR THREADS WINDOWS\n");
    return 2;
  }
  const auto threads = static_cast<unsigned>(std::atoi(argv[2]));
  const int windows = std::atoi(argv[3]);
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  Check(aclprofInit(argv[1], std::strlen(argv[1])), "aclprofInit");
  uint32_t devices[] = {0, 1};
  aclprofConfig* config = aclprofCreateConfig(
      devices, 2, ACL_AICORE_PIPE_UTILIZATION, nullptr,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_MSPROFTX);
  if (config == nullptr) return 3;
  g_ended = std::vector<std::atomic<uint64_t>>(threads);
  std::vector<std::thread> serving;
  for (unsigned t = 0; t < threads; ++t) serving.emplace_back(Serve, t);
  std::printf("{\"windows\": [");
  for (int window = 0; window < windows; ++window) {
    WaitFor(1);
    // Those that have begun by now and not ended can be in the window too.
    const uint64_t ended_before = Ended();
    Check(aclprofStart(config), "aclprofStart");
    const uint64_t begun_at_start = g_begun;
    WaitFor(10);
    const uint64_t ended_at_stop = Ended();
    Check(aclprofStop(config), "aclprofStop");
    // Those that had begun when Start returned may be cut, and those that begin while Stop works.
    std::printf("%s{\"inside\": %llu, \"touched\": %llu}", window != 0 ? ", " : "",
                static_cast<unsigned long long>(ended_at_stop - std::min(ended_at_stop, begun_at_start)),
                static_cast<unsigned long long>(g_begun - ended_before));
  }
  WaitFor(1);
  g_stop = true;
  for (auto& thread : serving) thread.join();
  std::printf("], \"requests\": %llu}\n", static_cast<unsigned long long>(Ended()));
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
