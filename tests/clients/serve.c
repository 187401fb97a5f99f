/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that works when it is told to, so that a test knows what falls into which window. Commands are lines of the
 * standard input; each is answered by a line.
 *
 *	work N	launches N tasks and waits for them; "done"
 *	own DIR	profiles itself from here on; the codes of Init and Start
 *	end	ends that; the codes of Stop and Finalize
 *	fork	the number of a child that does nothing but wait until the service ends
 *	linger	ends without more ado; its last exit handler answers "ending" and waits for the end of the input
 *
 * usage: serve [late]  it ends with the input, and prints how many tasks had ended; late: "begin" comes first, and before that
 *                      it has used nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

static int g_lingers;

// Registered before anybody else's, so the last to run.
static void linger(void) {
  if (!g_lingers) return;
  printf("ending\n");
  while (getchar() != EOF) continue;
}

int main(int argc, char** argv) {
  aclrtStream stream = NULL;
  aclprofConfig* config = NULL;
  char line[4096];
  int alive[2];
  atexit(linger);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 2 && strcmp(argv[1], "late") == 0) {
    // It has the library all the same.
    if (aclprofGetOpDescSize(NULL) == 0) return 1;
    printf("waits\n");
    if (fgets(line, sizeof line, stdin) == NULL) return 0;
  }
  if (pipe(alive) != 0 || aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0)
    return 1;
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "work ", 5) == 0) {
      for (long i = strtol(line + 5, NULL, 10); i > 0; i--)
        if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 8, 20000, 1) != 0) return 1;
      if (aclrtSynchronizeStream(stream) != 0) return 1;
      printf("done\n");
    } else if (strncmp(line, "own ", 4) == 0) {
      uint32_t devices[] = {0};
      config = aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
                                   ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS);
      const int init = aclprofInit(line + 4, strlen(line + 4));
      printf("%d %d\n", init, aclprofStart(config));
    } else if (strcmp(line, "end") == 0) {
      const int stop = aclprofStop(config);
      aclprofDestroyConfig(config);
      printf("%d %d\n", stop, aclprofFinalize());
    } else if (strcmp(line, "linger") == 0) {
      g_lingers = 1;
      exit(0);
    } else if (strcmp(line, "fork") == 0) {
      const pid_t child = fork();
      if (child == 0) {
        close(alive[1]);
        close(0);
        close(1);
        ssize_t ignored = read(alive[0], line, 1);  // until the other end is closed
        _exit(ignored != 0);
      }
      printf("%d\n", (int)child);
    } else {
      return 2;
    }
  }
  npusimDeviceTotals totals;
  memset(&totals, 0, sizeof(totals));
  if (npusimTotals(0, &totals, sizeof(totals)) != 0) return 1;
  printf("%llu\n", (unsigned long long)totals.kernelsEnded);
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  return aclFinalize();
}
