// SPDX-License-Identifier: Apache-2.0
// How fast a program launches tasks without profiling and inside a profiled window, turn by turn in one process.
//
// usage: pace DIR ROUNDS LAUNCHES
// Each round profiles into a directory of its own below DIR, which is removed after it. Prints one line of JSON:
// launches per second of the best turn of each kind, and the codes that Start and Stop returned in each round.
#include <algorithm>
#include <chrono>
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

double LaunchesPerSecond(aclrtStream stream, int launches) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; i++)
    Check(npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 2000, 1), "npusimLaunch");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  return launches / took.count();
}

void PrintCodes(const char* name, const std::vector<int>& codes) {
  std::printf(", \"%s\": [", name);
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
  double plain = 0, profiled = 0;
  std::vector<int> starts, stops;
  for (int round = 0; round < rounds; round++) {
    plain = std::max(plain, LaunchesPerSecond(stream, launches));
    const std::string dir = std::string(argv[1]) + "/round" + std::to_string(round);
    Check(aclprofInit(dir.c_str(), dir.size()), "aclprofInit");
    aclprofConfig* config = aclprofCreateConfig(
        devices, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr,
        ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
    if (config == nullptr) Check(-1, "aclprofCreateConfig");
    starts.push_back(aclprofStart(config));
    profiled = std::max(profiled, LaunchesPerSecond(stream, launches));
    stops.push_back(aclprofStop(config));
    Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
    Check(aclprofFinalize(), "aclprofFinalize");
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
  }
  std::printf("{\"plain\": %.0f, \"profiled\": %.0f", plain, profiled);
  PrintCodes("starts", starts);
  PrintCodes("stops", stops);
  std::printf("}\n");
  Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
