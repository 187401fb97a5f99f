/* SPDX-License-Identifier: Apache-2.0 */
/* What npuprof's libaclprof offers beyond the aclprof interface. */
#ifndef NPUPROF_NPUPROF_H
#define NPUPROF_NPUPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Why the last aclprof* or Msprof* call of this thread was refused: one sentence that names the value and what
 * is allowed. The same sentence goes to the standard error stream, the first time only, unless NPUPROF_LOG=0.
 * @return text owned by the library, valid until the next call of this thread; "" if nothing was refused yet.
 *         Never NULL.
 */
__attribute__((visibility("default"))) const char *npuprofLastMessage(void);

/**
 * The same sentence, once, behind the published family of its error: "EK0001: the result path ...". EK0001 a value,
 * EK0002 order of calls, EK0003 a setting, EK0004 a function that is not there, EK0005 a data type, EK0006 NULL, EK0007
 * another way of profiling is on, EK0201 memory, EK0203 a thread that could not be started, EK0204 no room on the disk,
 * EK9999 inside. EK0202, which is about memory as well, is never given. The simulated runtime's aclGetRecentErrMsg() gives it
 * too.
 * @return text owned by the library, valid until the next call of this thread; NULL if nothing was refused since the last
 *         call of this function
 */
__attribute__((visibility("default"))) const char *npuprofTakeError(void);

/* Who owns profiling, npuprofStatus.mode. */
#define NPUPROF_MODE_OFF       0 /* nobody */
#define NPUPROF_MODE_API       1 /* the program, by aclprofInit() */
#define NPUPROF_MODE_COMMAND   2 /* the npuprof command, or a configuration outside the program */
#define NPUPROF_MODE_SUBSCRIBE 3 /* the program, by aclprofModelSubscribe() */

typedef struct {
  size_t size;        /* sizeof(npuprofStatus), set by the caller */
  int32_t mode;       /* NPUPROF_MODE_* */
  int32_t running;    /* 1 while a session collects, else 0 */
  uint64_t beginNs;   /* CLOCK_MONOTONIC_RAW of the begin of the one that began last; 0 without one */
  uint64_t dataTypes; /* of all that run */
  uint32_t
      deviceCount; /* used entries of devices: those that the sessions list, numbered as their directories */
  uint32_t devices[64];
  char directory
      [4096]; /* PROF_* of the session that began last of those that run, else of the last one; "" before the first */
} npuprofStatus;

/**
 * Whether profiling runs, and where its output is. Waits while another thread starts or stops a session.
 * @return 0; 100000 NULL, or a size below that of this version; 500005 from a component's callback
 */
__attribute__((visibility("default"))) int npuprofGetStatus(npuprofStatus *status);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_NPUPROF_H */
