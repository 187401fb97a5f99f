// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reference NPU, device-written path: the device writes records into the pages of a ring, and how
 * far it is into a word of coherent memory. The driver publishes from there, and gives credit for
 * slots the reader has left. While records flow, no register is read.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "refnpu.h"

/*
 * Where the CPU's view has to be synchronised, so much of a ring is at most, in one look and each
 * way: that is part of an operation that is not cut.
 */
#define REFNPU_SYNC_BYTES	SZ_16K

static struct refnpu_queue *refnpu_queue(struct npuprof_ring *ring)
{
	return npuprof_ring_priv(ring);
}

/* Hands the slots of records @from to @to to the CPU, or back to the device. */
static void refnpu_sync(struct refnpu *refnpu, struct npuprof_ring *ring, u64 from, u64 to,
			bool for_device)
{
	const struct refnpu_queue *queue = refnpu_queue(ring);
	u64 mask = ring->config.slots - 1;

	lockdep_assert_held(&ring->session->poll_lock);
	if (!queue->sync)
		return;
	while (from != to) {
		u64 records = min(to - from, ring->config.slots - (from & mask));
		size_t begin = (from & mask) * ring->config.record_size;
		size_t end = begin + records * ring->config.record_size;

		while (begin < end) {
			size_t inside = offset_in_page(begin);
			size_t bytes = min(end - begin, PAGE_SIZE - inside);
			dma_addr_t page = queue->pages[begin >> PAGE_SHIFT];

			if (for_device)
				dma_sync_single_range_for_device(refnpu->bus, page, inside, bytes,
								 DMA_FROM_DEVICE);
			else
				dma_sync_single_range_for_cpu(refnpu->bus, page, inside, bytes,
							      DMA_FROM_DEVICE);
			begin += bytes;
		}
		from += records;
	}
}

static void refnpu_unmap(struct refnpu *refnpu, struct refnpu_queue *queue)
{
	lockdep_assert_held(&refnpu->npu.mutex);
	while (queue->page_count) {
		dma_unmap_page(refnpu->bus, queue->pages[--queue->page_count], PAGE_SIZE,
			       DMA_FROM_DEVICE);
		cond_resched();
	}
	kvfree(queue->pages);
	queue->pages = NULL;
}

static int refnpu_map(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	struct refnpu_queue *queue = refnpu_queue(ring);
	int err = -ENOMEM;
	unsigned int i;

	lockdep_assert_held(&refnpu->npu.mutex);
	queue->sync = false;
	queue->page_count = 0;
	queue->pages = kvcalloc(ring->pages.count, sizeof(*queue->pages), NPUPROF_GFP);
	if (!queue->pages)
		return -ENOMEM;
	for (i = 0; i < ring->pages.count; i++) {
		dma_addr_t address;

		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto fail;
		}
		address = dma_map_page(refnpu->bus, ring->pages.pages[i], 0, PAGE_SIZE,
				       DMA_FROM_DEVICE);
		if (dma_mapping_error(refnpu->bus, address))
			goto fail;
		queue->pages[queue->page_count++] = address;
		queue->sync |= dma_need_sync(refnpu->bus, address);
		cond_resched();
	}
	return 0;

fail:
	refnpu_unmap(refnpu, queue);
	return err;
}

static void refnpu_queue_program(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	struct npuprof_account *account = &ring->session->account;
	struct refnpu_queue *queue = refnpu_queue(ring);
	const struct npuprof_add_ring *config = &ring->config;
	u32 core = npc_channel_per_core(config->channel) ? ring->core : NPC_CORE_DEVICE;
	u32 q = queue->index;
	unsigned int i;

	lockdep_assert_held(&refnpu->npu.mutex);
	refnpu_write32(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_CHANNEL),
		       config->channel | core << 16);
	refnpu_write32(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_SLOTS), config->slots);
	refnpu_write32(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_PAGE_SHIFT), PAGE_SHIFT);
	for (i = 0; i < queue->page_count; i++) {
		refnpu_write64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_PAGE_ADDRESS),
			       queue->pages[i]);
		cond_resched();
	}
	refnpu_write64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_HEAD_ADDRESS),
		       refnpu->heads_dma + q * sizeof(*refnpu->heads));
	refnpu_write64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_CREDIT),
		       queue->credit.limit);
	refnpu_write64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_PERIOD_NS),
		       config->period_ns);
	refnpu_write64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_WAKE), queue->wake);
	refnpu_write32(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
}

/**
 * refnpu_queue_arm() - let the device write a ring
 * @ring: empty ring
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 * Return: 0, -EBUSY (no queue left), -ENOMEM, -EINTR (the caller was killed), -EIO (the device
 * refuses).
 */
int refnpu_queue_arm(struct npuprof_ring *ring)
{
	struct refnpu *refnpu = to_refnpu(ring->session->npu);
	struct npuprof_account *account = &ring->session->account;
	struct refnpu_queue *queue = refnpu_queue(ring);
	unsigned int index;
	u32 ctrl;
	int err;

	lockdep_assert_held(&refnpu->npu.mutex);
	index = find_first_zero_bit(refnpu->queues, refnpu->queue_count);
	if (index >= refnpu->queue_count)
		return -EBUSY;
	err = refnpu_map(refnpu, ring);
	if (err)
		return err;
	__set_bit(index, refnpu->queues);
	queue->index = index;
	queue->dropped = 0;
	queue->wake = 0;
	queue->returned = 0;
	npc_credit_init(&queue->credit, &ring->producer, 0);
	if (queue->sync)
		queue->credit.most = REFNPU_SYNC_BYTES / ring->config.record_size;
	queue->suspect = queue->credit.limit;
	WRITE_ONCE(refnpu->heads[index], 0);
	refnpu_queue_program(refnpu, ring);
	ctrl = refnpu_read32(refnpu, account, REFNPU_QUEUE(index, REFNPU_QUEUE_CTRL));

	spin_lock_bh(&ring->session->poll_lock);
	queue->on = true;
	spin_unlock_bh(&ring->session->poll_lock);
	return ctrl == REFNPU_QUEUE_ENABLE ? 0 : -EIO;
}

/**
 * refnpu_queue_off() - let the device write no more; what it wrote can still be published
 * @ring: ring, in this path or not
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_queue_off(struct npuprof_ring *ring)
{
	struct refnpu *refnpu = to_refnpu(ring->session->npu);
	struct refnpu_queue *queue = refnpu_queue(ring);

	lockdep_assert_held(&refnpu->npu.mutex);
	if (queue->on)
		refnpu_write32(refnpu, &ring->session->account,
			       REFNPU_QUEUE(queue->index, REFNPU_QUEUE_CTRL), 0);
}

/**
 * refnpu_queue_disarm() - take a ring's memory away from the device
 * @ring: ring, in this path or not
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_queue_disarm(struct npuprof_ring *ring)
{
	struct refnpu *refnpu = to_refnpu(ring->session->npu);
	struct refnpu_queue *queue = refnpu_queue(ring);

	lockdep_assert_held(&refnpu->npu.mutex);
	if (!queue->on)
		return;
	refnpu_queue_off(ring);
	/* Reading pushes the write through, and with it whatever the device still had under way. */
	refnpu_read32(refnpu, &ring->session->account,
		      REFNPU_QUEUE(queue->index, REFNPU_QUEUE_CTRL));
	spin_lock_bh(&ring->session->poll_lock);
	queue->on = false;
	spin_unlock_bh(&ring->session->poll_lock);
	refnpu_unmap(refnpu, queue);
	__clear_bit(queue->index, refnpu->queues);
}

/* Accounts for records that the device dropped. */
static void refnpu_note_drops(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	struct npuprof_account *account = &ring->session->account;
	struct refnpu_queue *queue = refnpu_queue(ring);
	u32 q = queue->index;
	u64 dropped, position, first, last;

	lockdep_assert_held(&refnpu->npu.lock);
	dropped = refnpu_read64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_DROPPED));
	if (dropped == queue->dropped || refnpu_dead(refnpu))
		return;
	position = refnpu_read64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_GAP_POSITION));
	first = refnpu_read64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_GAP_FIRST));
	last = refnpu_read64(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_GAP_LAST));
	if (refnpu_dead(refnpu))
		return;
	npc_ring_lose_at(&ring->producer, NPUPROF_LOSS_NO_CREDIT, position,
			 dropped - queue->dropped, first, last);
	refnpu_write32(refnpu, account, REFNPU_QUEUE(q, REFNPU_QUEUE_GAP_ACK), 1);
	queue->dropped = dropped;
}

/* How many records the device has written. With @ask it is asked, else its last word counts. */
static u64 refnpu_head(struct refnpu *refnpu, struct npuprof_ring *ring, bool ask)
{
	const struct refnpu_queue *queue = refnpu_queue(ring);
	u64 head = 0;

	lockdep_assert_held(&ring->session->poll_lock);
	if (ask)
		head = refnpu_read64(refnpu, &ring->session->account,
				     REFNPU_QUEUE(queue->index, REFNPU_QUEUE_PRODUCER));
	if (!ask || refnpu_dead(refnpu))
		head = le64_to_cpu(READ_ONCE(refnpu->heads[queue->index]));
	/* Records are looked at after the word that says they are there. */
	dma_rmb();
	return head;
}

/*
 * Publishes what the device wrote up to record @wrote, or as much of it as is done at a time, and
 * renews its credit. With @last it is asked for drops once all is published. Returns true if there
 * was any progress.
 */
static bool refnpu_queue_look(struct refnpu *refnpu, struct npuprof_ring *ring, u64 wrote,
			      bool last)
{
	struct npuprof_account *account = &ring->session->account;
	struct refnpu_queue *queue = refnpu_queue(ring);
	struct npc_ring *producer = &ring->producer;
	u64 before = producer->head;
	u64 limit = queue->credit.limit;
	u64 head = wrote;
	bool renewed;
	unsigned long flags;

	lockdep_assert_held(&ring->session->poll_lock);
	/*
	 * Impossible heads are the device's fault alone, whatever the reader did to its tail; the
	 * ring then stands still, which the reader survives.
	 */
	if (head - before <= ring->config.slots) {
		if (queue->sync)
			head = min(head, before + REFNPU_SYNC_BYTES / ring->config.record_size);
		refnpu_sync(refnpu, ring, before, head, false);
	}
	last = last && head == wrote;

	flags = npuprof_lock(&refnpu->npu);
	if (!npc_ring_follow_device(producer, head))
		npc_ring_publish(producer);
	/* Nothing is dropped before the device has come to the end of what it was given. */
	if ((last || head >= queue->suspect) && !refnpu_dead(refnpu))
		refnpu_note_drops(refnpu, ring);
	queue->suspect = limit;
	renewed = npc_credit_renew(&queue->credit, producer);
	npuprof_ring_touch(ring, ktime_get_ns());
	npuprof_unlock(&refnpu->npu, flags);

	if (renewed) {
		u64 returned = queue->credit.limit - ring->config.slots;

		refnpu_sync(refnpu, ring, queue->returned, returned, true);
		queue->returned = returned;
		refnpu_write64(refnpu, account,
			       REFNPU_QUEUE(queue->index, REFNPU_QUEUE_CREDIT),
			       queue->credit.limit);
	}
	return renewed || producer->head != before;
}

/*
 * Nothing has moved for a while: the next record of a task interrupts, so that until then nobody
 * needs to look often. Samples come when their period says, and as many interrupts as samples
 * would help nobody.
 */
static void refnpu_ask_to_wake(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	struct refnpu_queue *queue = refnpu_queue(ring);
	u64 next = ring->producer.head + 1;

	lockdep_assert_held(&ring->session->poll_lock);
	if (queue->wake == next || npc_channel_sampled(ring->config.channel))
		return;
	queue->wake = next;
	refnpu_write64(refnpu, &ring->session->account,
		       REFNPU_QUEUE(queue->index, REFNPU_QUEUE_WAKE), next);
}

/**
 * refnpu_poll() - npuprof_pmu_ops.poll
 * @session: session
 * @until: when to stop, in CLOCK_MONOTONIC
 *
 * Context: Soft interrupt. npuprof_session.poll_lock is held.
 * Return: nanoseconds until the next round, 0 for never.
 */
u64 refnpu_poll(struct npuprof_session *session, u64 until)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	bool quiet = session->poll_interval_ns >= REFNPU_QUIET_NS;

	lockdep_assert_held(&session->poll_lock);
	if (!session->poll_next) {
		session->poll_any = false;
		session->poll_progress = false;
	}
	while (++session->poll_next < session->ring_count) {
		struct npuprof_ring *ring = session->rings[session->poll_next];

		if (!refnpu_queue(ring)->on)
			continue;
		session->poll_any = true;
		if (refnpu_queue_look(refnpu, ring, refnpu_head(refnpu, ring, false), false))
			session->poll_progress = true;
		else if (quiet)
			refnpu_ask_to_wake(refnpu, ring);
		if (ktime_get_ns() >= until && session->poll_next + 1 < session->ring_count)
			return session->poll_interval_ns;
	}
	session->poll_next = 0;
	if (!session->poll_any)
		return 0;
	session->poll_interval_ns = session->poll_progress ?
					    NPUPROF_POLL_MIN_NS :
					    min(session->poll_interval_ns * 2, NPUPROF_POLL_MAX_NS);
	return session->poll_interval_ns;
}

/*
 * Publishes all that the device has written by now, piece by piece: soft interrupts, and the timer
 * that looks at the same rings, have their turn in between.
 */
static void refnpu_queue_publish(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	spinlock_t *poll_lock = &ring->session->poll_lock;
	struct npc_ring *producer = &ring->producer;
	u64 before, wrote;
	bool over;

	lockdep_assert_held(&refnpu->npu.mutex);
	if (!refnpu_queue(ring)->on)
		return;
	spin_lock_bh(poll_lock);
	wrote = refnpu_head(refnpu, ring, true);
	spin_unlock_bh(poll_lock);
	do {
		spin_lock_bh(poll_lock);
		/* That timer may have come further meanwhile. */
		wrote = max(wrote, producer->head);
		before = producer->head;
		refnpu_queue_look(refnpu, ring, wrote, true);
		over = producer->head == wrote || producer->head == before;
		spin_unlock_bh(poll_lock);
		cond_resched();
	} while (!over);
}

/**
 * refnpu_queues_publish() - everything that the device has written is shown to the reader
 * @session: session
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_queues_publish(struct npuprof_session *session)
{
	struct refnpu *refnpu = to_refnpu(session->npu);
	unsigned int i;

	lockdep_assert_held(&refnpu->npu.mutex);
	for (i = 1; i < session->ring_count; i++)
		refnpu_queue_publish(refnpu, session->rings[i]);
}
