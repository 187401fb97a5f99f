// SPDX-License-Identifier: GPL-2.0-only
/* Arithmetic of counters, their masks and their cost. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/budget.h"
#include "core/counter.h"
#include "core/schedule.h"

static void masks_of_every_width(struct kunit *test)
{
	unsigned int bits;

	for (bits = 1; bits <= 64; bits++) {
		KUNIT_EXPECT_EQ(test, npc_counter_mask(bits), GENMASK_ULL(bits - 1, 0));
		KUNIT_EXPECT_EQ(test, npc_counter_preset(bits), BIT_ULL(bits - 1));
	}
}

/* A counter that is read at random, as late as nearly two ranges after it was last read. */
static void counter_extends_any_width(struct kunit *test)
{
	static const u8 widths[] = { 8, 16, 31, 32, 48, 63 };
	struct rnd_state random;
	unsigned int w, round;

	prandom_seed_state(&random, 0x636f756e);
	for (w = 0; w < ARRAY_SIZE(widths); w++) {
		u64 mask = npc_counter_mask(widths[w]);
		u64 raw = npc_counter_preset(widths[w]);
		struct npc_counter counter;
		u64 total = 0;

		npc_counter_start(&counter, widths[w], raw);
		for (round = 0; round < 500; round++) {
			u64 step = (u64)prandom_u32_state(&random) << 32 |
				   prandom_u32_state(&random);
			bool overflowed;

			step &= mask >> 1 | (round & 1 ? mask : 0);
			overflowed = step > mask - raw;
			raw = (raw + step) & mask;
			total += step;
			KUNIT_ASSERT_EQ(test, npc_counter_update(&counter, raw, overflowed), step);
		}
		KUNIT_EXPECT_EQ(test, counter.total, total);
	}
}

static void no_events_use_no_counter(struct kunit *test)
{
	static const __u16 events[] = { 0x8, 0xa, 0x9 };
	struct npc_schedule schedule;
	struct npc_slots slots = {};

	npc_schedule_init(&schedule, 4);
	KUNIT_EXPECT_EQ(test, npc_schedule_add(&schedule, NULL, 0, &slots), 0);
	KUNIT_EXPECT_EQ(test, schedule.used, 0u);
	KUNIT_EXPECT_EQ(test, npc_schedule_add(&schedule, events, 3, &slots), 0);
	KUNIT_EXPECT_EQ(test, schedule.used, 3u);
	KUNIT_EXPECT_TRUE(test, npc_slots_in_order(&slots));
}

static void budget_is_never_exceeded(struct kunit *test)
{
	struct rnd_state random;
	unsigned int round;
	u64 used = 0;

	prandom_seed_state(&random, 0x62756467);
	for (round = 0; round < 2000; round++) {
		u64 cost = prandom_u32_state(&random);
		u64 period = 10000 + prandom_u32_state(&random);
		u64 before = used;

		if (!npc_load_admit(&used, cost, &period)) {
			KUNIT_ASSERT_LE(test, used, NPC_LOAD_MAX);
			/* Somebody leaves now and then. */
			if (round % 3 == 0)
				used = before;
			continue;
		}
		KUNIT_ASSERT_EQ(test, used, before);
		if (period)
			KUNIT_ASSERT_EQ(test, npc_load_admit(&used, cost, &period), 0);
		used = before;
	}
}

static struct kunit_case counter_cases[] = {
	KUNIT_CASE(masks_of_every_width),
	KUNIT_CASE(counter_extends_any_width),
	KUNIT_CASE(no_events_use_no_counter),
	KUNIT_CASE(budget_is_never_exceeded),
	{}
};

static struct kunit_suite counter_suite = {
	.name = "npuprof_counter",
	.test_cases = counter_cases,
};

kunit_test_suites(&counter_suite);
