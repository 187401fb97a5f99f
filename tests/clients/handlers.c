/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ends in order when it is told to by SIGINT or SIGTERM. Its handlers were there before profiling began.
 *
 * usage: handlers DIR stop|exit
 * Works until a signal has come; `stop` then stops profiling, `exit` leaves that to the end of the process. Exit status 3
 * if somebody changed a handler.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

static volatile sig_atomic_t told = 0;

static void on_signal(int number) {
  told = number;
}

static int ours(void) {
  const int numbers[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    struct sigaction now;
    if (sigaction(numbers[i], NULL, &now) != 0 || now.sa_handler != on_signal) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  if (argc != 3) return 2;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  if (sigaction(SIGINT, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0) return 1;
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return 1;
  aclprofConfig* config =
      aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
                          ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS);
  if (aclprofInit(argv[1], strlen(argv[1])) != 0 || config == NULL || aclprofStart(config) != 0) return 1;
  unsigned long long tasks = 0;
  if (!ours()) return 3;
  puts("ready");
  fflush(stdout);
  while (told == 0) {
    if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 20000, 10) != 0) return 1;
    if (aclrtSynchronizeStream(stream) != 0) return 1;
    tasks += 10;
  }
  if (!ours()) return 3;
  if (strcmp(argv[2], "stop") == 0 && (aclprofStop(config) != 0 || aclprofFinalize() != 0)) return 4;
  if (!ours()) return 3;
  printf("%d %llu\n", (int)told, tasks);
  return 0;
}
