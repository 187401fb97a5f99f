// SPDX-License-Identifier: GPL-2.0-only
/* Reference NPU: programming the device for a session, and taking that back. */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "refnpu.h"

/* What the task scheduler calls a channel; @enable is 0 for channels that are not its own. */
struct refnpu_trace {
	u32 enable;
	u32 fifo;
};

static struct refnpu_trace refnpu_trace_of(u32 channel)
{
	switch (channel) {
	case NPUPROF_CHANNEL_TASK_LOG:
		return (struct refnpu_trace){ REFNPU_TRACE_LOG, REFNPU_FIFO_LOG };
	case NPUPROF_CHANNEL_TASK_PMU:
		return (struct refnpu_trace){ REFNPU_TRACE_PMU, REFNPU_FIFO_PMU };
	case NPUPROF_CHANNEL_TS_TRACK:
		return (struct refnpu_trace){ REFNPU_TRACE_TRACK, REFNPU_FIFO_TRACK };
	case NPUPROF_CHANNEL_AICPU:
		return (struct refnpu_trace){ REFNPU_TRACE_AICPU, REFNPU_FIFO_AICPU };
	case NPUPROF_CHANNEL_SOC_PMU:
		return (struct refnpu_trace){ REFNPU_TRACE_SOC, REFNPU_FIFO_SOC };
	default:
		return (struct refnpu_trace){};
	}
}

static bool refnpu_event_known(struct npuprof_device *npu, enum npuprof_core_kind kind, u16 event)
{
	return event < REFNPU_EVENT_LIMIT && test_bit(event, to_refnpu(npu)->events);
}

static bool refnpu_all_counted(const struct npc_slots *slots, const struct npc_schedule *schedule)
{
	return npc_slots_in_order(slots) && slots->count == schedule->used;
}

static bool refnpu_wants_device_path(const struct npuprof_ring *ring)
{
	const struct npuprof_session *session = ring->session;
	const struct npuprof_add_ring *config = &ring->config;
	bool vector = config->core_kind == NPUPROF_CORE_VECTOR;

	if (config->flags & (NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_OVERWRITE))
		return false;
	if (config->flags & NPUPROF_RING_DEVICE_PATH)
		return true;
	if (npc_channel_sampled(config->channel))
		return ring->prefers_device;
	/* A device that composes a record puts all its counters in, in its own order. */
	if (config->channel == NPUPROF_CHANNEL_BLOCK_PMU)
		return refnpu_all_counted(&ring->slots[vector], &session->schedules[vector]);
	if (config->channel == NPUPROF_CHANNEL_TASK_PMU)
		return refnpu_all_counted(&ring->slots[0], &session->schedules[0]) &&
		       refnpu_all_counted(&ring->slots[1], &session->schedules[1]);
	return true;
}

static int refnpu_arm_ring(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	u32 channel = ring->config.channel;
	int err = 0;

	lockdep_assert_held(&refnpu->npu.mutex);
	/*
	 * Counters before the queue: a sampling queue starts from what they say when it is enabled.
	 */
	if (channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		err = refnpu_core_arm(ring);
	else if (npc_channel_sampled(channel))
		err = refnpu_unit_arm(ring);
	if (err)
		return err;
	if (ring->device_path)
		return refnpu_queue_arm(ring);
	if (channel == NPUPROF_CHANNEL_BLOCK_PMU)
		refnpu_fifo_arm(refnpu, &refnpu->fifos[REFNPU_FIFOS + ring->core], ring);
	else if (refnpu_trace_of(channel).enable)
		refnpu_fifo_arm(refnpu, &refnpu->fifos[refnpu_trace_of(channel).fifo], ring);
	return 0;
}

/*
 * Whether a ring for which the device has no queue left goes over registers. Those that are sampled
 * do only if the CPU was granted the time, and then they never wanted a queue.
 */
static bool refnpu_may_go_over_registers(const struct npuprof_ring *ring)
{
	return ring->device_path && !(ring->config.flags & NPUPROF_RING_DEVICE_PATH) &&
	       !npc_channel_sampled(ring->config.channel);
}

static bool refnpu_any_queue(const struct npuprof_session *session)
{
	unsigned int i;

	for (i = 1; i < session->ring_count; i++)
		if (session->rings[i]->device_path)
			return true;
	return false;
}

static void refnpu_list_polled(struct refnpu *refnpu, struct npuprof_session *session)
{
	unsigned long flags;

	flags = npuprof_lock(&refnpu->npu);
	list_add_tail(&session->polled, &refnpu->polled);
	refnpu->polled_count++;
	npuprof_unlock(&refnpu->npu, flags);
}

static void refnpu_unlist_polled(struct refnpu *refnpu, struct npuprof_session *session)
{
	unsigned long flags;

	flags = npuprof_lock(&refnpu->npu);
	if (!list_empty(&session->polled)) {
		list_del_init(&session->polled);
		refnpu->polled_count--;
	}
	npuprof_unlock(&refnpu->npu, flags);
}

static int refnpu_arm(struct npuprof_session *session, bool registers_only)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_ring *ring;
	unsigned int i;
	int err;

	lockdep_assert_held(&refnpu->npu.mutex);
	for (i = 1; i < session->ring_count; i++) {
		ring = session->rings[i];
		ring->device_path = !registers_only && refnpu_wants_device_path(ring);
		err = refnpu_arm_ring(refnpu, ring);
		if (err == -EBUSY && refnpu_may_go_over_registers(ring)) {
			ring->device_path = false;
			err = refnpu_arm_ring(refnpu, ring);
		}
		if (err)
			return err;
	}
	session->poll_interval_ns = NPUPROF_POLL_MIN_NS;
	if (refnpu_any_queue(session))
		refnpu_list_polled(refnpu, session);
	refnpu_service_start(refnpu);
	refnpu_write32(refnpu, &session->account, REFNPU_INT_ENABLE, REFNPU_INT_ALL);
	return 0;
}

static void refnpu_open_window(struct npuprof_session *session)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_account *account = &session->account;
	struct npuprof_ring *ring;
	unsigned int kind, i;
	u32 enable = 0;

	lockdep_assert_held(&refnpu->npu.mutex);
	for (i = 1; i < session->ring_count; i++) {
		ring = session->rings[i];
		enable |= refnpu_trace_of(ring->config.channel).enable;
		if (ring->config.channel == NPUPROF_CHANNEL_BLOCK_PMU)
			enable |= ring->config.options ? REFNPU_TRACE_MIX_BLOCK :
							 REFNPU_TRACE_BLOCK;
	}
	for (kind = 0; kind < 2; kind++) {
		const struct npc_schedule *schedule = &session->schedules[kind];

		for (i = 0; i < session->npu->caps.counters; i++)
			refnpu_write32(refnpu, account, REFNPU_TRACE_EVENT(kind, i),
				       i < schedule->used ? schedule->events[i] : 0);
	}
	refnpu_write32(refnpu, account, REFNPU_TRACE_ENABLE, enable);
	refnpu_write32(refnpu, account, REFNPU_TRACE_WINDOW, 1);
}

/* What the device says, or 0 if it says nothing any more: its last word may be all ones. */
static u32 refnpu_ask32(struct refnpu *refnpu, struct npuprof_account *account, u32 reg)
{
	u32 value = refnpu_read32(refnpu, account, reg);

	return refnpu_dead(refnpu) ? 0 : value;
}

static u64 refnpu_ask64(struct refnpu *refnpu, struct npuprof_account *account, u32 reg)
{
	u64 value = refnpu_read64(refnpu, account, reg);

	return refnpu_dead(refnpu) ? 0 : value;
}

static int refnpu_open(struct npuprof_session *session, struct npuprof_control *control)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_account *account = &session->account;
	bool window = refnpu_owns_window(session);

	lockdep_assert_held(&refnpu->npu.mutex);
	if (window)
		refnpu_open_window(session);
	control->monotonic_raw_ns = ktime_get_raw_ns();
	control->clock = refnpu_ask64(refnpu, account, window ? REFNPU_TRACE_T0 : REFNPU_CLOCK);
	control->straddling = 0;
	if (!window)
		return 0;
	control->straddling = refnpu_ask32(refnpu, account, REFNPU_TRACE_AT_OPEN);
	/*
	 * A window that stays closed would look like a program without tasks. All ones are no
	 * refusal: whoever asked finds out by itself that the device went.
	 */
	return refnpu_read32(refnpu, account, REFNPU_TRACE_WINDOW) & 1 ? 0 : -EIO;
}

static void refnpu_close(struct npuprof_session *session, struct npuprof_control *control)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_account *account = &session->account;

	lockdep_assert_held(&refnpu->npu.mutex);
	if (refnpu_owns_window(session)) {
		refnpu_write32(refnpu, account, REFNPU_TRACE_WINDOW, 0);
		control->monotonic_raw_ns = ktime_get_raw_ns();
		control->clock = refnpu_ask64(refnpu, account, REFNPU_TRACE_T1);
		session->straddling = refnpu_ask32(refnpu, account, REFNPU_TRACE_RUNNING);
	} else {
		control->monotonic_raw_ns = ktime_get_raw_ns();
		control->clock = refnpu_ask64(refnpu, account, REFNPU_CLOCK);
	}
}

static u32 refnpu_running(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->mutex);
	if (!refnpu_owns_window(session))
		return 0;
	return refnpu_ask32(to_refnpu(session->npu), &session->account, REFNPU_TRACE_RUNNING);
}

static bool refnpu_drained(struct npuprof_session *session)
{
	/* One that does not answer has not said so. */
	return !refnpu_running(session) && !refnpu_dead(to_refnpu(session->npu));
}

static void refnpu_task_counts(struct npuprof_session *session)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	u64 started, ended;

	lockdep_assert_held(&refnpu->npu.mutex);
	if (!refnpu_owns_window(session))
		return;
	started = refnpu_read64(refnpu, &session->account, REFNPU_TRACE_STARTED);
	ended = refnpu_read64(refnpu, &session->account, REFNPU_TRACE_ENDED);
	if (refnpu_dead(refnpu))
		return;
	session->tasks_started = session->started_before + started;
	session->tasks_ended = session->ended_before + ended;
}

static void refnpu_publish(struct npuprof_session *session, bool last)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	unsigned int i;

	lockdep_assert_held(&refnpu->npu.mutex);
	if (last) {
		/* In this order, so that no task begins that is recorded and leaves no record. */
		if (refnpu_owns_window(session)) {
			refnpu_write32(refnpu, &session->account, REFNPU_TRACE_WINDOW, 0);
			refnpu_write32(refnpu, &session->account, REFNPU_TRACE_ENABLE, 0);
		}
		for (i = 1; i < session->ring_count; i++)
			refnpu_queue_off(session->rings[i]);
	}
	if (refnpu_owns_window(session))
		refnpu_fifos_publish(refnpu);
	refnpu_queues_publish(session);
}

/* Where the device tells how many records of a ring it cut off; 0 if there can be none. */
static u32 refnpu_cut_register(const struct npuprof_ring *ring)
{
	u32 channel = ring->config.channel;

	if (channel == NPUPROF_CHANNEL_BLOCK_PMU)
		return REFNPU_CORE(ring->core, REFNPU_CORE_CUT);
	if (refnpu_trace_of(channel).enable)
		return REFNPU_TRACE_CUT(refnpu_trace_of(channel).fifo);
	return 0;
}

static void refnpu_cut(struct npuprof_session *session, enum npuprof_loss_cause cause)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_ring *ring;
	unsigned long flags;
	unsigned int i;
	u32 reg, count;
	u64 clock;

	lockdep_assert_held(&refnpu->npu.mutex);
	for (i = 1; i < session->ring_count; i++) {
		ring = session->rings[i];
		reg = refnpu_cut_register(ring);
		if (!reg)
			continue;
		flags = npuprof_lock(&refnpu->npu);
		count = refnpu_read32(refnpu, &session->account, reg);
		clock = refnpu_read64(refnpu, &session->account, REFNPU_CLOCK);
		if (!refnpu_dead(refnpu))
			npc_ring_lose(&ring->producer, cause, count, clock, clock);
		npuprof_unlock(&refnpu->npu, flags);
	}
}

static void refnpu_disarm_core(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	refnpu_write32(refnpu, &ring->session->account, REFNPU_CORE(ring->core, REFNPU_CORE_CTRL),
		       0);
	flags = npuprof_lock(&refnpu->npu);
	refnpu->core_ring[ring->core] = NULL;
	npuprof_unlock(&refnpu->npu, flags);
}

static void refnpu_disarm(struct npuprof_session *session)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_account *account = &session->account;
	struct npuprof_ring *ring;
	unsigned int i;

	lockdep_assert_held(&refnpu->npu.mutex);
	refnpu_unlist_polled(refnpu, session);
	if (refnpu_owns_window(session)) {
		refnpu_write32(refnpu, account, REFNPU_TRACE_WINDOW, 0);
		refnpu_write32(refnpu, account, REFNPU_TRACE_ENABLE, 0);
		refnpu_fifos_disarm(refnpu, account);
	}
	for (i = 1; i < session->ring_count; i++) {
		ring = session->rings[i];
		refnpu_queue_disarm(ring);
		if (ring->config.channel == NPUPROF_CHANNEL_CORE_SAMPLE)
			refnpu_disarm_core(refnpu, ring);
	}
}

static u64 refnpu_clock(struct npuprof_session *session)
{
	lockdep_assert_held(&session->npu->lock);
	return refnpu_ask64(to_refnpu(session->npu), &session->account, REFNPU_CLOCK);
}

static void refnpu_free(struct npuprof_device *npu)
{
	kfree(to_refnpu(npu));
}

const struct npuprof_pmu_ops refnpu_ops = {
	.ring_size = sizeof(struct refnpu_queue),
	.event_known = refnpu_event_known,
	.sample_cost = refnpu_sample_cost,
	.arm = refnpu_arm,
	.open = refnpu_open,
	.close = refnpu_close,
	.drained = refnpu_drained,
	.task_counts = refnpu_task_counts,
	.publish = refnpu_publish,
	.cut = refnpu_cut,
	.disarm = refnpu_disarm,
	.poll = refnpu_poll,
	.latch = refnpu_latch,
	.sample = refnpu_sample,
	.clock = refnpu_clock,
	.counts_per_cycle = REFNPU_COUNTS_PER_CYCLE,
	.core_enable = refnpu_core_enable,
	.counter_set = refnpu_counter_set,
	.counters_read = refnpu_counters_read,
	.unit_total = refnpu_unit_total,
	.release = refnpu_free,
};
