/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Records that devices put into rings. All are little-endian, naturally aligned and of fixed size.
 * Where the public msprof analysis reads a file of such records, the record in the ring is byte for
 * byte the record in the file, so that it is copied once; the four-bit running counter of the first
 * word is zero in the ring and stamped per file. Time is the device clock (syscnt) unless a field
 * says otherwise.
 */
#ifndef NPUPROF_RECORDS_H
#define NPUPROF_RECORDS_H

#include <linux/types.h>

#define NPUPROF_RECORDS_VERSION	1

/*
 * First word of task records, as the STARS scheduler lays it out:
 *
 *	 15        10 9      6 5         0
 *	+------------+--------+-----------+
 *	| task type  | count  | func type |
 *	+------------+--------+-----------+
 */
#define NPUPROF_HEAD(func, type)	((__u16)((func) | ((type) << 10)))
#define NPUPROF_HEAD_FUNC(head)		((head) & 0x3f)
#define NPUPROF_HEAD_COUNT_SHIFT	6
#define NPUPROF_HEAD_COUNT_MASK		0x3c0
#define NPUPROF_HEAD_TYPE(head)		((head) >> 10)

#define NPUPROF_STARS_MAGIC	0x6bd3

/* Function types. */
#define NPUPROF_FUNC_TASK_START		0x00
#define NPUPROF_FUNC_TASK_END		0x01
#define NPUPROF_FUNC_SUBTASK_START	0x22
#define NPUPROF_FUNC_SUBTASK_END	0x23
#define NPUPROF_FUNC_TASK_PMU		0x28
#define NPUPROF_FUNC_BLOCK_PMU		0x29

/* Task types of the scheduler. */
#define NPUPROF_SQE_AI_CORE		0
#define NPUPROF_SQE_AI_CPU		1
#define NPUPROF_SQE_AIV			2
#define NPUPROF_SQE_PLACE_HOLDER	3
#define NPUPROF_SQE_EVENT_RECORD	4
#define NPUPROF_SQE_EVENT_WAIT		5
#define NPUPROF_SQE_NOTIFY_RECORD	6
#define NPUPROF_SQE_NOTIFY_WAIT		7
#define NPUPROF_SQE_WRITE_VALUE		8
#define NPUPROF_SQE_SDMA		11
#define NPUPROF_SQE_PCIE_DMA		17

/* Sub-task and FFTS types of sub-task and PMU records. */
#define NPUPROF_SUBTASK_AIC	0
#define NPUPROF_SUBTASK_AIV	1
#define NPUPROF_SUBTASK_MIX_AIC	6
#define NPUPROF_SUBTASK_MIX_AIV	7
#define NPUPROF_FFTS_AIC	0
#define NPUPROF_FFTS_AIV	1
#define NPUPROF_FFTS_PLUS	4
#define NPUPROF_FFTS_MIX	5
#define NPUPROF_FFTS_SHIFT	13	/* position of the FFTS type in ffts_type */

/**
 * struct npuprof_rec_task_log - a task, or a sub-task of a fused task, started or ended
 * (stars_soc.data)
 * @head: function type NPUPROF_FUNC_{TASK,SUBTASK}_{START,END}, task type NPUPROF_SQE_*
 * @magic: NPUPROF_STARS_MAGIC
 * @stream_id: stream
 * @task_id: task
 * @clock: device clock
 * @subtask_type: sub-task type in the low byte; 0 for tasks
 * @subtask_id: context id of a sub-task; 0 for tasks
 * @ffts_type: FFTS type from bit 13 up; 0 for tasks
 * @thread_id: thread of a sub-task; 0 for tasks
 * @reserved: zero
 */
struct npuprof_rec_task_log {
	__u16 head;
	__u16 magic;
	__u16 stream_id;
	__u16 task_id;
	__u64 clock;
	__u16 subtask_type;
	__u16 subtask_id;
	__u16 ffts_type;
	__u16 thread_id;
	__u64 reserved[5];
};

/**
 * struct npuprof_rec_task_pmu - counters of one task, summed over its blocks (ffts_profile.data)
 * @head: function type NPUPROF_FUNC_TASK_PMU
 * @magic: NPUPROF_STARS_MAGIC
 * @stream_id: stream
 * @task_id: task
 * @subtask_type: sub-task type in the low byte, bit 10 set if a counter overflowed its 64 bits
 * @subtask_id: context id, only with FFTS type NPUPROF_FFTS_PLUS
 * @ffts_type: FFTS type from bit 13 up
 * @cycles: core cycles summed over all blocks
 * @counters: events in the order of the ring's event list of that core kind
 * @start: device clock at the start of the task
 * @end: device clock at the end of the task
 * @reserved0: zero
 * @reserved1: zero
 * @reserved2: zero
 * @reserved3: zero
 */
struct npuprof_rec_task_pmu {
	__u16 head;
	__u16 magic;
	__u16 stream_id;
	__u16 task_id;
	__u64 reserved0;
	__u16 subtask_type;
	__u16 subtask_id;
	__u16 ffts_type;
	__u16 reserved1;
	__u64 reserved2;
	__u64 cycles;
	__u64 reserved3;
	__u64 counters[8];
	__u64 start;
	__u64 end;
};

/**
 * struct npuprof_rec_block_pmu - counters of one block on one core (ffts_profile.data)
 * @head: function type NPUPROF_FUNC_BLOCK_PMU
 * @magic: NPUPROF_STARS_MAGIC
 * @stream_id: stream
 * @task_id: task
 * @subtask_type: sub-task type in the low byte
 * @subtask_id: context id
 * @core: bit 0 core kind (0 cube, 1 vector), bits 1 to 7 core index
 * @ffts_type: FFTS type in bits 5 to 7
 * @subblock_id: vector half of a mixed block
 * @block_id: block within the task
 * @cycles: core cycles of this block
 * @counters: as in struct npuprof_rec_task_pmu
 * @start: device clock at the start of the block
 * @end: device clock at the end of the block
 * @reserved0: zero
 * @reserved1: zero
 * @reserved2: zero
 * @reserved3: zero
 */
struct npuprof_rec_block_pmu {
	__u16 head;
	__u16 magic;
	__u16 stream_id;
	__u16 task_id;
	__u64 reserved0;
	__u16 subtask_type;
	__u16 subtask_id;
	__u8 core;
	__u8 ffts_type;
	__u16 reserved1;
	__u32 reserved2;
	__u16 subblock_id;
	__u16 block_id;
	__u64 cycles;
	__u64 reserved3;
	__u64 counters[8];
	__u64 start;
	__u64 end;
};

/**
 * struct npuprof_rec_ts_track - marks of the task scheduler (ts_track.data)
 * @mode: 0
 * @tag: NPUPROF_TS_STEP or NPUPROF_TS_FLIP; decides the body
 * @length: 40
 * @clock: device clock
 * @step: NPUPROF_TS_STEP: index and model id, then stream, task and tag of the mark
 * @flip: NPUPROF_TS_FLIP: the stream's task ids begin anew with task_id
 * @reserved0: zero
 */
struct npuprof_rec_ts_track {
	__u8 mode;
	__u8 tag;
	__u16 length;
	__u32 reserved0;
	__u64 clock;
	union {
		struct {
			__u64 index_id;
			__u64 model_id;
			__u16 stream_id;
			__u16 task_id;
			__u16 tag_id;
			__u16 reserved1;
		} step;
		struct {
			__u16 stream_id;
			__u16 flip_count;
			__u16 reserved1;
			__u16 task_id;
			__u64 reserved2[2];
		} flip;
	};
};

#define NPUPROF_TS_STEP	10
#define NPUPROF_TS_FLIP	14

/**
 * struct npuprof_rec_core_sample - counters of one core over one period (sampled ffts_profile.data)
 * @mode: 1
 * @counters: differences since the previous sample, in the order of the ring's event list
 * @cycles: core cycles since the previous sample
 * @time_ns: device monotonic time in nanoseconds
 * @count: number of valid entries of @counters
 * @core_id: matrix cores from 0, vector cores after them
 * @reserved0: zero
 * @reserved1: zero
 * @reserved2: zero
 */
struct npuprof_rec_core_sample {
	__u8 mode;
	__u8 reserved0;
	__u16 reserved1[3];
	__u64 counters[8];
	__u64 cycles;
	__u64 time_ns;
	__u8 count;
	__u8 core_id;
	__u8 reserved2[6];
};

/**
 * struct npuprof_rec_bandwidth - one sampled quantity of a shared unit
 * @clock: device clock
 * @value: bytes, requests or frames since the previous sample, by channel and event
 * @event: HBM: 0 read, 1 write; LLC: 0 to 7; NIC, LINK, PCIE: 0 receive, 1 transmit bytes; L2: 0
 *	hit, 1 miss; DVPP: 0 busy microseconds, 1 frames; FLOWS: 0 read, 1 written bytes of main
 *	memory; ACCELERATORS: as FLOWS of even units, of odd ones microseconds of transfers that 0
 *	read, 1 wrote main memory, of transfers that overlap the sum
 * @unit: HBM channel, LLC slice, network port or engine; FLOWS: NPUPROF_FLOW_*; ACCELERATORS: twice
 *	NPUPROF_ACC_*, and one more for its times
 * @reserved: zero
 */
struct npuprof_rec_bandwidth {
	__u64 clock;
	__u64 value;
	__u32 event;
	__u32 unit;
	__u64 reserved;
};

/* Who uses the main memory. */
#define NPUPROF_FLOW_CORES	0
#define NPUPROF_FLOW_COPIES	1	/* within the device */
#define NPUPROF_FLOW_HOST	2
#define NPUPROF_FLOW_PEERS	3	/* other chips */
#define NPUPROF_FLOW_NETWORK	4
#define NPUPROF_FLOWS		5

/* What moves data without a core. */
#define NPUPROF_ACC_COPIES	0	/* within the device */
#define NPUPROF_ACC_HOST	1
#define NPUPROF_ACC_PEERS	2
#define NPUPROF_ACC_NETWORK	3
#define NPUPROF_ACCELERATORS	4

/**
 * struct npuprof_rec_aicpu - one task on an AI CPU
 * @stream_id: stream
 * @task_id: task
 * @submitted: device clock when the task was queued
 * @scheduled: device clock when a core took it
 * @start: device clock when it ran
 * @end: device clock when it ended
 * @reserved0: zero
 * @reserved: zero
 */
struct npuprof_rec_aicpu {
	__u16 stream_id;
	__u16 task_id;
	__u32 reserved0;
	__u64 submitted;
	__u64 scheduled;
	__u64 start;
	__u64 end;
	__u64 reserved[3];
};

/**
 * struct npuprof_rec_soc_pmu - events of shared units that one task caused (socpmu.data)
 * @reserved: zero
 * @task_type: NPUPROF_SQE_*
 * @stream_id: stream
 * @task_id: task
 * @data_type: NPUPROF_SOC_L2
 * @counters: L2: lines of 128 bytes that were 0 asked for, 1 asked for by reads, 2 by writes, 3
 *	missed, 4 hit by reads, 5 hit by writes, 6 pushed out, 7 written back. The published numbers
 *	of these events are 0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d
 */
struct npuprof_rec_soc_pmu {
	__u64 reserved;
	__u16 task_type;
	__u16 stream_id;
	__u16 task_id;
	__u16 data_type;
	__u64 counters[8];
};

#define NPUPROF_SOC_L2	1

/**
 * struct npuprof_rec_event - what happened to a session (channel NPUPROF_CHANNEL_EVENTS)
 * @kind: NPUPROF_EVENT_*
 * @ring: ring the event is about, 0xffffffff for the session
 * @cause: enum npuprof_loss_cause
 * @epoch: epoch from here on
 * @position: GAP: head of the ring where the gap lies
 * @count: GAP: records missing; THROTTLE: period of the ring in ns from here on, longer than was
 *	asked for; CLOCK: CLOCK_MONOTONIC_RAW in ns, middle of the bracket
 * @first: GAP: device clock of the first missing record; EPOCH, THROTTLE, CLOCK: device clock
 * @last: GAP: device clock of the last missing record; CLOCK: width of the bracket in ns
 * @reserved: zero
 */
struct npuprof_rec_event {
	__u32 kind;
	__u32 ring;
	__u32 cause;
	__u32 epoch;
	__u64 position;
	__u64 count;
	__u64 first;
	__u64 last;
	__u64 reserved[2];
};

#define NPUPROF_EVENT_GAP	1
#define NPUPROF_EVENT_EPOCH	2
#define NPUPROF_EVENT_THROTTLE	3
#define NPUPROF_EVENT_CLOCK	4

#endif /* NPUPROF_RECORDS_H */
