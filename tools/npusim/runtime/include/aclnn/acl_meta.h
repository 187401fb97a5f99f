/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and scalars of the two-stage operator interface (aclnn). */
#ifndef ACLNN_ACL_META_H
#define ACLNN_ACL_META_H

#include <acl/acl_base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t aclnnStatus;
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclOpExecutor aclOpExecutor;

/**
 * A tensor over device memory @p tensorData. @p strides may be NULL (dense). @return NULL for null dimensions
 * or more than 8 of them
 */
ACL_FUNC_VISIBILITY aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                                               aclDataType dataType, const int64_t *strides, int64_t offset,
                                               aclFormat format, const int64_t *storageDims,
                                               uint64_t storageDimsNum, void *tensorData);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor *tensor);
/** A scalar copied from @p value. @return NULL for null or an unknown data type */
ACL_FUNC_VISIBILITY aclScalar *aclCreateScalar(void *value, aclDataType dataType);
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar *scalar);

#ifdef __cplusplus
}
#endif
#endif /* ACLNN_ACL_META_H */
