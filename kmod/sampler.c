// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sampling over registers. All rings of a session with one period form a group with one timer. A
 * round samples every ring once; it is cut into slots of NPUPROF_SLOT_NS, and after each the
 * timer leaves the CPU alone for NPUPROF_PAUSE_RATIO times as long, so that neither a wide group
 * nor a short period keeps it from anything else. Rounds that do not come to pass for that reason
 * are counted as throttled.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "compat.h"
#include "core/budget.h"
#include "session.h"
#include "trace.h"

/* Places that a group may begin at, of which the best is taken. */
#define NPUPROF_STAGGER_TRIES	8

/*
 * Counts samples that are left out before the round that begins now, because earlier rounds took
 * too long or the period was stretched. Their time is covered by the samples of this round.
 */
static void npuprof_skip_samples(struct npuprof_group *group, u64 now)
{
	struct npuprof_session *session = group->session;
	struct npuprof_ring *ring;
	u64 passed, clock;

	lockdep_assert_held(&session->npu->lock);
	if (now >= group->next_ns + group->period_ns)
		WRITE_ONCE(group->next_ns,
			   group->next_ns + div64_u64(now - group->next_ns, group->period_ns) *
						    group->period_ns);
	if (now < group->counted_ns + group->asked_ns)
		return;
	passed = div64_u64(now - group->counted_ns, group->asked_ns);
	group->counted_ns += passed * group->asked_ns;
	if (passed == 1)
		return;
	trace_npuprof_throttle(session, group->asked_ns, passed - 1);
	clock = session->npu->ops->clock(session);
	list_for_each_entry(ring, &group->rings, group) {
		unsigned int records = ring->total_count ?: 1;

		npc_ring_lose(&ring->producer, NPUPROF_LOSS_THROTTLED, (passed - 1) * records,
			      clock, clock);
	}
}

/* Samples until the round is over or @until has come. Returns true when it is over. */
static bool npuprof_sample_some(struct npuprof_group *group, u64 until)
{
	const struct npuprof_pmu_ops *ops = group->session->npu->ops;
	struct npuprof_ring *ring = group->cursor;

	lockdep_assert_held(&group->session->npu->lock);
	if (!ring) {
		ring = list_first_entry(&group->rings, struct npuprof_ring, group);
		group->last_ns = ktime_get_ns();
		npuprof_skip_samples(group, group->last_ns);
		group->latched = ops->latch(group);
	}
	list_for_each_entry_from(ring, &group->rings, group) {
		group->cursor = ring;
		if (!ops->sample(ring, group->latched, until))
			return false;
		npuprof_ring_touch(ring, group->last_ns);
		if (ktime_get_ns() < until || list_is_last(&ring->group, &group->rings))
			continue;
		group->cursor = list_next_entry(ring, group);
		return false;
	}
	group->cursor = NULL;
	return true;
}

static enum hrtimer_restart npuprof_sample_timer(struct hrtimer *timer)
{
	struct npuprof_group *group = container_of(timer, struct npuprof_group, timer);
	struct npuprof_session *session = group->session;
	struct npuprof_device *npu = session->npu;
	u64 begin = ktime_get_ns();
	u64 until, now, due = 0;
	unsigned long flags;

	flags = npuprof_lock(npu);
	if (session->timers_on) {
		until = npuprof_slot_end(npu, begin);
		/* Unless whoever had the lock before used the slot up. */
		if (ktime_get_ns() < until && npuprof_sample_some(group, until)) {
			due = group->next_ns + group->period_ns;
			WRITE_ONCE(group->next_ns, due);
		}
		npuprof_send_wakeup(session);
		now = ktime_get_ns();
		due = max(due, now + (now - begin) * NPUPROF_PAUSE_RATIO);
		hrtimer_start(timer, ns_to_ktime(due), HRTIMER_MODE_ABS_PINNED_HARD);
		npuprof_charge(npu, &session->account, now - begin);
	}
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/**
 * npuprof_sampler_add() - sample a ring over registers from npuprof_sampler_start() on
 * @ring: ring with a period
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 * Return: 0 or -ENOMEM.
 */
int npuprof_sampler_add(struct npuprof_ring *ring)
{
	struct npuprof_session *session = ring->session;
	u64 asked_ns = ring->config.period_ns;
	u64 period_ns = asked_ns * ring->stretch;
	struct npuprof_group *group;

	lockdep_assert_held(&session->npu->mutex);
	list_for_each_entry(group, &session->groups, node)
		if (group->period_ns == period_ns && group->asked_ns == asked_ns)
			goto found;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	group->session = session;
	group->period_ns = period_ns;
	group->asked_ns = asked_ns;
	INIT_LIST_HEAD(&group->rings);
	hrtimer_setup(&group->timer, npuprof_sample_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	list_add_tail(&group->node, &session->groups);
found:
	list_add_tail(&ring->group, &group->rings);
	group->ring_count++;
	group->core_count += ring->config.channel == NPUPROF_CHANNEL_CORE_SAMPLE;
	return 0;
}

static u64 npuprof_shortest_period(struct npuprof_session *session)
{
	struct npuprof_group *group;
	u64 shortest = NPC_TIME_NEVER;

	list_for_each_entry(group, &session->groups, node)
		shortest = min(shortest, group->period_ns);
	return shortest;
}

/* How near rounds that begin at @first_ns and every @period_ns come to those of @other. */
static u64 npuprof_distance(const struct npuprof_group *other, u64 first_ns, u64 period_ns)
{
	/* As a rule one period is a multiple of the other. */
	u64 period = min(other->period_ns, period_ns);
	u64 next_ns = READ_ONCE(other->next_ns);
	u64 apart;

	/* It was not started yet. */
	if (!next_ns)
		return NPC_TIME_NEVER;
	div64_u64_rem(max(first_ns, next_ns) - min(first_ns, next_ns), period, &apart);
	return min(apart, period - apart);
}

/* The same of all groups of all sessions. */
static u64 npuprof_nearest(const struct npuprof_device *npu, u64 first_ns, u64 period_ns)
{
	const struct npuprof_session *session;
	const struct npuprof_group *group;
	u64 nearest = NPC_TIME_NEVER;

	lockdep_assert_held(&npu->mutex);
	list_for_each_entry(session, &npu->sessions, node)
		list_for_each_entry(group, &session->groups, node)
			nearest = min(nearest, npuprof_distance(group, first_ns, period_ns));
	return nearest;
}

/*
 * When the first round of a group begins: one period after @now_ns, put off by some of the shortest
 * period of its session, so that groups, of whichever sessions, do not all want the CPU at the same
 * time. Multiples of the golden ratio fill an interval evenly; of some of them the one that keeps
 * farthest away from all others is taken.
 */
static u64 npuprof_stagger(struct npuprof_device *npu, const struct npuprof_group *group,
			   u64 now_ns, u64 shortest_ns)
{
	u64 first_ns, distance, best_ns = 0, farthest = 0;
	unsigned int i;

	lockdep_assert_held(&npu->mutex);
	for (i = 0; i < NPUPROF_STAGGER_TRIES; i++) {
		npu->stagger += 0x9e3779b9;
		first_ns = now_ns + group->period_ns +
			   mul_u64_u32_shr(shortest_ns, npu->stagger, 32);
		distance = npuprof_nearest(npu, first_ns, group->period_ns);
		if (best_ns && distance <= farthest)
			continue;
		best_ns = first_ns;
		farthest = distance;
	}
	return best_ns;
}

/* What a ring of a session that is about to go on would take over registers. */
static u64 npuprof_load_of(const struct npuprof_ring *ring)
{
	const struct npuprof_session *session = ring->session;
	struct npuprof_device *npu = session->npu;

	lockdep_assert_held(&npu->mutex);
	if (!session->paused || session->state != NPUPROF_SESSION_RUNNING)
		return 0;
	/* Others cost nothing by the clock, or were admitted when they were added. */
	if (!npc_channel_sampled(ring->config.channel) || !ring->device_path)
		return 0;
	return npc_load(npu->ops->sample_cost(npu, &ring->config),
			ring->config.period_ns * ring->stretch);
}

/**
 * npuprof_sampler_readmit() - find room for rings that the device wrote and cannot write any more
 * @npu: device with paused sessions
 *
 * They cannot be refused. If their samples over registers would take more than there is left for
 * sampling, all of them get longer periods, and what is left out counts as throttled.
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sampler_readmit(struct npuprof_device *npu)
{
	struct npuprof_session *session;
	u64 stretch, load, asked = 0;
	unsigned int i;

	lockdep_assert_held(&npu->mutex);
	list_for_each_entry(session, &npu->sessions, node)
		for (i = 1; i < session->ring_count; i++)
			asked += npuprof_load_of(session->rings[i]);
	stretch = npc_load_stretch(npu->load, asked);
	list_for_each_entry(session, &npu->sessions, node) {
		for (i = 1; i < session->ring_count; i++) {
			struct npuprof_ring *ring = session->rings[i];

			if (!npuprof_load_of(ring))
				continue;
			ring->stretch = clamp_t(u64, stretch, 1,
						max(1ULL, div64_u64(NPUPROF_PERIOD_MAX_NS,
								    ring->config.period_ns)));
			load = npuprof_load_of(ring);
			session->load += load;
			npu->load += load;
		}
	}
}

/**
 * npuprof_sampler_start() - begin with the rounds of all groups, but not at once
 * @session: armed session
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sampler_start(struct npuprof_session *session)
{
	u64 now, first, periods, shortest = npuprof_shortest_period(session);
	struct npuprof_device *npu = session->npu;
	struct npuprof_group *group;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	list_for_each_entry(group, &session->groups, node) {
		now = ktime_get_ns();
		first = npuprof_stagger(npu, group, now, shortest);
		group->last_ns = now;
		WRITE_ONCE(group->next_ns, first);
		/* The first sample is one of those asked for, and not late. */
		periods = max_t(u64, 1, div64_u64(first - now, group->asked_ns));
		group->counted_ns = first - periods * group->asked_ns;
	}
	/* All on one CPU. */
	flags = npuprof_lock(npu);
	list_for_each_entry(group, &session->groups, node)
		hrtimer_start(&group->timer, ns_to_ktime(group->next_ns),
			      HRTIMER_MODE_ABS_PINNED_HARD);
	npuprof_unlock(npu, flags);
}

/**
 * npuprof_sampler_stop() - wait until no round is under way
 * @session: session with timers_on cleared
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sampler_stop(struct npuprof_session *session)
{
	struct npuprof_group *group;

	lockdep_assert_held(&session->npu->mutex);
	list_for_each_entry(group, &session->groups, node)
		hrtimer_cancel(&group->timer);
}

/**
 * npuprof_sampler_rest() - a last round for what was counted since the one before
 * @session: session without running timers
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sampler_rest(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_group *group;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	list_for_each_entry(group, &session->groups, node) {
		/* A round that was under way has left its first rings behind already. */
		unsigned int rounds = group->cursor ? 2 : 1;

		while (rounds) {
			flags = npuprof_lock(npu);
			if (npuprof_sample_some(group, npuprof_slot_end(npu, ktime_get_ns())))
				rounds--;
			npuprof_unlock(npu, flags);
			cond_resched();
		}
	}
}

/**
 * npuprof_sampler_free() - forget all groups
 * @session: session without running timers
 *
 * Context: Process context. npuprof_device.mutex is held.
 */
void npuprof_sampler_free(struct npuprof_session *session)
{
	struct npuprof_group *group, *next;
	struct npuprof_ring *ring, *after;

	lockdep_assert_held(&session->npu->mutex);
	list_for_each_entry_safe(group, next, &session->groups, node) {
		list_for_each_entry_safe(ring, after, &group->rings, group)
			list_del_init(&ring->group);
		list_del(&group->node);
		kfree(group);
	}
}
