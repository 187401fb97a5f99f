// SPDX-License-Identifier: GPL-2.0-only
/* Whatever a FIFO holds: an entry becomes a whole record of its channel, or counts as lost. */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/entry.h"

#define SLOTS	8
#define EVENTS	16
/* As long as the longest record. */
#define ROOM	256

/* Types that word 0 can hold. */
#define TYPES	64

struct entry_test {
	struct npuprof_ring_ctrl ctrl[2];
	struct npuprof_ring_tail tails[2];
	struct npuprof_rec_task_log data[SLOTS];
	struct npuprof_rec_event events_data[EVENTS];
	struct npc_ring events;
	struct npc_ring ring;
	struct npc_entry_context context;
	u64 words[REFNPU_FIFO_WORDS];
};

static struct entry_test *entry_test_new(struct kunit *test)
{
	struct entry_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct npc_ring_setup setup = {};
	unsigned int i;

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
	npc_ring_init(&t->ring, &setup);
	for (i = 0; i < 2; i++) {
		t->context.slots[i].count = 2;
		t->context.slots[i].slot[0] = REFNPU_COUNTERS - 1;
	}
	for (i = 1; i < REFNPU_FIFO_WORDS; i++)
		t->words[i] = 1000 + i;
	return t;
}

/*
 * Channels in which an entry with this first word finds a record; *written: bytes of it, which have
 * no hole.
 */
static unsigned int channels_of(struct kunit *test, struct entry_test *t, size_t *written)
{
	u8 *a = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	u8 *b = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	unsigned int channel, found = 0;
	size_t at, end;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	*written = 0;
	for (channel = 0; channel < 32; channel++) {
		int err;

		memset(a, 0xa5, ROOM);
		memset(b, 0x5a, ROOM);
		err = npc_entry_record(a, channel, t->words, &t->context);
		KUNIT_EXPECT_EQ(test, npc_entry_record(b, channel, t->words, &t->context), err);
		for (end = ROOM; end && a[end - 1] == 0xa5 && b[end - 1] == 0x5a; end--)
			;
		for (at = 0; at < end; at++)
			KUNIT_ASSERT_EQ_MSG(test, a[at], b[at], "type %u, channel %u, byte %zu",
					    REFNPU_W0_TYPE(t->words[0]), channel, at);
		KUNIT_EXPECT_EQ_MSG(test, err ? -EINVAL : 0, err, "channel %u", channel);
		KUNIT_EXPECT_EQ_MSG(test, !!end, !err, "type %u, channel %u: written or refused",
				    REFNPU_W0_TYPE(t->words[0]), channel);
		if (!err) {
			*written = end;
			found |= BIT(channel);
		}
	}
	return found;
}

static void each_type_has_one_channel_and_a_whole_record(struct kunit *test)
{
	static const struct {
		unsigned int type, words, channel;
		size_t size;
	} known[] = {
#define KNOWN(name, words, channel, record) \
	{ REFNPU_ENTRY_##name, words, NPUPROF_CHANNEL_##channel, \
	  sizeof(struct npuprof_rec_##record) }
		KNOWN(START, 2, TASK_LOG, task_log),
		KNOWN(END, 2, TASK_LOG, task_log),
		KNOWN(SUB_START, 3, TASK_LOG, task_log),
		KNOWN(SUB_END, 3, TASK_LOG, task_log),
		KNOWN(PMU, 5 + REFNPU_COUNTERS, TASK_PMU, task_pmu),
		KNOWN(BLOCK, 5 + REFNPU_COUNTERS, BLOCK_PMU, block_pmu),
		KNOWN(STEP, 5, TS_TRACK, ts_track),
		KNOWN(FLIP, 3, TS_TRACK, ts_track),
		KNOWN(AICPU, 5, AICPU, aicpu),
		KNOWN(SOC, 2 + REFNPU_COUNTERS, SOC_PMU, soc_pmu),
#undef KNOWN
	};
	struct entry_test *t = entry_test_new(test);
	unsigned int type, words, channels, i;
	size_t written;
	u64 clock;

	for (type = 0; type < TYPES; type++) {
		/* Every other bit of the word is the task's, and says nothing about the type. */
		t->words[0] = ~0x3fULL | type;
		for (i = 0; i < ARRAY_SIZE(known) && known[i].type != type; i++)
			;
		words = npc_entry_words(t->words[0]);
		channels = channels_of(test, t, &written);
		if (i == ARRAY_SIZE(known)) {
			KUNIT_EXPECT_EQ_MSG(test, words, 0, "type %u", type);
			KUNIT_EXPECT_EQ_MSG(test, channels, 0, "type %u", type);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, words, known[i].words, "type %u", type);
		KUNIT_EXPECT_EQ_MSG(test, channels, BIT(known[i].channel), "type %u", type);
		KUNIT_EXPECT_EQ_MSG(test, written, known[i].size, "type %u", type);
		clock = npc_entry_clock(t->words);
		KUNIT_EXPECT_EQ_MSG(test, clock, type == REFNPU_ENTRY_AICPU ? 1003 : 1001,
				    "type %u", type);
	}
}

static u64 lost(struct entry_test *t)
{
	u64 tail, sum = 0;

	npc_ring_publish(&t->ring);
	for (tail = t->tails[0].tail; tail < t->ctrl[0].head; tail++)
		if (t->events_data[tail % EVENTS].kind == NPUPROF_EVENT_GAP)
			sum += t->events_data[tail % EVENTS].count;
	t->tails[0].tail = tail;
	return sum;
}

static void any_entry_is_a_record_or_counted_as_lost(struct kunit *test)
{
	struct entry_test *t = entry_test_new(test);
	u64 put = 0, kept, missing = 0;
	struct rnd_state random;
	unsigned int i;

	prandom_seed_state(&random, 11);
	for (i = 0; i < 4000; i++) {
		t->words[0] = (u64)prandom_u32_state(&random) << 32 | prandom_u32_state(&random);
		/* As often as not of the right channel; else one in sixteen would be. */
		if (prandom_u32_state(&random) % 2)
			t->words[0] = (t->words[0] & ~0x3fULL) | REFNPU_ENTRY_END;
		npc_entry_put(&t->ring, NPUPROF_CHANNEL_TASK_LOG, t->words, &t->context, i);
		put++;
		npc_ring_publish(&t->ring);
		/* The reader comes every now and then, so both reasons to lose one are met. */
		if (prandom_u32_state(&random) % (2 * SLOTS) == 0) {
			WRITE_ONCE(t->tails[1].tail, t->ctrl[1].head);
			missing += lost(t);
		}
	}
	/* What is written after a loss ends its gap. */
	WRITE_ONCE(t->tails[1].tail, t->ctrl[1].head);
	t->words[0] = REFNPU_ENTRY_END;
	npc_entry_put(&t->ring, NPUPROF_CHANNEL_TASK_LOG, t->words, &t->context, i);
	put++;
	missing += lost(t);
	kept = t->ctrl[1].head;
	KUNIT_EXPECT_EQ(test, kept + missing, put);
	KUNIT_EXPECT_GT(test, kept, 500);
	KUNIT_EXPECT_GT(test, missing, 500);
}

static struct kunit_case entry_cases[] = {
	KUNIT_CASE(each_type_has_one_channel_and_a_whole_record),
	KUNIT_CASE(any_entry_is_a_record_or_counted_as_lost),
	{}
};

static struct kunit_suite entry_suite = {
	.name = "npuprof_entry",
	.test_cases = entry_cases,
};

kunit_test_suites(&entry_suite);
