// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles its own work on the host.
 *
 * usage: host_work DIR CPU_MS BYTES
 * With what there is of host data, 50 times a second: a thread computes until it has used CPU_MS of CPU time and writes
 * BYTES to a file in DIR; then the device is busy for half a second, and the thread waits. Prints a line of JSON: the
 * thread's number, its CPU time after the work and at the end, what /proc/self/io tells to be written by the work and by
 * the whole window, and CLOCK_MONOTONIC_RAW after the work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npusim/npusim.h"

static struct {
  const char* dir;
  uint64_t cpu_ns, bytes;
  int thread;
  uint64_t used, used_at_end, written, worked_at;
  pthread_barrier_t worked, stopped;
} job;

static void check(int code, const char* what) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  fprintf(stderr, "%s returned %d: %s\n", what, code, why ? why : "");
  exit(1);
}

static uint64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t written_so_far(void) {
  FILE* file = fopen("/proc/self/io", "r");
  if (!file) return 0;
  char line[128];
  uint64_t bytes = 0;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "write_bytes: ", 13) == 0) bytes = strtoull(line + 13, NULL, 10);
  }
  fclose(file);
  return bytes;
}

static void write_file(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/written", job.dir);
  FILE* file = fopen(path, "w");
  char block[4096];
  memset(block, 'x', sizeof block);
  for (uint64_t left = job.bytes; file && left > 0;) {
    const size_t part = left < sizeof block ? (size_t)left : sizeof block;
    if (fwrite(block, 1, part, file) != part) break;
    left -= part;
  }
  if (!file || fclose(file) != 0) check(-1, "writing a file");
}

static void* work(void* unused) {
  (void)unused;
  job.thread = gettid();
  volatile uint64_t sum = 0;
  while (now(CLOCK_THREAD_CPUTIME_ID) < job.cpu_ns)
    for (int i = 0; i < 10000; i++) sum += (uint64_t)i;
  const uint64_t before = written_so_far();
  write_file();
  job.written = written_so_far() - before;
  job.used = now(CLOCK_THREAD_CPUTIME_ID);
  job.worked_at = now(CLOCK_MONOTONIC_RAW);
  pthread_barrier_wait(&job.worked);
  pthread_barrier_wait(&job.stopped);
  job.used_at_end = now(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: host_work DIR CPU_MS BYTES\n");
    return 2;
  }
  job.dir = argv[1];
  job.cpu_ns = strtoull(argv[2], NULL, 10) * 1000000;
  job.bytes = strtoull(argv[3], NULL, 10);
  pthread_barrier_init(&job.worked, NULL, 2);
  pthread_barrier_init(&job.stopped, NULL, 2);
  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclprofInit(job.dir, strlen(job.dir)), "aclprofInit");
  check(aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu,mem,disk,network", 20), "aclprofSetConfig");
  check(aclprofSetConfig(ACL_PROF_HOST_SYS_USAGE, "cpu,mem", 7), "aclprofSetConfig");
  check(aclprofSetConfig(ACL_PROF_HOST_SYS_USAGE_FREQ, "50", 2), "aclprofSetConfig");
  uint32_t device = 0;
  aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API);
  if (!config) check(-1, "aclprofCreateConfig");
  const uint64_t before = written_so_far();
  check(aclprofStart(config), "aclprofStart");
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) check(-1, "pthread_create");
  pthread_barrier_wait(&job.worked);
  check(npusimLaunch(NULL, "wait", "Wait", NPUSIM_OP_AI_CORE, 1, 900000000, 1), "npusimLaunch");
  check(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
  check(aclprofStop(config), "aclprofStop");
  const uint64_t written = written_so_far() - before;
  pthread_barrier_wait(&job.stopped);
  pthread_join(thread, NULL);
  check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  check(aclprofFinalize(), "aclprofFinalize");
  printf(
      "{\"thread\": %d, \"used_ns\": %llu, \"used_at_end_ns\": %llu, \"written\": %llu, \"written_in_all\": "
      "%llu, "
      "\"worked_at\": %llu}\n",
      job.thread, (unsigned long long)job.used, (unsigned long long)job.used_at_end,
      (unsigned long long)job.written, (unsigned long long)written, (unsigned long long)job.worked_at);
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  return 0;
}
