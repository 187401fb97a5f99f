/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does its work whether profiling works or not, as a good client does. Its output and its exit
 * status tell of the work alone; codes of profiling calls go to the standard error stream.
 *
 * usage: unaffected DIR [DEVICE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

enum { BYTES = 4096, STATUS = 7 };

int main(int argc, char** argv) {
  static unsigned char there[BYTES], back[BYTES];
  uint32_t devices[] = {argc > 2 ? (uint32_t)atoi(argv[2]) : 0};
  aclrtStream stream = NULL;
  void* memory = NULL;
  if (argc < 2 || aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0 ||
      aclrtMalloc(&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
    return 1;

  int init = aclprofInit(argv[1], strlen(argv[1]));
  aclprofConfig* config =
      aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
                          ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS);
  int start = aclprofStart(config);

  for (int i = 0; i < BYTES; i++) there[i] = (unsigned char)(i * 7);
  for (int i = 0; i < 200; i++)
    if (npusimLaunch(stream, "work", "Work", NPUSIM_OP_AI_CORE, 4, 2000, 10) != 0) return 1;
  if (aclrtMemcpy(memory, BYTES, there, BYTES, ACL_MEMCPY_HOST_TO_DEVICE) != 0 ||
      aclrtMemcpy(back, BYTES, memory, BYTES, ACL_MEMCPY_DEVICE_TO_HOST) != 0 ||
      aclrtSynchronizeStream(stream) != 0)
    return 1;
  unsigned sum = 0;
  for (int i = 0; i < BYTES; i++) sum = sum * 31 + back[i];

  int stop = aclprofStop(config);
  fprintf(stderr, "init %d config %d start %d stop %d", init, config != NULL, start, stop);
  if (config != NULL) fprintf(stderr, " destroy %d", aclprofDestroyConfig(config));
  fprintf(stderr, " finalize %d\n", aclprofFinalize());

  npusimDeviceTotals totals;
  memset(&totals, 0, sizeof(totals));
  if (npusimTotals(0, &totals, sizeof(totals)) != 0) return 1;
  printf("kernels %llu sum %u\n", (unsigned long long)totals.kernelsEnded, sum);
  aclrtFree(memory);
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  aclFinalize();
  return STATUS;
}
