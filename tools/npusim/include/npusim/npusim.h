/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct access to the simulated NPU for tests and demonstrations: tasks without a model file, and the model's
 * own totals, against which profiling results are checked. Exported by libruntime. Thread-safe.
 */
#ifndef NPUSIM_H
#define NPUSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NPUSIM_EXPORT
#define NPUSIM_EXPORT __attribute__((visibility("default")))
#endif

/** Where a task runs; the numbers are those of the profiling record node_basic_info. */
enum npusimTaskType {
  NPUSIM_OP_AI_CORE = 0,
  NPUSIM_OP_AI_CPU = 1,
  NPUSIM_OP_AI_VECTOR_CORE = 2,
  NPUSIM_OP_MIX_AIC = 4,
  NPUSIM_OP_MIX_AIV = 5,
};

/**
 * Puts @p count equal tasks on @p stream (an aclrtStream; NULL = default stream of the thread's context).
 * @param opName name of the operator; with count > 1 all tasks share it
 * @param opType type of the operator, any text: nothing is computed from it
 * @param taskType enum npusimTaskType
 * @param blockDim blocks of each task, 1..65535
 * @param cycles core cycles of each block; >= 1
 * @return 0 or an ACL error code; aclGetRecentErrMsg() tells which value was wrong
 */
NPUSIM_EXPORT int npusimLaunch(void *stream, const char *opName, const char *opType, int taskType,
                               uint32_t blockDim, uint64_t cycles, uint64_t count);

/** One context of an FFTS+ task: a kernel, as npusimLaunch() describes it, but not for AI CPUs. */
typedef struct npusimContext {
  const char *opName; /**< contexts of one name are of one operator, of equal blocks and core kinds */
  const char *opType;
  int taskType;
  uint32_t blockDim;
  uint64_t cycles;
} npusimContext;

/**
 * Puts @p tasks equal FFTS+ tasks on @p stream. Each runs its contexts one after the other, as contexts 0, 1, ...
 * @param count contexts of each task, 1..55
 * @return 0 or an ACL error code; aclGetRecentErrMsg() tells which value was wrong. A stream that captures refuses.
 */
NPUSIM_EXPORT int npusimLaunchContexts(void *stream, const npusimContext *contexts, uint32_t count,
                                       uint64_t tasks);

/** Media engines of a device, as the task scheduler numbers them. */
enum npusimMediaEngine {
  NPUSIM_MEDIA_VPC = 0,
  NPUSIM_MEDIA_JPEGE = 1,
  NPUSIM_MEDIA_JPEGD = 2,
  NPUSIM_MEDIA_PNGD = 3,
  NPUSIM_MEDIA_VDEC = 4,
  NPUSIM_MEDIA_VENC = 5,
};

/**
 * Puts a task for a media engine on @p stream: @p frames frames, 500 us each.
 * @param engine enum npusimMediaEngine
 * @param frames 1 to 100000
 * @return 0 or an ACL error code; aclGetRecentErrMsg() tells which value was wrong
 */
NPUSIM_EXPORT int npusimMedia(void *stream, int engine, uint32_t frames);

/**
 * Puts a transfer over the device's network port on @p stream.
 * @param send 1 sends, 0 receives
 * @param bytes 1 to 2^40
 * @return 0 or an ACL error code
 */
NPUSIM_EXPORT int npusimNetwork(void *stream, int send, uint64_t bytes);

/** What the model of one device has done since the process began. */
typedef struct npusimDeviceTotals {
  uint64_t tasksSubmitted; /**< tasks of every kind handed to the device, marks not included */
  uint64_t tasksStarted;
  uint64_t tasksEnded;
  uint64_t kernelsEnded;           /**< AI_CORE, AI_VECTOR_CORE and MIX tasks among them */
  uint64_t aicCycles;              /**< cycles of all cube cores while they ran blocks */
  uint64_t aivCycles;              /**< cycles of all vector cores while they ran blocks */
  uint64_t cubeMacs;               /**< multiply-accumulates of ended kernels, all precisions */
  uint64_t bytesRead;              /**< from main memory */
  uint64_t bytesWritten;           /**< to main memory */
  uint64_t aicpuEnded;             /**< AI CPU tasks among the ended */
  uint64_t vectorOps;              /**< element operations of ended kernels */
  uint64_t logLost;                /**< starts and ends of tasks that the device's log FIFO had no room for */
  uint64_t pmuLost;                /**< counter snapshots that the device's PMU FIFO had no room for */
  uint64_t queueDropped;           /**< records that device-written queues had no credit for */
  uint64_t interruptsSwallowed;    /**< interrupts that NPUSIM_FAULT=drop_irq kept from the driver */
  uint64_t nicReceived, nicSent;   /**< bytes over the network port, of ended tasks */
  uint64_t linkReceived, linkSent; /**< bytes over the link between chips */
  uint64_t pcieReceived, pcieSent; /**< bytes from and to the host */
  uint64_t l2Hits, l2Misses;       /**< lines of 128 bytes of ended kernels */
  uint64_t mediaFrames;
  uint64_t busyTicks; /**< ticks of the device clock from start to end, of all ended tasks together */
} npusimDeviceTotals;

/**
 * Reads the totals of @p device into @p totals, of which at most @p size bytes are written (pass
 * sizeof(npusimDeviceTotals); fields are only ever appended).
 * @return 0, ACL_ERROR_RT_INVALID_DEVICEID or ACL_ERROR_INVALID_PARAM
 */
NPUSIM_EXPORT int npusimTotals(uint32_t device, npusimDeviceTotals *totals, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* NPUSIM_H */
