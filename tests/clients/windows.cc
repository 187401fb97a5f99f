// SPDX-License-Identifier: Apache-2.0
// Two models of a server, each on a device of its own and profiled by a thread of its own, whose windows come and go as they
// like.
//
// usage: windows DIR ROUNDS
// Each thread does ROUNDS times: a window with settings of its own around some kernels of its own. Prints a line of JSON: for
// each device the kernels inside its windows.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "npusim/npusim.h"

namespace {

void Serve(uint32_t device, int rounds, unsigned kernels) {
  Check(aclrtSetDevice(static_cast<int32_t>(device)), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  uint64_t types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME;
  if (device == 0) types |= ACL_PROF_AICORE_METRICS;
  aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr, types);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  for (int round = 0; round < rounds; ++round) {
    Check(npusimLaunch(stream, "outside", "Outside", NPUSIM_OP_AI_CORE, 4, 9000, 5), "npusimLaunch");
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    Check(aclprofStart(config), "aclprofStart");
    Check(npusimLaunch(stream, device == 0 ? "matmul" : "add", device == 0 ? "MatMul" : "Add",
                       NPUSIM_OP_AI_CORE, 4, 9000, kernels),
          "npusimLaunch");
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    Check(aclprofStop(config), "aclprofStop");
  }
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: windows DIR ROUNDS\n");
    return 2;
  }
  const int rounds = std::atoi(argv[2]);
  constexpr unsigned kKernels[] = {70, 40};
  Check(aclInit(nullptr), "aclInit");
  Check(aclprofInit(argv[1], std::strlen(argv[1])), "aclprofInit");
  std::thread first(Serve, 0, rounds, kKernels[0]), second(Serve, 1, rounds, kKernels[1]);
  first.join();
  second.join();
  // And both at once for certain.
  uint32_t devices[] = {0, 1};
  aclprofConfig* configs[2];
  for (int i : {0, 1}) {
    Check(aclrtSetDevice(i), "aclrtSetDevice");
    configs[i] = aclprofCreateConfig(&devices[i], 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME);
    Check(aclprofStart(configs[i]), "aclprofStart");
  }
  for (int i : {0, 1}) {
    aclrtStream stream = nullptr;
    Check(aclrtSetDevice(i), "aclrtSetDevice");
    Check(aclrtCreateStream(&stream), "aclrtCreateStream");
    Check(npusimLaunch(stream, "last", "Last", NPUSIM_OP_AI_CORE, 4, 9000, 7), "npusimLaunch");
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
  }
  Check(aclprofStop(configs[0]), "aclprofStop");
  Check(aclprofFinalize(), "aclprofFinalize");
  for (aclprofConfig* config : configs) Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  std::printf("{\"0\": %u, \"1\": %u}\n", kKernels[0], kKernels[1]);
  for (int i : {0, 1}) Check(aclrtResetDevice(i), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
