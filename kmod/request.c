// SPDX-License-Identifier: GPL-2.0-only
/* Requests of a session: START, STOP, FREEZE, FLUSH, STATS, CLOCK. */
#include <linux/ktime.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include "session.h"
#include "trace.h"

/* While a reader waits in STOP, how long a lost interrupt stays unnoticed. */
#define NPUPROF_DRAIN_CHECK_NS (100 * NSEC_PER_MSEC)

/* Whether requests that need the device can be served now. */
static int npuprof_check_present(const struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->mutex);
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

/* --- START --- */

static int npuprof_unfreeze(struct npuprof_session *session, struct npuprof_control *control)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;
	unsigned int i;

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	control->clock = npu->ops->clock(session);
	control->monotonic_raw_ns = ktime_get_raw_ns();
	/* Without an answer the request is to be made again. */
	session->frozen = !control->clock;
	for (i = 0; i < session->ring_count && control->clock; i++)
		npc_ring_freeze(&session->rings[i]->producer, false);
	npuprof_unlock(npu, flags);
	return npuprof_verdict(session, control->clock);
}

/**
 * npuprof_session_start() - NPUPROF_IOC_START
 * @session: session
 * @control: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, the device has power.
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
	WRITE_ONCE(session->state, NPUPROF_SESSION_RUNNING);
	npuprof_set_ring_states(session, NPUPROF_RING_RUNNING);
	npuprof_unlock(npu, flags);

	err = npu->ops->open(session, control);
	/* Kept from answering, for a while: nothing was started. One that went ends what was. */
	if (!err && !control->clock && !READ_ONCE(npu->lost))
		err = -EAGAIN;
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
	WRITE_ONCE(session->state, NPUPROF_SESSION_IDLE);
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

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	WRITE_ONCE(session->state, NPUPROF_SESSION_STOPPING);
	WRITE_ONCE(session->drained, false);
	npuprof_unlock(npu, flags);

	memset(&session->stop, 0, sizeof(session->stop));
	npu->ops->close(session, &session->stop);
	session->stop_deadline = ktime_add_ns(ktime_get(), control->timeout_ns);
	err = npuprof_verdict(session, session->stop.clock);
	if (!err)
		return 0;
	/* Whoever takes leave of the device, or brings it back, finds the session running. */
	flags = npuprof_lock(npu);
	WRITE_ONCE(session->state, NPUPROF_SESSION_RUNNING);
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
							 READ_ONCE(session->paused) ||
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
	bool answers = false;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	npuprof_timers_stop(session);
	if (!session->paused) {
		npu->ops->task_counts(session);
		npu->ops->publish(session, true);
		npuprof_sampler_rest(session);
		flags = npuprof_lock(npu);
		answers = npu->ops->clock(session);
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
	/* Nobody will tell later that what was lost since it answered last has no count. */
	if (!answers)
		npuprof_end_epoch(session, NPUPROF_LOSS_RESET);
	npuprof_unlock(npu, flags);
	npuprof_close_gaps(session);

	flags = npuprof_lock(npu);
	WRITE_ONCE(session->state, NPUPROF_SESSION_STOPPED);
	npuprof_set_ring_states(session, NPUPROF_RING_STOPPED);
	npuprof_wake_reader(session);
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
}

/**
 * npuprof_session_stop() - NPUPROF_IOC_STOP
 * @session: session
 * @control: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, but not while tasks are
 * awaited; the device has power.
 * Return: 0, -ERESTARTSYS if a signal came, or an errno of the request.
 */
int npuprof_session_stop(struct npuprof_session *session, struct npuprof_control *control)
{
	u64 begin = ktime_get_ns();
	int err;

	lockdep_assert_held(&session->npu->mutex);
	err = npuprof_check_present(session);
	/* One that ended is not worth another try, whether the device comes back or not. */
	if (err == -EAGAIN && session->state == NPUPROF_SESSION_STOPPED)
		return -EINVAL;
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
	/* Ended meanwhile, with its process or because the device stays away. */
	if (session->state != NPUPROF_SESSION_STOPPING)
		return session->state == NPUPROF_SESSION_CLOSED ? -EBADF : -EINVAL;
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
	if (!freeze)
		npuprof_close_gaps(session);
	flags = npuprof_lock(npu);
	if (freeze)
		npuprof_freeze_rings(session);
	control->clock = npu->ops->clock(session);
	control->monotonic_raw_ns = ktime_get_raw_ns();
	npuprof_wake_reader(session);
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
	return npuprof_verdict(session, control->clock);
}

/**
 * npuprof_session_freeze() - NPUPROF_IOC_FREEZE
 * @session: session
 * @control: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, the device has power.
 * Return: 0 or an errno of the request.
 */
int npuprof_session_freeze(struct npuprof_session *session, struct npuprof_control *control)
{
	lockdep_assert_held(&session->npu->mutex);
	return npuprof_show(session, control, true);
}

/**
 * npuprof_session_flush() - NPUPROF_IOC_FLUSH
 * @session: session
 * @control: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, the device has power.
 * Return: 0 or an errno of the request.
 */
int npuprof_session_flush(struct npuprof_session *session, struct npuprof_control *control)
{
	lockdep_assert_held(&session->npu->mutex);
	return npuprof_show(session, control, false);
}

/* --- STATS, CLOCK --- */

/**
 * npuprof_session_stats() - NPUPROF_IOC_STATS
 * @session: session
 * @stats: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held; works without a device, too.
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
 * @session: session
 * @clock: request, completed on success
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, the device has power.
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
