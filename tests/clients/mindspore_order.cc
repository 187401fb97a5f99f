// SPDX-License-Identifier: Apache-2.0
// The order of calls in which MindSpore profiles steps: aclprofSetConfig is linked, the rest is looked up in libmsprofiler.so
// alone; the number of a step is written into its object, and tags 60000 and 60001 mark begin and end.
//
// usage: mindspore_order DIR LIBRARIES STEPS    where LIBRARIES is the directory that holds the libraries
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

namespace {

constexpr uint64_t kKernels = 7, kFirstStep = 100;
constexpr int kBegin = 60000, kEnd = 60001;

void Check(int code, const char* what) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  std::fprintf(stderr, "mindspore_order: %s returned %d: %s\n", what, code, why != nullptr ? why : "");
  std::exit(1);
}

void* g_library = nullptr;

template <typename Function>
Function* Find(const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(g_library, name));
  if (found == nullptr) std::fprintf(stderr, "%s is not in libmsprofiler.so\n", name);
  if (found == nullptr) std::exit(3);
  return found;
}

}  // namespace

#define FIND(function) Find<decltype(function)>(#function)

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: mindspore_order DIR LIBRARIES STEPS\n");
    return 2;
  }
  const uint64_t steps = std::strtoull(argv[3], nullptr, 10);
  g_library = dlopen((std::string(argv[2]) + "/libmsprofiler.so").c_str(), RTLD_LAZY);
  if (g_library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  Check(FIND(aclprofInit)(argv[1], std::strlen(argv[1])), "aclprofInit");
  const auto set = [](aclprofConfigType type, const char* text) {
    Check(aclprofSetConfig(type, text, std::strlen(text)), "aclprofSetConfig");
  };
  set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50");
  set(ACL_PROF_SYS_IO_FREQ, "100");
  set(ACL_PROF_SYS_INTERCONNECTION_FREQ, "50");
  uint32_t device = 0;
  aclprofConfig* config =
      FIND(aclprofCreateConfig)(&device, 1, ACL_AICORE_ARITHMETIC_UTILIZATION, nullptr, 0x27 | 0x100);
  if (config == nullptr) return 4;
  set(ACL_PROF_HOST_SYS, "cpu,mem");
  Check(FIND(aclprofStart)(config), "aclprofStart");
  for (uint64_t step = 0; step < steps; ++step) {
    aclprofStepInfo* info = FIND(aclprofCreateStepInfo)();
    if (info == nullptr) return 5;
    const uint64_t index = kFirstStep + step;
    std::memcpy(reinterpret_cast<char*>(info) + 8, &index, sizeof(index));
    const auto tell = [&](int tag) {
      aclprofStepTag value;
      std::memcpy(&value, &tag, sizeof(value));
      Check(FIND(aclprofGetStepTimestamp)(info, value, stream), "aclprofGetStepTimestamp");
    };
    tell(kBegin);
    Check(npusimLaunch(stream, "conv", "Conv2D", NPUSIM_OP_AI_CORE, 8, 18000, kKernels), "npusimLaunch");
    tell(kEnd);
    FIND(aclprofDestroyStepInfo)(info);
  }
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Check(FIND(aclprofStop)(config), "aclprofStop");
  Check(FIND(aclprofDestroyConfig)(config), "aclprofDestroyConfig");
  Check(FIND(aclprofFinalize)(), "aclprofFinalize");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
