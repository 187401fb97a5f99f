// SPDX-License-Identifier: GPL-2.0-only
/* What ends or interrupts sessions from outside: closing, removal, suspend, reset. */
#include <linux/ktime.h>
#include <linux/pm_runtime.h>

#include "session.h"
#include "trace.h"

static void npuprof_forget_claims(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	unsigned int i;

	lockdep_assert_held(&npu->lock);
	if (npu->window_owner == session)
		npu->window_owner = NULL;
	for (i = 0; i < NPUPROF_CHANNEL_COUNT; i++)
		if (npu->channel_owner[i] == session)
			npu->channel_owner[i] = NULL;
	for (i = 0; i < npuprof_cores(npu); i++)
		if (npu->core_owner[i] == session)
			npu->core_owner[i] = NULL;
}

static void npuprof_drop_power(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->mutex);
	if (session->powered)
		pm_runtime_put(session->npu->dev.parent);
	session->powered = false;
}

/* The last records of a session whose device is still there, or what is known of them. */
static void npuprof_settle(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;

	lockdep_assert_held(&npu->mutex);
	npu->ops->publish(session, true);
	npu->ops->task_counts(session);
}

static void npuprof_cut(struct npuprof_session *session, enum npuprof_loss_cause cause)
{
	lockdep_assert_held(&session->npu->mutex);
	if (session->npu->ops->cut)
		session->npu->ops->cut(session, cause);
}

/* Ends the window of a running session. While the device is away there is none. */
static void npuprof_shut(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->mutex);
	if (session->paused)
		session->stop.clock = session->last_clock;
	else
		session->npu->ops->close(session, &session->stop);
}

/* Nothing comes any more and gaps are closed: states are final, whoever waits is told. */
static void npuprof_finish(struct npuprof_session *session, enum npuprof_session_state state,
			   u32 ring_state)
{
	lockdep_assert_held(&session->npu->lock);
	WRITE_ONCE(session->state, state);
	session->clock_event_ns = NPC_TIME_NEVER;
	session->latency_ns = NPC_TIME_NEVER;
	npuprof_set_ring_states(session, ring_state);
	npuprof_wake_reader(session);
	npuprof_send_wakeup(session);
}

/**
 * npuprof_session_release() - give back all hardware; the process that opened the file is done
 * with it
 * @session: session; its rings stay, and whoever still holds the file can look at them
 *
 * Context: Process context, may sleep. npuprof_device.mutex must not be held.
 */
void npuprof_session_release(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	bool active = false;
	unsigned long flags;

	lockdep_assert_not_held(&npu->mutex);
	mutex_lock(&npu->mutex);
	if (npuprof_session_active(session) && !npu->gone) {
		active = true;
		npuprof_timers_stop(session);
		if (session->state == NPUPROF_SESSION_RUNNING)
			npuprof_shut(session);
		if (!session->paused) {
			npuprof_settle(session);
			npu->ops->disarm(session);
		}
		npuprof_drop_power(session);
	}
	npuprof_sampler_free(session);
	npu->load -= session->load;
	session->load = 0;
	npuprof_close_gaps(session);
	flags = npuprof_lock(npu);
	npuprof_forget_claims(session);
	npuprof_finish(session, NPUPROF_SESSION_CLOSED,
		       npu->gone ? NPUPROF_RING_GONE : NPUPROF_RING_STOPPED);
	npuprof_unlock(npu, flags);
	if (active)
		trace_npuprof_stop(session, session->stop.clock, session->straddling);
	mutex_unlock(&npu->mutex);
}

/**
 * npuprof_end_epoch() - tell the reader that the device took something along
 * @session: session for which nothing comes any more
 * @cause: why it was away
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_end_epoch(struct npuprof_session *session, enum npuprof_loss_cause cause)
{
	struct npuprof_rec_event event;

	lockdep_assert_held(&session->npu->lock);
	npc_event_epoch(&event, ++session->epoch, cause, 0);
	npuprof_emit(session, &event, 0);
	trace_npuprof_epoch(session, cause);
}

/* The last events of a session; only its end is left to be told. */
static void npuprof_last_events(struct npuprof_session *session, enum npuprof_loss_cause cause)
{
	unsigned long flags;

	lockdep_assert_held(&session->npu->mutex);
	flags = npuprof_lock(session->npu);
	npuprof_end_epoch(session, cause);
	npuprof_unlock(session->npu, flags);
	npuprof_close_gaps(session);
}

/**
 * npuprof_sessions_remove() - the device goes, or is found to have gone
 * @npu: device
 * @present: it still answers
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sessions_remove(struct npuprof_device *npu, bool present)
{
	struct npuprof_session *session;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	if (npu->gone)
		return;
	list_for_each_entry(session, &npu->sessions, node) {
		if (!npuprof_session_active(session))
			continue;
		npuprof_timers_stop(session);
		if (session->state == NPUPROF_SESSION_RUNNING)
			npuprof_shut(session);
		if (!session->paused) {
			/* What the device wrote to memory before it went is all there. */
			npuprof_settle(session);
			if (present) {
				npuprof_cut(session, NPUPROF_LOSS_REMOVED);
				npuprof_sampler_rest(session);
			}
			npu->ops->disarm(session);
		}
		npuprof_drop_power(session);
	}
	list_for_each_entry(session, &npu->sessions, node)
		npuprof_last_events(session, NPUPROF_LOSS_REMOVED);
	/* At once: poll() says that it is gone no sooner and no later than the rings do. */
	flags = npuprof_lock(npu);
	WRITE_ONCE(npu->gone, true);
	list_for_each_entry(session, &npu->sessions, node)
		npuprof_finish(session, session->state, NPUPROF_RING_GONE);
	npuprof_unlock(npu, flags);
	list_for_each_entry(session, &npu->sessions, node)
		if (npuprof_session_active(session))
			trace_npuprof_stop(session, session->stop.clock, session->straddling);
}

/**
 * npuprof_sessions_pause() - the device is about to lose its state
 * @npu: device
 *
 * Saves what can be saved.
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sessions_pause(struct npuprof_device *npu)
{
	struct npuprof_session *session;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	if (npu->gone || npu->paused)
		return;
	list_for_each_entry(session, &npu->sessions, node) {
		if (!npuprof_session_active(session))
			continue;
		npuprof_timers_stop(session);
		npuprof_settle(session);
		/* At once: whether there will be a resume, and for whom, is not known yet. */
		npuprof_cut(session, NPUPROF_LOSS_RESET);
		npuprof_sampler_rest(session);
		session->started_before = session->tasks_started;
		session->ended_before = session->tasks_ended;
		flags = npuprof_lock(npu);
		session->last_clock = npu->ops->clock(session);
		npuprof_unlock(npu, flags);
		npu->ops->disarm(session);
		npuprof_sampler_free(session);
		/*
		 * No timer will tell of what waits in the rings, and it may be long until the
		 * device is back. Whoever waits in STOP waits for tasks of which nobody will tell,
		 * either.
		 */
		flags = npuprof_lock(npu);
		WRITE_ONCE(session->paused, true);
		npuprof_wake_reader(session);
		npuprof_send_wakeup(session);
		npuprof_unlock(npu, flags);
	}
	/* From here on, interrupts find nobody at home. */
	flags = npuprof_lock(npu);
	npu->paused = true;
	npuprof_unlock(npu, flags);
}

/* Gaps of the old epoch are closed. */
static void npuprof_new_epoch(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_rec_event event;
	unsigned int i;
	u64 clock;

	lockdep_assert_held(&npu->lock);
	++session->epoch;
	for (i = 0; i < session->ring_count; i++)
		npc_ring_set_epoch(&session->rings[i]->producer, session->epoch);
	clock = npu->ops->clock(session);
	npc_event_epoch(&event, session->epoch, NPUPROF_LOSS_RESET, clock);
	npuprof_emit(session, &event, clock);
	trace_npuprof_epoch(session, NPUPROF_LOSS_RESET);
	npuprof_wake_reader(session);
}

/* Tells the reader of rings that are sampled less often than was asked for. */
static void npuprof_tell_stretched(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	struct npuprof_rec_event event;
	unsigned long flags;
	unsigned int i;
	u64 clock;

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	clock = npu->ops->clock(session);
	for (i = 1; i < session->ring_count; i++) {
		struct npuprof_ring *ring = session->rings[i];

		if (ring->stretch <= 1)
			continue;
		npc_event_throttle(&event, i, session->epoch,
				   ring->config.period_ns * ring->stretch, clock);
		npuprof_emit(session, &event, clock);
	}
	npuprof_send_wakeup(session);
	npuprof_unlock(npu, flags);
}

/* A session that cannot go on ends here; its rings keep what they have. */
static void npuprof_give_up(struct npuprof_session *session, int err)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	dev_err(&npu->dev, "a session could not be resumed: error %d\n", err);
	npu->ops->disarm(session);
	npuprof_sampler_free(session);
	npuprof_drop_power(session);
	flags = npuprof_lock(npu);
	/* As at STOP. It is also what a reader that has read all is woken for. */
	npuprof_emit_clock(session);
	npuprof_unlock(npu, flags);
	npuprof_close_gaps(session);
	flags = npuprof_lock(npu);
	npuprof_finish(session, NPUPROF_SESSION_STOPPED, NPUPROF_RING_STOPPED);
	npuprof_unlock(npu, flags);
	trace_npuprof_stop(session, session->last_clock, 0);
}

/**
 * npuprof_sessions_resume() - the device is back, without any state
 * @npu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_sessions_resume(struct npuprof_device *npu)
{
	struct npuprof_session *session;
	struct npuprof_control control;
	unsigned long flags;
	int err;

	lockdep_assert_held(&npu->mutex);
	if (npu->gone || !npu->paused)
		return;
	flags = npuprof_lock(npu);
	npu->paused = false;
	npuprof_unlock(npu, flags);
	WRITE_ONCE(npu->epoch, npu->epoch + 1);
	npuprof_sampler_readmit(npu);
	list_for_each_entry(session, &npu->sessions, node) {
		if (!session->paused)
			continue;
		WRITE_ONCE(session->paused, false);
		/* Closed meanwhile. */
		if (!npuprof_session_active(session))
			continue;
		npuprof_close_gaps(session);
		flags = npuprof_lock(npu);
		npuprof_new_epoch(session);
		npuprof_send_wakeup(session);
		npuprof_unlock(npu, flags);
		if (session->state != NPUPROF_SESSION_RUNNING)
			continue;
		/*
		 * A queue would begin again with record 0; over registers the ring simply goes on.
		 */
		err = npu->ops->arm(session, true);
		if (!err)
			err = npu->ops->open(session, &control);
		if (err) {
			npuprof_give_up(session, err);
			continue;
		}
		npuprof_tell_stretched(session);
		npuprof_timers_start(session);
	}
}

/**
 * npuprof_sessions_abandon() - the device stays away, although it is not gone
 * @npu: paused device
 *
 * What it counted since it was paused has no count, as after a reset in which it could not be
 * asked.
 *
 * Context: npuprof_device.mutex is held.
 */
void npuprof_sessions_abandon(struct npuprof_device *npu)
{
	struct npuprof_session *session;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	list_for_each_entry(session, &npu->sessions, node) {
		if (!npuprof_session_active(session))
			continue;
		npuprof_drop_power(session);
		npuprof_last_events(session, NPUPROF_LOSS_RESET);
		flags = npuprof_lock(npu);
		npuprof_finish(session, NPUPROF_SESSION_STOPPED, NPUPROF_RING_STOPPED);
		npuprof_unlock(npu, flags);
		trace_npuprof_stop(session, session->last_clock, 0);
	}
}
