// SPDX-License-Identifier: GPL-2.0-only
/* The request ADD_RING: whose a channel or core is, what sampling it costs, its ring. */
#include <linux/pid.h>

#include "core/budget.h"
#include "core/schedule.h"
#include "session.h"

static bool npuprof_belongs_to_window(u32 channel)
{
	return channel == NPUPROF_CHANNEL_TASK_LOG || channel == NPUPROF_CHANNEL_TASK_PMU ||
	       channel == NPUPROF_CHANNEL_TS_TRACK || channel == NPUPROF_CHANNEL_AICPU ||
	       channel == NPUPROF_CHANNEL_SOC_PMU || channel == NPUPROF_CHANNEL_BLOCK_PMU;
}

static struct npuprof_session **npuprof_owner_of(struct npuprof_device *npu,
						 const struct npuprof_add_ring *add)
{
	unsigned int core = add->core;

	if (npuprof_belongs_to_window(add->channel))
		return &npu->window_owner;
	if (add->channel != NPUPROF_CHANNEL_CORE_SAMPLE)
		return &npu->channel_owner[add->channel];
	if (add->core_kind == NPUPROF_CORE_VECTOR)
		core += npu->caps.cube_cores;
	return &npu->core_owner[core];
}

/* What one session may not have twice. */
static int npuprof_check_own_rings(struct npuprof_session *session,
				   const struct npuprof_add_ring *add)
{
	struct npuprof_ring *ring;
	unsigned int i;

	lockdep_assert_held(&session->npu->mutex);
	for (i = 1; i < session->ring_count; i++) {
		ring = session->rings[i];
		const struct npuprof_add_ring *other = &ring->config;

		if (other->channel != add->channel)
			continue;
		if (other->core == add->core && other->core_kind == add->core_kind)
			return -EBUSY;
		if (add->channel == NPUPROF_CHANNEL_BLOCK_PMU && other->options != add->options)
			return -EINVAL;
	}
	return 0;
}

static void npuprof_unclaim(struct npuprof_session *session, const struct npuprof_add_ring *add)
{
	unsigned long flags;

	flags = npuprof_lock(session->npu);
	/* A session that was closed meanwhile has nothing, and somebody else perhaps this. */
	if (*npuprof_owner_of(session->npu, add) == session)
		*npuprof_owner_of(session->npu, add) = NULL;
	npuprof_unlock(session->npu, flags);
}

/* @claimed: it has to be given back if the request fails further on. */
static int npuprof_claim(struct npuprof_session *session, struct npuprof_add_ring *add,
			 bool *claimed)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_session **owner = npuprof_owner_of(npu, add);
	struct npuprof_session *other;
	unsigned long flags;
	bool counted;
	int err;

	flags = npuprof_lock(npu);
	other = *owner;
	counted = npuprof_perf_holds(npu, add);
	if (!other && !counted)
		*owner = session;
	npuprof_unlock(npu, flags);
	/* By perf, which is nobody's process. */
	if (counted)
		return -EBUSY;
	/* Sessions cannot go while the mutex is held. */
	if (other && other != session) {
		add->owner_pid = pid_vnr(other->owner);
		return -EBUSY;
	}
	*claimed = !other;
	err = npuprof_check_own_rings(session, add);
	if (err && *claimed)
		npuprof_unclaim(session, add);
	return err;
}

static int npuprof_schedule_sample(struct npuprof_session *session,
				   const struct npuprof_add_ring *add, struct npc_slots slots[2])
{
	struct npc_schedule own;

	/* A sampled core has counters of its own for this. */
	npc_schedule_init(&own, session->npu->caps.counters);
	if (add->core_kind == NPUPROF_CORE_VECTOR)
		return npc_schedule_add(&own, add->vector_events, add->vector_event_count,
					&slots[1]);
	return npc_schedule_add(&own, add->cube_events, add->cube_event_count, &slots[0]);
}

static int npuprof_schedule(struct npuprof_session *session, const struct npuprof_add_ring *add,
			    struct npc_schedule schedules[2], struct npc_slots slots[2])
{
	int err;

	lockdep_assert_held(&session->npu->mutex);
	if (add->channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		return npuprof_schedule_sample(session, add, slots);
	err = npc_schedule_add(&schedules[0], add->cube_events, add->cube_event_count, &slots[0]);
	if (!err)
		err = npc_schedule_add(&schedules[1], add->vector_events,
				       add->vector_event_count, &slots[1]);
	if (err)
		return err;
	/* A device that composes records puts counters in its own order. */
	if ((add->flags & NPUPROF_RING_DEVICE_PATH) &&
	    !(npc_slots_in_order(&slots[0]) && npc_slots_in_order(&slots[1])))
		return -EOPNOTSUPP;
	return 0;
}

/* Whether a sampled ring goes over registers, and what that costs. */
static int npuprof_admit(struct npuprof_session *session, struct npuprof_add_ring *add, u64 *load,
			 bool *prefers_device)
{
	const u32 register_path = NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_OVERWRITE;
	struct npuprof_device *npu = session->npu;
	u64 period_ns = add->period_ns;
	u64 before = npu->load;
	int err;

	lockdep_assert_held(&npu->mutex);
	*load = 0;
	*prefers_device = add->flags & NPUPROF_RING_DEVICE_PATH;
	if (!npc_channel_sampled(add->channel) || *prefers_device)
		return 0;
	err = npc_load_admit(&npu->load, npu->ops->sample_cost(npu, add), &period_ns);
	if (!err) {
		*load = npu->load - before;
		return 0;
	}
	if (!(add->flags & register_path) && (npu->caps.device_flags & NPUPROF_DEVICE_WRITTEN)) {
		*prefers_device = true;
		return 0;
	}
	add->period_ns = period_ns;
	return err;
}

/* Lets others at the device while pages are found, which takes the longer the more there are. */
static struct npuprof_ring *npuprof_create_unlocked(struct npuprof_session *session,
						    struct npuprof_add_ring *add,
						    const struct npc_slots slots[2])
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_ring *ring;
	int err = 0;

	lockdep_assert_held(&session->setup);
	mutex_unlock(&npu->mutex);
	ring = npuprof_ring_create(session, add, slots);
	mutex_lock(&npu->mutex);
	if (IS_ERR(ring))
		return ring;
	if (npu->gone)
		err = -ENODEV;
	else if (session->state != NPUPROF_SESSION_IDLE)
		err = -EBADF;
	if (!err)
		return ring;
	npuprof_ring_discard(ring);
	return ERR_PTR(err);
}

/**
 * npuprof_session_add_ring() - NPUPROF_IOC_ADD_RING
 * @session: session
 * @add: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_session.setup and npuprof_device.mutex are held,
 * the latter not all the time.
 * Return: 0 or an errno of the request.
 */
int npuprof_session_add_ring(struct npuprof_session *session, struct npuprof_add_ring *add)
{
	struct npuprof_device *npu = session->npu;
	struct npc_schedule schedules[2];
	struct npc_slots slots[2] = {};
	struct npuprof_ring *ring;
	bool claimed, prefers_device;
	u64 load;
	int err;

	lockdep_assert_held(&session->setup);
	lockdep_assert_held(&npu->mutex);
	if (npu->gone || READ_ONCE(npu->lost))
		return -ENODEV;
	add->owner_pid = 0;
	err = npc_check_add_ring(add, &npu->checks);
	if (err)
		return err;
	if (session->state != NPUPROF_SESSION_IDLE)
		return -EBUSY;
	err = npuprof_claim(session, add, &claimed);
	if (err)
		return err;
	memcpy(schedules, session->schedules, sizeof(schedules));
	err = npuprof_schedule(session, add, schedules, slots);
	if (err)
		goto unclaim;
	err = npuprof_admit(session, add, &load, &prefers_device);
	if (err)
		goto unclaim;
	/* Known to whoever closes the session meanwhile. */
	session->load += load;
	ring = npuprof_create_unlocked(session, add, slots);
	if (IS_ERR(ring)) {
		err = PTR_ERR(ring);
		goto unload;
	}
	ring->prefers_device = prefers_device;
	memcpy(session->schedules, schedules, sizeof(schedules));
	npuprof_ring_publish_new(ring);
	return 0;

unload:
	if (session->state != NPUPROF_SESSION_CLOSED) {
		npu->load -= load;
		session->load -= load;
	}
unclaim:
	if (claimed)
		npuprof_unclaim(session, add);
	return err;
}
