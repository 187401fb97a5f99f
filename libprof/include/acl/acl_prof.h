/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiling of a program that runs on an NPU, from inside the program:
 *
 *	aclprofInit(path) -> aclprofCreateConfig(...) -> [aclprofSetConfig(...)] -> aclprofStart(config)
 *	-> work -> aclprofStop(config) -> aclprofDestroyConfig(config) -> aclprofFinalize()
 *
 * Each Start makes one directory PROF_* below the path; Start and Stop may be repeated between Init and
 * Finalize. All functions may be called from any thread and are serialised inside the library.
 *
 * A refusal returns a code and leaves one sentence for the calling thread, see npuprof/npuprof.h.
 */
#ifndef ACL_PROF_H
#define ACL_PROF_H

#include <stddef.h>
#include <stdint.h>

/* The runtime's base header brings the error codes; without a runtime the two types below are enough. */
#if defined(__has_include)
#if __has_include("acl/acl_base.h")
#include "acl/acl_base.h"
#define ACL_PROF_HAS_ACL_BASE
#endif
#endif
#ifdef ACL_PROF_HAS_ACL_BASE
#undef ACL_PROF_HAS_ACL_BASE
#else
typedef int aclError;
typedef void *aclrtStream;
#endif

#ifndef ACL_FUNC_VISIBILITY
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What to collect: any of these joined by OR, the dataTypeConfig of aclprofCreateConfig(). Every other bit is
 * refused by aclprofStart() with 200007.
 */
#define ACL_PROF_ACL_API        0x0000000000000001ULL /* calls of the acl interface, copies included */
#define ACL_PROF_TASK_TIME      0x0000000000000002ULL /* launch and run time, and what each operator is */
#define ACL_PROF_AICORE_METRICS 0x0000000000000004ULL /* counters of the group aicoreMetrics, per task */
#define ACL_PROF_AICPU          0x0000000000000008ULL /* begin and end of AI CPU tasks */
#define ACL_PROF_L2CACHE        0x0000000000000010ULL /* L2 cache events */
#define ACL_PROF_HCCL_TRACE     0x0000000000000020ULL /* collective communication */
#define ACL_PROF_TRAINING_TRACE 0x0000000000000040ULL /* iterations; comes with any task time */
#define ACL_PROF_MSPROFTX       0x0000000000000080ULL /* marks of the program; legal without a device */
#define ACL_PROF_RUNTIME_API    0x0000000000000100ULL /* calls of the runtime interface */
#define ACL_PROF_GE_API_L0      0x0000000000000200ULL /* host scheduling of dynamic shapes, coarse */
#define ACL_PROF_TASK_TIME_L0   0x0000000000000800ULL /* launch and run time only, the cheapest */
#define ACL_PROF_TASK_MEMORY    0x0000000000001000ULL /* device memory of operators */
#define ACL_PROF_TASK_TIME_L2   0x0000000000002000ULL /* TASK_TIME and attributes of operators */
#define ACL_PROF_OP_ATTR        0x0000000000004000ULL /* attributes of operators */
#define ACL_PROF_TASK_TIME_L3   0x0000000000008000ULL /* the deepest level of task time */
#define ACL_PROF_GE_API_L1      0x0000000001000000ULL /* host scheduling of dynamic shapes, fine */
#define ACL_PROF_API_STATS      0x0000000400000000ULL /* statistics of acl calls; turns off all others */
#define ACL_PROF_AICORE_SHAPE   0x0000000800000000ULL /* shapes with TASK_TIME_L0 */

#define ACL_PROF_MAX_OP_NAME_LEN 257
#define ACL_PROF_MAX_OP_TYPE_LEN 65

/** Counter group of the AI cores; takes effect with ACL_PROF_AICORE_METRICS only. */
typedef enum {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
  ACL_AICORE_MEMORY_ACCESS = 8,
  ACL_AICORE_NONE = 0xFF
} aclprofAicoreMetrics;

/** Settings of aclprofSetConfig(): one value per call, not bits to be joined. 2 is no setting. */
typedef enum {
  ACL_PROF_ARGS_MIN = 0,
  ACL_PROF_STORAGE_LIMIT = 1,            /* "<n>MB", n from 200 to 4294967295; "" for no limit */
  ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,    /* Hz, 1 to 100: HBM and last-level cache */
  ACL_PROF_LLC_MODE = 4,                 /* "read" or "write" */
  ACL_PROF_SYS_IO_FREQ = 5,              /* Hz, 1 to 100: network */
  ACL_PROF_SYS_INTERCONNECTION_FREQ = 6, /* Hz, 1 to 50: links between chips, PCIe */
  ACL_PROF_DVPP_FREQ = 7,                /* Hz, 1 to 100: media engines */
  ACL_PROF_HOST_SYS = 8,                 /* comma list of cpu, mem, disk, network: this process */
  ACL_PROF_HOST_SYS_USAGE = 9,           /* comma list of cpu, mem: the whole system */
  ACL_PROF_HOST_SYS_USAGE_FREQ = 10,     /* Hz, 1 to 50 */
  ACL_PROF_LOW_POWER_FREQ = 11,          /* Hz, 1 to 100; not on A2 */
  ACL_PROF_SYS_MEM_SERVICEFLOW = 12,     /* any text but "" */
  ACL_PROF_SYS_CPU_FREQ = 13,            /* Hz, 1 to 50; not on A2 */
  ACL_PROF_OPTYPE = 14,                  /* comma list of operator types; not on A2 */
  ACL_PROF_NTS_METRICS = 15,             /* not on A2 */
  ACL_PROF_PATH = 16,                    /* directory for PROF_*, in place of aclprofInit()'s */
  ACL_PROF_ARGS_MAX = 17
} aclprofConfigType;

typedef struct aclprofConfig aclprofConfig;             /* opaque */
typedef struct aclprofAicoreEvents aclprofAicoreEvents; /* never defined: always pass NULL */

/**
 * Says where PROF_* directories go. The directory is made at the first aclprofStart(), not here.
 * @param profilerResultPath absolute or relative to the working directory, without control characters and
 *        none of " ' \ % > < | & $ ; `
 * @param length strlen of the path, 1 to 4095
 * @return 0; 100000 bad argument; 100002 already initialised; 100003 character or path not usable; 100042
 *         the npuprof or msprof command owns profiling; 148047 a model is subscribed; 200006
 *         PROFILING_MODE=dynamic; 500005 the library could not start
 */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char *profilerResultPath, size_t length);

/**
 * Ends profiling; sessions that run are stopped first, exactly as aclprofStop(NULL) does it.
 * @return 0, also when nothing was initialised; 100042; 148047; what stopping the session returned
 */
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

/**
 * Describes what to collect on which devices. Usable before aclprofInit(), any number of times for Start and
 * Stop, from several threads.
 * @param deviceIdList ids from 0 up, no id twice
 * @param deviceNums entries of the list, 0 to 64; 0 only with ACL_PROF_MSPROFTX
 * @param aicoreMetrics counter group; judged by aclprofStart()
 * @param aicoreEvents NULL
 * @param dataTypeConfig ACL_PROF_* bits; judged by aclprofStart(). Levels of task time include the lower
 *        ones; ACL_PROF_API_STATS turns off all others
 * @return the description, to be given to aclprofDestroyConfig(), or NULL
 */
ACL_FUNC_VISIBILITY aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       const aclprofAicoreEvents *aicoreEvents,
                                                       uint64_t dataTypeConfig);

/**
 * Frees a description, also while a session started with it runs.
 * @return 0; 100000 for NULL and for a pointer that is no living description
 */
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/**
 * Sets something for the next aclprofStart(). A session that started keeps what was set before, and the one after it
 * begins without; a start that fails keeps it for the next try. aclprofFinalize() forgets everything.
 * @param config text as aclprofConfigType says
 * @param configLength strlen of the text, at most 256
 * @return 0; 100000 bad type or length; 100010 the chip lacks it or the text is not allowed
 */
ACL_FUNC_VISIBILITY aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
                                              size_t configLength);

/**
 * Starts collection into a new PROF_* directory. Devices of the list that the program has not opened yet
 * join when it opens them. A failed Start leaves nothing behind and may be tried again. While sessions run, devices
 * that none of them has get one of their own beside them; with a device of one that has the same data types, the rest
 * of the list joins it. A configuration without devices is about the host, which every session has.
 * @param profilerConfig NULL: every open device, ACL_AICORE_PIPE_UTILIZATION, ACL_PROF_ACL_API,
 *        ACL_PROF_TASK_TIME and ACL_PROF_AICORE_METRICS
 * @return 0, also if its devices are profiled so already (nothing changes then); 100000 nothing
 *         to collect, or a counter group the chip lacks; 100003 directory cannot be made or written; 100010
 *         one of its devices is profiled with other data types; 100042 somebody else profiles, or devices of several
 *         sessions are listed and one of none; 148047; 200007 unknown bit; 500005 no device could be started.
 *         Without aclprofInit() the path is that of ACL_PROF_PATH, else "./"
 */
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig *profilerConfig);

/**
 * Stops the session on all its devices and completes the directory: after the return every record is in it. If several
 * run, those are meant that have a device of the list.
 * @param profilerConfig same data types as at aclprofStart(), or NULL for whatever runs
 * @return 0, also when nothing runs; 100000; 100010 other data types, or none of several sessions has a device of the
 *         list (they go on); 100042; 148047;
 *         200007; 500005 the directory could not be completed
 */
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig *profilerConfig);

/*
 * Marks and ranges of the program, with ACL_PROF_MSPROFTX. Failures of these functions are -1, except for the NULL
 * pointers that are named. Without a session that asks for them nothing is recorded.
 */

/** A stamp for the functions below; NULL before the first such session, after aclprofFinalize(), and if 65536 live. */
ACL_FUNC_VISIBILITY void *aclprofCreateStamp(void);
ACL_FUNC_VISIBILITY void aclprofDestroyStamp(void *stamp);
/** What the stamp says from now on: msgLen bytes, at most 127. @return 0 or -1 */
ACL_FUNC_VISIBILITY aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen);
/** Marks this moment. @return 0 or -1 */
ACL_FUNC_VISIBILITY aclError aclprofMark(void *stamp);
/**
 * Marks this moment, and the one at which the device comes to it on the stream.
 * @param msgLen strlen of the message, 1 to 155
 * @return 0 or -1
 */
ACL_FUNC_VISIBILITY aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);
/** Begins and ends a range; ranges of a thread nest. @return 0; -1; Push: 100000 for NULL */
ACL_FUNC_VISIBILITY aclError aclprofPush(void *stamp);
ACL_FUNC_VISIBILITY aclError aclprofPop(void);
/** Begins a range that any thread may end, once, by its number. @return 0; -1; Start: 100000 for NULL */
ACL_FUNC_VISIBILITY aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);
ACL_FUNC_VISIBILITY aclError aclprofRangeStop(uint32_t rangeId);

/*
 * Steps of training, whose begin and end the device notes when it comes to them on a stream. The data are those of
 * ACL_PROF_TASK_TIME and ACL_PROF_TRAINING_TRACE.
 */

/** Opaque, but programs write the number of the step themselves: 64 bits at offset 8. */
typedef struct aclprofStepInfo aclprofStepInfo;
typedef enum { ACL_STEP_START = 0, ACL_STEP_END = 1 } aclprofStepTag;

/** A step; steps are numbered from 1 in the order of this call. @return NULL if there is no memory */
ACL_FUNC_VISIBILITY aclprofStepInfo *aclprofCreateStepInfo(void);
/**
 * Puts begin or end of the step on the stream.
 * @param tag 60000 and 60001, the numbers of the device, are taken too; other numbers of 16 bits go to the device as
 *        they are
 * @return 0; 100000 NULL, destroyed already, marked already; 500002 the stream or the process cannot
 */
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                                     aclrtStream stream);
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);

/*
 * Ranges that tell what the kernels launched inside them work on, for launches that no runtime describes.
 */

#define ACL_PROF_EVENT_ATTR_VERSION  1
#define ACL_PROF_MESSAGE_TENSOR_INFO 0U
#ifndef ACL_PROF_TENSOR_INFO_DEFINED
#define ACL_PROF_TENSOR_INFO_DEFINED
typedef struct {
  uint32_t type; /* 0 input, 1 output */
  uint32_t format;
  uint32_t dataType;
  uint32_t shapeDim; /* used entries of shape */
  uint32_t shape[8];
} aclprofTensor;

typedef struct {
  uint64_t opNameId; /* of aclprofStr2Id() */
  uint64_t opTypeId;
  uint32_t resv;
  uint32_t tensorNum; /* at most 4096 */
  uint32_t kernelType;
  uint32_t blockNums;
  void *stream;
  aclprofTensor *tensors;
} aclprofTensorInfo;

typedef struct {
  uint16_t version; /* ACL_PROF_EVENT_ATTR_VERSION */
  uint16_t size;    /* sizeof(aclprofEventAttributes) */
  uint32_t messageType;
  union {
    aclprofTensorInfo *tensorInfo;
  } message;
} aclprofEventAttributes;
#endif

/** The number that stands for a text in records. @return UINT64_MAX for NULL and for "" */
ACL_FUNC_VISIBILITY uint64_t aclprofStr2Id(const char *message);
/**
 * Begins a range. All that attr leads to is copied. Ranges nest, on each thread of its own. While nobody collects only
 * NULL and the type of message are judged.
 * @return 0; 100000 NULL, more than 4096 tensors or 8 dimensions; -1 another type of message
 */
ACL_FUNC_VISIBILITY aclError aclprofRangePushEx(aclprofEventAttributes *attr);
/** Ends the range that this thread began last. @return 0; 100000 without one */
ACL_FUNC_VISIBILITY aclError aclprofRangePop(void);

/*
 * Subscription: operators of loaded models come through a pipe of the program while they run, as items of
 * aclprofGetOpDescSize() bytes, each written as a whole. aclprofInit() and subscriptions exclude each other.
 *
 *	int fds[2]; pipe(fds);
 *	config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &fds[1]);
 *	aclprofModelSubscribe(model, config);	... executions; another thread reads fds[0] ...
 *	aclprofModelUnSubscribe(model);		the writing end is closed, and fds[1] is -1
 *
 * What was read is given to the functions below: opInfo and its bytes, and an index from 0. Numbers are those of the
 * device's clock in microseconds. Nothing is erased by reading.
 */

typedef struct aclprofSubscribeConfig aclprofSubscribeConfig; /* opaque */
typedef enum {
  ACL_SUBSCRIBE_OP = 0,
  ACL_SUBSCRIBE_SUBGRAPH = 1,
  ACL_SUBSCRIBE_OP_THREAD = 2,
  ACL_SUBSCRIBE_NONE = 0xFF
} aclprofSubscribeOpFlag;
typedef enum { ACL_SUBSCRIBE_ATTRI_NONE = -1, ACL_SUBSCRIBE_ATTRI_THREADID = 0 } aclprofSubscribeOpAttri;

/**
 * @param timeInfoSwitch 1: with times, 0: without
 * @param aicoreMetrics counter group of the device meanwhile; items do not have counters
 * @param fd leads to an int, the writing end of a pipe, which lives until the last subscription with it ends
 * @return NULL for fd NULL and another switch
 */
ACL_FUNC_VISIBILITY aclprofSubscribeConfig *aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
                                                                         aclprofAicoreMetrics aicoreMetrics,
                                                                         void *fd);
/** @return 0; 100000 for NULL and for a pointer that is no living description */
ACL_FUNC_VISIBILITY aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);
/**
 * @return 0; 100011 the model is not loaded; 100000 no configuration, neither times nor counters; 148047 after
 *         aclprofInit(); 100042; 148046 subscribed already; 100010 other models are subscribed with other counters, or on
 *         this device with another switch; 500005
 */
ACL_FUNC_VISIBILITY aclError aclprofModelSubscribe(uint32_t modelId,
                                                   const aclprofSubscribeConfig *profSubscribeConfig);
/**
 * Ends it. What the device has run is sent first, for at most 5 seconds if nobody reads. The last one with a pipe closes the
 * writing end and writes -1 into the program's int.
 * @return 0; 100011 not loaded or not subscribed; 148047; 100042; 500005
 */
ACL_FUNC_VISIBILITY aclError aclprofModelUnSubscribe(uint32_t modelId);

/** Bytes of an item. @return 0; 100000 for NULL */
ACL_FUNC_VISIBILITY aclError aclprofGetOpDescSize(size_t *opDescSize);
/** Number of items. @return 0; 100000 NULL, not a number of whole items, an item that no subscription wrote */
ACL_FUNC_VISIBILITY aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber);
/** Bytes of a type or name, its end mark included. @return 0; 100000 as above, and for an index there is not */
ACL_FUNC_VISIBILITY aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen, uint32_t index,
                                                 size_t *opTypeLen);
ACL_FUNC_VISIBILITY aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen, uint32_t index,
                                                 size_t *opNameLen);
/** The type or name, "N/A" if nobody told. @return 0; 100000 as above, and if the room is too small */
ACL_FUNC_VISIBILITY aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opType, size_t opTypeLen);
ACL_FUNC_VISIBILITY aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index,
                                              char *opName, size_t opNameLen);
/** Microseconds. @return 0 without times, and where the functions above fail */
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index);
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index);
/** The model. @return 100000 where the functions above fail */
ACL_FUNC_VISIBILITY size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);
/** @return ACL_SUBSCRIBE_OP; ACL_SUBSCRIBE_NONE where the functions above fail */
ACL_FUNC_VISIBILITY aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen,
                                                            uint32_t index);
/** The thread of an operator of a thread, as text that is valid until the next call of this thread. @return NULL otherwise */
ACL_FUNC_VISIBILITY const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen, uint32_t index,
                                                       aclprofSubscribeOpAttri attri);

#ifdef __cplusplus
}
#endif
#endif /* ACL_PROF_H */
