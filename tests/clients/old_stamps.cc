// SPDX-License-Identifier: Apache-2.0
// Stamps as clients of the first generation set them: every function is looked up by name, those without a header too.
//
// usage: old_stamps DIR
// Prints a line of JSON with what the calls returned.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "check.h"
#include "npuprof/acl_prof_loaded.h"

namespace {

template <typename Function>
Function* Find(void* library, const char* name, Function*) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "%s is not found\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(found);
}
#define FIND(name) const auto name##_ = Find(library, #name, &name)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen("libmsprofiler.so", RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) return 1;
  FIND(aclprofInit);
  FIND(aclprofStart);
  FIND(aclprofStop);
  FIND(aclprofFinalize);
  FIND(aclprofCreateConfig);
  FIND(aclprofCreateStamp);
  FIND(aclprofDestroyStamp);
  FIND(aclprofSetStampTraceMessage);
  FIND(aclprofSetStampTagName);
  FIND(aclprofSetStampCallStack);
  FIND(aclprofSetStampCategory);
  FIND(aclprofSetStampPayload);
  FIND(aclprofSetCategoryName);
  FIND(aclprofMsproftxSwitch);
  FIND(aclprofReportStamp);
  FIND(aclprofMark);
  FIND(aclprofRangeStart);
  FIND(aclprofRangeStop);
  FIND(aclprofSetConfig);

  Check(aclInit(nullptr), "aclInit");
  Check(aclprofInit_(argv[1], std::strlen(argv[1])), "aclprofInit");
  Check(aclprofSetConfig_(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50", 2), "aclprofSetConfig");
  aclprofConfig* config = aclprofCreateConfig_(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart_(config), "aclprofStart");
  aclprofMsproftxSwitch_(true);
  Check(aclprofSetCategoryName_(7, "loader"), "aclprofSetCategoryName");
  void* stamp = aclprofCreateStamp_();
  int value = 3;
  Check(aclprofSetStampTraceMessage_(stamp, "batch", 5), "aclprofSetStampTraceMessage");
  Check(aclprofSetStampTagName_(stamp, "torch.op_range", 14), "aclprofSetStampTagName");
  Check(aclprofSetStampCallStack_(stamp, "main", 4), "aclprofSetStampCallStack");
  Check(aclprofSetStampCategory_(stamp, 7), "aclprofSetStampCategory");
  Check(aclprofSetStampPayload_(stamp, 2, &value), "aclprofSetStampPayload");
  uint32_t range = 0, open = 0;
  Check(aclprofRangeStart_(stamp, &range), "aclprofRangeStart");
  Check(aclprofRangeStop_(range), "aclprofRangeStop");
  Check(aclprofRangeStart_(stamp, &open), "aclprofRangeStart");
  aclprofMsproftxSwitch_(false);
  Check(aclprofMark_(stamp), "aclprofMark");
  aclprofMsproftxSwitch_(true);
  // What the next user gets is clean, although the first had a category.
  aclprofDestroyStamp_(stamp);
  void* fresh = aclprofCreateStamp_();
  Check(aclprofMark_(fresh), "aclprofMark");
  unsigned char data[8] = {};
  std::printf("{\"report\": %d, \"differ\": %s}\n",
              aclprofReportStamp_("torch.op_mark", 13, data, sizeof(data)), range != open ? "true" : "false");
  Check(aclprofStop_(config), "aclprofStop");
  Check(aclprofFinalize_(), "aclprofFinalize");
  return aclFinalize();
}
