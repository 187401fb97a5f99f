// SPDX-License-Identifier: Apache-2.0
// A program in the middle of a window of its own that forks children which use NPUs and profile themselves.
//
// usage: forked DIR TASKS
// The window of the parent, in DIR/parent, has marks alone: one before each of two children, which run after each other and
// profile TASKS operators each, in DIR/child0 and DIR/child1, and one behind both. Then the parent uses an NPU as well: one
// operator in a second window. Prints what the model of each child and of the parent counted.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "npusim/npusim.h"

namespace {

constexpr unsigned kChildren = 2, kBlocks = 8, kCycles = 18000;

aclprofConfig* Begin(uint32_t* devices, uint32_t count, uint64_t types) {
  aclprofConfig* config = aclprofCreateConfig(devices, count, ACL_AICORE_PIPE_UTILIZATION, nullptr, types);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");
  return config;
}

void End(aclprofConfig* config) {
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
}

void Init(const std::string& path) {
  Check(aclprofInit(path.c_str(), path.size()), "aclprofInit");
}

void Mark(const char* text) {
  void* stamp = aclprofCreateStamp();
  if (stamp == nullptr) Check(-1, "aclprofCreateStamp");
  Check(aclprofSetStampTraceMessage(stamp, text, static_cast<uint32_t>(std::strlen(text))),
        "aclprofSetStampTraceMessage");
  Check(aclprofMark(stamp), "aclprofMark");
  aclprofDestroyStamp(stamp);
}

// Between Init and Finalize: some work on device 0, profiled.
void ProfileTasks(const std::string& op, uint64_t tasks) {
  uint32_t device = 0;
  aclrtStream stream = nullptr;
  npusimDeviceTotals counted{};
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  aclprofConfig* config = Begin(&device, 1, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS);
  Check(npusimLaunch(stream, op.c_str(), "Op", NPUSIM_OP_AI_CORE, kBlocks, kCycles, tasks), "npusimLaunch");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  End(config);
  Check(npusimTotals(0, &counted, sizeof counted), "npusimTotals");
  std::printf("%s %llu\n", op.c_str(), static_cast<unsigned long long>(counted.kernelsEnded));
  std::fflush(stdout);
  Check(aclrtResetDevice(0), "aclrtResetDevice");
}

void ProfileChild(const std::string& base, unsigned number, uint64_t tasks) {
  const std::string name = "child" + std::to_string(number);
  Init(base + "/" + name);
  ProfileTasks("of" + name, tasks);
  Check(aclprofFinalize(), "aclprofFinalize");
  Check(aclFinalize(), "aclFinalize");
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t tasks = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (tasks == 0) {
    std::fprintf(stderr, "usage: forked DIR TASKS\n");
    return 2;
  }
  Check(aclInit(nullptr), "aclInit");
  Init(argv[1] + std::string("/parent"));
  aclprofConfig* config = Begin(nullptr, 0, ACL_PROF_MSPROFTX);
  for (unsigned i = 0; i < kChildren; i++) {
    Mark("before a child");
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);  // instead of hanging
      ProfileChild(argv[1], i, tasks);
      return 0;  // its exit handlers run as well
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
      Check(status != 0 ? status : -1, "a child");
  }
  Mark("behind the children");
  End(config);
  ProfileTasks("ofparent", 1);
  Check(aclprofFinalize(), "aclprofFinalize");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
