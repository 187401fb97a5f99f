// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/entry.h"

#include "npuprof.h"

/* First counter of PMU and block entries. */
#define COUNTERS_AT 5

/**
 * struct entry_type - what is fixed about each type of entry
 * @channel: where it belongs
 * @func: function type of its record, for the task log
 * @words: words in use
 */
struct entry_type {
	__u8 channel;
	__u8 func;
	__u8 words;
};

static const struct entry_type types[] = {
	[REFNPU_ENTRY_START] = {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_FUNC_TASK_START, 2},
	[REFNPU_ENTRY_END] = {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_FUNC_TASK_END, 2},
	[REFNPU_ENTRY_SUB_START] = {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_FUNC_SUBTASK_START, 3},
	[REFNPU_ENTRY_SUB_END] = {NPUPROF_CHANNEL_TASK_LOG, NPUPROF_FUNC_SUBTASK_END, 3},
	[REFNPU_ENTRY_PMU] = {NPUPROF_CHANNEL_TASK_PMU, 0, COUNTERS_AT + REFNPU_COUNTERS},
	[REFNPU_ENTRY_STEP] = {NPUPROF_CHANNEL_TS_TRACK, 0, 5},
	[REFNPU_ENTRY_FLIP] = {NPUPROF_CHANNEL_TS_TRACK, 0, 3},
	[REFNPU_ENTRY_AICPU] = {NPUPROF_CHANNEL_AICPU, 0, 5},
	[REFNPU_ENTRY_SOC] = {NPUPROF_CHANNEL_SOC_PMU, 0, 2 + REFNPU_COUNTERS},
	[REFNPU_ENTRY_BLOCK] = {NPUPROF_CHANNEL_BLOCK_PMU, 0, COUNTERS_AT + REFNPU_COUNTERS},
};

static const struct entry_type *find_type(__u64 word0)
{
	unsigned int type = REFNPU_W0_TYPE(word0);

	if (type >= npc_array_size(types) || !types[type].words)
		return NULL;
	return &types[type];
}

unsigned int npc_entry_words(__u64 word0)
{
	const struct entry_type *type = find_type(word0);

	return type ? type->words : 0;
}

__u64 npc_entry_clock(const __u64 *words)
{
	return REFNPU_W0_TYPE(words[0]) == REFNPU_ENTRY_AICPU ? words[3] : words[1];
}

static void log_record(struct npuprof_rec_task_log *record, const __u64 *words, __u8 func)
{
	bool sub = func == NPUPROF_FUNC_SUBTASK_START || func == NPUPROF_FUNC_SUBTASK_END;
	struct npc_task_mark mark = {
		.clock = words[1],
		.stream_id = REFNPU_W0_STREAM(words[0]),
		.task_id = REFNPU_W0_TASK(words[0]),
		.subtask_id = sub ? (__u16)words[2] : 0,
		.thread_id = sub ? (__u16)(words[2] >> 16) : 0,
		.func = func,
		.type = REFNPU_W0_SQE(words[0]),
		.subtask_type = REFNPU_W0_SUBTASK(words[0]),
		.ffts_type = REFNPU_W0_FFTS(words[0]),
	};

	npc_record_task_log(record, &mark);
}

static void read_counts(struct npc_counts *counts, const __u64 *words)
{
	memset(counts, 0, sizeof(*counts));
	counts->stream_id = REFNPU_W0_STREAM(words[0]);
	counts->task_id = REFNPU_W0_TASK(words[0]);
	counts->subtask_type = REFNPU_W0_SUBTASK(words[0]);
	counts->ffts_type = REFNPU_W0_FFTS(words[0]);
	counts->core_kind = REFNPU_W0_VECTOR(words[0]) ? NPUPROF_CORE_VECTOR : NPUPROF_CORE_CUBE;
	counts->start = words[1];
	counts->end = words[2];
	counts->cycles = words[3];
	counts->subtask_id = (__u16)words[4];
	memcpy(counts->counters, words + COUNTERS_AT, sizeof(counts->counters));
}

int npc_entry_record(void *record, __u32 channel, const __u64 *words,
		     const struct npc_entry_context *context)
{
	const struct entry_type *type = find_type(words[0]);
	const struct npc_slots *slots = &context->slots[REFNPU_W0_VECTOR(words[0])];
	__u16 stream = REFNPU_W0_STREAM(words[0]);
	__u16 task = REFNPU_W0_TASK(words[0]);
	struct npc_counts counts;

	if (!type || type->channel != channel)
		return -EINVAL;
	switch (REFNPU_W0_TYPE(words[0])) {
	case REFNPU_ENTRY_PMU:
		read_counts(&counts, words);
		npc_record_task_pmu(record, &counts, slots);
		break;
	case REFNPU_ENTRY_BLOCK:
		read_counts(&counts, words);
		counts.core = context->core;
		counts.block_id = (__u16)(words[4] >> 16);
		counts.subblock_id = (__u16)(words[4] >> 32);
		npc_record_block_pmu(record, &counts, slots);
		break;
	case REFNPU_ENTRY_STEP:
		npc_record_step(record, words[1], words[2], words[3], stream, task,
				(__u16)words[4]);
		break;
	case REFNPU_ENTRY_FLIP:
		npc_record_flip(record, words[1], stream, (__u16)words[2], task);
		break;
	case REFNPU_ENTRY_SOC:
		npc_record_soc_pmu(record, REFNPU_W0_SQE(words[0]), stream, task, words + 2);
		break;
	case REFNPU_ENTRY_AICPU:
		npc_record_aicpu(record, stream, task, words + 1);
		break;
	default:
		log_record(record, words, type->func);
		break;
	}
	return 0;
}

void npc_entry_put(struct npc_ring *ring, __u32 channel, const __u64 *words,
		   const struct npc_entry_context *context, __u64 clock)
{
	const struct entry_type *type = find_type(words[0]);
	void *slot;

	if (!type || type->channel != channel) {
		npc_ring_lose(ring, NPUPROF_LOSS_UNKNOWN, 1, clock, clock);
		return;
	}
	slot = npc_ring_reserve(ring, clock);
	if (slot && !npc_entry_record(slot, channel, words, context))
		npc_ring_commit(ring);
}
