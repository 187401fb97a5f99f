// SPDX-License-Identifier: Apache-2.0
// Marks and ranges of a program in its own profile.
//
// usage: marks DIR TYPES
// With data types TYPES: one mark, two ranges of which one holds the other, one range that another thread ends, and three
// marks on a stream, each behind a kernel of a millisecond. Prints a line of JSON with what the calls returned.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "npusim/npusim.h"

namespace {

void* Stamp(const char* message) {
  void* stamp = aclprofCreateStamp();
  if (stamp == nullptr) Check(-1, "aclprofCreateStamp");
  Check(aclprofSetStampTraceMessage(stamp, message, static_cast<uint32_t>(std::strlen(message))),
        "aclprofSetStampTraceMessage");
  return stamp;
}

void MarkAll(aclrtStream stream) {
  void *point = Stamp("point"), *outer = Stamp("outer"), *inner = Stamp("inner"), *far = Stamp("far");
  Check(aclprofMark(point), "aclprofMark");
  uint32_t range = 0;
  Check(aclprofRangeStart(far, &range), "aclprofRangeStart");
  Check(aclprofPush(outer), "aclprofPush");
  Check(aclprofPush(inner), "aclprofPush");
  for (void* stamp : {point, outer, inner, far}) aclprofDestroyStamp(stamp);
  Check(aclprofPop(), "aclprofPop");
  Check(aclprofPop(), "aclprofPop");
  std::thread other([range] { Check(aclprofRangeStop(range), "aclprofRangeStop"); });
  other.join();
  for (const char* message : {"first", "second", "third"}) {
    Check(npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 1, 1'800'000, 1), "npusimLaunch");
    Check(aclprofMarkEx(message, std::strlen(message), stream), "aclprofMarkEx");
  }
  std::printf("{\"pop\": %d, \"stop\": %d, \"long\": %d, \"empty\": %d, \"null\": %d, \"dead\": %d}\n",
              aclprofPop(), aclprofRangeStop(range), aclprofMarkEx("x", 156, stream),
              aclprofMarkEx("", 0, stream), aclprofPush(nullptr), aclprofMark(point));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: marks DIR TYPES\n");
    return 2;
  }
  const uint64_t types = std::strtoull(argv[2], nullptr, 0);
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  if (aclprofCreateStamp() != nullptr) Check(-1, "aclprofCreateStamp before a session");
  Check(aclprofInit(argv[1], std::strlen(argv[1])), "aclprofInit");
  uint32_t device = 0;
  aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, types);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");
  if ((types & ACL_PROF_MSPROFTX) != 0) {
    MarkAll(stream);
  } else {
    std::printf("{\"stamp\": %s, \"mark\": %d}\n", aclprofCreateStamp() == nullptr ? "null" : "1",
                aclprofMarkEx("x", 1, stream));
  }
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
