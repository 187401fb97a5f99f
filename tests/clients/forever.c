/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles and works until it is killed. Once a second it prints how many tasks had ended by then. With INTERVAL it
 * prints every so many milliseconds, the time (CLOCK_MONOTONIC, ns) first, and rests PAUSE microseconds after every ten
 * tasks.
 *
 * usage: forever DIR [INTERVAL PAUSE]
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

int main(int argc, char** argv) {
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  if (argc != 2 && argc != 4) return 2;
  const unsigned long long interval = argc == 4 ? strtoull(argv[2], NULL, 10) * 1000000u : 1000000000u;
  const useconds_t pause = argc == 4 ? (useconds_t)strtoul(argv[3], NULL, 10) : 0;
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return 1;
  aclprofConfig* config = aclprofCreateConfig(
      devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  if (aclprofInit(argv[1], strlen(argv[1])) != 0 || config == NULL || aclprofStart(config) != 0) return 1;
  for (;;) {
    const unsigned long long begin = now_ns() / interval;
    do {
      if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 20000, 10) != 0) return 1;
      if (aclrtSynchronizeStream(stream) != 0) return 1;
      if (pause != 0) usleep(pause);
    } while (now_ns() / interval == begin);
    npusimDeviceTotals totals;
    memset(&totals, 0, sizeof(totals));
    if (npusimTotals(0, &totals, sizeof(totals)) != 0) return 1;
    if (argc == 4) printf("%llu ", now_ns());
    printf("%llu\n", (unsigned long long)totals.tasksEnded);
    fflush(stdout);
  }
}
