/* SPDX-License-Identifier: Apache-2.0 */
/* What npuprof's libaclprof offers beyond the aclprof interface. */
#ifndef NPUPROF_NPUPROF_H
#define NPUPROF_NPUPROF_H

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

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_NPUPROF_H */
