/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works, profiled unless DIR is "-", or with a model subscribed if it is "pipe", and then leaves main() in a way that some
 * programs do.
 *
 * usage: leave DIR thread    the main thread ends, and there is no other
 *        leave DIR worker    the main thread ends; another one goes on, and says so each tenth of a second
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"
#include "profiling/prof_api.h"

static int work(aclrtStream stream) {
  for (int i = 0; i < 300; i++)
    if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 20000, 10) != 0) return 1;
  return aclrtSynchronizeStream(stream) != 0;
}

/* Of a model that is loaded in name alone: nothing is to come through the pipe. */
static int subscribe(void) {
  static int ends[2];
  if (pipe(ends) != 0 || MsprofSetDeviceIdByGeModelIdx(7, 0) != 0) return 1;
  aclprofSubscribeConfig* config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
  return config == NULL || aclprofModelSubscribe(7, config) != 0;
}

static void* live_on(void* unused) {
  const struct timespec tenth = {0, 100000000};
  (void)unused;
  for (;;) {
    puts("alive");
    fflush(stdout);
    nanosleep(&tenth, NULL);
  }
  return NULL;
}

int main(int argc, char** argv) {
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  pthread_t worker;
  if (argc != 3) return 2;
  const int subscribed = strcmp(argv[1], "pipe") == 0;
  const int profiled = !subscribed && strcmp(argv[1], "-") != 0;
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return 3;
  if (subscribed && subscribe() != 0) return 6;
  if (profiled) {
    aclprofConfig* config = aclprofCreateConfig(
        devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
        ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
    if (aclprofInit(argv[1], strlen(argv[1])) != 0 || config == NULL || aclprofStart(config) != 0) return 4;
  }
  if (work(stream) != 0) return 5;
  if (strcmp(argv[2], "worker") == 0 && pthread_create(&worker, NULL, live_on, NULL) != 0) return 9;
  pthread_exit(NULL);
}
