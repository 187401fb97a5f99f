/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a runtime and its components report to the profiler.
 *
 * A component registers a callback once (MsprofRegisterCallback) and learns from it which data are wanted.
 * While a switch is on it reports records; they go through a ring of the calling thread, without lock,
 * system call or allocation after a thread's first report. A record that finds its ring full, or that arrives
 * inside another report of the same thread (signal handler), is dropped and counted, never waited for.
 *
 * Unless said otherwise functions may be called from any thread and at any time, and a forked child reports
 * nothing.
 */
#ifndef PROF_API_H
#define PROF_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiling/aprof_pub.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MSVP_PROF_API __attribute__((visibility("default")))

/* Return values of Msprof* functions. */
#define MSPROF_ERROR_NONE           0
#define MSPROF_ERROR_MEM_NOT_ENOUGH 1
#define MSPROF_ERROR_GET_ENV        2
#define MSPROF_ERROR_CONFIG_INVALID 3
#define MSPROF_ERROR_ACL_JSON_OFF   4
#define MSPROF_ERROR                5
#define MSPROF_ERROR_UNINITIALIZE   6

/* Components, the moduleId of MsprofRegisterCallback(). */
#define MSPROF_MODULE_HCCL     3U
#define MSPROF_MODULE_RUNTIME  7U
#define MSPROF_MODULE_AICPU    36U
#define MSPROF_MODULE_GE       45U
#define MSPROF_MODULE_ASCENDCL 48U

#define MSPROF_MAX_DEV_NUM   64
#define PROF_INVALID_MODE_ID 0xFFFFFFFFU

/* First argument of a callback. */
#define PROF_CTRL_SWITCH 1U

/** What a callback is told (MsprofCommandHandle data->type). */
typedef enum {
  PROF_COMMANDHANDLE_TYPE_INIT = 0,
  PROF_COMMANDHANDLE_TYPE_START = 1,
  PROF_COMMANDHANDLE_TYPE_STOP = 2,
  PROF_COMMANDHANDLE_TYPE_FINALIZE = 3,
  PROF_COMMANDHANDLE_TYPE_MODEL_SUBSCRIBE = 4,
  PROF_COMMANDHANDLE_TYPE_MODEL_UNSUBSCRIBE = 5
} MsprofCommandHandleType;

/* What is wanted, MsprofCommandHandle.profSwitch. The ACL_PROF_* bits of acl/acl_prof.h have these values. */
#define PROF_ACL_API        0x0000000000000001ULL
#define PROF_TASK_TIME_L1   0x0000000000000002ULL
#define PROF_AICORE_METRICS 0x0000000000000004ULL
#define PROF_AICPU_TRACE    0x0000000000000008ULL
#define PROF_L2CACHE        0x0000000000000010ULL
#define PROF_HCCL_TRACE     0x0000000000000020ULL
#define PROF_TRAINING_TRACE 0x0000000000000040ULL
#define PROF_MSPROFTX       0x0000000000000080ULL
#define PROF_RUNTIME_API    0x0000000000000100ULL
#define PROF_GE_API_L0      0x0000000000000200ULL
#define PROF_TASK_TIME      0x0000000000000800ULL
#define PROF_TASK_MEMORY    0x0000000000001000ULL
#define PROF_TASK_TIME_L2   0x0000000000002000ULL
#define PROF_OP_ATTR        0x0000000000004000ULL
#define PROF_TASK_TIME_L3   0x0000000000008000ULL
#define PROF_GE_API_L1      0x0000000001000000ULL
#define PROF_API_STATS      0x0000000400000000ULL
#define PROF_AICPU_MODEL    0x4000000000000000ULL

#define PATH_LEN_MAX  1023
#define PARAM_LEN_MAX 4095

/** Parameters that come with a start: the directory and the text of its sample.json. */
struct MsprofCommandHandleParams {
  uint32_t pathLen;
  uint32_t storageLimit; /* MB */
  uint32_t profDataLen;
  char path[PATH_LEN_MAX + 1];
  char profData[PARAM_LEN_MAX + 1];
};

/** The data of a PROF_CTRL_SWITCH callback; valid during the call only. */
struct MsprofCommandHandle {
  uint64_t profSwitch;
  uint64_t profSwitchHi;
  uint32_t devNums;
  uint32_t devIdList[MSPROF_MAX_DEV_NUM];
  uint32_t modelId;   /* PROF_INVALID_MODE_ID unless subscribing */
  uint32_t type;      /* MsprofCommandHandleType */
  uint32_t cacheFlag; /* 1 when a model is subscribed or no longer */
  struct MsprofCommandHandleParams params;
};

/**
 * A component's callback: type is PROF_CTRL_SWITCH and data a struct MsprofCommandHandle of len bytes.
 * Called by one thread at a time, while an aclprof* call of the program waits: it may report, register callbacks and tell
 * of devices, which is seen to when it has returned; aclprof* calls of its own are refused. It must return: neither throw nor
 * jump. A thread that is cancelled meanwhile ends when the call of the program is over.
 * @return 0, or a failure that goes to the standard error stream; the session goes on
 */
typedef int32_t (*ProfCommandHandle)(uint32_t type, void *data, uint32_t len);

/**
 * Registers a callback of a component. INIT, START: RUNTIME, ASCENDCL, GE first, then by rising id; STOP,
 * FINALIZE: GE, ASCENDCL, RUNTIME first. A callback registered while a session runs is told INIT and START
 * before this function returns, and of each model that is subscribed. MODEL_SUBSCRIBE comes in the order of START,
 * MODEL_UNSUBSCRIBE in that of STOP.
 * @return 0, also for a callback known already; MSPROF_ERROR_CONFIG_INVALID for NULL
 */
MSVP_PROF_API int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);

/**
 * Tells that the process opened or is about to close a device. Called before the first task and after the
 * last. In a session that lists the device, collection on it starts or stops. Waits while another thread begins or ends a
 * session; if that one has been inside a component's callback for a second, it is left to him.
 * @param chipId ignored; @param deviceId id as in aclprofCreateConfig(), below 64
 * @return 0; MSPROF_ERROR_CONFIG_INVALID for an id of 64 or more; MSPROF_ERROR if collection failed to start
 */
MSVP_PROF_API int32_t MsprofNotifySetDevice(uint32_t chipId, uint32_t deviceId, bool isOpen);

/**
 * Reports a record. The record is copied.
 * @param nonPersistentFlag 1: may be deleted when the storage limit is reached; 0: kept always. For
 *        node_basic_info it also tells dynamic (1) from static (0) operators
 * @return 0, also when nobody collects (arguments are not looked at then); MSPROF_ERROR_CONFIG_INVALID for NULL,
 *         a wrong length or magic; MSPROF_ERROR if the record was dropped (and counted)
 */
MSVP_PROF_API int32_t MsprofReportApi(uint32_t nonPersistentFlag, const struct MsprofApi *api);
MSVP_PROF_API int32_t MsprofReportEvent(uint32_t nonPersistentFlag, const struct MsprofEvent *event);
/** @param length sizeof(struct MsprofCompactInfo) */
MSVP_PROF_API int32_t MsprofReportCompactInfo(uint32_t nonPersistentFlag, const void *data, uint32_t length);
/** @param length sizeof(struct MsprofAdditionalInfo) */
MSVP_PROF_API int32_t MsprofReportAdditionalInfo(uint32_t nonPersistentFlag, const void *data,
                                                 uint32_t length);
/**
 * Reports several additional records lying one behind the other; all are kept or the rest is counted lost.
 * @param length a multiple of sizeof(struct MsprofAdditionalInfo), at most MsprofGetBatchReportMaxSize()
 */
MSVP_PROF_API int32_t MsprofReportBatchAdditionalInfo(uint32_t nonPersistentFlag, const void *data,
                                                      uint32_t length);
/** Bytes one batch may have. @param type ignored */
MSVP_PROF_API size_t MsprofGetBatchReportMaxSize(uint32_t type);

/**
 * Names a type of records or calls. The name of a compact or additional type names its file, so it must be
 * known before the first such record; letters, digits and _ only. A session keeps records of up to 128 types, compact,
 * additional, aging and unaging ones counted apart; those of further types are counted as lost
 * (too_many_types). A name of more than 200 bytes, or one of the dictionaries' own, gives a file named after the
 * type's number.
 * @return 0; MSPROF_ERROR_CONFIG_INVALID for NULL, "", a line break or more than 255 bytes
 */
MSVP_PROF_API int32_t MsprofRegTypeInfo(uint16_t level, uint32_t typeId, const char *typeName);

/** Accepted and not used: the formats of all record types are fixed. @return 0, or 3 for NULL */
MSVP_PROF_API int32_t MsprofRegDataFormat(uint16_t level, uint32_t typeId, const char *dataFormat);

/**
 * The number that stands for a text in records; the text goes into the dictionary of every session. Two texts
 * never share a number. Takes a lock and may allocate: callers keep the number instead of asking anew.
 * @param length bytes of the text without a terminator
 * @return the number; 0 for NULL or length 0
 */
MSVP_PROF_API uint64_t MsprofGetHashId(const char *hashInfo, size_t length);
/** The same as MsprofGetHashId(), except that failure gives UINT64_MAX. */
MSVP_PROF_API uint64_t MsprofStr2Id(const char *hashInfo, size_t length);
/** The text of a number, owned by the library and valid for ever; NULL if unknown. */
MSVP_PROF_API const char *MsprofId2Str(uint64_t hashId);

/** Model @p geModelIdx is loaded on @p deviceId, or no longer. @return 0; 3 for a device id of 64 or more */
MSVP_PROF_API int32_t MsprofSetDeviceIdByGeModelIdx(uint32_t geModelIdx, uint32_t deviceId);
MSVP_PROF_API int32_t MsprofUnsetDeviceIdByGeModelIdx(uint32_t geModelIdx, uint32_t deviceId);

/**
 * The clock of all host records: the CPU's cycle counter where it runs at one rate, else CLOCK_MONOTONIC_RAW.
 * Its rate is in the host's info.json. Never fails; safe in signal handlers.
 */
MSVP_PROF_API uint64_t MsprofSysCycleTime(void);

/** The PROF_* directory of the session that was started last, "" before the first; valid until eight more have begun. */
MSVP_PROF_API const char *MsprofGetPath(void);

/* First argument of MsprofInit(). */
#define MSPROF_CTRL_INIT_ACL_ENV    0U
#define MSPROF_CTRL_INIT_ACL_JSON   1U
#define MSPROF_CTRL_INIT_GE_OPTIONS 2U
#define MSPROF_CTRL_FINALIZE        3U
#define MSPROF_CTRL_INIT_HELPER     4U
#define MSPROF_CTRL_INIT_PURE_CPU   5U
#define MSPROF_CTRL_INIT_AICPU      6U
#define MSPROF_CTRL_INIT_DYNA       0xFFU

/** Data of GE_OPTIONS: options is the text of a JSON object, jobId goes into info.json. */
struct MsprofGeOptions {
  char jobId[2048];
  char options[2048];
};

/**
 * Called by the runtime when it is initialised. A session for the whole run starts here if somebody asked for one:
 * the npuprof command (NPUPROF_RECORD_DIR), else PROFILER_SAMPLECONFIG (ACL_ENV, DYNA, or else the first device that is
 * opened), else the data. Then aclprofInit, aclprofStart and the like return 100042.
 * @param dataType ACL_ENV and DYNA look at the environment; ACL_JSON has the text of acl.json or of its object `profiler`
 *        as data; GE_OPTIONS a struct MsprofGeOptions; HELPER and PURE_CPU a struct MsprofCommandHandleParams whose profData is
 *        the text of a sample.json, PURE_CPU for the host alone; AICPU starts nothing: its callback is told what to do;
 *        FINALIZE is MsprofFinalize()
 * @param data, dataLen what belongs to dataType, else ignored
 * @return 0; MSPROF_ERROR_ACL_JSON_OFF if the text of ACL_JSON does not switch profiling on; MSPROF_ERROR_CONFIG_INVALID
 *         for other types, unknown keys and values that are not allowed; MSPROF_ERROR if the session failed to start or
 *         the program profiles itself. The runtime goes on in any case
 */
MSVP_PROF_API int32_t MsprofInit(uint32_t dataType, void *data, uint32_t dataLen);

/** What a component that starts a session by itself wants. Unused numbers are 0, unused texts empty. */
struct MsprofConfig {
  uint64_t profSwitch; /* ACL_PROF_* bits */
  uint64_t profSwitchHi;
  uint32_t devNums;
  uint32_t devIdList[MSPROF_MAX_DEV_NUM + 1]; /* 64 is the host, which is always there */
  uint32_t modelId;
  uint32_t type;
  uint32_t cacheFlag;
  uint32_t storageLimit; /* MB */
  uint32_t metrics;      /* aclprofAicoreMetrics */
  uintptr_t fd;
  char dumpPath[PATH_LEN_MAX + 1]; /* "": ASCEND_WORK_PATH/profiling_data, else beside the program */
  char sampleConfig[PARAM_LEN_MAX +
                    1]; /* JSON as in PROFILER_SAMPLECONFIG: settings that have no field here */
};

#define MSPROF_MODE_SUBSCRIBE 7U

/**
 * Starts a session for a component of the runtime; MsprofStop() with the same type or MsprofFinalize() ends it.
 * @param dataType 7 (subscription) is refused, all others are alike
 * @return 0; MSPROF_ERROR_CONFIG_INVALID for NULL, a wrong size and values that are not allowed; MSPROF_ERROR if it failed
 *         to start or somebody profiles already
 */
MSVP_PROF_API int32_t MsprofStart(uint32_t dataType, const struct MsprofConfig *config, uint32_t length);
/**
 * Stops the session that MsprofStart() started with this type, whatever the configuration says, and no other.
 * @return 0, also if nobody profiles; MSPROF_ERROR if somebody else does, or the session could not be completed
 */
MSVP_PROF_API int32_t MsprofStop(uint32_t dataType, const struct MsprofConfig *config, uint32_t length);

/** Obsolete and without effect. @return 0 */
MSVP_PROF_API int32_t MsprofSetConfig(uint32_t configType, const char *config, size_t configLength);

/**
 * An older MsprofRegisterCallback(), without a module. A callback of type 0 is a ProfCommandHandle and is told what those of
 * modules are told, after them. What callbacks of other types would be called with is not published: they are checked, never
 * called, and standard error says so.
 * @return 0; MSPROF_ERROR_CONFIG_INVALID for a type outside 0 to 16, NULL, or a length that is not that of a pointer
 */
MSVP_PROF_API int32_t MsprofRegisterProfileCallback(int32_t callbackType, void *callback, uint32_t length);

/* Second argument of MsprofReportData(). */
#define MSPROF_REPORTER_REPORT       0U
#define MSPROF_REPORTER_INIT         1U
#define MSPROF_REPORTER_UNINIT       2U
#define MSPROF_REPORTER_DATA_MAX_LEN 3U
#define MSPROF_REPORTER_HASH         4U

/** A text whose number MsprofReportData() tells. */
struct MsprofHashData {
  int32_t deviceId; /* ignored */
  size_t dataLen;
  unsigned char *data;
  uint64_t hashId; /* out */
};

/**
 * An older form of reporting. INIT and UNINIT have no effect; DATA_MAX_LEN writes MsprofGetBatchReportMaxSize() into the
 * uint32_t at data; HASH numbers the text of the struct MsprofHashData at data as MsprofGetHashId() does. REPORT has data in a
 * form of the module's own, for which the files have no place: the manifest says how many were not kept.
 * @return 0; MSPROF_ERROR_CONFIG_INVALID for another type or data that do not belong to it; MSPROF_ERROR for a REPORT while
 *         somebody collects
 */
MSVP_PROF_API int32_t MsprofReportData(uint32_t moduleId, uint32_t type, void *data, uint32_t len);

/**
 * Whether operator @p op is to be reported: while somebody collects, every one, because no chip that is supported chooses
 * (ACL_PROF_OPTYPE). @param type ignored @param len bytes of the name; NULL and 0 are no operator
 */
MSVP_PROF_API bool MsprofCheckOpSwitch(uint32_t type, const char *op, uint32_t len);

/**
 * While somebody collects, has a stream mark the device's record with a number and a tag as they are (16 bits; 0 and 1 are begin
 * and end of a model, 60000 and 60001 of a step). @return 0, also when nobody collects; MSPROF_ERROR if the stream takes no mark
 */
MSVP_PROF_API int32_t profSetStepInfo(uint64_t indexId, uint16_t tagId, void *stream);

/** Does nothing, and standard error says so: components are told by the profiler alone. @return 0; 3 for NULL or no bytes */
MSVP_PROF_API int32_t profSetProfCommand(void *command, uint32_t len);

/** Called by the runtime when it ends: stops the session that MsprofInit() or MsprofStart() started. @return 0 or MSPROF_ERROR */
MSVP_PROF_API int32_t MsprofFinalize(void);

#ifdef __cplusplus
}
#endif
#endif /* PROF_API_H */
