// SPDX-License-Identifier: Apache-2.0
// What entries cost while nobody profiles, turn by turn with an exported function that does nothing. Prints the name and the
// time of the fastest batch of each. off_cost_test.py runs it.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "profiling/aprof_pub.h"
#include "profiling/prof_api.h"

int32_t EmptyEntry(uint32_t flag, const void* data, uint32_t length);

enum { BATCH = 2000, ROUNDS = 3000 };

static struct MsprofApi api;
static struct MsprofCompactInfo compact;
static struct MsprofAdditionalInfo additional;

// Each in a function of its own, so that their loops are alike.
#define LOOP(name, call)                                         \
  __attribute__((noinline, aligned(64))) static int name(void) { \
    int refused = 0;                                             \
    for (int i = 0; i < BATCH; i++) refused += (call) != 0;      \
    return refused;                                              \
  }
LOOP(Empty, EmptyEntry(1, &api, sizeof api))
LOOP(Api, MsprofReportApi(1, &api))
LOOP(Event, MsprofReportEvent(1, (const struct MsprofEvent*)&api))
LOOP(Compact, MsprofReportCompactInfo(1, &compact, sizeof compact))
LOOP(Additional, MsprofReportAdditionalInfo(1, &additional, sizeof additional))
LOOP(Batch, MsprofReportBatchAdditionalInfo(1, &additional, sizeof additional))

static const struct {
  const char* name;
  int (*loop)(void);
} entries[] = {{"empty", Empty},
               {"MsprofReportApi", Api},
               {"MsprofReportEvent", Event},
               {"MsprofReportCompactInfo", Compact},
               {"MsprofReportAdditionalInfo", Additional},
               {"MsprofReportBatchAdditionalInfo", Batch}};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int main(void) {
  int64_t best[ENTRIES];
  memset(best, 0x7f, sizeof best);
  int refused = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < ENTRIES; i++) {
      const int64_t begin = now();
      refused += entries[i].loop();
      const int64_t took = now() - begin;
      if (took < best[i]) best[i] = took;
    }
  }
  for (int i = 0; i < ENTRIES; i++) printf("%s %lld\n", entries[i].name, (long long)best[i]);
  return refused != 0;
}
