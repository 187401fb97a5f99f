// SPDX-License-Identifier: Apache-2.0
// Reports calls, alone in a function whose instructions callgrind counts. report_cost_test.py runs it.
//
// usage: report_cost off|on|mark COUNT [DIRECTORY]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_prof.h"
#include "mstx/ms_tools_ext.h"
#include "profiling/aprof_pub.h"
#include "profiling/prof_api.h"

// The only function that is counted.
__attribute__((noinline)) int Counted(const struct MsprofApi* call, long count) {
  int refused = 0;
  for (long i = 0; i < count; i++) refused += MsprofReportApi(1, call) != 0;
  return refused;
}

// The same for a mark that nobody listens to.
__attribute__((noinline)) void CountedMarks(long count) {
  for (long i = 0; i < count; i++) mstxMarkA("mark", NULL);
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "mark") == 0) {
    mstxMarkA("the first call looks who listens", NULL);
    CountedMarks(atol(argv[2]));
    printf("0\n");
    return 0;
  }
  const int on = argc == 4 && strcmp(argv[1], "on") == 0;
  if (!on && !(argc == 3 && strcmp(argv[1], "off") == 0)) return 2;
  struct MsprofApi call;
  memset(&call, 0, sizeof call);
  call.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  call.level = MSPROF_REPORT_TX_LEVEL;
  call.threadId = 1;
  aclprofConfig* config = NULL;
  if (on) {
    config = aclprofCreateConfig(NULL, 0, ACL_AICORE_NONE, NULL, ACL_PROF_MSPROFTX);
    if (aclprofInit(argv[3], strlen(argv[3])) != 0 || aclprofStart(config) != 0) return 3;
    if (MsprofReportApi(1, &call) != 0) return 4;  // the first report of a thread finds it a queue
  }
  const int refused = Counted(&call, atol(argv[2]));
  if (on && (aclprofStop(config) != 0 || aclprofDestroyConfig(config) != 0 || aclprofFinalize() != 0))
    return 5;
  printf("%d\n", refused);
  return 0;
}
