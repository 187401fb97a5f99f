/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a runtime reports about the host side: spans of calls, and what each launched task is.
 *
 * Three sizes exist: 40 bytes (spans, and halves of spans), 64 bytes (compact: 24 bytes of header and 40 of
 * payload) and 256 bytes (additional: 24 and 232). The files of a PROF directory hold these records as they
 * are, little-endian. Every time is MsprofSysCycleTime(); every name is a number from MsprofGetHashId().
 */
#ifndef APROF_PUB_H
#define APROF_PUB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MSPROF_DATA_HEAD_MAGIC_NUM         0x5A5A
#define MSPROF_EVENT_FLAG                  0xFFFFFFFFFFFFFFFFULL
#define MSPROF_COMPACT_INFO_DATA_LENGTH    40
#define MSPROF_ADDTIONAL_INFO_DATA_LENGTH  232 /* spelt as the interface spells it */
#define MSPROF_ADDITIONAL_INFO_DATA_LENGTH MSPROF_ADDTIONAL_INFO_DATA_LENGTH

/* Who reports. */
#define MSPROF_REPORT_RUNTIME_LEVEL   5000
#define MSPROF_REPORT_HCCL_NODE_LEVEL 5500
#define MSPROF_REPORT_AICPU_LEVEL     6000
#define MSPROF_REPORT_NODE_LEVEL      10000
#define MSPROF_REPORT_MODEL_LEVEL     15000
#define MSPROF_REPORT_ACL_LEVEL       20000
#define MSPROF_REPORT_TX_LEVEL        20500

/* Type ids of the ACL level: base of the sub-module plus a number of the reporter's choice. */
#define MSPROF_REPORT_ACL_OP_BASE_TYPE        0x010000U
#define MSPROF_REPORT_ACL_MODEL_BASE_TYPE     0x020000U
#define MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE   0x030000U
#define MSPROF_REPORT_ACL_OTHERS_BASE_TYPE    0x040000U
#define MSPROF_REPORT_ACL_NN_BASE_TYPE        0x050000U
#define MSPROF_REPORT_ACL_ASCENDC_TYPE        0x060000U
#define MSPROF_REPORT_ACL_HOST_HCCL_BASE_TYPE 0x070000U
#define MSPROF_REPORT_ACL_DVPP_BASE_TYPE      0x090000U
#define MSPROF_REPORT_ACL_GRAPH_BASE_TYPE     0x0A0000U

/* Type ids of the MODEL level. */
#define MSPROF_REPORT_MODEL_GRAPH_ID_MAP_TYPE 0U
#define MSPROF_REPORT_MODEL_EXECUTE_TYPE      1U /* "ModelExecute" */
#define MSPROF_REPORT_MODEL_LOAD_TYPE         2U /* "ModelLoad" */
#define MSPROF_REPORT_MODEL_INPUT_COPY_TYPE   3U
#define MSPROF_REPORT_MODEL_OUTPUT_COPY_TYPE  4U
#define MSPROF_REPORT_MODEL_LOGIC_STREAM_TYPE 7U
#define MSPROF_REPORT_MODEL_EXEOM_TYPE        8U

/* Type ids of the NODE level. */
#define MSPROF_REPORT_NODE_BASIC_INFO_TYPE      0U
#define MSPROF_REPORT_NODE_TENSOR_INFO_TYPE     1U
#define MSPROF_REPORT_NODE_FUSION_OP_INFO_TYPE  2U
#define MSPROF_REPORT_NODE_CONTEXT_ID_INFO_TYPE 4U
#define MSPROF_REPORT_NODE_LAUNCH_TYPE          5U
#define MSPROF_REPORT_NODE_TASK_MEMORY_TYPE     6U
#define MSPROF_REPORT_NODE_OP_EXEC_TYPE         8U
#define MSPROF_REPORT_NODE_ATTR_INFO_TYPE       9U
#define MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE    10U
#define MSPROF_REPORT_NODE_STATIC_OP_MEM_TYPE   11U
#define MSPROF_REPORT_NODE_MC2_COMM_INFO_TYPE   12U
#define MSPROF_REPORT_NODE_GE_API_BASE_TYPE     0x010000U
#define MSPROF_REPORT_NODE_HCCL_BASE_TYPE       0x020000U
#define MSPROF_REPORT_NODE_DVPP_API_BASE_TYPE   0x030000U

/* Type ids of the communication level. */
#define MSPROF_REPORT_HCCL_MASTER_TYPE 0x010001U /* "master" */
#define MSPROF_REPORT_HCCL_SLAVE_TYPE  0x010002U /* "slave" */

/* Type ids of the RUNTIME level; interface calls count from the base. */
#define MSPROF_REPORT_RUNTIME_MEMCPY_INFO_TYPE 801U
#define MSPROF_REPORT_RUNTIME_TASK_TRACK_TYPE  802U
#define MSPROF_REPORT_RUNTIME_API_BASE_TYPE    1000U

/** Core type of an operator, MsprofNodeBasicInfo::taskType. */
typedef enum {
  MSPROF_GE_TASK_TYPE_AI_CORE = 0,
  MSPROF_GE_TASK_TYPE_AI_CPU = 1,
  MSPROF_GE_TASK_TYPE_AIV = 2,
  MSPROF_GE_TASK_TYPE_WRITE_BACK = 3,
  MSPROF_GE_TASK_TYPE_MIX_AIC = 4,
  MSPROF_GE_TASK_TYPE_MIX_AIV = 5,
  MSPROF_GE_TASK_TYPE_FFTS_PLUS = 6,
  MSPROF_GE_TASK_TYPE_DSA = 7,
  MSPROF_GE_TASK_TYPE_DVPP = 8,
  MSPROF_GE_TASK_TYPE_HCCL = 9,
  MSPROF_GE_TASK_TYPE_FUSION = 10,
  MSPROF_GE_TASK_TYPE_INVALID = 11
} MsprofGeTaskType;

typedef enum { MSPROF_GE_TENSOR_TYPE_INPUT = 0, MSPROF_GE_TENSOR_TYPE_OUTPUT = 1 } MsprofGeTensorType;

/* Runtime task types, MsprofRuntimeTrack::taskType; the name of each is registered at RUNTIME level. */
#define MSPROF_RTS_TASK_KERNEL_AICORE     0U
#define MSPROF_RTS_TASK_KERNEL_AICPU      1U
#define MSPROF_RTS_TASK_EVENT_RECORD      2U
#define MSPROF_RTS_TASK_EVENT_WAIT        3U
#define MSPROF_RTS_TASK_MEMCPY_ASYNC      5U
#define MSPROF_RTS_TASK_MAINTENANCE       6U
#define MSPROF_RTS_TASK_MODEL_EXECUTE     13U
#define MSPROF_RTS_TASK_NOTIFY_WAIT       14U
#define MSPROF_RTS_TASK_NOTIFY_RECORD     15U
#define MSPROF_RTS_TASK_RDMA_SEND         16U
#define MSPROF_RTS_TASK_PROFILER_TRACE_EX 26U
#define MSPROF_RTS_TASK_MEMSET_ASYNC      32U
#define MSPROF_RTS_TASK_STARS_COMMON      50U
#define MSPROF_RTS_TASK_FFTS_PLUS         52U
#define MSPROF_RTS_TASK_WRITE_VALUE       55U
#define MSPROF_RTS_TASK_KERNEL_AIVEC      66U
#define MSPROF_RTS_TASK_REDUCE_ASYNC_V2   92U
#define MSPROF_RTS_TASK_FLIP              98U
#define MSPROF_RTS_TASK_KERNEL_MIX_AIC    108U
#define MSPROF_RTS_TASK_KERNEL_MIX_AIV    109U

/** A call from begin to end. beginTime is not 0 and differs from endTime. */
struct MsprofApi {
  uint16_t magicNumber; /* MSPROF_DATA_HEAD_MAGIC_NUM */
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t reserve;
  uint64_t beginTime;
  uint64_t endTime;
  uint64_t itemId; /* NODE: hash of the operator's name; MODEL: model id */
};

/** Half of a span: two events equal in level, type, threadId, requestId and itemId make one. */
struct MsprofEvent {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t requestId;
  uint64_t timeStamp;
  uint64_t eventFlag; /* MSPROF_EVENT_FLAG */
  uint64_t itemId;
};

#pragma pack(push, 1)
/** An operator, reported inside its launch span: launch.begin < timeStamp <= launch.end, same thread. */
struct MsprofNodeBasicInfo {
  uint64_t opName;
  uint32_t taskType; /* MsprofGeTaskType */
  uint64_t opType;
  uint32_t blockDim; /* low half: blocks; high half: mix ratio */
  uint32_t opFlag;   /* not 0: HF32 eligible */
  uint8_t reserve[12];
};

/** Attributes of an operator. */
struct MsprofAttrInfo {
  uint64_t opName;
  uint32_t attrType;
  uint64_t hashId;
  uint8_t reserve[20];
};

/** A collective operator, inside the launch span of its hcom_* node. */
struct MsprofHCCLOPInfo {
  uint8_t relay : 1;
  uint8_t retry : 1;
  uint8_t flagReserve : 6;
  uint8_t dataType;
  uint64_t algType;
  uint64_t count;
  uint64_t groupName;
  uint8_t reserve[14];
};
#pragma pack(pop)

/** A task put on a stream, inside the span of the runtime call that did it. FLIP: the ids begin anew. */
struct MsprofRuntimeTrack {
  uint16_t deviceId;
  uint16_t streamId;
  uint32_t taskId;   /* low half: id; high half: how often the ids began anew */
  uint64_t taskType; /* MSPROF_RTS_TASK_* */
  uint64_t kernelName;
  uint16_t blockDim;
  uint16_t argsSize;
  uint32_t attributes;
  uint64_t reserve;
};

/** A copy; thread and time equal those of its task track record. */
struct MsprofMemcpyInfo {
  uint64_t dataSize;        /* bytes */
  uint64_t maxSize;         /* bytes one task can copy */
  uint16_t memcpyDirection; /* 0 host-host, 1 host-device, 2 device-host, 3 device-device */
  uint8_t reserve[22];
};

/** A stream that joined a captured graph (status 0), or the end of the graph (status 1). */
struct MsprofCaptureStreamInfo {
  uint16_t captureStatus;
  uint16_t modelStreamId; /* 0xFFFF at the end */
  uint16_t originalStreamId;
  uint16_t modelId;
  uint16_t deviceId;
  uint8_t reserve[30];
};

struct MsprofCompactInfo {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen; /* used bytes of data */
  uint64_t timeStamp;
  union {
    uint8_t info[MSPROF_COMPACT_INFO_DATA_LENGTH];
    struct MsprofRuntimeTrack runtimeTrack;
    struct MsprofNodeBasicInfo nodeBasicInfo;
    struct MsprofAttrInfo nodeAttrInfo;
    struct MsprofHCCLOPInfo hcclopInfo;
    struct MsprofMemcpyInfo memcpyInfo;
    struct MsprofCaptureStreamInfo captureStreamInfo;
  } data;
};

/** data holds one of the structures below, chosen by level and type. */
struct MsprofAdditionalInfo {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen;
  uint64_t timeStamp;
  uint8_t data[MSPROF_ADDTIONAL_INFO_DATA_LENGTH];
};

#define MSPROF_GE_TENSOR_DATA_NUM       5
#define MSPROF_GE_TENSOR_DATA_SHAPE_LEN 8
#define MSPROF_CTX_ID_MAX_NUM           55
#define MSPROF_MULTI_THREAD_MAX_NUM     25

struct MsrofTensorData {
  uint32_t tensorType; /* MsprofGeTensorType */
  uint32_t format;     /* low 8 bits: format; above: sub-format */
  uint32_t dataType;
  uint32_t shape[MSPROF_GE_TENSOR_DATA_SHAPE_LEN]; /* 0 ends */
};

#pragma pack(push, 1)
/** Inputs and outputs of an operator; more than five make several records of equal name, time and thread. */
struct MsprofTensorInfo {
  uint64_t opName;
  uint32_t tensorNum;
  struct MsrofTensorData tensorData[MSPROF_GE_TENSOR_DATA_NUM];
};

/** Contexts of a fused or mixed operator. NODE: the list; communication: first and last. */
struct MsprofContextIdInfo {
  uint64_t opName;
  uint32_t ctxIdNum;
  uint32_t ctxIds[MSPROF_CTX_ID_MAX_NUM];
};

struct MsprofFusionOpInfo {
  uint64_t opName;
  uint32_t fusionOpNum;
  uint64_t inputMemsize;
  uint64_t outputMemsize;
  uint64_t weightMemSize;
  uint64_t workspaceMemSize;
  uint64_t totalMemSize;
  uint64_t fusionOpId[8];
  uint8_t reserve[116];
};
#pragma pack(pop)

struct MsprofGraphIdInfo {
  uint64_t modelName;
  uint32_t graphId;
  uint32_t modelId;
  uint8_t reserve[216];
};

/** One task of a collective, inside its communication-level span. */
struct MsprofHcclInfo {
  uint64_t itemId; /* hash of the task's name */
  uint64_t cclTag;
  uint64_t groupName;
  uint32_t localRank;
  uint32_t remoteRank; /* 0xFFFFFFFF: none */
  uint32_t rankSize;
  uint32_t workFlowMode;
  uint32_t planeID;
  uint32_t ctxID;
  uint64_t notifyID;
  uint32_t stage;
  uint32_t role;            /* 0 destination, 1 source */
  double durationEstimated; /* us */
  uint64_t srcAddr;
  uint64_t dstAddr;
  uint64_t dataSize; /* bytes */
  uint32_t opType;
  uint32_t dataType;
  uint32_t linkType;
  uint32_t transportType;
  uint32_t rdmaType;
  uint32_t reserve2;
  uint8_t reserve[112];
};

struct MsprofMultiThread {
  uint32_t threadNum;
  uint32_t threadId[MSPROF_MULTI_THREAD_MAX_NUM];
  uint8_t reserve[128];
};

/** Device memory taken (size above 0) or given back (below). */
struct MsprofMemoryInfo {
  uint64_t addr;
  int64_t size; /* bytes */
  uint64_t nodeId;
  uint64_t totalAllocateMemory;
  uint64_t totalReserveMemory;
  uint32_t deviceId;
  uint32_t deviceType;
  uint8_t reserve[184];
};

#ifdef __cplusplus
#define APROF_ASSERT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define APROF_ASSERT(condition, text) _Static_assert(condition, text)
#else
#define APROF_JOIN_(a, b)             a##b
#define APROF_JOIN(a, b)              APROF_JOIN_(a, b)
#define APROF_ASSERT(condition, text) typedef char APROF_JOIN(aprof_proof_, __LINE__)[(condition) ? 1 : -1]
#endif
#define APROF_SIZE(type, size) APROF_ASSERT(sizeof(struct type) == (size), #type " is " #size " bytes")
#define APROF_AT(type, field, offset) \
  APROF_ASSERT(offsetof(struct type, field) == (offset), #type "." #field " is at " #offset)

APROF_SIZE(MsprofApi, 40);
APROF_SIZE(MsprofEvent, 40);
APROF_SIZE(MsprofCompactInfo, 64);
APROF_SIZE(MsprofAdditionalInfo, 256);
APROF_SIZE(MsprofNodeBasicInfo, 40);
APROF_SIZE(MsprofAttrInfo, 40);
APROF_SIZE(MsprofHCCLOPInfo, 40);
APROF_SIZE(MsprofRuntimeTrack, 40);
APROF_SIZE(MsprofMemcpyInfo, 40);
APROF_SIZE(MsprofCaptureStreamInfo, 40);
APROF_SIZE(MsrofTensorData, 44);
APROF_SIZE(MsprofTensorInfo, 232);
APROF_SIZE(MsprofContextIdInfo, 232);
APROF_SIZE(MsprofFusionOpInfo, 232);
APROF_SIZE(MsprofGraphIdInfo, 232);
APROF_SIZE(MsprofHcclInfo, 232);
APROF_SIZE(MsprofMultiThread, 232);
APROF_SIZE(MsprofMemoryInfo, 232);
APROF_AT(MsprofCompactInfo, data, 24);
APROF_AT(MsprofAdditionalInfo, data, 24);
APROF_AT(MsprofNodeBasicInfo, opType, 12);
APROF_AT(MsprofHCCLOPInfo, algType, 2);
APROF_AT(MsprofMemcpyInfo, memcpyDirection, 16);
APROF_AT(MsprofRuntimeTrack, taskType, 8);
APROF_AT(MsprofHcclInfo, notifyID, 48);
APROF_AT(MsprofHcclInfo, opType, 96);
APROF_AT(MsprofHcclInfo, rdmaType, 112);

#undef APROF_SIZE
#undef APROF_AT
#undef APROF_ASSERT
#undef APROF_JOIN
#undef APROF_JOIN_

#ifdef __cplusplus
}
#endif
#endif /* APROF_PUB_H */
