/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks and ranges that a program, or a framework in it, tells to whatever tool listens. The profiler listens during
 * sessions with ACL_PROF_MSPROFTX; at other times these calls do nothing, marks cost a load and a branch, and ranges
 * have the number 0.
 *
 *	mstxRangeId step = mstxRangeStartA("step", stream);
 *	mstxMarkA("loss computed", NULL);
 *	mstxRangeEnd(step);
 *
 * All functions may be called from any thread at any time. Messages are UTF-8 of any length (beyond ten million bytes
 * they are cut). A message that is NULL, "", or begins with one of = + - @ is dropped: it could pass for a formula in a
 * table. With a stream, the device notes the moment too when it comes to it; if the stream cannot take that, for
 * example because it captures, nothing is recorded.
 *
 * MSTX_INJECTION_PATH, read at the first call, names a library of another tool that takes all calls instead: it exports
 * InitInjectionMstx() (see below).
 */
#ifndef MS_TOOLS_EXT_H
#define MS_TOOLS_EXT_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_prof.h" /* aclrtStream */

#ifndef MSTX_DECLSPEC
#define MSTX_DECLSPEC __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** A range that was begun; 0: none. Never used twice in a process. */
typedef uint64_t mstxRangeId;
#define MSTX_INVALID_RANGE_ID 0

typedef struct mstxDomainRegistration_st *mstxDomainHandle_t;
typedef struct mstxDomainRegistration_st mstxDomainRegistration_st;

/** Marks this moment. @param stream NULL: of the host alone */
MSTX_DECLSPEC void mstxMarkA(const char *message, aclrtStream stream);
/** Begins a range, which any thread may end. @return 0 if nobody listens or the message is dropped */
MSTX_DECLSPEC mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
/** Ends a range of the default domain. Ranges that are not ended before the session are not recorded, but counted. */
MSTX_DECLSPEC void mstxRangeEnd(mstxRangeId id);
/** Who listens: 0x1000 the profiler, 0 nobody. */
MSTX_DECLSPEC void mstxGetToolId(uint64_t *id);

/*
 * Domains tell the marks of one library from those of another. NPUPROF_MSTX_DOMAIN_INCLUDE and
 * NPUPROF_MSTX_DOMAIN_EXCLUDE choose what a session records.
 */

/**
 * @return the domain of that name; NULL for NULL, "", "default", a name that begins with one of = + - @ or has 1024 bytes
 *         and more, and if 4096 domains live
 */
MSTX_DECLSPEC mstxDomainHandle_t mstxDomainCreateA(const char *name);
/** Marks through a destroyed or unknown handle are dropped. */
MSTX_DECLSPEC void mstxDomainDestroy(mstxDomainHandle_t domain);
MSTX_DECLSPEC void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
MSTX_DECLSPEC mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                                aclrtStream stream);
/** Ends a range of that domain; with another domain than it was begun in nothing happens. */
MSTX_DECLSPEC void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

/*
 * How a tool takes over. Its InitInjectionMstx() asks for the tables of the modules; an entry leads to the slot of a
 * function, into which the tool puts its own. Entry 0 of each table is unused.
 */

typedef void (*MstxFuncPointer)(void);
typedef MstxFuncPointer **MstxFuncTable;

typedef enum {
  MSTX_API_MODULE_INVALID = 0,
  MSTX_API_MODULE_CORE = 1,
  MSTX_API_MODULE_CORE_DOMAIN = 2,
  MSTX_API_MODULE_CORE_MEM = 3
} MstxFuncModule;

typedef enum {
  MSTX_FUNC_MARKA = 1,
  MSTX_FUNC_RANGE_STARTA = 2,
  MSTX_FUNC_RANGE_END = 3,
  MSTX_FUNC_GET_TOOL_ID = 4,
  MSTX_FUNC_END
} MstxCoreFuncId;

typedef enum {
  MSTX_FUNC_DOMAIN_CREATEA = 1,
  MSTX_FUNC_DOMAIN_DESTROY = 2,
  MSTX_FUNC_DOMAIN_MARKA = 3,
  MSTX_FUNC_DOMAIN_RANGE_STARTA = 4,
  MSTX_FUNC_DOMAIN_RANGE_END = 5,
  MSTX_FUNC_DOMAIN_END
} MstxCoreDomainFuncId;

typedef enum {
  MSTX_FUNC_MEM_HEAP_REGISTER = 1,
  MSTX_FUNC_MEM_HEAP_UNREGISTER = 2,
  MSTX_FUNC_MEM_REGIONS_REGISTER = 3,
  MSTX_FUNC_MEM_REGIONS_UNREGISTER = 4,
  MSTX_FUNC_MEM_END
} MstxCoreMemFuncId;

/** @param size gets the entries of the table, 0 among them. @return 0; 1 for NULL and for a module that does not exist */
typedef int (*MstxGetModuleFuncTableFunc)(MstxFuncModule module, MstxFuncTable *table, unsigned int *size);

/**
 * Puts the profiler's functions into the tables of somebody else's mstx library.
 * @return 0; 1 for NULL and without a table of the core
 */
MSTX_DECLSPEC int InitInjectionMstx(MstxGetModuleFuncTableFunc getFuncTable);

#ifdef __cplusplus
}
#endif

#include "mstx/ms_tools_ext_mem.h"

#endif /* MS_TOOLS_EXT_H */
