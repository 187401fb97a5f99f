/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACLNNOP_ACLNN_RELU_H
#define ACLNNOP_ACLNN_RELU_H

#include <acl/acl_rt.h>
#include <aclnn/acl_meta.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * First stage of out = max(self, 0): checks the tensors and makes a one-time executor.
 * ACL_ERROR_INVALID_PARAM: null or shapes that do not fit. @p workspaceSize is 0 on the simulated NPU.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                                          uint64_t *workspaceSize, aclOpExecutor **executor);
/** Second stage: puts the operator on @p stream and uses the executor up. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnRelu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                          aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* ACLNNOP_ACLNN_RELU_H */
