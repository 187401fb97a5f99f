/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Compile-time proof of every size and offset that npuprof.h and npuprof_records.h promise. Include
 * it once in each program that shares memory or files through them.
 */
#ifndef NPUPROF_LAYOUT_H
#define NPUPROF_LAYOUT_H

#include "npuprof.h"
#include "npuprof_records.h"

/*
 * Works from gnu90 through C++20: a negative array size is an error everywhere, and one name may be
 * declared as often as one likes as long as its type stays char[1].
 */
#define NPUPROF_PROVE(what)	extern char npuprof_layout_proof[(what) ? 1 : -1]
#define NPUPROF_AT(type, member, offset) \
	NPUPROF_PROVE(__builtin_offsetof(struct type, member) == (offset))
#define NPUPROF_SIZE(type, bytes) NPUPROF_PROVE(sizeof(struct type) == (bytes))

NPUPROF_SIZE(npuprof_ring_ctrl, 128);
NPUPROF_AT(npuprof_ring_ctrl, head, 0);
NPUPROF_AT(npuprof_ring_ctrl, lost_records, 8);
NPUPROF_AT(npuprof_ring_ctrl, record_size, 32);
NPUPROF_AT(npuprof_ring_ctrl, data_offset, 40);
NPUPROF_AT(npuprof_ring_ctrl, lost_by_cause, 64);
NPUPROF_SIZE(npuprof_ring_tail, 64);
NPUPROF_AT(npuprof_ring_tail, tail, 0);

NPUPROF_SIZE(npuprof_query, 160);
NPUPROF_AT(npuprof_query, clock_hz, 32);
NPUPROF_AT(npuprof_query, name, 96);
NPUPROF_SIZE(npuprof_add_ring, 128);
NPUPROF_AT(npuprof_add_ring, cube_events, 40);
NPUPROF_AT(npuprof_add_ring, ring, 80);
NPUPROF_AT(npuprof_add_ring, data_offset, 88);
NPUPROF_AT(npuprof_add_ring, owner_pid, 96);
NPUPROF_SIZE(npuprof_control, 56);
NPUPROF_AT(npuprof_control, straddling, 32);
NPUPROF_SIZE(npuprof_stats, 104);
NPUPROF_SIZE(npuprof_clock, 48);

NPUPROF_SIZE(npuprof_rec_task_log, 64);
NPUPROF_AT(npuprof_rec_task_log, clock, 8);
NPUPROF_AT(npuprof_rec_task_log, subtask_type, 16);
NPUPROF_AT(npuprof_rec_task_log, ffts_type, 20);
NPUPROF_SIZE(npuprof_rec_task_pmu, 128);
NPUPROF_AT(npuprof_rec_task_pmu, subtask_type, 16);
NPUPROF_AT(npuprof_rec_task_pmu, cycles, 32);
NPUPROF_AT(npuprof_rec_task_pmu, counters, 48);
NPUPROF_AT(npuprof_rec_task_pmu, start, 112);
NPUPROF_SIZE(npuprof_rec_block_pmu, 128);
NPUPROF_AT(npuprof_rec_block_pmu, core, 20);
NPUPROF_AT(npuprof_rec_block_pmu, subblock_id, 28);
NPUPROF_AT(npuprof_rec_block_pmu, block_id, 30);
NPUPROF_AT(npuprof_rec_block_pmu, counters, 48);
NPUPROF_SIZE(npuprof_rec_ts_track, 40);
NPUPROF_AT(npuprof_rec_ts_track, clock, 8);
NPUPROF_AT(npuprof_rec_ts_track, step.index_id, 16);
NPUPROF_AT(npuprof_rec_ts_track, step.stream_id, 32);
NPUPROF_AT(npuprof_rec_ts_track, flip.stream_id, 16);
NPUPROF_AT(npuprof_rec_ts_track, flip.task_id, 22);
NPUPROF_SIZE(npuprof_rec_core_sample, 96);
NPUPROF_AT(npuprof_rec_core_sample, counters, 8);
NPUPROF_AT(npuprof_rec_core_sample, cycles, 72);
NPUPROF_AT(npuprof_rec_core_sample, count, 88);
NPUPROF_SIZE(npuprof_rec_bandwidth, 32);
NPUPROF_SIZE(npuprof_rec_aicpu, 64);
NPUPROF_SIZE(npuprof_rec_soc_pmu, 80);
NPUPROF_AT(npuprof_rec_soc_pmu, stream_id, 10);
NPUPROF_AT(npuprof_rec_soc_pmu, data_type, 14);
NPUPROF_AT(npuprof_rec_soc_pmu, counters, 16);
NPUPROF_SIZE(npuprof_rec_event, 64);

#endif /* NPUPROF_LAYOUT_H */
