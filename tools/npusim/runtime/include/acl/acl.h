/* SPDX-License-Identifier: Apache-2.0 */
/* Entry to the ACL interface: start, end, version, last error. */
#ifndef ACL_ACL_H
#define ACL_ACL_H

#include "acl_base.h"
#include "acl_mdl.h"
#include "acl_op.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 0
#define ACL_PATCH_VERSION 0

/**
 * Starts ACL for this process. @p configPath names a JSON file with settings and may be NULL.
 * ACL_ERROR_REPEAT_INITIALIZE: already started; ACL_ERROR_INVALID_FILE, ACL_ERROR_PARSE_FILE: bad file.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char *configPath);

/**
 * Ends ACL; devices that are still set are reset. A later aclInit() is allowed.
 * ACL_ERROR_UNINITIALIZE: never started; ACL_ERROR_REPEAT_FINALIZE: ended already.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/** Version of the interface. */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion,
                                             int32_t *patchVersion);

/**
 * What the last failing call of this thread objected to, in one sentence, and forgets it. NULL when nothing
 * failed since. The text stays valid until the next call of this function in the same thread.
 */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

/** Name of the processor, e.g. "npuprof-refnpu" for the simulated reference NPU. NULL if no device exists. */
ACL_FUNC_VISIBILITY const char *aclrtGetSocName(void);

#ifdef __cplusplus
}
#endif
#endif /* ACL_ACL_H */
