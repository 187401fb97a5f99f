/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the shapes of what it launches by itself, one launch inside another's range.
 *
 * usage: shapes DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

static void check(int code, const char* what) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  fprintf(stderr, "%s returned %d: %s\n", what, code, why != NULL ? why : "");
  exit(1);
}

/* What it leads to is gone when it returns. */
static void begin(const char* name, uint32_t tensors) {
  aclprofTensor list[8];
  for (uint32_t i = 0; i < tensors; ++i) {
    aclprofTensor one = {i + 1 == tensors, 2, 1, 2, {16, i + 1}};
    list[i] = one;
  }
  aclprofTensorInfo info = {aclprofStr2Id(name), aclprofStr2Id("Mine"), 0, tensors, 0, 1, NULL, list};
  aclprofEventAttributes attributes = {
      ACL_PROF_EVENT_ATTR_VERSION, sizeof attributes, ACL_PROF_MESSAGE_TENSOR_INFO, {&info}};
  check(aclprofRangePushEx(&attributes), "aclprofRangePushEx");
  memset(list, 0xff, sizeof list);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  uint32_t device = 0;
  aclrtStream stream = NULL;
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  check(aclprofInit(argv[1], strlen(argv[1])), "aclprofInit");
  aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME);
  check(aclprofStart(config), "aclprofStart");
  begin("outer", 7);
  begin("inner", 2);
  check(npusimLaunch(stream, "inner", "Mine", NPUSIM_OP_AI_CORE, 1, 1000, 1), "npusimLaunch");
  check(aclprofRangePop(), "aclprofRangePop");
  check(npusimLaunch(stream, "outer", "Mine", NPUSIM_OP_AI_CORE, 1, 1000, 1), "npusimLaunch");
  check(aclprofRangePop(), "aclprofRangePop");
  check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  check(aclprofStop(config), "aclprofStop");
  check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  check(aclprofFinalize(), "aclprofFinalize");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  return aclFinalize();
}
