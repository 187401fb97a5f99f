// SPDX-License-Identifier: GPL-2.0-only
/* Structures of callers of any age, and requests of any content. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/validate.h"

static const unsigned long numbers[] = {
	NPUPROF_IOC_QUERY, NPUPROF_IOC_ADD_RING, NPUPROF_IOC_START, NPUPROF_IOC_STOP,
	NPUPROF_IOC_FREEZE, NPUPROF_IOC_FLUSH, NPUPROF_IOC_STATS, NPUPROF_IOC_CLOCK,
};

/*
 * Sizes from nothing to beyond the limit, with and without something in the part unknown here.
 */
static void sizes_of_any_caller(struct kunit *test)
{
	u8 *from = kunit_kzalloc(test, NPC_SIZE_MAX + 1, GFP_KERNEL);
	u8 *to = kunit_kzalloc(test, 256, GFP_KERNEL);
	struct npc_request sizes;
	unsigned long number;
	unsigned int i;
	u32 size;

	KUNIT_ASSERT_NOT_NULL(test, from);
	KUNIT_ASSERT_NOT_NULL(test, to);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		KUNIT_ASSERT_EQ(test, npc_request_find(numbers[i], &number, &sizes), 0);
		KUNIT_ASSERT_EQ(test, number, numbers[i]);
		for (size = 0; size <= NPC_SIZE_MAX + 1; size += size < 256 ? 1 : 23) {
			int expected = 0;

			if (size < sizes.minimum)
				expected = -EINVAL;
			else if (size > NPC_SIZE_MAX)
				expected = -E2BIG;
			KUNIT_ASSERT_EQ(test, npc_copy_in(to, from, size, &sizes), expected);
			if (size <= sizes.known || size > NPC_SIZE_MAX)
				continue;
			from[size - 1] = 1;
			KUNIT_ASSERT_EQ(test, npc_copy_in(to, from, size, &sizes), -E2BIG);
			from[size - 1] = 0;
		}
	}
	KUNIT_EXPECT_EQ(test, npc_request_find(_IO(NPUPROF_IOC_MAGIC, 0xc0), &number, &sizes),
			-ENOTTY);
}

static bool any_event(const struct npc_device *device, enum npuprof_core_kind kind, __u16 event)
{
	return event;
}

/* Whatever passes the checks gets a place within the limits. */
static void random_rings_find_a_place_or_a_reason(struct kunit *test)
{
	struct npuprof_query caps = {
		.cube_cores = 24, .vector_cores = 48, .counters = 8,
		.channels = GENMASK_ULL(NPUPROF_CHANNEL_COUNT - 1, 1),
		.min_period_ns = 10000, .max_period_ns = 10000000000ULL,
		.device_flags = NPUPROF_DEVICE_OVERWRITE | NPUPROF_DEVICE_WRITTEN,
	};
	struct npc_device device = { .caps = &caps, .event_known = any_event };
	unsigned int accepted = 0, round;
	struct rnd_state random;

	prandom_seed_state(&random, 0x72696e67);
	for (round = 0; round < 20000; round++) {
		struct npuprof_add_ring add = {};
		u64 bytes;

		add.channel = prandom_u32_state(&random) % (NPUPROF_CHANNEL_COUNT + 2);
		add.flags = prandom_u32_state(&random) & prandom_u32_state(&random) & 0xf;
		add.slots = BIT(prandom_u32_state(&random) % 26);
		add.core = prandom_u32_state(&random) % 2 ? NPC_CORE_DEVICE :
							    prandom_u32_state(&random) % 64;
		add.core_kind = prandom_u32_state(&random) % 4;
		add.period_ns = prandom_u32_state(&random) % 2 ? 0 : prandom_u32_state(&random);
		add.watermark = prandom_u32_state(&random) % 64;
		add.options = prandom_u32_state(&random) % 3;
		if (npc_check_add_ring(&add, &device))
			continue;
		accepted++;
		KUNIT_ASSERT_LE(test, add.slots, NPUPROF_MAX_SLOTS);
		KUNIT_ASSERT_GE(test, add.slots, (u32)NPUPROF_MIN_SLOTS);
		if (npc_place_ring(&add, 1, PAGE_SIZE, BIT_ULL(30), PAGE_SIZE, &bytes))
			continue;
		KUNIT_ASSERT_LE(test, bytes, BIT_ULL(30));
		KUNIT_ASSERT_GE(test, bytes - add.data_offset, (u64)add.slots * add.record_size);
		KUNIT_ASSERT_GT(test, add.watermark, 0u);
	}
	KUNIT_EXPECT_GT(test, accepted, 20u);
}

static struct kunit_case request_cases[] = {
	KUNIT_CASE(sizes_of_any_caller),
	KUNIT_CASE(random_rings_find_a_place_or_a_reason),
	{}
};

static struct kunit_suite request_suite = {
	.name = "npuprof_request",
	.test_cases = request_cases,
};

kunit_test_suites(&request_suite);
