// SPDX-License-Identifier: Apache-2.0
// A program and two libraries in it that mark what they do through mstx, each in a domain of its own, and step marks as a
// training loop sets them. The libraries are found at run time by their published names, as frameworks do.
//
// usage: mstx_domains DIR
// Prints a line of JSON with the numbers of ranges and what refusals returned.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "mstx/ms_tools_ext.h"
#include "npusim/npusim.h"

namespace {

template <typename Function>
Function* Load(void* library, const char* name, Function*) {
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "%s is not found: %s\n", name, dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function*>(found);
}
#define LOAD(library, name) const auto name##_ = Load(library, #name, &name)

// Of n bytes and more, all of it text that is cut in the middle of a character somewhere.
std::string Long(size_t n) {
  std::string text = "long:";
  while (text.size() < n) text += "\xe6\x95\xb0\xf0\x9f\x94\xa5x";
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mstx_domains DIR\n");
    return 2;
  }
  void* tools = dlopen("libms_tools_ext.so", RTLD_LAZY);
  LOAD(tools, mstxMarkA);
  LOAD(tools, mstxRangeStartA);
  LOAD(tools, mstxRangeEnd);
  LOAD(tools, mstxGetToolId);
  LOAD(tools, mstxDomainCreateA);
  LOAD(tools, mstxDomainDestroy);
  LOAD(tools, mstxDomainMarkA);
  LOAD(tools, mstxDomainRangeStartA);
  LOAD(tools, mstxDomainRangeEnd);

  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");

  // Before a session: domains may be made, marks are nowhere.
  const mstxDomainHandle_t io = mstxDomainCreateA_("io"), comm = mstxDomainCreateA_("communication");
  const mstxDomainHandle_t again = mstxDomainCreateA_("io");
  mstxMarkA_("too early", nullptr);
  const mstxRangeId early = mstxRangeStartA_("too early", nullptr);
  uint64_t tool = 0;
  mstxGetToolId_(&tool);

  Check(aclprofInit(argv[1], std::strlen(argv[1])), "aclprofInit");
  uint32_t device = 0;
  aclprofConfig* config =
      aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");

  mstxMarkA_("point", nullptr);
  mstxMarkA_("\xe6\xa0\x87\xe8\xae\xb0", nullptr);
  mstxMarkA_(Long(1000).c_str(), nullptr);
  mstxMarkA_("=formula", nullptr);
  mstxMarkA_("", nullptr);
  mstxMarkA_(nullptr, nullptr);
  mstxDomainMarkA_(io, "read", nullptr);
  mstxDomainMarkA_(comm, "allreduce", stream);
  mstxDomainMarkA_(reinterpret_cast<mstxDomainHandle_t>(&device), "no domain", nullptr);

  // Ended on another thread, and only in its own domain.
  const mstxRangeId load = mstxDomainRangeStartA_(io, "load", nullptr);
  mstxDomainRangeEnd_(comm, load);
  mstxRangeEnd_(load);
  std::thread([=] {
    mstxDomainRangeEnd_(io, load);
    mstxDomainRangeEnd_(io, load);
  }).join();

  // On the device: around a kernel of a millisecond.
  const mstxRangeId kernel = mstxRangeStartA_("kernel", stream);
  Check(npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 1, 1'800'000, 1), "npusimLaunch");
  mstxRangeEnd_(kernel);

  // Many threads, each with ranges of its own.
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([=] {
      for (int k = 0; k < 50; ++k) mstxDomainRangeEnd_(io, mstxDomainRangeStartA_(io, "small", nullptr));
    });
  }
  for (auto& thread : threads) thread.join();

  // Steps; the second by the numbers of the device and with a number of the program's own.
  for (int i = 0; i < 2; ++i) {
    aclprofStepInfo* step = aclprofCreateStepInfo();
    const uint64_t number = 70;
    if (i == 1) std::memcpy(reinterpret_cast<char*>(step) + 8, &number, sizeof(number));
    Check(aclprofGetStepTimestamp(step, static_cast<aclprofStepTag>(i == 1 ? 60000 : ACL_STEP_START), stream),
          "aclprofGetStepTimestamp");
    Check(npusimLaunch(stream, "step", "Step", NPUSIM_OP_AI_CORE, 1, 180'000, 1), "npusimLaunch");
    Check(aclprofGetStepTimestamp(step, static_cast<aclprofStepTag>(i == 1 ? 60001 : ACL_STEP_END), stream),
          "aclprofGetStepTimestamp");
    aclprofDestroyStepInfo(step);
  }

  const mstxRangeId open = mstxRangeStartA_("never ended", nullptr);
  mstxDomainDestroy_(comm);
  mstxDomainMarkA_(comm, "of a destroyed domain", nullptr);
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Check(aclprofStop(config), "aclprofStop");
  mstxMarkA_("too late", nullptr);
  const mstxRangeId late = mstxRangeStartA_("too late", nullptr);
  std::printf(
      "{\"early\": %d, \"late\": %d, \"tool\": %d, \"same\": %s, \"load\": %d, \"kernel\": %d, \"open\": %d, "
      "\"refused\": %d}\n",
      static_cast<int>(early), static_cast<int>(late), static_cast<int>(tool), io == again ? "true" : "false",
      static_cast<int>(load), static_cast<int>(kernel), static_cast<int>(open),
      (mstxDomainCreateA_(nullptr) == nullptr) + (mstxDomainCreateA_("default") == nullptr) +
          (mstxDomainCreateA_("@x") == nullptr) + (mstxDomainCreateA_(Long(1024).c_str()) == nullptr));
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
