/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles and works until it is killed. Once a second it prints how many tasks had ended by then.
 *
 * usage: forever DIR
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

int main(int argc, char** argv) {
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  if (argc != 2) return 2;
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return 1;
  aclprofConfig* config = aclprofCreateConfig(
      devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  if (aclprofInit(argv[1], strlen(argv[1])) != 0 || config == NULL || aclprofStart(config) != 0) return 1;
  for (;;) {
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
      if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 20000, 10) != 0) return 1;
      if (aclrtSynchronizeStream(stream) != 0) return 1;
      clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec == begin.tv_sec);
    npusimDeviceTotals totals;
    memset(&totals, 0, sizeof(totals));
    if (npusimTotals(0, &totals, sizeof(totals)) != 0) return 1;
    printf("%llu\n", (unsigned long long)totals.tasksEnded);
    fflush(stdout);
  }
}
