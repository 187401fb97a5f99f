/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective communication among the devices of one process.
 *
 * Collectives are asynchronous: they put tasks on the stream and return. Every rank of a communicator must call
 * the same collectives in the same order, from one thread per rank (or one after the other: nothing blocks the
 * host). Buffers must live until the stream passed the collective. Data types FP16, BFP16, FP32, FP64 and the
 * integers of 8 to 64 bits; reductions sum, product, maximum, minimum. HCCL_ALGO chooses between rings, which are the
 * default, and meshes; a communicator keeps what it was made with.
 */
#ifndef HCCL_H_
#define HCCL_H_

#include <acl/acl_base.h>
#include <hccl/hccl_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Communicator of @p ndev ranks; rank i runs on devices[i], which is opened. HCCL_E_PARA: bad or double id. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);
/** Ticket for HcclCommInitRootInfo(); valid in this process only. */
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);
/**
 * Joins as @p rank with the calling thread's device and waits until all @p nRanks joined. HCCL_E_PARA: rank or
 * size wrong or rank taken; HCCL_E_NOT_SUPPORT: ticket of another process; HCCL_E_TIMEOUT: others missing for
 * HCCL_CONNECT_TIMEOUT seconds (120).
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                                    uint32_t rank, HcclComm *comm);
/** Leaves the communicator after waiting for its tasks on this rank. */
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);
/** Name of the group as it appears in profiling data; @p commName holds HCCL_COMM_NAME_MAX_LENGTH bytes. */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char *commName);

/** recvBuf = reduction of every rank's sendBuf; in place allowed. */
ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                             aclrtStream stream);
/** recvBuf (sendCount x ranks elements) = every rank's sendBuf, one after the other. */
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                                             HcclDataType dataType, HcclComm comm, aclrtStream stream);
/** sendBuf holds recvCount x ranks elements; rank r receives the reduction of part r. */
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                                 HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                                 aclrtStream stream);
/** buf of every rank = buf of @p root. */
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                             HcclComm comm, aclrtStream stream);
/** The stream passes when every rank's stream has arrived. */
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* HCCL_H_ */
