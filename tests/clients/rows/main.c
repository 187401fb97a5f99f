/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: rows NAME      runs one row; its result and sentence go to the standard output
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "rows.h"

static struct {
  const char* name;
  int64_t expected;
  const char* family;
  int64_t (*run)(void);
} g_rows[1024];
static unsigned g_count;
static char g_scratch[64];

void add_row(const char* name, int64_t expected, const char* family, int64_t (*run)(void)) {
  if (g_count == sizeof g_rows / sizeof *g_rows) abort();
  g_rows[g_count].name = name;
  g_rows[g_count].expected = expected;
  g_rows[g_count].family = family;
  g_rows[g_count++].run = run;
}

const char* scratch(void) {
  if (*g_scratch == '\0') {
    strcpy(g_scratch, "/tmp/npuprof_rows_XXXXXX");
    if (mkdtemp(g_scratch) == NULL) exit(2);
  }
  return g_scratch;
}

static int drop(const char* path, const struct stat* status, int type, struct FTW* place) {
  (void)status, (void)type, (void)place;
  return remove(path);
}

void must(int code, const char* what) {
  if (code == 0) return;
  printf("%s came to %d: %s\n", what, code, npuprofLastMessage());
  exit(2);
}

aclError init(void) {
  return aclprofInit(scratch(), strlen(scratch()));
}

aclError set_config(int type, const char* text) {
  return aclprofSetConfig((aclprofConfigType)type, text, strlen(text));
}

aclprofConfig* config(uint32_t count, uint64_t types) {
  uint32_t ids[64];
  for (uint32_t i = 0; i < count && i < 64; ++i) ids[i] = i;
  aclprofConfig* made =
      aclprofCreateConfig(count ? ids : NULL, count, ACL_AICORE_PIPE_UTILIZATION, NULL, types);
  if (made == NULL) must(1, "aclprofCreateConfig");
  return made;
}

void start_marks(void) {
  MUST(init());
  MUST(aclprofStart(config(0, ACL_PROF_MSPROFTX)));
}

/* Of the codes of the interface; NULL pointers and what the caller can know have families of their own. */
static const char* family_of(int64_t code) {
  switch (code) {
    case 100000:
    case 100003:
    case 100011:
      return "EK0001"; /* a value */
    case 100002:
    case 100043:
    case 148046:
      return "EK0002"; /* order of calls */
    case 100010:
      return "EK0003"; /* a setting */
    case 200006:
      return "EK0004"; /* a function */
    case 200007:
      return "EK0005"; /* a data type */
    case 100042:
    case 148047:
      return "EK0007"; /* another way of profiling */
    case 500002:
    case 500005:
      return "EK9999"; /* inside */
    default:
      return "NONE"; /* no refusal */
  }
}

static int run(unsigned row) {
  while (npuprofTakeError() != NULL) continue;
  const int64_t got = g_rows[row].run();
  const char* why = npuprofTakeError();
  printf("%s: %lld, %s\n", g_rows[row].name, (long long)got, why != NULL ? why : "no message");
  if (got != g_rows[row].expected) {
    printf("expected is %lld\n", (long long)g_rows[row].expected);
    return 1;
  }
  const char* family = *g_rows[row].family != '\0' ? g_rows[row].family : family_of(got);
  const int told = why != NULL && strncmp(why, family, 6) == 0 && why[6] == ':' && strlen(why) > 8;
  if (strcmp(family, "NONE") == 0 ? why == NULL : told) return 0;
  printf("expected is a sentence of family %s\n", family);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setenv("NPUPROF_LOG", "0", 1);
  if (strncmp(argv[1], "dynamic_", 8) != 0) {
    unsetenv("PROFILING_MODE");
    if (aclInit(NULL) != 0) return 2;
  }
  for (unsigned i = 0; i < g_count; ++i) {
    if (strcmp(g_rows[i].name, argv[1]) != 0) continue;
    const int result = run(i);
    aclprofStop(NULL);
    aclprofFinalize();
    if (*g_scratch != '\0') nftw(g_scratch, drop, 16, FTW_DEPTH | FTW_PHYS);
    return result;
  }
  printf("there is no row %s\n", argv[1]);
  return 2;
}
