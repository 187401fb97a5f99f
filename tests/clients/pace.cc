// SPDX-License-Identifier: Apache-2.0
// How fast a program launches tasks without profiling and inside a profiled window, turn by turn in one process.
//
// usage: pace DIR ROUNDS LAUNCHES
// Each round profiles into a directory of its own below DIR, which is removed after it. Prints one line of JSON: of the
// best turn of each kind the CPU time of a launch and how often its thread had to wait (other threads of a busy machine
// change neither), and the codes that Start and Stop returned in each round.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

namespace {

void Check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s returned %d\n", what, code);
  std::exit(1);
}

struct Turn {
  double cpu_ns = 1e18;  // of a launch
  long waits = 1L << 62;

  void Take(const Turn& other) {
    cpu_ns = std::min(cpu_ns, other.cpu_ns);
    waits = std::min(waits, other.waits);
  }
  void Print(const char* name) const {
    std::printf("\"%s\": {\"cpu_ns\": %.1f, \"waits\": %ld}, ", name, cpu_ns, waits);
  }
};

double CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

long Waits() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

Turn Launch(aclrtStream stream, int launches) {
  const long waits = Waits();
  const double begin = CpuNs();
  for (int i = 0; i < launches; i++)
    Check(npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 2000, 1), "npusimLaunch");
  const Turn turn{(CpuNs() - begin) / launches, Waits() - waits};
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  return turn;
}

void PrintCodes(const char* name, const std::vector<int>& codes) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < codes.size(); i++) std::printf("%s%d", i != 0 ? ", " : "", codes[i]);
  std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: pace DIR ROUNDS LAUNCHES\n");
    return 2;
  }
  const int rounds = std::atoi(argv[2]), launches = std::atoi(argv[3]);
  aclrtStream stream = nullptr;
  uint32_t devices[] = {0};
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  Turn plain, profiled;
  std::vector<int> starts, stops;
  for (int round = 0; round < rounds; round++) {
    plain.Take(Launch(stream, launches));
    const std::string dir = std::string(argv[1]) + "/round" + std::to_string(round);
    Check(aclprofInit(dir.c_str(), dir.size()), "aclprofInit");
    aclprofConfig* config = aclprofCreateConfig(
        devices, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr,
        ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
    if (config == nullptr) Check(-1, "aclprofCreateConfig");
    starts.push_back(aclprofStart(config));
    profiled.Take(Launch(stream, launches));
    stops.push_back(aclprofStop(config));
    Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
    Check(aclprofFinalize(), "aclprofFinalize");
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
  }
  std::printf("{");
  plain.Print("plain");
  profiled.Print("profiled");
  PrintCodes("starts", starts);
  std::printf(", ");
  PrintCodes("stops", stops);
  std::printf("}\n");
  Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
