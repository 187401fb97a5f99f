/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One published row of what a function returns: ROW(name, what) { ...; return what the call returned; }
 * Each row is a test of its own, in a process of its own that has called aclInit() and nothing else; those whose name begins
 * with dynamic_ have PROFILING_MODE=dynamic and have not called it.
 * A refusal comes with a sentence of the published family. What is no code of the interface has the family as a third
 * argument; so have codes that are not of the family which main.c has for them. NONE: there is no sentence.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "npuprof/acl_prof_loaded.h"
#include "npuprof/npuprof.h"

/* @family  of the sentence for npuprofTakeError(), "" for that of the code */
void add_row(const char* name, int64_t expected, const char* family, int64_t (*run)(void));
#define ROW(name, ...) ROW_OF(name, __VA_ARGS__, )
#define ROW_OF(name, expected, family, ...)                   \
  static int64_t row_##name(void);                            \
  __attribute__((constructor)) static void add_##name(void) { \
    add_row(#name, (int64_t)(expected), #family, row_##name); \
  }                                                           \
  static int64_t row_##name(void)

/* Pointers as numbers: NULL is 0. */
#define NULL_OR_NOT(pointer) ((pointer) != NULL ? 1 : 0)

/* A directory of this process that goes with it. */
const char* scratch(void);
/* Ends the process as broken unless the code is 0: a step towards the row failed. */
void must(int code, const char* what);
#define MUST(call) must((int)(call), #call)

aclError init(void);
aclError set_config(int type, const char* text);
/* Devices 0 to count - 1, or none. */
aclprofConfig* config(uint32_t count, uint64_t types);
/* Initialised and started with marks alone. */
void start_marks(void);

#endif
