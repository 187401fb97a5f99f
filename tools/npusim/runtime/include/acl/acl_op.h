/* SPDX-License-Identifier: Apache-2.0 */
/* Single operators by name. */
#ifndef ACL_ACL_OP_H
#define ACL_ACL_OP_H

#include "acl_base.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclopAttr aclopAttr;

/** Attributes of an operator; one thread at a time. @return NULL when out of memory */
ACL_FUNC_VISIBILITY aclopAttr *aclopCreateAttr(void);
ACL_FUNC_VISIBILITY void aclopDestroyAttr(const aclopAttr *attr);
/* Each sets or replaces one attribute. ACL_ERROR_INVALID_PARAM: null. */
ACL_FUNC_VISIBILITY aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue);
ACL_FUNC_VISIBILITY aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues,
                                                 const int64_t *values);

/**
 * Runs one operator on @p stream. The descriptions carry the true shapes; the buffers must be as large as
 * they say. ACL_ERROR_OP_NOT_FOUND: unknown type (the error text lists the known ones);
 * ACL_ERROR_OP_INPUT_NOT_MATCH, ACL_ERROR_OP_OUTPUT_NOT_MATCH: number, shape or size does not fit.
 */
ACL_FUNC_VISIBILITY aclError aclopExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[],
                                            aclDataBuffer *inputs[], int numOutputs,
                                            aclTensorDesc *outputDesc[], aclDataBuffer *outputs[],
                                            aclopAttr *attr, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* ACL_ACL_OP_H */
