/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that leaves profiling to its configuration, and then tries to profile itself.
 *
 * usage: configured CONFIG DEVICES TASKS DIR
 * CONFIG is the file for aclInit(), "-" for none, "never" for a program that does not call aclInit(). DEVICES is a comma
 * list of ids, TASKS how many kernels run on each; if the process sees no device it only lists them for aclprof. DIR is given to aclprofInit(). Prints a line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

enum { BLOCKS = 8, CYCLES = 18000 };

static void check(int code, const char* call) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  fprintf(stderr, "configured: %s returned %d: %s\n", call, code, why != NULL ? why : "");
  exit(1);
}

static int run(uint32_t device, uint64_t tasks) {
  aclrtStream stream = NULL;
  check(aclrtSetDevice((int32_t)device), "aclrtSetDevice");
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  check(npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, BLOCKS, CYCLES, tasks), "npusimLaunch");
  check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  return 0;
}

int main(int argc, char** argv) {
  uint32_t devices[16], count = 0, present = 0;
  if (argc != 5) {
    fprintf(stderr, "usage: configured CONFIG DEVICES TASKS DIR\n");
    return 2;
  }
  const uint64_t tasks = strtoull(argv[3], NULL, 10);
  for (char* item = strtok(argv[2], ","); item != NULL && count < 16; item = strtok(NULL, ","))
    devices[count++] = (uint32_t)strtoul(item, NULL, 10);
  int init = 0;
  if (strcmp(argv[1], "never") != 0) init = aclInit(strcmp(argv[1], "-") != 0 ? argv[1] : NULL);
  printf("{\"acl_init\": %d", init);
  if (init != 0) {
    const char* why = aclGetRecentErrMsg();
    fprintf(stderr, "%s\n", why != NULL ? why : "");
    printf("}\n");
    return 0;
  }
  check(aclrtGetDeviceCount(&present), "aclrtGetDeviceCount");
  const uint32_t used = present > 0 ? count : 0;
  for (uint32_t i = 0; i < used; i++) run(devices[i], tasks);
  printf(", \"devices\": %u, \"init\": %d", present, aclprofInit(argv[4], strlen(argv[4])));
  aclprofConfig* config = aclprofCreateConfig(devices, count, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME_L0);
  printf(", \"config\": %d, \"start\": %d", config != NULL, aclprofStart(config));
  for (uint32_t i = 0; i < used; i++) run(devices[i], tasks);
  printf(", \"stop\": %d, \"finalize\": %d}\n", aclprofStop(config), aclprofFinalize());
  if (config != NULL) check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  for (uint32_t i = 0; i < used; i++) {
    check(aclrtSetDevice((int32_t)devices[i]), "aclrtSetDevice");
    check(aclrtResetDevice((int32_t)devices[i]), "aclrtResetDevice");
    check(aclrtResetDevice((int32_t)devices[i]), "aclrtResetDevice");
    check(aclrtResetDevice((int32_t)devices[i]), "aclrtResetDevice");
  }
  if (strcmp(argv[1], "never") != 0) check(aclFinalize(), "aclFinalize");
  return 0;
}
