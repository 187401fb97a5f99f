// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reference NPU, register path: FIFOs of the task scheduler and of the cores. What a FIFO cannot
 * hold it counts itself.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "refnpu.h"

static u64 refnpu_gather_ns(const struct refnpu_fifo *fifo)
{
	return clamp_t(u64, fifo->ring->config.latency_ns / 2, REFNPU_GATHER_MIN_NS,
		       REFNPU_GATHER_NS);
}

/*
 * Begins a look at a FIFO. Losses are read before the number of entries: an entry that was lost
 * found the FIFO full, so all that wait now came before it.
 */
static void refnpu_look(struct refnpu *refnpu, struct refnpu_fifo *fifo)
{
	struct npuprof_account *account = &fifo->ring->session->account;
	u64 lost = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_LOST);

	lockdep_assert_held(&refnpu->npu.lock);
	fifo->new_lost = 0;
	if (lost != fifo->lost) {
		fifo->lost_first = refnpu_read64(refnpu, account,
						 fifo->base + REFNPU_FIFO_LOST_FIRST);
		fifo->lost_last = refnpu_read64(refnpu, account,
						fifo->base + REFNPU_FIFO_LOST_LAST);
		refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_LOST_ACK, 1);
		fifo->new_lost = lost - fifo->lost;
	}
	/* However many it says, it has no room for more. */
	fifo->left = min(refnpu_read32(refnpu, account, fifo->base + REFNPU_FIFO_COUNT),
			 fifo->depth);
	if (refnpu_dead(refnpu)) {
		fifo->new_lost = 0;
		fifo->left = 0;
		return;
	}
	fifo->lost += fifo->new_lost;
}

/* Returns false if the device is gone: what it said was no entry. */
static bool refnpu_take_entry(struct refnpu *refnpu, struct refnpu_fifo *fifo)
{
	struct npuprof_ring *ring = fifo->ring;
	struct npuprof_account *account = &ring->session->account;
	struct npc_entry_context context = {
		.slots = { ring->slots[0], ring->slots[1] },
		.core = fifo->core,
	};
	u64 words[REFNPU_FIFO_WORDS];
	unsigned int used, w;
	u64 clock;

	lockdep_assert_held(&refnpu->npu.lock);
	words[0] = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_DATA(0));
	used = npc_entry_words(words[0]);
	for (w = 1; w < used; w++)
		words[w] = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_DATA(w));
	clock = used ? npc_entry_clock(words) : refnpu_read64(refnpu, account, REFNPU_CLOCK);
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_POP, 1);
	if (refnpu_dead(refnpu))
		return false;
	npc_entry_put(&ring->producer, ring->config.channel, words, &context, clock);
	return true;
}

/*
 * Takes entries until those of the look are in the ring or @until has come. Returns true if they
 * are.
 */
static bool refnpu_drain(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 until, u32 *taken)
{
	struct npuprof_ring *ring = fifo->ring;
	bool over = true;

	lockdep_assert_held(&refnpu->npu.lock);
	if (!fifo->left)
		refnpu_look(refnpu, fifo);
	while (fifo->left && refnpu_take_entry(refnpu, fifo)) {
		fifo->left--;
		++*taken;
		if (fifo->left && ktime_get_ns() >= until) {
			over = false;
			break;
		}
	}
	if (over && fifo->new_lost) {
		npc_ring_lose(&ring->producer, NPUPROF_LOSS_FIFO_OVERFLOW, fifo->new_lost,
			      fifo->lost_first, fifo->lost_last);
		fifo->new_lost = 0;
	}
	npc_ring_publish(&ring->producer);
	npuprof_ring_touch(ring, ktime_get_ns());
	npuprof_send_wakeup(ring->session);
	return over;
}

/*
 * Lets entries gather, but not so many that the FIFO comes near its end. Returns how many that
 * is.
 */
static u32 refnpu_fifo_gather(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 now)
{
	u32 watermark = max(1u, fifo->depth / 4);

	lockdep_assert_held(&refnpu->npu.lock);
	fifo->polling = true;
	fifo->drain_ns = now + refnpu_gather_ns(fifo);
	refnpu_write32(refnpu, &fifo->ring->session->account, fifo->base + REFNPU_FIFO_WATERMARK,
		       watermark);
	return watermark;
}

/*
 * Nothing came while entries gathered, so the next one interrupts. One that came before the device
 * was told so interrupts nobody.
 */
static void refnpu_fifo_quiet(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 now)
{
	struct npuprof_account *account = &fifo->ring->session->account;

	lockdep_assert_held(&refnpu->npu.lock);
	fifo->polling = false;
	fifo->drain_ns = NPC_TIME_NEVER;
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_WATERMARK, 1);
	if (refnpu_read32(refnpu, account, fifo->base + REFNPU_FIFO_COUNT))
		refnpu_fifo_gather(refnpu, fifo, now);
}

/*
 * Does what is due for a FIFO, because it interrupted (@ready) or its time has come. Returns true
 * if nothing of that is left to do.
 */
static bool refnpu_fifo_serve(struct refnpu *refnpu, struct refnpu_fifo *fifo, bool ready, u64 now,
			      u64 until)
{
	struct npuprof_account *account = &fifo->ring->session->account;
	u32 watermark, taken = 0;

	lockdep_assert_held(&refnpu->npu.lock);
	if (!fifo->polling) {
		/* The first entry after a pause. */
		watermark = refnpu_fifo_gather(refnpu, fifo, now);
		if (refnpu_read32(refnpu, account, fifo->base + REFNPU_FIFO_COUNT) < watermark)
			return true;
	}
	if (!refnpu_drain(refnpu, fifo, until, &taken))
		return false;
	if (taken || ready)
		fifo->drain_ns = now + refnpu_gather_ns(fifo);
	else
		refnpu_fifo_quiet(refnpu, fifo, now);
	return true;
}

/**
 * refnpu_fifos_serve() - take entries out of FIFOs that interrupted or whose time has come
 * @refnpu: device
 * @now: CLOCK_MONOTONIC
 * @until: when to stop; what was begun is brought to an end
 *
 * Each call begins behind the FIFO with which the last one ended, so that one that never becomes
 * empty takes its turn like the others.
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: true if nothing is left to do.
 */
bool refnpu_fifos_serve(struct refnpu *refnpu, u64 now, u64 until)
{
	unsigned int count = REFNPU_FIFOS + npuprof_cores(&refnpu->npu);
	unsigned int left;

	lockdep_assert_held(&refnpu->npu.lock);
	for (left = count; left; left--) {
		unsigned int i = refnpu->next_fifo;
		struct refnpu_fifo *fifo = &refnpu->fifos[i];
		bool ready = test_bit(i, refnpu->ready);

		refnpu->next_fifo = i + 1 < count ? i + 1 : 0;
		if (!fifo->ring || (!ready && now < fifo->drain_ns))
			continue;
		if (!refnpu_fifo_serve(refnpu, fifo, ready, now, until))
			return false;
		__clear_bit(i, refnpu->ready);
		if (ktime_get_ns() >= until)
			return false;
	}
	return true;
}

/**
 * refnpu_fifos_next() - when the next FIFO is due
 * @refnpu: device
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: CLOCK_MONOTONIC or NPC_TIME_NEVER.
 */
u64 refnpu_fifos_next(struct refnpu *refnpu)
{
	struct refnpu_fifo *fifo;
	u64 next = NPC_TIME_NEVER;

	lockdep_assert_held(&refnpu->npu.lock);
	list_for_each_entry(fifo, &refnpu->busy_fifos, node)
		next = min(next, fifo->drain_ns);
	return next;
}

/* --- For requests; npuprof_device.mutex is held --- */

/**
 * refnpu_fifo_arm() - let a FIFO fill a ring
 * @refnpu: device
 * @fifo: FIFO that is not in use
 * @ring: ring
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_fifo_arm(struct refnpu *refnpu, struct refnpu_fifo *fifo, struct npuprof_ring *ring)
{
	struct npuprof_account *account = &ring->session->account;
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_CTRL, REFNPU_FIFO_FLUSH);
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_WATERMARK, 1);
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_CTRL, REFNPU_FIFO_ENABLE);

	flags = npuprof_lock(&refnpu->npu);
	fifo->core = ring->config.core;
	fifo->left = 0;
	fifo->lost = 0;
	fifo->new_lost = 0;
	fifo->polling = false;
	fifo->drain_ns = NPC_TIME_NEVER;
	fifo->ring = ring;
	list_add_tail(&fifo->node, &refnpu->busy_fifos);
	npuprof_unlock(&refnpu->npu, flags);
}

/**
 * refnpu_fifos_disarm() - let go of all FIFOs
 * @refnpu: device
 * @account: who pays for it
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_fifos_disarm(struct refnpu *refnpu, struct npuprof_account *account)
{
	struct refnpu_fifo *fifo, *next;
	enum npuprof_loss_cause cause = test_bit(REFNPU_FROZEN, &refnpu->dead) ?
						NPUPROF_LOSS_RESET : NPUPROF_LOSS_REMOVED;
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	/* One at a time: only who has the mutex adds to the list or takes from it. */
	list_for_each_entry_safe(fifo, next, &refnpu->busy_fifos, node) {
		flags = npuprof_lock(&refnpu->npu);
		refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_CTRL, 0);
		/* Entries that were seen waiting, and that a device which went took along. */
		npc_ring_lose(&fifo->ring->producer, cause, fifo->left, 0, 0);
		fifo->left = 0;
		fifo->ring = NULL;
		__clear_bit(fifo - refnpu->fifos, refnpu->ready);
		list_del_init(&fifo->node);
		npuprof_unlock(&refnpu->npu, flags);
	}
	flags = npuprof_lock(&refnpu->npu);
	refnpu->watchdog_ns = NPC_TIME_NEVER;
	npuprof_unlock(&refnpu->npu, flags);
}

/*
 * A look that an interrupt began does not know of what came after it, and one can be under way
 * whenever the lock was free. So it takes a look that was begun here, whoever ends it.
 */
static void refnpu_fifo_publish(struct refnpu *refnpu, struct refnpu_fifo *fifo)
{
	bool begun = false, over;
	unsigned long flags;
	u32 taken = 0;
	u64 until;

	lockdep_assert_held(&refnpu->npu.mutex);
	do {
		flags = npuprof_lock(&refnpu->npu);
		begun |= !fifo->left;
		until = npuprof_slot_end(&refnpu->npu, ktime_get_ns());
		over = refnpu_drain(refnpu, fifo, until, &taken);
		npuprof_unlock(&refnpu->npu, flags);
		cond_resched();
	} while (!(begun && over) && !refnpu_dead(refnpu));
}

/**
 * refnpu_fifos_publish() - everything that waits in FIFOs goes into the rings
 * @refnpu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_fifos_publish(struct refnpu *refnpu)
{
	struct refnpu_fifo *fifo;

	lockdep_assert_held(&refnpu->npu.mutex);
	list_for_each_entry(fifo, &refnpu->busy_fifos, node)
		refnpu_fifo_publish(refnpu, fifo);
}
