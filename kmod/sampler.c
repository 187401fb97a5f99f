// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sampling over registers. All rings of a session with one period form a group with one timer. A
 * round samples every ring once; it is cut into slots of NPUPROF_SLOT_NS, and after each the
 * timer leaves the CPU alone for NPUPROF_PAUSE_RATIO times as long, so that neither a wide group
 * nor a short period keeps it from anything else. Rounds that do not come to pass for that reason
 * are counted as throttled.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "compat.h"
#include "session.h"
#include "trace.h"

/* Counts rounds that could not take place. Their time is covered by the next sample. */
static void npuprof_skip_rounds(struct npuprof_group *group, u64 now)
{
	struct npuprof_session *session = group->session;
	struct npuprof_ring *ring;
	u64 skipped, clock;

	if (now < group->next_ns + group->period_ns)
		return;
	skipped = div64_u64(now - group->next_ns, group->period_ns);
	group->next_ns += skipped * group->period_ns;
	trace_npuprof_throttle(session, group->period_ns, skipped);
	clock = session->npu->ops->clock(session);
	list_for_each_entry(ring, &group->rings, group) {
		unsigned int records = ring->total_count ?: 1;

		npc_ring_lose(&ring->producer, NPUPROF_LOSS_THROTTLED, skipped * records, clock,
			      clock);
	}
}

/* Samples until the round is over or @until has come. Returns true when it is over. */
static bool npuprof_sample_some(struct npuprof_group *group, u64 until)
{
	const struct npuprof_pmu_ops *ops = group->session->npu->ops;
	struct npuprof_ring *ring = group->cursor;

	if (!ring) {
		ring = list_first_entry(&group->rings, struct npuprof_ring, group);
		group->latched = ops->latch(group);
		group->last_ns = ktime_get_ns();
	}
	list_for_each_entry_from(ring, &group->rings, group) {
		ops->sample(ring, group->latched);
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
	u64 begin, now, due;
	unsigned long flags;

	flags = npuprof_lock(npu);
	begin = ktime_get_ns();
	if (session->timers_on) {
		if (npuprof_sample_some(group, begin + NPUPROF_SLOT_NS)) {
			now = ktime_get_ns();
			group->next_ns += group->period_ns;
			npuprof_skip_rounds(group, now);
			due = max(group->next_ns, now + (now - begin) * NPUPROF_PAUSE_RATIO);
		} else {
			now = ktime_get_ns();
			due = now + (now - begin) * NPUPROF_PAUSE_RATIO;
		}
		hrtimer_start(timer, ns_to_ktime(due), HRTIMER_MODE_ABS_PINNED_HARD);
		npuprof_send_wakeup(session);
		atomic64_add(now - begin, &session->account.busy_ns);
	}
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/**
 * npuprof_sampler_add() - sample a ring over registers from npuprof_sampler_start() on
 * @ring: ring with a period; npuprof_device.mutex is held
 *
 * Return: 0 or -ENOMEM.
 */
int npuprof_sampler_add(struct npuprof_ring *ring)
{
	struct npuprof_session *session = ring->session;
	struct npuprof_group *group;

	list_for_each_entry(group, &session->groups, node)
		if (group->period_ns == ring->config.period_ns)
			goto found;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	group->session = session;
	group->period_ns = ring->config.period_ns;
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

/**
 * npuprof_sampler_start() - begin with the rounds
 * @session: armed session; npuprof_device.mutex is held
 */
void npuprof_sampler_start(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_group *group;
	unsigned long flags;

	flags = npuprof_lock(npu);
	list_for_each_entry(group, &session->groups, node) {
		group->last_ns = ktime_get_ns();
		group->next_ns = group->last_ns + group->period_ns;
		hrtimer_start(&group->timer, ns_to_ktime(group->next_ns),
			      HRTIMER_MODE_ABS_PINNED_HARD);
	}
	npuprof_unlock(npu, flags);
}

/**
 * npuprof_sampler_stop() - wait until no round is under way
 * @session: session with timers_on cleared; npuprof_device.mutex is held
 */
void npuprof_sampler_stop(struct npuprof_session *session)
{
	struct npuprof_group *group;

	list_for_each_entry(group, &session->groups, node)
		hrtimer_cancel(&group->timer);
}

/**
 * npuprof_sampler_rest() - a last round for what was counted since the one before
 * @session: session without running timers; npuprof_device.mutex is held
 */
void npuprof_sampler_rest(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_group *group;
	unsigned long flags;

	list_for_each_entry(group, &session->groups, node) {
		/* A round that was under way has left its first rings behind already. */
		unsigned int rounds = group->cursor ? 2 : 1;

		while (rounds) {
			flags = npuprof_lock(npu);
			if (npuprof_sample_some(group, ktime_get_ns() + NPUPROF_SLOT_NS))
				rounds--;
			npuprof_unlock(npu, flags);
			cond_resched();
		}
	}
}

/**
 * npuprof_sampler_free() - forget all groups
 * @session: session without running timers
 */
void npuprof_sampler_free(struct npuprof_session *session)
{
	struct npuprof_group *group, *next;
	struct npuprof_ring *ring, *after;

	list_for_each_entry_safe(group, next, &session->groups, node) {
		list_for_each_entry_safe(ring, after, &group->rings, group)
			list_del_init(&ring->group);
		list_del(&group->node);
		kfree(group);
	}
}
