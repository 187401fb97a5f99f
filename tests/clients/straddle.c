/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window whose start and end both fall into a running task: the one before must be left out, the one after
 * kept with its end, by the rule that a task belongs to the window in which it started.
 *
 * usage: straddle DIR INSIDE [warm]     INSIDE tasks start and end inside the window, one more only starts in it; warm:
 *                                       everything is made ready first, and tasks end before the window, too
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npuprof/acl_prof_loaded.h"
#include "npusim/npusim.h"

#define CHECK(call)                                      \
  do {                                                   \
    int code_ = (int)(call);                             \
    if (code_ != 0) {                                    \
      fprintf(stderr, "%s returned %d\n", #call, code_); \
      return 1;                                          \
    }                                                    \
  } while (0)

/* A second and a half on cores of 1800 MHz: Start or Stop falls into it on a busy machine too. */
#define LONG_TASK 2700000000ULL

static uint64_t started(void) {
  npusimDeviceTotals totals;
  memset(&totals, 0, sizeof(totals));
  return npusimTotals(0, &totals, sizeof(totals)) == 0 ? totals.tasksStarted : 0;
}

static void wait_until_started(uint64_t count) {
  const struct timespec pause = {0, 1000000};
  while (started() < count) nanosleep(&pause, NULL);
}

int main(int argc, char** argv) {
  const int warm = argc == 4 && strcmp(argv[3], "warm") == 0;
  if (argc != 3 && !warm) {
    fprintf(stderr, "usage: straddle DIR INSIDE [warm]\n");
    return 2;
  }
  uint64_t inside = strtoull(argv[2], NULL, 10);
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclprofInit(argv[1], strlen(argv[1])));
  aclprofConfig* config =
      aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
                          ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  CHECK(config == NULL);

  if (warm) {
    CHECK(aclprofWarmup(config));
    CHECK(npusimLaunch(stream, "early", "Work", NPUSIM_OP_AI_CORE, 1, 2000, 10));
    CHECK(aclrtSynchronizeStream(stream));
  }
  uint64_t before = started();
  CHECK(npusimLaunch(stream, "before", "Work", NPUSIM_OP_AI_CORE, 1, LONG_TASK, 1));
  wait_until_started(before + 1);
  CHECK(aclprofStart(config));
  if (inside != 0) CHECK(npusimLaunch(stream, "inside", "Work", NPUSIM_OP_AI_CORE, 1, 2000, inside));
  CHECK(npusimLaunch(stream, "after", "Work", NPUSIM_OP_AI_CORE, 1, LONG_TASK, 1));
  wait_until_started(before + inside + 2);
  CHECK(aclprofStop(config));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclprofDestroyConfig(config));
  CHECK(aclprofFinalize());
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
