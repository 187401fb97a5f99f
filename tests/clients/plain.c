/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows nothing of profiling: the same tasks on every device it was told to use, until all have ended.
 *
 * usage: plain TASKS DEVICES TOTALS_FILE [stop]
 * TOTALS_FILE receives what the model of each device counted. With `stop` the program stops itself (SIGSTOP, so that
 * nothing in it reads anything) as soon as tasks run, and goes on when somebody continues it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "npusim/npusim.h"

enum { MAX_DEVICES = 16, BLOCKS = 8, CYCLES = 180000 };

static void check(int code, const char* call) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  fprintf(stderr, "plain: %s returned %d: %s\n", call, code, why != NULL ? why : "");
  exit(1);
}

static npusimDeviceTotals totals(uint32_t device) {
  npusimDeviceTotals t;
  memset(&t, 0, sizeof(t));
  check(npusimTotals(device, &t, sizeof(t)), "npusimTotals");
  return t;
}

int main(int argc, char** argv) {
  const uint64_t tasks = argc >= 4 ? strtoull(argv[1], NULL, 10) : 0;
  const uint32_t devices = argc >= 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
  const int stop = argc == 5 && strcmp(argv[4], "stop") == 0;
  if (tasks == 0 || devices == 0 || devices > MAX_DEVICES || argc > 5 || (argc == 5 && !stop)) {
    fprintf(stderr, "usage: plain TASKS DEVICES(1-%d) TOTALS_FILE [stop]\n", MAX_DEVICES);
    return 2;
  }
  npusimDeviceTotals first[MAX_DEVICES];
  aclrtStream streams[MAX_DEVICES];
  check(aclInit(NULL), "aclInit");
  for (uint32_t i = 0; i < devices; i++) {
    check(aclrtSetDevice((int32_t)i), "aclrtSetDevice");
    check(aclrtCreateStream(&streams[i]), "aclrtCreateStream");
    first[i] = totals(i);
  }
  for (uint32_t i = 0; i < devices; i++) {
    check(aclrtSetDevice((int32_t)i), "aclrtSetDevice");
    check(npusimLaunch(streams[i], "work", "Work", NPUSIM_OP_AI_CORE, BLOCKS, CYCLES, tasks), "npusimLaunch");
    check(aclrtResetDevice((int32_t)i), "aclrtResetDevice"); /* gives back the aclrtSetDevice() above */
  }
  if (stop) {
    while (totals(0).tasksStarted == first[0].tasksStarted) continue;
    raise(SIGSTOP);
  }
  for (uint32_t i = 0; i < devices; i++) {
    check(aclrtSetDevice((int32_t)i), "aclrtSetDevice");
    check(aclrtSynchronizeStream(streams[i]), "aclrtSynchronizeStream");
    check(aclrtResetDevice((int32_t)i), "aclrtResetDevice");
  }
  FILE* file = fopen(argv[3], "w");
  if (file == NULL) {
    perror(argv[3]);
    return 1;
  }
  fprintf(file, "{\"devices\": [");
  for (uint32_t i = 0; i < devices; i++) {
    const npusimDeviceTotals last = totals(i);
    fprintf(file,
            "%s{\"id\": %u, \"submitted\": %llu, \"started\": %llu, \"ended\": %llu, \"kernels\": %llu}",
            i != 0 ? ", " : "", i, (unsigned long long)(last.tasksSubmitted - first[i].tasksSubmitted),
            (unsigned long long)(last.tasksStarted - first[i].tasksStarted),
            (unsigned long long)(last.tasksEnded - first[i].tasksEnded),
            (unsigned long long)(last.kernelsEnded - first[i].kernelsEnded));
  }
  fprintf(file, "]}\n");
  if (fclose(file) != 0) {
    perror(argv[3]);
    return 1;
  }
  for (uint32_t i = 0; i < devices; i++) check(aclrtResetDevice((int32_t)i), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return 0;
}
