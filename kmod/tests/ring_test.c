// SPDX-License-Identifier: GPL-2.0-only
/* Ring producer: nothing is lost uncounted, whatever the reader writes into its word. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/credit.h"
#include "core/ring.h"

#define SLOTS	16
#define EVENTS	64

struct ring_test {
	struct npuprof_ring_ctrl ctrl[2];
	struct npuprof_ring_tail tails[2];
	struct npuprof_rec_task_log data[SLOTS];
	struct npuprof_rec_event events_data[EVENTS];
	struct npc_ring events;
	struct npc_ring ring;
	u64 gap_records;
};

static struct ring_test *ring_test_new(struct kunit *test, bool overwrite)
{
	struct ring_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct npc_ring_setup setup = {};

	KUNIT_ASSERT_NOT_NULL(test, t);
	setup.ctrl = &t->ctrl[0];
	setup.tail = &t->tails[0];
	setup.data = t->events_data;
	setup.slots = EVENTS;
	setup.record_size = sizeof(t->events_data[0]);
	npc_ring_init(&t->events, &setup);
	setup.ctrl = &t->ctrl[1];
	setup.tail = &t->tails[1];
	setup.data = t->data;
	setup.events = &t->events;
	setup.slots = SLOTS;
	setup.record_size = sizeof(t->data[0]);
	setup.index = 1;
	setup.overwrite = overwrite;
	npc_ring_init(&t->ring, &setup);
	return t;
}

static void ring_test_write(struct ring_test *t, u64 clock)
{
	struct npuprof_rec_task_log record = { .clock = clock };

	npc_ring_write(&t->ring, &record, clock);
	npc_ring_publish(&t->ring);
}

/* Reads the event ring and adds up what its gaps say. */
static void ring_test_read_gaps(struct ring_test *t)
{
	u64 tail = t->tails[0].tail;

	for (; tail < t->ctrl[0].head; tail++)
		if (t->events_data[tail % EVENTS].kind == NPUPROF_EVENT_GAP)
			t->gap_records += t->events_data[tail % EVENTS].count;
	t->tails[0].tail = tail;
}

static void ring_keeps_the_oldest(struct kunit *test)
{
	struct ring_test *t = ring_test_new(test, false);
	u64 i;

	for (i = 0; i < 3 * SLOTS; i++)
		ring_test_write(t, i);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].head, (u64)SLOTS);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].lost_records, (u64)2 * SLOTS);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].lost_bytes, 2 * SLOTS * sizeof(t->data[0]));
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, t->data[i].clock, i);
	KUNIT_EXPECT_TRUE(test, npc_ring_close_gaps(&t->ring));
	ring_test_read_gaps(t);
	KUNIT_EXPECT_EQ(test, t->gap_records, (u64)2 * SLOTS);
}

static void ring_keeps_the_newest(struct kunit *test)
{
	struct ring_test *t = ring_test_new(test, true);
	u64 i;

	for (i = 0; i < 3 * SLOTS; i++)
		ring_test_write(t, i);
	npc_ring_freeze(&t->ring, true);
	ring_test_write(t, i);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].head, (u64)3 * SLOTS);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].lost_records, 1ULL);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].state, (u32)NPUPROF_RING_FROZEN);
	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, t->data[i].clock, 2 * SLOTS + i);
}

/*
 * A reader that writes anything at all: head only grows, and everything offered is kept or counted.
 */
static void ring_survives_any_tail(struct kunit *test)
{
	struct ring_test *t = ring_test_new(test, false);
	struct rnd_state random;
	u64 offered, before = 0;

	prandom_seed_state(&random, 0x6e7075);
	for (offered = 0; offered < 20000; offered++) {
		u32 choice = prandom_u32_state(&random) % 8;

		if (choice == 0)
			t->tails[1].tail = (u64)prandom_u32_state(&random) << 32 |
					   prandom_u32_state(&random);
		else if (choice < 3)
			t->tails[1].tail = t->ctrl[1].head - choice;
		else if (choice == 3)
			t->tails[1].tail = t->ctrl[1].head;
		ring_test_write(t, offered);
		ring_test_read_gaps(t);
		KUNIT_ASSERT_GE(test, t->ctrl[1].head, before);
		before = t->ctrl[1].head;
	}
	npc_ring_close_gaps(&t->ring);
	ring_test_read_gaps(t);
	KUNIT_EXPECT_EQ(test, t->ctrl[1].head + t->ctrl[1].lost_records, offered);
	KUNIT_EXPECT_EQ(test, t->gap_records, t->ctrl[1].lost_records);
	KUNIT_EXPECT_GT(test, t->ctrl[1].lost_records, 0ULL);
}

/* What a device says of itself is believed as little: not back, not beyond the room there was. */
static void ring_refuses_impossible_heads(struct kunit *test)
{
	struct ring_test *t = ring_test_new(test, false);

	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, 5), 0);
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, 5 + SLOTS + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, SLOTS + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, ~0ULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, t->ring.head, 5ULL);
	t->tails[1].tail = 1;
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, SLOTS + 1), 0);
}

static void credit_follows_a_believable_tail(struct kunit *test)
{
	struct ring_test *t = ring_test_new(test, false);
	struct npc_credit credit;

	npc_credit_init(&credit, &t->ring, 4);
	KUNIT_EXPECT_EQ(test, credit.limit, (u64)SLOTS);
	KUNIT_EXPECT_EQ(test, npc_ring_follow_device(&t->ring, 8), 0);
	KUNIT_EXPECT_FALSE(test, npc_credit_renew(&credit, &t->ring));
	t->tails[1].tail = 3;
	KUNIT_EXPECT_FALSE(test, npc_credit_renew(&credit, &t->ring));
	t->tails[1].tail = 9; /* beyond the head */
	KUNIT_EXPECT_FALSE(test, npc_credit_renew(&credit, &t->ring));
	t->tails[1].tail = 4;
	KUNIT_EXPECT_TRUE(test, npc_credit_renew(&credit, &t->ring));
	KUNIT_EXPECT_EQ(test, credit.limit, (u64)SLOTS + 4);
	t->tails[1].tail = 0;
	KUNIT_EXPECT_FALSE(test, npc_credit_renew(&credit, &t->ring));
	KUNIT_EXPECT_EQ(test, credit.limit, (u64)SLOTS + 4);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_keeps_the_oldest),
	KUNIT_CASE(ring_keeps_the_newest),
	KUNIT_CASE(ring_survives_any_tail),
	KUNIT_CASE(ring_refuses_impossible_heads),
	KUNIT_CASE(credit_follows_a_believable_tail),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "npuprof_ring",
	.test_cases = ring_cases,
};

kunit_test_suites(&ring_suite);
