// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/record.h"

#define BLOCK_FFTS_SHIFT 5 /* position of the FFTS type in npuprof_rec_block_pmu.ffts_type */

static bool is_subtask(__u8 func)
{
	return func == NPUPROF_FUNC_SUBTASK_START || func == NPUPROF_FUNC_SUBTASK_END;
}

void npc_record_task_log(struct npuprof_rec_task_log *record, const struct npc_task_mark *mark)
{
	memset(record, 0, sizeof(*record));
	record->head = NPUPROF_HEAD(mark->func, mark->type);
	record->magic = NPUPROF_STARS_MAGIC;
	record->stream_id = mark->stream_id;
	record->task_id = mark->task_id;
	record->clock = mark->clock;
	if (is_subtask(mark->func)) {
		record->subtask_type = mark->subtask_type;
		record->subtask_id = mark->subtask_id;
		record->ffts_type = (__u16)(mark->ffts_type << NPUPROF_FFTS_SHIFT);
		record->thread_id = mark->thread_id;
	}
}

static void pick_counters(__u64 *to, const __u64 *from, const struct npc_slots *slots)
{
	unsigned int i;

	for (i = 0; i < slots->count; i++)
		to[i] = from[slots->slot[i]];
}

void npc_record_task_pmu(struct npuprof_rec_task_pmu *record, const struct npc_counts *counts,
			 const struct npc_slots *slots)
{
	memset(record, 0, sizeof(*record));
	record->head = NPUPROF_HEAD(NPUPROF_FUNC_TASK_PMU, 0);
	record->magic = NPUPROF_STARS_MAGIC;
	record->stream_id = counts->stream_id;
	record->task_id = counts->task_id;
	record->subtask_type = counts->subtask_type;
	record->subtask_id = counts->subtask_id;
	record->ffts_type = (__u16)(counts->ffts_type << NPUPROF_FFTS_SHIFT);
	record->cycles = counts->cycles;
	pick_counters(record->counters, counts->counters, slots);
	record->start = counts->start;
	record->end = counts->end;
}

void npc_record_block_pmu(struct npuprof_rec_block_pmu *record, const struct npc_counts *counts,
			  const struct npc_slots *slots)
{
	memset(record, 0, sizeof(*record));
	record->head = NPUPROF_HEAD(NPUPROF_FUNC_BLOCK_PMU, 0);
	record->magic = NPUPROF_STARS_MAGIC;
	record->stream_id = counts->stream_id;
	record->task_id = counts->task_id;
	record->subtask_type = counts->subtask_type;
	record->subtask_id = counts->subtask_id;
	record->core = (__u8)(counts->core << 1 | (counts->core_kind == NPUPROF_CORE_VECTOR));
	record->ffts_type = (__u8)(counts->ffts_type << BLOCK_FFTS_SHIFT);
	record->subblock_id = counts->subblock_id;
	record->block_id = counts->block_id;
	record->cycles = counts->cycles;
	pick_counters(record->counters, counts->counters, slots);
	record->start = counts->start;
	record->end = counts->end;
}

static void ts_track_head(struct npuprof_rec_ts_track *record, __u8 tag, __u64 clock)
{
	memset(record, 0, sizeof(*record));
	record->tag = tag;
	record->length = sizeof(*record);
	record->clock = clock;
}

void npc_record_step(struct npuprof_rec_ts_track *record, __u64 clock, __u64 index_id,
		     __u64 model_id, __u16 stream_id, __u16 task_id, __u16 tag_id)
{
	ts_track_head(record, NPUPROF_TS_STEP, clock);
	record->step.index_id = index_id;
	record->step.model_id = model_id;
	record->step.stream_id = stream_id;
	record->step.task_id = task_id;
	record->step.tag_id = tag_id;
}

void npc_record_flip(struct npuprof_rec_ts_track *record, __u64 clock, __u16 stream_id,
		     __u16 flip_count, __u16 task_id)
{
	ts_track_head(record, NPUPROF_TS_FLIP, clock);
	record->flip.stream_id = stream_id;
	record->flip.flip_count = flip_count;
	record->flip.task_id = task_id;
}

void npc_record_bandwidth(struct npuprof_rec_bandwidth *record, __u64 clock, __u32 unit,
			  __u32 event, __u64 value)
{
	memset(record, 0, sizeof(*record));
	record->clock = clock;
	record->value = value;
	record->event = event;
	record->unit = unit;
}

void npc_record_aicpu(struct npuprof_rec_aicpu *record, __u16 stream_id, __u16 task_id,
		      const __u64 times[4])
{
	memset(record, 0, sizeof(*record));
	record->stream_id = stream_id;
	record->task_id = task_id;
	record->submitted = times[0];
	record->scheduled = times[1];
	record->start = times[2];
	record->end = times[3];
}

void npc_record_soc_pmu(struct npuprof_rec_soc_pmu *record, __u16 task_type, __u16 stream_id,
			__u16 task_id, const __u64 counters[8])
{
	memset(record, 0, sizeof(*record));
	record->task_type = task_type;
	record->stream_id = stream_id;
	record->task_id = task_id;
	record->data_type = NPUPROF_SOC_L2;
	memcpy(record->counters, counters, sizeof(record->counters));
}

void npc_core_start(struct npc_core *core, unsigned int used, unsigned int counter_bits,
		    unsigned int cycle_bits, const struct npc_core_reading *reading)
{
	unsigned int i;

	memset(core, 0, sizeof(*core));
	if (used > NPUPROF_MAX_COUNTERS)
		used = NPUPROF_MAX_COUNTERS;
	core->used = used;
	for (i = 0; i < used; i++)
		npc_counter_start(&core->counters[i], counter_bits, reading->counters[i]);
	npc_counter_start(&core->cycles, cycle_bits, reading->cycles);
}

void npc_core_update(struct npc_core *core, const struct npc_core_reading *reading)
{
	unsigned int i;

	for (i = 0; i < core->used; i++)
		npc_counter_update(&core->counters[i], reading->counters[i],
				   reading->overflowed & (1u << i));
	npc_counter_update(&core->cycles, reading->cycles,
			   reading->overflowed & (1u << NPUPROF_MAX_COUNTERS));
}

void npc_record_core_sample(struct npuprof_rec_core_sample *record, struct npc_core *core,
			    const struct npc_slots *slots, __u8 core_id, __u64 time_ns)
{
	unsigned int i, slot;

	memset(record, 0, sizeof(*record));
	record->mode = 1;
	for (i = 0; i < slots->count; i++) {
		slot = slots->slot[i];
		record->counters[i] = core->counters[slot].total - core->told[slot];
		core->told[slot] = core->counters[slot].total;
	}
	record->cycles = core->cycles.total - core->told_cycles;
	core->told_cycles = core->cycles.total;
	record->time_ns = time_ns;
	record->count = slots->count;
	record->core_id = core_id;
}
