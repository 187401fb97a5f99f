/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be loaded with LD_PRELOAD: CLOCK_REALTIME_STEP=<ms>:<seconds> sets the wall clock that a program sees by so many seconds,
 * so long after it began. Nothing else of the machine notices.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long after_ns, step_s, began_ns;

static long long monotonic_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((constructor)) static void read_wish(void) {
  const char* wish = getenv("CLOCK_REALTIME_STEP");
  char* end = NULL;
  began_ns = monotonic_ns();
  if (wish == NULL) return;
  after_ns = strtoll(wish, &end, 10) * 1000000;
  if (*end == ':') step_s = strtoll(end + 1, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME && monotonic_ns() - began_ns >= after_ns) now->tv_sec += step_s;
  return (int)result;
}
