// SPDX-License-Identifier: GPL-2.0-only
/* Requests of a session: ADD_RING, START, STOP, FREEZE, FLUSH, STATS, CLOCK. */
#include <linux/ktime.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include "core/budget.h"
#include "session.h"
#include "trace.h"

/* While a reader waits in STOP, how long a lost interrupt stays unnoticed. */
#define NPUPROF_DRAIN_CHECK_NS (100 * NSEC_PER_MSEC)

static bool npuprof_belongs_to_window(u32 channel)
{
	return channel == NPUPROF_CHANNEL_TASK_LOG || channel == NPUPROF_CHANNEL_TASK_PMU ||
	       channel == NPUPROF_CHANNEL_TS_TRACK || channel == NPUPROF_CHANNEL_AICPU ||
	       channel == NPUPROF_CHANNEL_SOC_PMU || channel == NPUPROF_CHANNEL_BLOCK_PMU;
}

/* Whether requests that need the device can be served now. */
static int npuprof_check_present(const struct npuprof_session *session)
{
	if (session->npu->gone || READ_ONCE(session->npu->lost))
		return -ENODEV;
	return session->npu->paused ? -EAGAIN : 0;
}

/*
 * What a request that asked the device and got @clock for an answer returns: the device may have
 * gone meanwhile, or be kept from answering.
 */
static int npuprof_verdict(const struct npuprof_session *session, u64 clock)
{
	int err = npuprof_check_present(session);

	return err || clock ? err : -EAGAIN;
}

static void npuprof_charge_busy(struct npuprof_session *session, u64 begin_ns)
{
	atomic64_add(ktime_get_ns() - begin_ns, &session->account.busy_ns);
}

/* --- ADD_RING --- */

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
 * @session: session; its @setup and npuprof_device.mutex are held, the latter not all the time
 * @add: request, completed on success
 *
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

/* --- START --- */

static int npuprof_unfreeze(struct npuprof_session *session, struct npuprof_control *control)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	unsigned int i;

	flags = npuprof_lock(npu);
	for (i = 0; i < session->ring_count; i++)
		npc_ring_freeze(&session->rings[i]->producer, false);
	session->frozen = false;
	control->clock = npu->ops->clock(session);
	control->monotonic_raw_ns = ktime_get_raw_ns();
	npuprof_unlock(npu, flags);
	return npuprof_verdict(session, control->clock);
}

/**
 * npuprof_session_start() - NPUPROF_IOC_START
 * @session: session; npuprof_device.mutex is held, the device has power
 * @control: request, completed on success
 *
 * Return: 0 or an errno of the request.
 */
int npuprof_session_start(struct npuprof_session *session, struct npuprof_control *control)
{
	struct npuprof_device *npu = session->npu;
	u64 begin = ktime_get_ns();
	unsigned long flags;
	int err;

	lockdep_assert_held(&npu->mutex);
	err = npuprof_check_present(session);
	if (err)
		return err;
	if (session->state == NPUPROF_SESSION_RUNNING && session->frozen)
		return npuprof_unfreeze(session, control);
	if (session->state == NPUPROF_SESSION_STOPPED)
		return -EINVAL;
	if (session->state != NPUPROF_SESSION_IDLE)
		return -EBUSY;

	err = npu->ops->arm(session, false);
	if (err)
		goto disarm;
	/*
	 * The caller's reference lasts for the request, this one for as long as the device counts.
	 */
	pm_runtime_get_noresume(npu->dev.parent);
	session->powered = true;

	flags = npuprof_lock(npu);
	session->state = NPUPROF_SESSION_RUNNING;
	npuprof_set_ring_states(session, NPUPROF_RING_RUNNING);
	npuprof_unlock(npu, flags);

	err = npu->ops->open(session, control);
	if (err)
		goto idle;
	npuprof_timers_start(session);

	flags = npuprof_lock(npu);
	npuprof_emit_clock(session);
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
	npuprof_charge_busy(session, begin);
	trace_npuprof_start(session, control->clock, control->straddling);
	/* If it went meanwhile, the session ends as one that was running. */
	return npuprof_verdict(session, control->clock);

idle:
	flags = npuprof_lock(npu);
	session->state = NPUPROF_SESSION_IDLE;
	npuprof_set_ring_states(session, NPUPROF_RING_IDLE);
	npuprof_unlock(npu, flags);
	pm_runtime_put(npu->dev.parent);
	session->powered = false;
disarm:
	npu->ops->disarm(session);
	npuprof_sampler_free(session);
	/* A device that went says of itself that it refuses. */
	return npuprof_check_present(session) ?: err;
}

/* --- STOP --- */

static int npuprof_begin_stop(struct npuprof_session *session,
			      const struct npuprof_control *control)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	int err;

	flags = npuprof_lock(npu);
	session->state = NPUPROF_SESSION_STOPPING;
	session->drained = false;
	npuprof_unlock(npu, flags);

	memset(&session->stop, 0, sizeof(session->stop));
	npu->ops->close(session, &session->stop);
	session->stop_deadline = ktime_add_ns(ktime_get(), control->timeout_ns);
	err = npuprof_verdict(session, session->stop.clock);
	if (!err)
		return 0;
	/* Whoever takes leave of the device, or brings it back, finds the session running. */
	flags = npuprof_lock(npu);
	session->state = NPUPROF_SESSION_RUNNING;
	npuprof_unlock(npu, flags);
	return err;
}

/*
 * Waits for the tasks of the window without the mutex. A signal ends the call, not the STOP: the
 * next one goes on with the deadline of the first.
 */
static int npuprof_await_tasks(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	int err = 0;

	lockdep_assert_held(&npu->mutex);
	session->stop_waiter = true;
	while (!npu->gone && !session->paused && session->state == NPUPROF_SESSION_STOPPING) {
		s64 left = ktime_to_ns(ktime_sub(session->stop_deadline, ktime_get()));
		long woken;

		if (left <= 0 || npu->ops->drained(session))
			break;
		left = min_t(s64, left, NPUPROF_DRAIN_CHECK_NS);
		mutex_unlock(&npu->mutex);
		woken = wait_event_interruptible_timeout(session->wait,
							 READ_ONCE(session->drained) ||
							 READ_ONCE(npu->gone) ||
							 READ_ONCE(session->state) !=
								 NPUPROF_SESSION_STOPPING,
							 nsecs_to_jiffies(left) + 1);
		mutex_lock(&npu->mutex);
		if (woken < 0) {
			err = woken;
			break;
		}
		/* Told once; if tasks still run after all, it was of an earlier window. */
		WRITE_ONCE(session->drained, false);
	}
	session->stop_waiter = false;
	return err;
}

static void npuprof_finish_stop(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;

	npuprof_timers_stop(session);
	if (!session->paused) {
		npu->ops->task_counts(session);
		npu->ops->publish(session, true);
		npuprof_sampler_rest(session);
		flags = npuprof_lock(npu);
		npuprof_emit_clock(session);
		npuprof_unlock(npu, flags);
		npu->ops->disarm(session);
	}
	npuprof_sampler_free(session);
	if (session->powered)
		pm_runtime_put(npu->dev.parent);
	session->powered = false;

	flags = npuprof_lock(npu);
	session->clock_event_ns = NPC_TIME_NEVER;
	npuprof_close_gaps(session);
	session->state = NPUPROF_SESSION_STOPPED;
	npuprof_set_ring_states(session, NPUPROF_RING_STOPPED);
	npuprof_wake_reader(session);
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
}

/**
 * npuprof_session_stop() - NPUPROF_IOC_STOP
 * @session: session; npuprof_device.mutex is held, but not while tasks are awaited
 * @control: request, completed on success
 *
 * Return: 0, -ERESTARTSYS if a signal came, or an errno of the request.
 */
int npuprof_session_stop(struct npuprof_session *session, struct npuprof_control *control)
{
	u64 begin = ktime_get_ns();
	int err;

	lockdep_assert_held(&session->npu->mutex);
	err = npuprof_check_present(session);
	if (err)
		return err;
	if (session->stop_waiter)
		return -EBUSY;
	if (session->state == NPUPROF_SESSION_RUNNING) {
		err = npuprof_begin_stop(session, control);
		if (err)
			return err;
	}
	if (session->state != NPUPROF_SESSION_STOPPING)
		return -EINVAL;
	if (control->flags & NPUPROF_STOP_WAIT) {
		err = npuprof_await_tasks(session);
		if (err)
			return err;
	}
	if (session->npu->gone || READ_ONCE(session->npu->lost))
		return -ENODEV;
	if (session->state != NPUPROF_SESSION_STOPPING)
		return -EBADF;
	begin = ktime_get_ns();
	npuprof_finish_stop(session);
	control->clock = session->stop.clock;
	control->monotonic_raw_ns = session->stop.monotonic_raw_ns;
	control->straddling = session->straddling;
	npuprof_charge_busy(session, begin);
	trace_npuprof_stop(session, control->clock, control->straddling);
	/* What it still had is lost if it went before that was read. */
	return READ_ONCE(session->npu->lost) ? -ENODEV : 0;
}

/* --- FREEZE, FLUSH --- */

static bool npuprof_any_overwrite(const struct npuprof_session *session)
{
	unsigned int i;

	for (i = 0; i < session->ring_count; i++)
		if (session->rings[i]->producer.overwrite)
			return true;
	return false;
}

static void npuprof_freeze_rings(struct npuprof_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->npu->lock);
	for (i = 0; i < session->ring_count && !session->frozen; i++)
		npc_ring_freeze(&session->rings[i]->producer, true);
	session->frozen = true;
}

/* Shows the reader all that waits anywhere. */
static int npuprof_show(struct npuprof_session *session, struct npuprof_control *control,
			bool freeze)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	int err;

	lockdep_assert_held(&npu->mutex);
	err = npuprof_check_present(session);
	if (err)
		return err;
	if (session->state == NPUPROF_SESSION_STOPPING)
		return -EBUSY;
	if (session->state != NPUPROF_SESSION_RUNNING)
		return -EINVAL;
	if (freeze && !npuprof_any_overwrite(session))
		return -EINVAL;
	if (!freeze || !session->frozen)
		npu->ops->publish(session, false);
	flags = npuprof_lock(npu);
	if (freeze)
		npuprof_freeze_rings(session);
	else
		npuprof_close_gaps(session);
	control->clock = npu->ops->clock(session);
	control->monotonic_raw_ns = ktime_get_raw_ns();
	npuprof_wake_reader(session);
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
	return npuprof_verdict(session, control->clock);
}

/**
 * npuprof_session_freeze() - NPUPROF_IOC_FREEZE
 * @session: session; npuprof_device.mutex is held, the device has power
 * @control: request, completed on success
 *
 * Return: 0 or an errno of the request.
 */
int npuprof_session_freeze(struct npuprof_session *session, struct npuprof_control *control)
{
	return npuprof_show(session, control, true);
}

/**
 * npuprof_session_flush() - NPUPROF_IOC_FLUSH
 * @session: session; npuprof_device.mutex is held, the device has power
 * @control: request, completed on success
 *
 * Return: 0 or an errno of the request.
 */
int npuprof_session_flush(struct npuprof_session *session, struct npuprof_control *control)
{
	return npuprof_show(session, control, false);
}

/* --- STATS, CLOCK --- */

/**
 * npuprof_session_stats() - NPUPROF_IOC_STATS
 * @session: session; npuprof_device.mutex is held; also without a device
 * @stats: request, completed on success
 *
 * Return: 0 or -EINVAL.
 */
int npuprof_session_stats(struct npuprof_session *session, struct npuprof_stats *stats)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	unsigned int i;
	int err;

	lockdep_assert_held(&npu->mutex);
	err = npc_check_stats(stats);
	if (err)
		return err;
	if (npuprof_session_active(session) && !session->paused && !npu->gone)
		npu->ops->task_counts(session);
	stats->interrupts = atomic64_read(&session->account.interrupts);
	stats->register_reads = atomic64_read(&session->account.reads);
	stats->register_writes = atomic64_read(&session->account.writes);
	stats->busy_ns = atomic64_read(&session->account.busy_ns);
	stats->records = 0;
	stats->lost_records = 0;
	flags = npuprof_lock(npu);
	for (i = 0; i < session->ring_count; i++) {
		stats->records += session->rings[i]->producer.head;
		stats->lost_records += session->rings[i]->producer.lost;
	}
	npuprof_unlock(npu, flags);
	stats->tasks_started = session->tasks_started;
	stats->tasks_ended = session->tasks_ended;
	return 0;
}

/**
 * npuprof_session_clock() - NPUPROF_IOC_CLOCK
 * @session: session; npuprof_device.mutex is held, the device has power
 * @clock: request, completed on success
 *
 * Return: 0 or an errno of the request.
 */
int npuprof_session_clock(struct npuprof_session *session, struct npuprof_clock *clock)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	int err;

	lockdep_assert_held(&npu->mutex);
	err = npc_check_clock(clock);
	if (!err)
		err = npuprof_check_present(session);
	if (err)
		return err;
	flags = npuprof_lock(npu);
	npuprof_read_bracket(session, clock);
	npuprof_unlock(npu, flags);
	return npuprof_verdict(session, clock->device_clock);
}
