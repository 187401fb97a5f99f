// SPDX-License-Identifier: GPL-2.0-only
/* A device that writes by itself, the driver that follows it and gives credits, and a reader. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/credit.h"
#include "core/ring.h"

#define SLOTS	32
#define ROUNDS	20000

struct credit_test {
	struct npuprof_ring_ctrl ctrl;
	struct npuprof_ring_tail tail;
	struct npc_credit credit;
	struct npc_ring ring;
	struct rnd_state random;
};

static struct credit_test *credit_test_new(struct kunit *test, u32 slots, u32 step)
{
	struct credit_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct npc_ring_setup setup = {};

	KUNIT_ASSERT_NOT_NULL(test, t);
	/* Nobody but the device writes records, and there is none. */
	setup.ctrl = &t->ctrl;
	setup.tail = &t->tail;
	setup.slots = slots;
	setup.record_size = sizeof(struct npuprof_rec_task_log);
	npc_ring_init(&t->ring, &setup);
	npc_credit_init(&t->credit, &t->ring, step);
	prandom_seed_state(&t->random, 0x63726564);
	return t;
}

static u32 below(struct credit_test *t, u32 limit)
{
	return prandom_u32_state(&t->random) % limit;
}

static void rings_of_every_size_have_a_step(struct kunit *test)
{
	u32 slots;

	for (slots = NPUPROF_MIN_SLOTS; slots <= NPUPROF_MAX_SLOTS; slots *= 2) {
		struct credit_test *t = credit_test_new(test, slots, 0);

		KUNIT_EXPECT_EQ(test, t->credit.limit, (u64)slots);
		KUNIT_EXPECT_EQ(test, t->credit.step, slots / 8);
		KUNIT_EXPECT_FALSE(test, npc_credit_renew(&t->credit, &t->ring));
	}
}

/* Whatever the device writes within its credit is believed, and hits nothing unread. */
static void credits_hit_nothing_unread(struct kunit *test)
{
	struct credit_test *t = credit_test_new(test, SLOTS, 0);
	u64 dropped = 0, renewed = 0;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		u64 limit = t->credit.limit;
		u64 room = limit - t->ring.head;
		u64 wanted = below(t, 8);

		if (wanted > room)
			dropped += wanted - room;
		wanted = min(wanted, room);
		KUNIT_ASSERT_EQ(test, npc_ring_follow_device(&t->ring, t->ring.head + wanted), 0);
		if (below(t, 2))
			t->tail.tail += below(t, t->ring.head - t->tail.tail + 1);
		room = limit - t->ring.head;
		if (npc_credit_renew(&t->credit, &t->ring)) {
			renewed++;
			KUNIT_ASSERT_TRUE(test, !room || t->credit.limit - limit >= t->credit.step);
		} else {
			KUNIT_ASSERT_EQ(test, t->credit.limit, limit);
			/* What is held back would not be worth it, but for a device with none. */
			KUNIT_ASSERT_TRUE(test, room || t->tail.tail + SLOTS == limit);
			KUNIT_ASSERT_LT(test, t->tail.tail + SLOTS - limit, (u64)t->credit.step);
		}
		KUNIT_ASSERT_LE(test, t->credit.limit, t->tail.tail + SLOTS);
	}
	KUNIT_EXPECT_GT(test, dropped, 0ULL);
	KUNIT_EXPECT_GT(test, renewed, 100ULL);
	KUNIT_EXPECT_LT(test, renewed, (u64)ROUNDS);
}

/* A reader that writes anything at all: credits only grow, and never beyond one ring. */
static void no_word_of_the_reader_gives_more_than_a_ring(struct kunit *test)
{
	struct credit_test *t = credit_test_new(test, SLOTS, 1);
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		u64 limit = t->credit.limit;
		u64 head = t->ring.head;

		t->tail.tail = head + below(t, 5 * SLOTS) - 3 * SLOTS;
		if (!below(t, 4))
			t->tail.tail = (u64)prandom_u32_state(&t->random) << 32 |
				       prandom_u32_state(&t->random);
		npc_credit_renew(&t->credit, &t->ring);
		KUNIT_ASSERT_GE(test, t->credit.limit, limit);
		KUNIT_ASSERT_LE(test, t->credit.limit, head + SLOTS);
		if (limit == head)
			continue;
		/* A device within its credit is believed. */
		head += 1 + below(t, limit - head);
		KUNIT_ASSERT_EQ(test, npc_ring_follow_device(&t->ring, head), 0);
		KUNIT_ASSERT_EQ(test, t->ring.head, head);
	}
	KUNIT_EXPECT_GT(test, t->ring.head, (u64)SLOTS);
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(rings_of_every_size_have_a_step),
	KUNIT_CASE(credits_hit_nothing_unread),
	KUNIT_CASE(no_word_of_the_reader_gives_more_than_a_ring),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "npuprof_credit",
	.test_cases = credit_cases,
};

kunit_test_suites(&credit_suite);
