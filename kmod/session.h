/* SPDX-License-Identifier: GPL-2.0-only */
/* One opened file: its rings, its state, its timers. */
#ifndef NPUPROF_SESSION_H
#define NPUPROF_SESSION_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "core/credit.h"
#include "core/record.h"
#include "core/ring.h"
#include "core/schedule.h"
#include "core/wakeup.h"
#include "device.h"
#include "memory.h"

#define NPUPROF_DATA_MAX	BIT_ULL(30)
#define NPUPROF_PERIOD_MIN_NS	(10ULL * NSEC_PER_USEC)
#define NPUPROF_PERIOD_MAX_NS	(10ULL * NSEC_PER_SEC)
#define NPUPROF_EVENT_SLOTS	1024
#define NPUPROF_CLOCK_EVENT_NS	(1ULL * NSEC_PER_SEC)
/*
 * How often rings that the device writes are looked at while records come, and at most while none
 * do.
 */
#define NPUPROF_POLL_MIN_NS	(500ULL * NSEC_PER_USEC)
#define NPUPROF_POLL_MAX_NS	(16ULL * NSEC_PER_MSEC)

/**
 * enum npuprof_session_state - what a session may be asked
 * @NPUPROF_SESSION_IDLE: rings are added
 * @NPUPROF_SESSION_RUNNING: records come
 * @NPUPROF_SESSION_STOPPING: the window is closed, its tasks are awaited
 * @NPUPROF_SESSION_STOPPED: head of every ring is final, but that of events if the device goes
 * @NPUPROF_SESSION_CLOSED: the process that opened the file has closed it, someone else still
 *	holds it
 */
enum npuprof_session_state {
	NPUPROF_SESSION_IDLE,
	NPUPROF_SESSION_RUNNING,
	NPUPROF_SESSION_STOPPING,
	NPUPROF_SESSION_STOPPED,
	NPUPROF_SESSION_CLOSED,
};

/**
 * struct npuprof_ring - one ring of a session
 * @session: whose
 * @config: as asked for, with defaults filled in
 * @producer: head, losses and open gaps; under npuprof_device.lock like @wakeup
 * @wakeup: when to wake the reader
 * @pages: slots
 * @slots: counters of the ring's events by core kind, 0 cube and 1 vector
 * @core: number of the core, for channels that have one
 * @prefers_device: sampling it over registers would cost too much
 * @device_path: the device writes the records itself
 * @group: neighbours in a group that is sampled together
 * @counters: extended counters of a sampled core
 * @totals: the same of the totals of a sampled unit
 * @total_count: how many
 * @next_total: the one that a sample that is under way has come to, 0 between samples
 * @sample_clock: device clock of that sample
 * @stretch: how many of its periods pass between two samples over registers; those left out count
 *	as throttled
 * @priv: driver data, npuprof_pmu_ops.ring_size bytes
 */
struct npuprof_ring {
	struct npuprof_session *session;
	struct npuprof_add_ring config;
	struct npc_ring producer;
	struct npc_wakeup wakeup;
	struct npuprof_pages pages;
	struct npc_slots slots[2];
	unsigned int core;
	bool prefers_device;
	bool device_path;
	struct list_head group;
	struct npc_core counters;
	struct npc_counter *totals;
	unsigned int total_count;
	unsigned int next_total;
	u64 sample_clock;
	u64 stretch;
	u64 priv[];
};

static inline void *npuprof_ring_priv(struct npuprof_ring *ring)
{
	return ring->priv;
}

/**
 * struct npuprof_group - rings of one session that are sampled over registers with one period
 * @session: whose
 * @node: in npuprof_session.groups
 * @timer: pinned to the CPU that started the session; should that go off line, to the one that the
 *	kernel moves it to
 * @rings: in the order of sampling
 * @ring_count: how many rings
 * @core_count: how many of them are about cores
 * @cursor: next ring of a round that is under way, NULL between rounds
 * @latched: what npuprof_pmu_ops.latch said for this round
 * @period_ns: period
 * @next_ns: CLOCK_MONOTONIC at which the next round begins, 0 before npuprof_sampler_start()
 * @last_ns: the same of the last round
 * @asked_ns: period that was asked for; @period_ns is a multiple of it where the CPU cannot afford
 *	that
 * @counted_ns: up to when samples that were asked for are taken or counted as throttled
 */
struct npuprof_group {
	struct npuprof_session *session;
	struct list_head node;
	struct hrtimer timer;
	struct list_head rings;
	unsigned int ring_count;
	unsigned int core_count;
	struct npuprof_ring *cursor;
	bool latched;
	u64 period_ns;
	u64 next_ns;
	u64 last_ns;
	u64 asked_ns;
	u64 counted_ns;
};

/**
 * struct npuprof_session - one opened file
 * @npu: device; the session holds a reference
 * @node: in npuprof_device.sessions
 * @id: number among the sessions of the device, from 1
 * @owner: process that opened the file
 * @file: the opened file, whose opener's credentials count; lives as long as the session
 * @user: who pays for the memory
 * @page_limit: pages that @user may have beyond what the module grants
 * @charged: pages accounted to @user
 * @setup: held for ADD_RING and START, outside of npuprof_device.mutex
 * @wait: readers and those who wait in STOP
 * @wake_work: wakes @wait from where that cannot be done
 * @wake: @wake_work is to be queued when npuprof_device.lock is released; under that lock
 * @state: changed under npuprof_device.mutex and lock
 * @frozen: overwrite rings are being read
 * @paused: the device is suspended or being reset; under npuprof_device.mutex, waiters look without
 * @powered: the session holds a reference to runtime power management
 * @stop_waiter: someone waits in STOP
 * @drained: no task of the window runs any more, as far as interrupts have told
 * @epoch: number of resets and resumes
 * @stop: what STOP returns, from the moment the window closed
 * @stop_deadline: CLOCK_MONOTONIC up to which STOP waits
 * @straddling: recorded tasks that ran when the window closed
 * @tasks_started: tasks of the window, as of the last look
 * @tasks_ended: of them, ended
 * @started_before: of @tasks_started, before the last reset
 * @ended_before: of @tasks_ended, before the last reset
 * @last_clock: device clock when the device was last paused
 * @account: cost
 * @schedules: counters of task and block snapshots by core kind
 * @control: control area
 * @tails: tails area
 * @rings: rings by number
 * @ring_count: how many
 * @data_bytes: bytes of the data area
 * @load: share of npuprof_device.load
 * @groups: rings sampled over registers
 * @tick: latencies and clock events
 * @tick_ns: when it is due
 * @tick_rest_ns: up to when it leaves the CPU to others
 * @tick_next: ring at which its look at latencies goes on, 0 between looks
 * @latency_ns: when the first record has waited long enough
 * @clock_event_ns: when the next clock bracket is due
 * @poll_timer: looks at rings that the device writes
 * @poll_interval_ns: how long @poll_timer waits; for the driver
 * @poll_rest_ns: up to when it leaves the CPU to others, in CLOCK_MONOTONIC
 * @poll_begin_ns: when the round of looks that is under way began, or the last one
 * @poll_next: the ring that the round has come to, 0 between rounds
 * @poll_asked: npuprof_poll_now() was called since the round began, so that another has to follow
 *	at once; under npuprof_device.lock
 * @poll_any: it found rings that the device writes; for the driver
 * @poll_progress: it found news; for the driver
 * @poll_lock: serialises those looks
 * @polled: for the driver, to list sessions with rings that the device writes; under
 *	npuprof_device.lock
 * @timers_on: timers may be started; under npuprof_device.lock
 */
struct npuprof_session {
	struct npuprof_device *npu;
	struct list_head node;
	u32 id;
	struct pid *owner;
	const struct file *file;
	struct user_struct *user;
	unsigned long page_limit;
	unsigned long charged;
	struct mutex setup; /* one ring at a time, and none while the session starts */

	wait_queue_head_t wait;
	struct irq_work wake_work;
	bool wake;

	enum npuprof_session_state state;
	bool frozen;
	bool paused;
	bool powered;
	bool stop_waiter;
	bool drained;
	u32 epoch;
	struct npuprof_control stop;
	ktime_t stop_deadline;
	u32 straddling;
	u64 tasks_started;
	u64 tasks_ended;
	u64 started_before;
	u64 ended_before;
	u64 last_clock;
	struct npuprof_account account;

	struct npc_schedule schedules[2];
	struct npuprof_pages control;
	struct npuprof_pages tails;
	struct npuprof_ring *rings[NPUPROF_MAX_RINGS];
	unsigned int ring_count;
	u64 data_bytes;
	u64 load;

	struct list_head groups;
	struct hrtimer tick;
	u64 tick_ns;
	u64 tick_rest_ns;
	unsigned int tick_next;
	u64 latency_ns;
	u64 clock_event_ns;
	struct hrtimer poll_timer;
	u64 poll_interval_ns;
	u64 poll_rest_ns;
	u64 poll_begin_ns;
	unsigned int poll_next;
	bool poll_asked;
	bool poll_any;
	bool poll_progress;
	spinlock_t poll_lock; /* looks at rings that the device writes */
	struct list_head polled;
	bool timers_on;
};

/* Requests; each returns what the ioctl returns. npuprof_device.mutex is held. */
int npuprof_session_add_ring(struct npuprof_session *session, struct npuprof_add_ring *add);
int npuprof_session_start(struct npuprof_session *session, struct npuprof_control *control);
int npuprof_session_stop(struct npuprof_session *session, struct npuprof_control *control);
int npuprof_session_freeze(struct npuprof_session *session, struct npuprof_control *control);
int npuprof_session_flush(struct npuprof_session *session, struct npuprof_control *control);
int npuprof_session_stats(struct npuprof_session *session, struct npuprof_stats *stats);
int npuprof_session_clock(struct npuprof_session *session, struct npuprof_clock *clock);

struct npuprof_session *npuprof_session_open(struct npuprof_device *npu, const struct file *file);
void npuprof_session_release(struct npuprof_session *session);
void npuprof_session_close(struct npuprof_session *session);
__poll_t npuprof_session_poll(struct npuprof_session *session);

/* Rings, for requests. */
struct npuprof_ring *npuprof_ring_create(struct npuprof_session *session,
					 struct npuprof_add_ring *add,
					 const struct npc_slots slots[2]);
void npuprof_ring_discard(struct npuprof_ring *ring);
void npuprof_ring_publish_new(struct npuprof_ring *ring);
void npuprof_timers_start(struct npuprof_session *session);
void npuprof_timers_stop(struct npuprof_session *session);

/* What happens to a session as a whole. npuprof_device.lock is held. */
void npuprof_emit(struct npuprof_session *session, const struct npuprof_rec_event *event,
		  u64 clock);
void npuprof_emit_clock(struct npuprof_session *session);
void npuprof_read_bracket(struct npuprof_session *session, struct npuprof_clock *bracket);
void npuprof_wake_reader(struct npuprof_session *session);
void npuprof_set_ring_states(struct npuprof_session *session, u32 state);
void npuprof_end_epoch(struct npuprof_session *session, enum npuprof_loss_cause cause);

/* To a session or to all of a device. npuprof_device.mutex is held. */
void npuprof_close_gaps(struct npuprof_session *session);
void npuprof_sessions_remove(struct npuprof_device *npu, bool present);
void npuprof_sessions_pause(struct npuprof_device *npu);
void npuprof_sessions_resume(struct npuprof_device *npu);
void npuprof_sessions_abandon(struct npuprof_device *npu);

/* For drivers. */
void npuprof_ring_touch(struct npuprof_ring *ring, u64 now_ns);
void npuprof_poll_now(struct npuprof_session *session);
void npuprof_tell_drained(struct npuprof_session *session);

/* trace.c */
void npuprof_trace_gap(const struct npc_ring *producer, enum npuprof_loss_cause cause,
		       const struct npc_gap *gap);

/* sampler.c */
void npuprof_sampler_readmit(struct npuprof_device *npu);
int npuprof_sampler_add(struct npuprof_ring *ring);
void npuprof_sampler_start(struct npuprof_session *session);
void npuprof_sampler_stop(struct npuprof_session *session);
void npuprof_sampler_rest(struct npuprof_session *session);
void npuprof_sampler_free(struct npuprof_session *session);

/**
 * npuprof_lock() - take npuprof_device.lock
 * @npu: device
 *
 * Return: flags for npuprof_unlock().
 */
static inline unsigned long npuprof_lock(struct npuprof_device *npu)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&npu->lock, flags);
	return flags;
}

static inline void npuprof_unlock(struct npuprof_device *npu, unsigned long flags)
{
	raw_spin_unlock_irqrestore(&npu->lock, flags);
}

/**
 * npuprof_send_wakeup() - wake the reader if something called for it since the last time
 * @session: session; npuprof_device.lock is held
 */
static inline void npuprof_send_wakeup(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->lock);
	if (session->wake) {
		session->wake = false;
		irq_work_queue(&session->wake_work);
	}
}

static inline bool npuprof_session_active(const struct npuprof_session *session)
{
	return session->state == NPUPROF_SESSION_RUNNING ||
	       session->state == NPUPROF_SESSION_STOPPING;
}

#endif /* NPUPROF_SESSION_H */
