/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the libraries by name, unloads them in the middle of profiling, loads them again and ends what it began.
 *
 * usage: unload DIR LIBRARIES    where LIBRARIES is the directory that holds them
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"

static const char* const names[] = {"libaclprof.so", "libmsprofiler.so", "libruntime.so", "libascendcl.so"};
enum { LIBRARIES = sizeof(names) / sizeof(names[0]) };
static void* handles[LIBRARIES];

static int load(const char* directory) {
  for (int i = 0; i < LIBRARIES; i++) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
    handles[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handles[i] == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  return 0;
}

static void* find(const char* name) {
  for (int i = 0; i < LIBRARIES; i++) {
    void* found = dlsym(handles[i], name);
    if (found != NULL) return found;
  }
  fprintf(stderr, "%s is in none of the libraries\n", name);
  return NULL;
}

#define FIND(function) ((__typeof__(&(function)))(uintptr_t)find(#function))

int main(int argc, char** argv) {
  const struct timespec half = {0, 500000000};
  uint32_t devices[] = {0};
  aclrtStream stream = NULL;
  if (argc != 3) return 2;
  /* Loaded and let go before anything was called, and again while threads and callbacks of theirs are at work. */
  for (int round = 0; round < 2; round++) {
    if (load(argv[2]) != 0) return 3;
    if (round == 0)
      for (int i = LIBRARIES; i-- > 0;) dlclose(handles[i]);
  }
  if (FIND(aclInit)(NULL) != 0 || FIND(aclrtSetDevice)(0) != 0 || FIND(aclrtCreateStream)(&stream) != 0)
    return 4;
  aclprofConfig* config = FIND(aclprofCreateConfig)(
      devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  if (config == NULL || FIND(aclprofInit)(argv[1], strlen(argv[1])) != 0 || FIND(aclprofStart)(config) != 0)
    return 5;
  for (int i = LIBRARIES; i-- > 0;) dlclose(handles[i]);
  nanosleep(&half, NULL);
  if (load(argv[2]) != 0) return 6;
  if (FIND(aclrtSynchronizeStream)(stream) != 0) return 7;
  if (FIND(aclprofStop)(config) != 0 || FIND(aclprofDestroyConfig)(config) != 0 ||
      FIND(aclprofFinalize)() != 0)
    return 8;
  for (int i = LIBRARIES; i-- > 0;) dlclose(handles[i]);
  return 0;
}
