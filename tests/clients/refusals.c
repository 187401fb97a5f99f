/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one wrong call and prints the code and the sentence it was refused with. The exit status is 0 if the
 * call was refused.
 *
 * usage: refusals CASE [TEXT]
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

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

/* The same, told by the runtime. */
static int runtime_told_start_at(const char* path) {
  int code = aclprofInit(path, strlen(path));
  if (code == 0) code = aclprofStart(config(0, TYPES, ACL_AICORE_PIPE_UTILIZATION));
  return told_why(code, aclGetRecentErrMsg());
}

/* Makes configurations until there is no memory for another one. Nothing else runs here that could need any. */
static int without_memory(void) {
  struct rlimit before, none;
  if (aclprofDestroyConfig(NULL) == 0 || aclGetRecentErrMsg() == NULL)
    return 2; /* room for a sentence is made */
  if (mallopt(M_ARENA_MAX, 1) != 1 || getrlimit(RLIMIT_AS, &before) != 0) return 2;
  none = before;
  none.rlim_cur = 1;
  if (setrlimit(RLIMIT_AS, &none) != 0) return 2;
  unsigned long made = 0;
  while (made < 10000000 && aclprofCreateConfig(NULL, 0, ACL_AICORE_NONE, NULL, ACL_PROF_MSPROFTX) != NULL)
    ++made;
  if (setrlimit(RLIMIT_AS, &before) != 0) return 2;
  return told_why(-1, aclGetRecentErrMsg());
}

/* Stacks that no address space has room for: no thread can be started. */
static int without_threads(const char* path) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, (size_t)1 << 46) != 0 ||
      pthread_setattr_default_np(&attributes) != 0)
    return 2;
  return runtime_told_start_at(path);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char *what = argv[1], *text = argc > 2 ? argv[2] : "";
  if (strcmp(what, "no-memory") == 0) return without_memory();
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0) return 2;

  if (strcmp(what, "path") == 0) return start_at(text, TYPES, ACL_AICORE_PIPE_UTILIZATION);
  if (strcmp(what, "path-by-the-runtime") == 0) return runtime_told_start_at(text);
  if (strcmp(what, "no-thread") == 0) return without_threads(text);
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
