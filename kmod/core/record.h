/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Building of the records of uapi/npuprof_records.h from what was read out of a device. Every
 * function fills the whole record, reserved words included; none keeps anything.
 */
#ifndef NPUPROF_CORE_RECORD_H
#define NPUPROF_CORE_RECORD_H

#include "core/counter.h"
#include "core/schedule.h"
#include "npuprof_records.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_task_mark - one moment in the life of a task or sub-task
 * @clock: device clock
 * @stream_id: stream
 * @task_id: task
 * @subtask_id: context id of a sub-task
 * @thread_id: thread of a sub-task
 * @func: NPUPROF_FUNC_{TASK,SUBTASK}_{START,END}
 * @type: NPUPROF_SQE_*
 * @subtask_type: NPUPROF_SUBTASK_*; ignored for tasks
 * @ffts_type: NPUPROF_FFTS_*; ignored for tasks
 */
struct npc_task_mark {
	__u64 clock;
	__u16 stream_id;
	__u16 task_id;
	__u16 subtask_id;
	__u16 thread_id;
	__u8 func;
	__u8 type;
	__u8 subtask_type;
	__u8 ffts_type;
};

/**
 * struct npc_counts - what the counters say of one task or one block
 * @counters: by counter, not by event
 * @cycles: core cycles
 * @start: device clock at the start
 * @end: device clock at the end
 * @stream_id: stream
 * @task_id: task
 * @subtask_id: context id
 * @block_id: block within the task; blocks only
 * @subblock_id: vector half of a mixed block; blocks only
 * @subtask_type: NPUPROF_SUBTASK_*
 * @ffts_type: NPUPROF_FFTS_*
 * @core_kind: enum npuprof_core_kind; blocks only
 * @core: index within the kind, 0 to 127; blocks only
 */
struct npc_counts {
	__u64 counters[NPUPROF_MAX_COUNTERS];
	__u64 cycles;
	__u64 start;
	__u64 end;
	__u16 stream_id;
	__u16 task_id;
	__u16 subtask_id;
	__u16 block_id;
	__u16 subblock_id;
	__u8 subtask_type;
	__u8 ffts_type;
	__u8 core_kind;
	__u8 core;
};

/**
 * struct npc_core - extended counters of one core that is sampled
 * @counters: programmable counters
 * @cycles: cycle counter
 * @told: totals of @counters in the last record
 * @told_cycles: total of @cycles in the last record
 * @used: counters in use, the first ones
 */
struct npc_core {
	struct npc_counter counters[NPUPROF_MAX_COUNTERS];
	struct npc_counter cycles;
	__u64 told[NPUPROF_MAX_COUNTERS];
	__u64 told_cycles;
	__u8 used;
};

/**
 * struct npc_core_reading - counters of one core at one instant
 * @counters: raw values
 * @cycles: raw value of the cycle counter
 * @overflowed: bit k: counter k wrapped since its flag was cleared; bit NPUPROF_MAX_COUNTERS: the
 *	cycle counter did
 */
struct npc_core_reading {
	__u64 counters[NPUPROF_MAX_COUNTERS];
	__u64 cycles;
	__u32 overflowed;
};

/**
 * npc_record_task_log() - start or end of a task or sub-task
 * @record: filled
 * @mark: what is told of
 *
 * Context: Any context.
 */
void npc_record_task_log(struct npuprof_rec_task_log *record, const struct npc_task_mark *mark);

/**
 * npc_record_task_pmu() - counters of one task
 * @record: filled
 * @counts: what was counted
 * @slots: counters of the ring's events, in the order of the record
 *
 * Context: Any context.
 */
void npc_record_task_pmu(struct npuprof_rec_task_pmu *record, const struct npc_counts *counts,
			 const struct npc_slots *slots);

/* Cores of a kind that a record of a block can name: seven bits and one for the kind. */
#define NPC_BLOCK_CORES 128

/**
 * npc_record_block_pmu() - counters of one block
 * @record: filled
 * @counts: what was counted
 * @slots: counters of the ring's events, in the order of the record
 *
 * Context: Any context.
 */
void npc_record_block_pmu(struct npuprof_rec_block_pmu *record, const struct npc_counts *counts,
			  const struct npc_slots *slots);

/**
 * npc_record_step() - a mark: model, step or iteration border
 * @record: filled
 * @clock: device clock
 * @index_id: number of the run
 * @model_id: model
 * @stream_id: stream
 * @task_id: task
 * @tag_id: what the mark stands for
 *
 * Context: Any context.
 */
void npc_record_step(struct npuprof_rec_ts_track *record, __u64 clock, __u64 index_id,
		     __u64 model_id, __u16 stream_id, __u16 task_id, __u16 tag_id);

/**
 * npc_record_flip() - the task ids of a stream begin anew
 * @record: filled
 * @clock: device clock
 * @stream_id: stream
 * @flip_count: how often its numbers began anew
 * @task_id: the first number
 *
 * Context: Any context.
 */
void npc_record_flip(struct npuprof_rec_ts_track *record, __u64 clock, __u16 stream_id,
		     __u16 flip_count, __u16 task_id);

/**
 * npc_record_bandwidth() - one quantity of a shared unit
 * @record: filled
 * @clock: device clock of the sample
 * @unit: part of the unit
 * @event: what is counted
 * @value: how much since the sample before
 *
 * Context: Any context.
 */
void npc_record_bandwidth(struct npuprof_rec_bandwidth *record, __u64 clock, __u32 unit,
			  __u32 event, __u64 value);

/**
 * npc_record_aicpu() - one task on an AI CPU
 * @record: filled
 * @stream_id: stream
 * @task_id: task
 * @times: device clock when it was queued, when a core took it, when it started and ended
 *
 * Context: Any context.
 */
void npc_record_aicpu(struct npuprof_rec_aicpu *record, __u16 stream_id, __u16 task_id,
		      const __u64 times[4]);

/**
 * npc_record_soc_pmu() - L2 events of one task
 * @record: filled
 * @task_type: NPUPROF_SQE_*
 * @stream_id: stream
 * @task_id: task
 * @counters: events in the order of the record
 *
 * Context: Any context.
 */
void npc_record_soc_pmu(struct npuprof_rec_soc_pmu *record, __u16 task_type, __u16 stream_id,
			__u16 task_id, const __u64 counters[8]);

/**
 * npc_core_start() - begin sampling a core
 * @core: core
 * @used: counters in use, the first ones
 * @counter_bits: their width
 * @cycle_bits: width of the cycle counter
 * @reading: where they stand
 *
 * Context: Any context.
 */
void npc_core_start(struct npc_core *core, unsigned int used, unsigned int counter_bits,
		    unsigned int cycle_bits, const struct npc_core_reading *reading);

/**
 * npc_core_update() - take one reading, for a sample or because a counter overflowed
 * @core: core
 * @reading: what its registers said at one instant
 *
 * The caller clears the overflow flags it handed over.
 *
 * Context: Any context.
 */
void npc_core_update(struct npc_core *core, const struct npc_core_reading *reading);

/**
 * npc_record_core_sample() - build the record of what was counted since the last one
 * @record: filled
 * @core: counters, brought up to date by npc_core_update()
 * @slots: counters of the ring's events
 * @core_id: number in the record, matrix cores from 0, vector cores after them
 * @time_ns: device monotonic time of the last reading
 *
 * Context: Any context.
 */
void npc_record_core_sample(struct npuprof_rec_core_sample *record, struct npc_core *core,
			    const struct npc_slots *slots, __u8 core_id, __u64 time_ns);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_RECORD_H */
