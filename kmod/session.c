// SPDX-License-Identifier: GPL-2.0-only
/* Sessions: memory, rings, events, wakeups, timers. */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "compat.h"
#include "session.h"
#include "trace.h"

static void npuprof_wake(struct irq_work *work)
{
	struct npuprof_session *session = container_of(work, struct npuprof_session, wake_work);

	wake_up_all(&session->wait);
}

/* --- Housekeeping timer: latencies and clock brackets --- */

/* Rings between two looks at the time; a look costs about as much as a ring. */
#define NPUPROF_TICK_RINGS	16

static void npuprof_tick_at(struct npuprof_session *session, u64 due_ns)
{
	lockdep_assert_held(&session->npu->lock);
	due_ns = max(due_ns, session->tick_rest_ns);
	if (due_ns >= session->tick_ns || !session->timers_on)
		return;
	session->tick_ns = due_ns;
	hrtimer_start(&session->tick, ns_to_ktime(due_ns), HRTIMER_MODE_ABS_SOFT);
}

/* Looks whether records have waited long enough. False if @until came before the last ring. */
static bool npuprof_check_latencies(struct npuprof_session *session, u64 until)
{
	u64 now = ktime_get_ns();

	lockdep_assert_held(&session->npu->lock);
	if (!session->tick_next)
		session->latency_ns = NPC_TIME_NEVER;
	while (session->tick_next < session->ring_count) {
		npuprof_ring_touch(session->rings[session->tick_next++], now);
		if (session->tick_next % NPUPROF_TICK_RINGS)
			continue;
		now = ktime_get_ns();
		if (now >= until)
			return false;
	}
	session->tick_next = 0;
	return true;
}

/* What is due at @begin. False if @until came before the end. */
static bool npuprof_tick_work(struct npuprof_session *session, u64 begin, u64 until)
{
	lockdep_assert_held(&session->npu->lock);
	/* Whoever had the lock before used the slot up. */
	if (ktime_get_ns() >= until)
		return false;
	if (begin >= session->clock_event_ns)
		npuprof_emit_clock(session);
	return !(session->tick_next || begin >= session->latency_ns) ||
	       npuprof_check_latencies(session, until);
}

static enum hrtimer_restart npuprof_tick(struct hrtimer *timer)
{
	struct npuprof_session *session = container_of(timer, struct npuprof_session, tick);
	struct npuprof_device *npu = session->npu;
	u64 begin = ktime_get_ns();
	unsigned long flags;
	u64 now, next;
	bool over;

	flags = npuprof_lock(npu);
	session->tick_ns = NPC_TIME_NEVER;
	if (session->timers_on) {
		/* Touching rings starts no timer here; that is done at the end. */
		session->tick_rest_ns = NPC_TIME_NEVER;
		over = npuprof_tick_work(session, begin, npuprof_slot_end(npu, begin));
		next = min(session->latency_ns, session->clock_event_ns);
		npuprof_send_wakeup(session);
		now = ktime_get_ns();
		npuprof_charge(npu, &session->account, now - begin);
		session->tick_rest_ns = now + (now - begin) * NPUPROF_PAUSE_RATIO;
		npuprof_tick_at(session, over ? next : now);
	}
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/**
 * npuprof_ring_touch() - the head of a ring may have moved
 * @ring: ring
 * @now_ns: CLOCK_MONOTONIC
 *
 * Notes whether the reader must be woken, which npuprof_send_wakeup() then does, and when to look
 * again.
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_ring_touch(struct npuprof_ring *ring, u64 now_ns)
{
	struct npuprof_session *session = ring->session;

	lockdep_assert_held(&session->npu->lock);
	if (npc_wakeup_due(&ring->wakeup, &ring->producer, now_ns))
		session->wake = true;
	session->latency_ns = min(session->latency_ns, npc_wakeup_deadline(&ring->wakeup));
	npuprof_tick_at(session, session->latency_ns);
}

/**
 * npuprof_wake_reader() - wake the reader for all that is in the rings
 * @session: session
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_wake_reader(struct npuprof_session *session)
{
	unsigned int i;

	lockdep_assert_held(&session->npu->lock);
	for (i = 0; i < session->ring_count; i++)
		session->rings[i]->wakeup.told = session->rings[i]->producer.head;
	session->wake = true;
}

/**
 * npuprof_emit() - put a record into the event ring
 * @session: session
 * @event: record
 * @clock: device clock of the event
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_emit(struct npuprof_session *session, const struct npuprof_rec_event *event,
		  u64 clock)
{
	struct npuprof_ring *events = session->rings[0];

	lockdep_assert_held(&session->npu->lock);
	npc_ring_write(&events->producer, event, clock);
	npc_ring_publish(&events->producer);
	npuprof_ring_touch(events, ktime_get_ns());
}

/**
 * npuprof_read_bracket() - read the device clock between two readings of the host's
 * @session: session
 * @bracket: filled; its device clock is 0 if the device does not answer
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_read_bracket(struct npuprof_session *session, struct npuprof_clock *bracket)
{
	lockdep_assert_held(&session->npu->lock);
	bracket->host_before_ns = ktime_get_raw_ns();
	bracket->device_clock = session->npu->ops->clock(session);
	bracket->host_after_ns = ktime_get_raw_ns();
}

/**
 * npuprof_emit_clock() - put a clock bracket into the event ring, and plan the next
 * @session: session
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_emit_clock(struct npuprof_session *session)
{
	struct npuprof_clock bracket = {};
	struct npuprof_rec_event event;

	lockdep_assert_held(&session->npu->lock);
	npuprof_read_bracket(session, &bracket);
	if (bracket.device_clock) {
		npc_event_clock(&event, session->epoch, &bracket);
		npuprof_emit(session, &event, bracket.device_clock);
	}
	session->clock_event_ns = ktime_get_ns() + NPUPROF_CLOCK_EVENT_NS;
	npuprof_tick_at(session, session->clock_event_ns);
}

/**
 * npuprof_set_ring_states() - publish a state in all rings
 * @session: session
 * @state: NPUPROF_RING_*
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_set_ring_states(struct npuprof_session *session, u32 state)
{
	unsigned int i;

	lockdep_assert_held(&session->npu->lock);
	for (i = 0; i < session->ring_count; i++)
		npc_ring_set_state(&session->rings[i]->producer, state);
}

/**
 * npuprof_close_gaps() - send every open gap to the event ring, as far as that has room
 * @session: session
 *
 * Others have their turn at the device in between.
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_close_gaps(struct npuprof_session *session)
{
	unsigned int i = 1;

	lockdep_assert_held(&session->npu->mutex);
	while (i < session->ring_count) {
		unsigned int end = min(i + NPUPROF_TICK_RINGS, session->ring_count);
		unsigned long flags = npuprof_lock(session->npu);

		for (; i < end; i++)
			npc_ring_close_gaps(&session->rings[i]->producer);
		npuprof_unlock(session->npu, flags);
	}
}

/* --- Timer of rings that the device writes --- */

static void npuprof_poll_begin(struct npuprof_session *session, u64 begin_ns)
{
	unsigned long flags;

	lockdep_assert_held(&session->poll_lock);
	session->poll_begin_ns = begin_ns;
	flags = npuprof_lock(session->npu);
	session->poll_asked = false;
	npuprof_unlock(session->npu, flags);
}

/* When the next look is due, @next_ns after @now unless somebody cannot wait. */
static u64 npuprof_poll_due(const struct npuprof_session *session, u64 now, u64 next_ns, bool over)
{
	lockdep_assert_held(&session->npu->lock);
	/* Whoever asked during the round may mean a ring that it had passed. */
	if (!over || session->poll_asked)
		return session->poll_rest_ns;
	return max(now + next_ns, session->poll_rest_ns);
}

static enum hrtimer_restart npuprof_poll_timer(struct hrtimer *timer)
{
	struct npuprof_session *session = container_of(timer, struct npuprof_session, poll_timer);
	struct npuprof_device *npu = session->npu;
	u64 begin = ktime_get_ns();
	unsigned long flags;
	u64 next = 0, now;
	bool over;

	spin_lock(&session->poll_lock);
	if (!session->poll_next)
		npuprof_poll_begin(session, begin);
	if (READ_ONCE(session->timers_on))
		next = npu->ops->poll(session, npuprof_slot_end(npu, begin));
	over = !session->poll_next;
	spin_unlock(&session->poll_lock);

	flags = npuprof_lock(npu);
	now = ktime_get_ns();
	/* However many rings there are and however often they interrupt, others get the CPU too. */
	session->poll_rest_ns = now + (now - begin) * NPUPROF_PAUSE_RATIO;
	if (over)
		session->poll_rest_ns = max(session->poll_rest_ns,
					    session->poll_begin_ns + NPUPROF_POLL_MIN_NS);
	if (next && session->timers_on)
		hrtimer_start(timer, ns_to_ktime(npuprof_poll_due(session, now, next, over)),
			      HRTIMER_MODE_ABS_SOFT);
	npuprof_send_wakeup(session);
	npuprof_charge(npu, &session->account, now - begin);
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/**
 * npuprof_poll_now() - look at the rings that the device writes as soon as possible
 * @session: session
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_poll_now(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->lock);
	/* The timer may be at work, and sets itself when it is done. */
	session->poll_asked = true;
	if (session->timers_on)
		hrtimer_start(&session->poll_timer, ns_to_ktime(session->poll_rest_ns),
			      HRTIMER_MODE_ABS_SOFT);
}

/**
 * npuprof_tell_drained() - the device says that no task of the window runs any more
 * @session: owner of the window
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_tell_drained(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->lock);
	WRITE_ONCE(session->drained, true);
	session->wake = true;
}

/**
 * npuprof_timers_start() - let the timers of a session run
 * @session: session that is armed
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_timers_start(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	WRITE_ONCE(session->timers_on, true);
	session->tick_next = 0;
	session->tick_rest_ns = 0;
	session->poll_next = 0;
	npuprof_tick_at(session, min(session->latency_ns, session->clock_event_ns));
	hrtimer_start(&session->poll_timer, ns_to_ktime(ktime_get_ns() + NPUPROF_POLL_MIN_NS),
		      HRTIMER_MODE_ABS_SOFT);
	npuprof_unlock(npu, flags);
	npuprof_sampler_start(session);
}

/**
 * npuprof_timers_stop() - stop the timers of a session and wait until none runs
 * @session: session
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_timers_stop(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	WRITE_ONCE(session->timers_on, false);
	session->tick_ns = NPC_TIME_NEVER;
	npuprof_unlock(npu, flags);
	hrtimer_cancel(&session->tick);
	hrtimer_cancel(&session->poll_timer);
	npuprof_sampler_stop(session);
}

/* --- Rings --- */

static void npuprof_ring_free(struct npuprof_ring *ring)
{
	npuprof_pages_free(&ring->pages);
	kfree(ring->totals);
	kfree(ring);
}

/**
 * npuprof_ring_discard() - undo npuprof_ring_create()
 * @ring: ring that its session does not know of
 *
 * Context: Process context, may sleep.
 */
void npuprof_ring_discard(struct npuprof_ring *ring)
{
	npuprof_memory_uncharge(ring->session->user, ring->pages.count);
	npuprof_ring_free(ring);
}

/**
 * npuprof_ring_create() - give a ring memory and a place in its session
 * @session: session that gets no other ring meanwhile; locks of the device are better not held, for
 *	large memory takes its time
 * @add: checked request; the place is filled in
 * @slots: counters of its events
 *
 * Context: Process context, may sleep. npuprof_session.setup is held, or nobody else knows the
 * session; locks of the device are better not held, for large memory takes its time.
 * Return: the ring, to be made visible by npuprof_ring_publish_new(); -ENOSPC, -ENOMEM or -EINTR.
 */
struct npuprof_ring *npuprof_ring_create(struct npuprof_session *session,
					 struct npuprof_add_ring *add,
					 const struct npc_slots slots[2])
{
	struct npuprof_ring *ring;
	unsigned long pages;
	u64 data_bytes;
	int err;

	/* The first ring comes with the session, before anybody knows it. */
	lockdep_assert(!session->ring_count || lockdep_is_held(&session->setup));
	err = npc_place_ring(add, session->ring_count, session->data_bytes,
			     session->npu->caps.max_data_bytes, PAGE_SIZE, &data_bytes);
	if (err)
		return ERR_PTR(err);
	pages = (data_bytes - session->data_bytes) >> PAGE_SHIFT;
	err = npuprof_memory_charge(session->user, session->file, session->page_limit, pages);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	ring = kzalloc(sizeof(*ring) + session->npu->ops->ring_size, GFP_KERNEL_ACCOUNT);
	if (!ring)
		goto no_ring;
	err = npuprof_pages_alloc(&ring->pages, data_bytes - session->data_bytes);
	if (err)
		goto no_pages;
	ring->session = session;
	ring->config = *add;
	ring->slots[0] = slots[0];
	ring->slots[1] = slots[1];
	ring->stretch = 1;
	INIT_LIST_HEAD(&ring->group);
	if (npc_channel_per_core(add->channel))
		ring->core = add->core + (add->core_kind == NPUPROF_CORE_VECTOR ?
						  session->npu->caps.cube_cores : 0);
	return ring;

no_pages:
	kfree(ring);
no_ring:
	npuprof_memory_uncharge(session->user, pages);
	return ERR_PTR(err);
}

/**
 * npuprof_ring_publish_new() - make a ring the session's next
 * @ring: ring from npuprof_ring_create()
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held, or nobody else knows the
 * session.
 */
void npuprof_ring_publish_new(struct npuprof_ring *ring)
{
	struct npuprof_session *session = ring->session;
	struct npuprof_ring_ctrl *ctrl = session->control.address;
	struct npuprof_ring_tail *tails = session->tails.address;
	const struct npuprof_add_ring *config = &ring->config;
	struct npc_ring_setup setup = {
		.ctrl = ctrl + config->ring,
		.tail = tails + config->ring,
		.data = ring->pages.address,
		.events = config->ring ? &session->rings[0]->producer : NULL,
		.slots = config->slots,
		.record_size = config->record_size,
		.index = config->ring,
		.gap_closed = npuprof_trace_gap,
		.overwrite = config->flags & NPUPROF_RING_OVERWRITE,
	};
	unsigned long flags;

	lockdep_assert(!session->ring_count || lockdep_is_held(&session->npu->mutex));
	ctrl += config->ring;
	ctrl->channel = config->channel;
	ctrl->core = config->core;
	ctrl->core_kind = config->core_kind;
	ctrl->data_offset = config->data_offset;
	npc_ring_init(&ring->producer, &setup);
	npc_wakeup_init(&ring->wakeup, config->watermark, config->latency_ns);

	flags = npuprof_lock(session->npu);
	session->rings[session->ring_count++] = ring;
	session->data_bytes += (u64)ring->pages.count << PAGE_SHIFT;
	session->charged += ring->pages.count;
	npuprof_unlock(session->npu, flags);
}

static int npuprof_add_event_ring(struct npuprof_session *session)
{
	static const struct npc_slots none[2];
	struct npuprof_add_ring add = {
		.channel = NPUPROF_CHANNEL_EVENTS,
		.core = NPC_CORE_DEVICE,
		.slots = NPUPROF_EVENT_SLOTS,
	};
	struct npuprof_ring *ring = npuprof_ring_create(session, &add, none);

	if (IS_ERR(ring))
		return PTR_ERR(ring);
	npuprof_ring_publish_new(ring);
	return 0;
}

/* --- Opening and closing --- */

static void npuprof_session_free(struct npuprof_session *session)
{
	unsigned int i;

	WARN_ON_ONCE(!list_empty(&session->groups));
	for (i = 0; i < session->ring_count; i++)
		npuprof_ring_free(session->rings[i]);
	npuprof_pages_free(&session->control);
	npuprof_pages_free(&session->tails);
	npuprof_memory_uncharge(session->user, session->charged);
	free_uid(session->user);
	put_pid(session->owner);
	mutex_destroy(&session->setup);
	kfree(session);
}

static int npuprof_add_areas(struct npuprof_session *session)
{
	const u64 control = NPUPROF_MAX_RINGS * sizeof(struct npuprof_ring_ctrl);
	const u64 tails = NPUPROF_MAX_RINGS * sizeof(struct npuprof_ring_tail);
	unsigned long pages = DIV_ROUND_UP(control, PAGE_SIZE) + DIV_ROUND_UP(tails, PAGE_SIZE);
	int err;

	err = npuprof_memory_charge(session->user, session->file, session->page_limit, pages);
	if (err)
		return err;
	session->charged = pages;
	err = npuprof_pages_alloc(&session->control, control);
	if (!err)
		err = npuprof_pages_alloc(&session->tails, tails);
	if (!err)
		err = npuprof_add_event_ring(session);
	return err;
}

/**
 * npuprof_session_open() - a process opens the device
 * @npu: device
 * @file: what it opens
 *
 * Context: Process context, may sleep.
 * Return: the session, -ENODEV if the device is gone, -ENOMEM or -EINTR.
 */
struct npuprof_session *npuprof_session_open(struct npuprof_device *npu, const struct file *file)
{
	struct npuprof_session *session;
	unsigned long flags;
	unsigned int kind;
	int err;

	session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);
	if (!session)
		return ERR_PTR(-ENOMEM);
	session->npu = npu;
	session->file = file;
	session->user = get_uid(current_user());
	session->page_limit = npuprof_memory_limit();
	session->owner = get_pid(task_tgid(current));
	init_waitqueue_head(&session->wait);
	init_irq_work(&session->wake_work, npuprof_wake);
	INIT_LIST_HEAD(&session->groups);
	INIT_LIST_HEAD(&session->polled);
	mutex_init(&session->setup);
	spin_lock_init(&session->poll_lock);
	hrtimer_setup(&session->tick, npuprof_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&session->poll_timer, npuprof_poll_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	session->tick_ns = NPC_TIME_NEVER;
	session->latency_ns = NPC_TIME_NEVER;
	session->clock_event_ns = NPC_TIME_NEVER;
	for (kind = 0; kind < 2; kind++)
		npc_schedule_init(&session->schedules[kind], npu->caps.counters);
	err = npuprof_add_areas(session);
	if (err)
		goto fail;

	mutex_lock(&npu->mutex);
	err = npu->gone ? -ENODEV : 0;
	if (!err) {
		flags = npuprof_lock(npu);
		list_add_tail(&session->node, &npu->sessions);
		npuprof_unlock(npu, flags);
		session->id = ++npu->last_session;
		trace_npuprof_open(session);
		get_device(&npu->dev);
	}
	mutex_unlock(&npu->mutex);
	if (!err)
		return session;
fail:
	npuprof_session_free(session);
	return ERR_PTR(err);
}

/**
 * npuprof_session_close() - nobody holds the file any more
 * @session: freed
 *
 * Context: Process context, may sleep.
 */
void npuprof_session_close(struct npuprof_session *session)
{
	struct npuprof_device *npu = session->npu;
	unsigned long flags;

	npuprof_session_release(session);
	mutex_lock(&npu->mutex);
	trace_npuprof_close(session);
	flags = npuprof_lock(npu);
	list_del(&session->node);
	npuprof_unlock(npu, flags);
	mutex_unlock(&npu->mutex);
	irq_work_sync(&session->wake_work);
	npuprof_session_free(session);
	put_device(&npu->dev);
}

/* Records that the reader was woken for and has not consumed. */
static bool npuprof_ring_readable(const struct npuprof_ring *ring)
{
	const struct npc_ring *producer = &ring->producer;
	u32 state = producer->ctrl->state;

	if (producer->overwrite && !producer->frozen && state != NPUPROF_RING_STOPPED &&
	    state != NPUPROF_RING_GONE)
		return false;
	return npc_ring_pending(producer) > producer->head - ring->wakeup.told;
}

/**
 * npuprof_session_poll() - whether the reader has something to do
 * @session: session
 *
 * Context: Any context.
 * Return: EPOLLIN while records wait that the reader was woken for, EPOLLHUP once no other can
 * come, with EPOLLERR if that is because the device or the session is gone.
 */
__poll_t npuprof_session_poll(struct npuprof_session *session)
{
	unsigned long flags;
	__poll_t mask = 0;
	unsigned int i;

	flags = npuprof_lock(session->npu);
	for (i = 0; i < session->ring_count && !mask; i++)
		if (npuprof_ring_readable(session->rings[i]))
			mask = EPOLLIN | EPOLLRDNORM;
	if (session->npu->gone || session->state == NPUPROF_SESSION_CLOSED)
		mask |= EPOLLHUP | EPOLLERR;
	else if (session->state == NPUPROF_SESSION_STOPPED)
		mask |= EPOLLHUP;
	npuprof_unlock(session->npu, flags);
	return mask;
}
