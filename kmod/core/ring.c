// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/ring.h"

void npc_ring_init(struct npc_ring *ring, const struct npc_ring_setup *setup)
{
	struct npuprof_ring_ctrl *ctrl = setup->ctrl;

	memset(ring, 0, sizeof(*ring));
	ring->ctrl = ctrl;
	ring->tail = setup->tail;
	ring->data = setup->data;
	ring->events = setup->events;
	ring->slots = setup->slots;
	ring->record_size = setup->record_size;
	ring->index = setup->index;
	ring->gap_closed = setup->gap_closed;
	ring->overwrite = setup->overwrite;

	ctrl->lost_records = 0;
	ctrl->lost_bytes = 0;
	memset(ctrl->lost_by_cause, 0, sizeof(ctrl->lost_by_cause));
	ctrl->epoch = 0;
	ctrl->state = NPUPROF_RING_IDLE;
	ctrl->record_size = setup->record_size;
	ctrl->slots = setup->slots;
	ctrl->reserved0 = 0;
	npc_store_release(&ctrl->head, 0);
}

/* The one place that looks at the reader's word. Believable is: consumed no more than was
 * published, and not so far behind that the ring would hold more than it has slots.
 */
static bool tail_load(const struct npc_ring *ring, __u64 *tail)
{
	*tail = npc_load_acquire(&ring->tail->tail);
	return ring->head - *tail <= ring->slots;
}

static bool has_room(struct npc_ring *ring)
{
	__u64 tail;

	if (ring->overwrite)
		return !ring->frozen;
	if (ring->head - ring->tail_seen < ring->slots)
		return true;
	if (!tail_load(ring, &tail))
		return false;
	ring->tail_seen = tail;
	return ring->head - tail < ring->slots;
}

void *npc_ring_reserve(struct npc_ring *ring, __u64 clock)
{
	if (!has_room(ring)) {
		npc_ring_lose(ring, NPUPROF_LOSS_RING_FULL, 1, clock, clock);
		return NULL;
	}
	return ring->data + (ring->head & (ring->slots - 1)) * ring->record_size;
}

void npc_ring_commit(struct npc_ring *ring)
{
	/* The ring takes records again: what was missing before this one is now known in full. */
	if (ring->open_gaps)
		npc_ring_close_gaps(ring);
	ring->head++;
}

void npc_ring_publish(struct npc_ring *ring)
{
	npc_store_release(&ring->ctrl->head, ring->head);
}

bool npc_ring_write(struct npc_ring *ring, const void *record, __u64 clock)
{
	void *slot = npc_ring_reserve(ring, clock);

	if (!slot)
		return false;
	memcpy(slot, record, ring->record_size);
	npc_ring_commit(ring);
	return true;
}

void npc_ring_lose_at(struct npc_ring *ring, enum npuprof_loss_cause cause, __u64 position,
		      __u64 count, __u64 first, __u64 last)
{
	struct npuprof_ring_ctrl *ctrl = ring->ctrl;
	struct npc_gap *gap = &ring->gaps[cause];

	if (!count)
		return;
	if (!gap->count) {
		gap->position = position;
		gap->first = first;
		ring->open_gaps |= 1u << cause;
	}
	gap->count += count;
	gap->last = last;
	ring->lost += count;
	ring->lost_by_cause[cause] += count;
	npc_store(&ctrl->lost_by_cause[cause], ring->lost_by_cause[cause]);
	npc_store(&ctrl->lost_bytes, ring->lost * ring->record_size);
	npc_store(&ctrl->lost_records, ring->lost);
}

void npc_ring_lose(struct npc_ring *ring, enum npuprof_loss_cause cause, __u64 count, __u64 first,
		   __u64 last)
{
	npc_ring_lose_at(ring, cause, ring->head, count, first, last);
}

/* Positions go on behind 2^64, so what is newer is told by the distance. */
static void tail_believe(struct npc_ring *ring, __u64 tail)
{
	if ((__s64)(tail - ring->tail_seen) > 0)
		ring->tail_seen = tail;
}

void npc_ring_promise(struct npc_ring *ring, __u64 limit)
{
	tail_believe(ring, limit - ring->slots);
}

int npc_ring_follow_device(struct npc_ring *ring, __u64 head)
{
	__u64 tail = npc_load_acquire(&ring->tail->tail);

	if (head - ring->head > ring->slots)
		return -EINVAL;
	/* The device published before the driver looked, so the reader may be ahead of ring->head.
	 */
	if (head - tail <= ring->slots)
		tail_believe(ring, tail);
	if (head - ring->tail_seen > ring->slots)
		return -EINVAL;
	if (head != ring->head && ring->open_gaps)
		npc_ring_close_gaps(ring);
	ring->head = head;
	return 0;
}

bool npc_ring_close_gaps(struct npc_ring *ring)
{
	struct npc_ring *events = ring->events;
	__u32 cause;

	if (!ring->open_gaps)
		return true;
	if (!events)
		return false;
	for (cause = 0; cause < NPC_CAUSES; cause++) {
		struct npc_gap *gap = &ring->gaps[cause];

		if (!gap->count)
			continue;
		/* Asked first, because a gap kept open is not a lost event. */
		if (!has_room(events))
			break;
		npc_event_gap(npc_ring_reserve(events, gap->last), ring->index, ring->epoch,
			      (enum npuprof_loss_cause)cause, gap);
		npc_ring_commit(events);
		if (ring->gap_closed)
			ring->gap_closed(ring, (enum npuprof_loss_cause)cause, gap);
		gap->count = 0;
		ring->open_gaps &= ~(1u << cause);
	}
	npc_ring_publish(events);
	return !ring->open_gaps;
}

void npc_ring_set_state(struct npc_ring *ring, __u32 state)
{
	npc_store_release(&ring->ctrl->state, state);
}

void npc_ring_set_epoch(struct npc_ring *ring, __u32 epoch)
{
	ring->epoch = epoch;
	npc_store_release(&ring->ctrl->epoch, epoch);
}

void npc_ring_freeze(struct npc_ring *ring, bool frozen)
{
	if (!ring->overwrite)
		return;
	ring->frozen = frozen;
	npc_ring_publish(ring);
	npc_ring_set_state(ring, frozen ? NPUPROF_RING_FROZEN : NPUPROF_RING_RUNNING);
}

__u64 npc_ring_pending(const struct npc_ring *ring)
{
	__u64 tail;

	return tail_load(ring, &tail) ? ring->head - tail : ring->slots;
}

void npc_event_gap(struct npuprof_rec_event *event, __u32 ring, __u32 epoch,
		   enum npuprof_loss_cause cause, const struct npc_gap *gap)
{
	memset(event, 0, sizeof(*event));
	event->kind = NPUPROF_EVENT_GAP;
	event->ring = ring;
	event->cause = cause;
	event->epoch = epoch;
	event->position = gap->position;
	event->count = gap->count;
	event->first = gap->first;
	event->last = gap->last;
}

void npc_event_epoch(struct npuprof_rec_event *event, __u32 epoch, enum npuprof_loss_cause cause,
		     __u64 clock)
{
	memset(event, 0, sizeof(*event));
	event->kind = NPUPROF_EVENT_EPOCH;
	event->ring = ~(__u32)0;
	event->cause = cause;
	event->epoch = epoch;
	event->first = clock;
	event->last = clock;
}

void npc_event_throttle(struct npuprof_rec_event *event, __u32 ring, __u32 epoch, __u64 period_ns,
			__u64 clock)
{
	memset(event, 0, sizeof(*event));
	event->kind = NPUPROF_EVENT_THROTTLE;
	event->ring = ring;
	event->cause = NPUPROF_LOSS_THROTTLED;
	event->epoch = epoch;
	event->count = period_ns;
	event->first = clock;
	event->last = clock;
}

void npc_event_clock(struct npuprof_rec_event *event, __u32 epoch,
		     const struct npuprof_clock *bracket)
{
	__u64 width = bracket->host_after_ns - bracket->host_before_ns;

	memset(event, 0, sizeof(*event));
	event->kind = NPUPROF_EVENT_CLOCK;
	event->ring = ~(__u32)0;
	event->epoch = epoch;
	event->count = bracket->host_before_ns + width / 2;
	event->first = bracket->device_clock;
	event->last = width;
}
