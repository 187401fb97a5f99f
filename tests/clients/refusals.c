/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one wrong call and prints the code and the sentence it was refused with. The exit status is 0 if the
 * call was refused.
 *
 * usage: refusals CASE [TEXT]
 */
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npuprof/npuprof.h"

#define TYPES (ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS)

static int told_why(int code, const char* why) {
  printf("%d %s\n", code, why != NULL ? why : "");
  return code != 0 ? 0 : 1;
}

/* A message is asked for once there is one: arguments of a call come in any order. */
static int told(int code) {
  return told_why(code, npuprofLastMessage());
}

static aclprofConfig* config(uint32_t device, uint64_t types, int metrics) {
  uint32_t devices[] = {device};
  return aclprofCreateConfig(devices, 1, (aclprofAicoreMetrics)metrics, NULL, types);
}

/* Starts with a result path; what fails is the start. */
static int start_at(const char* path, uint64_t types, int metrics) {
  int code = aclprofInit(path, strlen(path));
  if (code == 0) code = aclprofStart(config(0, types, metrics));
  return told(code);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char *what = argv[1], *text = argc > 2 ? argv[2] : "";
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0) return 2;

  if (strcmp(what, "path") == 0) return start_at(text, TYPES, ACL_AICORE_PIPE_UTILIZATION);
  if (strcmp(what, "unknown-type") == 0) return start_at(text, 0x40000, ACL_AICORE_NONE);
  if (strcmp(what, "unknown-metrics") == 0) return start_at(text, TYPES, 77);
  if (strcmp(what, "unknown-device") == 0) return told(config(99, TYPES, 1) == NULL ? -1 : 0);
  if (strcmp(what, "setting") == 0) return told(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, text, strlen(text)));
  if (strcmp(what, "path-length") == 0) return told(aclprofInit(text, strlen(text) + 1));
  if (strcmp(what, "init-twice") == 0) {
    if (aclprofInit(text, strlen(text)) != 0) return 2;
    return told(aclprofInit(text, strlen(text)));
  }
  if (strcmp(what, "init-twice-of-the-runtime") == 0) {
    if (aclprofInit(text, strlen(text)) != 0) return 2;
    const int code = aclprofInit(text, strlen(text));
    return told_why(code, aclGetRecentErrMsg());
  }
  if (strcmp(what, "destroy-null") == 0) return told(aclprofDestroyConfig(NULL));
  if (strcmp(what, "destroy-twice") == 0) {
    aclprofConfig* one = config(0, TYPES, 1);
    if (one == NULL || aclprofDestroyConfig(one) != 0) return 2;
    return told(aclprofDestroyConfig(one));
  }
  if (strcmp(what, "model") == 0) {
    uint32_t model = 0;
    int code = aclmdlLoadFromFile(text, &model);
    return told_why(code, aclGetRecentErrMsg());
  }
  fprintf(stderr, "unknown case '%s'\n", what);
  return 2;
}
