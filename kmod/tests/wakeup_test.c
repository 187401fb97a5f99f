// SPDX-License-Identifier: GPL-2.0-only
/* When readers are woken, and which counter counts what. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/ring.h"
#include "core/schedule.h"
#include "core/wakeup.h"

#define SLOTS		256
#define WATERMARK	40
#define LATENCY_NS	1000
#define ROUNDS		20000

struct wakeup_test {
	struct npuprof_ring_ctrl ctrl;
	struct npuprof_ring_tail tail;
	struct npuprof_rec_task_log data[SLOTS];
	struct npc_wakeup wakeup;
	struct npc_ring ring;
	struct rnd_state random;
};

static struct wakeup_test *wakeup_test_new(struct kunit *test, bool overwrite)
{
	struct wakeup_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct npc_ring_setup setup = {};

	KUNIT_ASSERT_NOT_NULL(test, t);
	setup.ctrl = &t->ctrl;
	setup.tail = &t->tail;
	setup.data = t->data;
	setup.slots = SLOTS;
	setup.record_size = sizeof(t->data[0]);
	setup.overwrite = overwrite;
	npc_ring_init(&t->ring, &setup);
	npc_wakeup_init(&t->wakeup, WATERMARK, LATENCY_NS);
	prandom_seed_state(&t->random, 0x77616b65);
	return t;
}

static u32 below(struct wakeup_test *t, u32 limit)
{
	return prandom_u32_state(&t->random) % limit;
}

static void write_some(struct wakeup_test *t, unsigned int count)
{
	struct npuprof_rec_task_log record = {};

	while (count--)
		npc_ring_write(&t->ring, &record, 0);
	npc_ring_publish(&t->ring);
}

/*
 * Records come and are taken at random: a wakeup has a reason, and a reason has a wakeup.
 */
static void readers_are_woken_for_a_reason(struct kunit *test)
{
	struct wakeup_test *t = wakeup_test_new(test, false);
	u64 told = 0, since = NPC_TIME_NEVER, now = 0;
	unsigned int round, by_watermark = 0, by_latency = 0;

	for (round = 0; round < ROUNDS; round++) {
		bool due, expected;
		u64 fresh;

		write_some(t, below(t, 5));
		if (!below(t, 8))
			t->tail.tail += below(t, t->ring.head - t->tail.tail + 1);
		now += below(t, 100);
		if (t->tail.tail > told) {
			told = t->tail.tail;
			since = NPC_TIME_NEVER;
		}
		fresh = t->ring.head - told;
		if (!fresh)
			since = NPC_TIME_NEVER;
		else if (since == NPC_TIME_NEVER)
			since = now;
		expected = fresh >= WATERMARK || (fresh && now - since >= LATENCY_NS);
		due = npc_wakeup_due(&t->wakeup, &t->ring, now);
		KUNIT_ASSERT_EQ(test, due, expected);
		by_watermark += due && fresh >= WATERMARK;
		by_latency += due && fresh < WATERMARK;
		if (due) {
			told = t->ring.head;
			since = NPC_TIME_NEVER;
		}
		KUNIT_ASSERT_EQ(test, npc_wakeup_deadline(&t->wakeup),
				since == NPC_TIME_NEVER ? NPC_TIME_NEVER : since + LATENCY_NS);
	}
	KUNIT_EXPECT_GT(test, by_watermark, 10u);
	KUNIT_EXPECT_GT(test, by_latency, 10u);
}

/* Whatever its word says, a reader is woken, and at most once per watermark. */
static void no_word_of_the_reader_floods_or_silences(struct kunit *test)
{
	struct wakeup_test *t = wakeup_test_new(test, true);
	unsigned int round, wakeups = 0;

	/* No ring that overwrites wakes anybody. */
	for (round = 0; round < 2 * SLOTS; round++) {
		write_some(t, 1);
		KUNIT_ASSERT_FALSE(test, npc_wakeup_due(&t->wakeup, &t->ring, round * LATENCY_NS));
	}
	t = wakeup_test_new(test, false);
	t->tail.tail = 1ULL << 40;
	for (round = 0; round < SLOTS; round++) {
		write_some(t, 1);
		wakeups += npc_wakeup_due(&t->wakeup, &t->ring, 0);
	}
	KUNIT_EXPECT_GE(test, wakeups, 1u);
	KUNIT_EXPECT_LE(test, wakeups, (unsigned int)SLOTS / WATERMARK);
}

/* Lists of events at random: each event has one counter, and a list that does not fit none. */
static void lists_share_counters(struct kunit *test)
{
	unsigned int round, i, k, refused = 0, shared = 0;
	bool changed = false;
	struct wakeup_test *t = wakeup_test_new(test, false);

	for (round = 0; round < 500; round++) {
		unsigned int counters = 1 + below(t, NPUPROF_MAX_COUNTERS);
		struct npc_schedule schedule;
		unsigned int list;

		npc_schedule_init(&schedule, counters);
		for (list = 0; list < 6; list++) {
			struct npc_schedule before = schedule;
			__u16 events[NPUPROF_MAX_COUNTERS];
			struct npc_slots slots = {};
			unsigned int count = below(t, NPUPROF_MAX_COUNTERS + 1);

			/* All different, of twelve there are. */
			for (i = 0; i < count; i++)
				events[i] = 1 + (i * 5 + list * 7 + round) % 12;
			if (npc_schedule_add(&schedule, events, count, &slots)) {
				refused++;
				changed |= memcmp(&schedule, &before, sizeof(before));
				continue;
			}
			KUNIT_ASSERT_LE(test, (unsigned int)schedule.used, counters);
			KUNIT_ASSERT_EQ(test, (unsigned int)slots.count, count);
			for (i = 0; i < count; i++) {
				KUNIT_ASSERT_LT(test, slots.slot[i], schedule.used);
				KUNIT_ASSERT_EQ(test, schedule.events[slots.slot[i]], events[i]);
				shared += slots.slot[i] < before.used;
			}
		}
		for (i = 0; i < schedule.used; i++)
			for (k = 0; k < i; k++)
				KUNIT_ASSERT_NE(test, schedule.events[i], schedule.events[k]);
	}
	KUNIT_EXPECT_FALSE(test, changed);
	KUNIT_EXPECT_GT(test, refused, 100u);
	KUNIT_EXPECT_GT(test, shared, 100u);
}

static struct kunit_case wakeup_cases[] = {
	KUNIT_CASE(readers_are_woken_for_a_reason),
	KUNIT_CASE(no_word_of_the_reader_floods_or_silences),
	KUNIT_CASE(lists_share_counters),
	{}
};

static struct kunit_suite wakeup_suite = {
	.name = "npuprof_wakeup",
	.test_cases = wakeup_cases,
};

kunit_test_suites(&wakeup_suite);
