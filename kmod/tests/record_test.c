// SPDX-License-Identifier: GPL-2.0-only
/* Records are filled to the last byte, samples add up, and what cannot be refused is stretched. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/budget.h"
#include "core/record.h"

#define COUNTER_BITS	32
#define CYCLE_BITS	48

static const struct npc_slots turned = { .slot = { 7, 6, 5, 4, 3, 2, 1, 0 }, .count = 8 };
static const struct npc_slots one = { .slot = { 3 }, .count = 1 };

static const struct npc_counts counts = {
	.counters = { 1, 2, 3, 4, 5, 6, 7, 8 }, .cycles = 9, .start = 10, .end = 11,
	.stream_id = 12, .task_id = 13, .subtask_id = 14, .block_id = 15, .subblock_id = 1,
	.subtask_type = NPUPROF_SUBTASK_MIX_AIV, .ffts_type = NPUPROF_FFTS_PLUS,
	.core_kind = NPUPROF_CORE_VECTOR, .core = 47,
};

static void build_task(void *record)
{
	static const struct npc_task_mark mark = {
		.clock = 1, .stream_id = 2, .task_id = 3, .func = NPUPROF_FUNC_TASK_END,
	};

	npc_record_task_log(record, &mark);
}

static void build_subtask(void *record)
{
	static const struct npc_task_mark mark = {
		.clock = 1, .stream_id = 2, .task_id = 3, .subtask_id = 4, .thread_id = 5,
		.func = NPUPROF_FUNC_SUBTASK_START, .ffts_type = NPUPROF_FFTS_PLUS,
	};

	npc_record_task_log(record, &mark);
}

static void build_task_pmu(void *record)
{
	npc_record_task_pmu(record, &counts, &turned);
}

static void build_task_pmu_of_one_event(void *record)
{
	npc_record_task_pmu(record, &counts, &one);
}

static void build_block_pmu(void *record)
{
	npc_record_block_pmu(record, &counts, &one);
}

static void build_step(void *record)
{
	npc_record_step(record, 1, 2, 3, 4, 5, 6);
}

static void build_flip(void *record)
{
	npc_record_flip(record, 1, 2, 3, 4);
}

static void build_bandwidth(void *record)
{
	npc_record_bandwidth(record, 1, 2, 3, 4);
}

static void build_aicpu(void *record)
{
	static const __u64 times[4] = { 1, 2, 3, 4 };

	npc_record_aicpu(record, 5, 6, times);
}

static void build_soc_pmu(void *record)
{
	npc_record_soc_pmu(record, 1, 2, 3, counts.counters);
}

static void build_core_sample(void *record)
{
	static const struct npc_core_reading reading = { .cycles = 1 };
	struct npc_core core;

	npc_core_start(&core, 4, COUNTER_BITS, CYCLE_BITS, &reading);
	npc_record_core_sample(record, &core, &one, 1, 2);
}

/* Ring memory goes to user space as it is: a byte that is not written tells of something else. */
static void records_are_written_to_the_last_byte(struct kunit *test)
{
	static const struct {
		const char *name;
		size_t size;
		void (*build)(void *record);
	} builders[] = {
		{ "task", sizeof(struct npuprof_rec_task_log), build_task },
		{ "subtask", sizeof(struct npuprof_rec_task_log), build_subtask },
		{ "task_pmu", sizeof(struct npuprof_rec_task_pmu), build_task_pmu },
		{ "task_pmu of one", sizeof(struct npuprof_rec_task_pmu),
		  build_task_pmu_of_one_event },
		{ "block_pmu", sizeof(struct npuprof_rec_block_pmu), build_block_pmu },
		{ "step", sizeof(struct npuprof_rec_ts_track), build_step },
		{ "flip", sizeof(struct npuprof_rec_ts_track), build_flip },
		{ "bandwidth", sizeof(struct npuprof_rec_bandwidth), build_bandwidth },
		{ "aicpu", sizeof(struct npuprof_rec_aicpu), build_aicpu },
		{ "soc_pmu", sizeof(struct npuprof_rec_soc_pmu), build_soc_pmu },
		{ "core_sample", sizeof(struct npuprof_rec_core_sample), build_core_sample },
	};
	unsigned int i;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(builders); i++) {
		u8 *a = kunit_kzalloc(test, builders[i].size + 1, GFP_KERNEL);
		u8 *b = kunit_kzalloc(test, builders[i].size + 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, a);
		KUNIT_ASSERT_NOT_NULL(test, b);
		memset(a, 0xa5, builders[i].size + 1);
		memset(b, 0x5a, builders[i].size + 1);
		builders[i].build(a);
		builders[i].build(b);
		for (at = 0; at < builders[i].size; at++)
			KUNIT_ASSERT_EQ_MSG(test, a[at], b[at], "%s, byte %zu",
					    builders[i].name, at);
		KUNIT_EXPECT_EQ_MSG(test, a[at], 0xa5, "%s, beyond its end", builders[i].name);
	}
}

/* How far a counter that stands at @raw gets; now and then more than all the way round. */
static u64 random_step(struct rnd_state *random, u64 mask, u64 raw)
{
	u64 step = (u64)prandom_u32_state(random) << 32 | prandom_u32_state(random);

	switch (prandom_u32_state(random) % 8) {
	case 0:
		return mask + 1 + (step & mask) % (mask - raw + 1);
	case 1:
		return step & mask;
	default:
		return step & (mask >> 8);
	}
}

/* Whenever a core is read and a record made of it, the records have all that was counted. */
static void samples_add_up(struct kunit *test)
{
	u64 counted[NPUPROF_MAX_COUNTERS] = {}, told[NPUPROF_MAX_COUNTERS] = {};
	u64 cycles = 0, told_cycles = 0;
	struct npc_core_reading reading = { .cycles = npc_counter_mask(CYCLE_BITS) - 5 };
	struct npuprof_rec_core_sample record;
	unsigned int round, i, records = 0;
	struct rnd_state random;
	struct npc_core core;

	prandom_seed_state(&random, 0x73616d70);
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		reading.counters[i] = npc_counter_preset(COUNTER_BITS) + i;
	npc_core_start(&core, NPUPROF_MAX_COUNTERS, COUNTER_BITS, CYCLE_BITS, &reading);
	for (round = 0; round < 3000 || records < 500; round++) {
		u64 step = random_step(&random, npc_counter_mask(CYCLE_BITS), reading.cycles);

		reading.overflowed = 0;
		cycles += step;
		if (reading.cycles + step > npc_counter_mask(CYCLE_BITS))
			reading.overflowed |= BIT(NPUPROF_MAX_COUNTERS);
		reading.cycles = (reading.cycles + step) & npc_counter_mask(CYCLE_BITS);
		for (i = 0; i < NPUPROF_MAX_COUNTERS; i++) {
			step = random_step(&random, npc_counter_mask(COUNTER_BITS),
					   reading.counters[i]);
			counted[i] += step;
			if (reading.counters[i] + step > npc_counter_mask(COUNTER_BITS))
				reading.overflowed |= BIT(i);
			reading.counters[i] =
				(reading.counters[i] + step) & npc_counter_mask(COUNTER_BITS);
		}
		npc_core_update(&core, &reading);
		if (prandom_u32_state(&random) % 3)
			continue;
		npc_record_core_sample(&record, &core, &turned, 0, round);
		records++;
		told_cycles += record.cycles;
		for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
			told[turned.slot[i]] += record.counters[i];
		KUNIT_ASSERT_EQ(test, told_cycles, cycles);
		for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
			KUNIT_ASSERT_EQ(test, told[i], counted[i]);
	}
}

/* The factor is large enough, and one less would not be. */
static void periods_are_stretched_until_they_fit(struct kunit *test)
{
	struct rnd_state random;
	unsigned int round;

	KUNIT_EXPECT_EQ(test, npc_load_stretch(NPC_LOAD_MAX, 1), ~0ULL);
	KUNIT_EXPECT_EQ(test, npc_load_stretch(NPC_LOAD_MAX, 0), 1ULL);
	KUNIT_EXPECT_EQ(test, npc_load_stretch(0, 2 * NPC_LOAD_MAX), 2ULL);
	prandom_seed_state(&random, 0x73747265);
	for (round = 0; round < 2000; round++) {
		u64 used = prandom_u32_state(&random) % NPC_LOAD_MAX;
		u64 asked = (u64)prandom_u32_state(&random) << (prandom_u32_state(&random) % 8);
		u64 left = NPC_LOAD_MAX - used;
		u64 factor = npc_load_stretch(used, asked);

		KUNIT_ASSERT_GE(test, factor, 1ULL);
		KUNIT_ASSERT_LE(test, asked, factor * left);
		if (factor > 1)
			KUNIT_ASSERT_GT(test, asked, (factor - 1) * left);
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(records_are_written_to_the_last_byte),
	KUNIT_CASE(samples_add_up),
	KUNIT_CASE(periods_are_stretched_until_they_fit),
	{}
};

static struct kunit_suite record_suite = {
	.name = "npuprof_record",
	.test_cases = record_cases,
};

kunit_test_suites(&record_suite);
