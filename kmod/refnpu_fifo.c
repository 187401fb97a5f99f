// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reference NPU, register path: interrupts, FIFOs of the task scheduler and of the cores.
 *
 * Everything here works in slots: an interrupt or the service timer does as much as
 * NPUPROF_SLOT_NS allows, and the timer goes on with the rest after a pause. What a FIFO cannot
 * hold meanwhile it counts itself.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "refnpu.h"
#include "trace.h"

static void refnpu_service_at(struct refnpu *refnpu, u64 due_ns)
{
	lockdep_assert_held(&refnpu->npu.lock);
	if (due_ns >= refnpu->service_ns || refnpu->npu.gone)
		return;
	refnpu->service_ns = due_ns;
	hrtimer_start(&refnpu->service, ns_to_ktime(due_ns), HRTIMER_MODE_ABS_HARD);
}

static u64 refnpu_gather_ns(const struct refnpu_fifo *fifo)
{
	return min_t(u64, REFNPU_GATHER_NS, fifo->ring->config.latency_ns / 2);
}

/*
 * Begins a look at a FIFO. Losses are read before the number of entries: an entry that was lost
 * found the FIFO full, so all that wait now came before it.
 */
static void refnpu_look(struct refnpu *refnpu, struct refnpu_fifo *fifo)
{
	struct npuprof_account *account = &fifo->ring->session->account;
	u64 lost = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_LOST);

	fifo->new_lost = 0;
	if (lost != fifo->lost) {
		fifo->lost_first = refnpu_read64(refnpu, account,
						 fifo->base + REFNPU_FIFO_LOST_FIRST);
		fifo->lost_last = refnpu_read64(refnpu, account,
						fifo->base + REFNPU_FIFO_LOST_LAST);
		refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_LOST_ACK, 1);
		fifo->new_lost = lost - fifo->lost;
	}
	fifo->left = refnpu_read32(refnpu, account, fifo->base + REFNPU_FIFO_COUNT);
	if (refnpu_dead(refnpu)) {
		fifo->new_lost = 0;
		fifo->left = 0;
		return;
	}
	fifo->lost += fifo->new_lost;
}

static void refnpu_take_entry(struct refnpu *refnpu, struct refnpu_fifo *fifo)
{
	struct npuprof_ring *ring = fifo->ring;
	struct npuprof_account *account = &ring->session->account;
	struct npc_entry_context context = {
		.slots = { ring->slots[0], ring->slots[1] },
		.core = fifo->core,
	};
	u64 words[REFNPU_FIFO_WORDS];
	unsigned int used, w;
	void *slot;

	words[0] = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_DATA(0));
	used = npc_entry_words(words[0]);
	for (w = 1; w < used; w++)
		words[w] = refnpu_read64(refnpu, account, fifo->base + REFNPU_FIFO_DATA(w));
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_POP, 1);
	/* Of a newer device, no record of this contract; or of none at all any more. */
	if (!used || refnpu_dead(refnpu))
		return;
	slot = npc_ring_reserve(&ring->producer, npc_entry_clock(words));
	if (slot && !npc_entry_record(slot, ring->config.channel, words, &context))
		npc_ring_commit(&ring->producer);
}

/*
 * Takes entries until those of the look are in the ring or @until has come. Returns true if they
 * are.
 */
static bool refnpu_drain(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 until, u32 *taken)
{
	struct npuprof_ring *ring = fifo->ring;
	bool over = true;

	if (!fifo->left)
		refnpu_look(refnpu, fifo);
	while (fifo->left) {
		refnpu_take_entry(refnpu, fifo);
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

/* A FIFO interrupted. Returns true if nothing of that is left to do. */
static bool refnpu_serve_ready(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 now, u64 until)
{
	struct npuprof_account *account;
	u32 watermark, taken = 0;

	if (!fifo->ring)
		return true;
	if (fifo->polling)
		return refnpu_drain(refnpu, fifo, until, &taken);
	/*
	 * The first entry after a pause. Let more gather, but not so many that the FIFO comes
	 * near its end.
	 */
	account = &fifo->ring->session->account;
	fifo->polling = true;
	fifo->drain_ns = now + refnpu_gather_ns(fifo);
	watermark = max(1u, fifo->depth / 4);
	refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_WATERMARK, watermark);
	if (refnpu_read32(refnpu, account, fifo->base + REFNPU_FIFO_COUNT) < watermark)
		return true;
	return refnpu_drain(refnpu, fifo, until, &taken);
}

/* The time of a FIFO that gathers has come. Returns true if nothing of that is left to do. */
static bool refnpu_serve_gathered(struct refnpu *refnpu, struct refnpu_fifo *fifo, u64 now,
				  u64 until)
{
	u32 taken = 0;

	if (now < fifo->drain_ns)
		return true;
	if (!refnpu_drain(refnpu, fifo, until, &taken))
		return false;
	if (taken) {
		fifo->drain_ns = now + refnpu_gather_ns(fifo);
		return true;
	}
	fifo->polling = false;
	fifo->drain_ns = NPC_TIME_NEVER;
	refnpu_write32(refnpu, &fifo->ring->session->account, fifo->base + REFNPU_FIFO_WATERMARK,
		       1);
	return true;
}

static void refnpu_read_overflowed(struct refnpu *refnpu, unsigned int core)
{
	struct npuprof_account *account = refnpu_account(refnpu);
	struct npuprof_ring *ring = refnpu->core_ring[core];
	struct npc_core_reading reading;

	if (npuprof_perf_overflow(&refnpu->npu, core))
		return;
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
	refnpu_read_core(refnpu, account, core, ring ? ring->counters.used : 0, &reading);
	if (!refnpu_dead(refnpu))
		trace_npuprof_overflow(&refnpu->npu, core, reading.overflowed);
	if (ring && !refnpu_dead(refnpu))
		npc_core_update(&ring->counters, &reading);
}

/* Works until @until at what interrupts left. Returns true if nothing is left. */
static bool refnpu_work_off(struct refnpu *refnpu, u64 now, u64 until)
{
	unsigned int cores = npuprof_cores(&refnpu->npu);
	struct refnpu_fifo *fifo;
	unsigned int bit;

	for_each_set_bit(bit, refnpu->overflowed, cores) {
		refnpu_read_overflowed(refnpu, bit);
		__clear_bit(bit, refnpu->overflowed);
		if (ktime_get_ns() >= until)
			return false;
	}
	for_each_set_bit(bit, refnpu->ready, REFNPU_FIFOS + cores) {
		if (!refnpu_serve_ready(refnpu, &refnpu->fifos[bit], now, until))
			return false;
		__clear_bit(bit, refnpu->ready);
		if (ktime_get_ns() >= until)
			return false;
	}
	list_for_each_entry(fifo, &refnpu->busy_fifos, node) {
		if (!refnpu_serve_gathered(refnpu, fifo, now, until))
			return false;
		if (ktime_get_ns() >= until)
			return false;
	}
	return true;
}

static void refnpu_work_slot(struct refnpu *refnpu, u64 begin)
{
	bool over = refnpu_work_off(refnpu, begin, begin + NPUPROF_SLOT_NS);
	struct refnpu_fifo *fifo;
	u64 now = ktime_get_ns();
	u64 next;

	atomic64_add(now - begin, &refnpu_account(refnpu)->busy_ns);
	if (refnpu_dead(refnpu))
		return;
	if (!over) {
		refnpu_service_at(refnpu, now + (now - begin) * NPUPROF_PAUSE_RATIO);
		return;
	}
	next = refnpu->watchdog_ns;
	list_for_each_entry(fifo, &refnpu->busy_fifos, node)
		next = min(next, fifo->drain_ns);
	if (next != NPC_TIME_NEVER)
		refnpu_service_at(refnpu, next);
}

static void refnpu_note_fifos(struct refnpu *refnpu, struct npuprof_account *account)
{
	unsigned long pending = refnpu_read32(refnpu, account, REFNPU_FIFO_PENDING);
	unsigned int bit;

	refnpu_write32(refnpu, account, REFNPU_FIFO_PENDING, pending);
	for_each_set_bit(bit, &pending, REFNPU_FIFOS)
		__set_bit(bit, refnpu->ready);
}

static void refnpu_note_cores(struct refnpu *refnpu, struct npuprof_account *account, bool block)
{
	unsigned int cores = npuprof_cores(&refnpu->npu);
	unsigned int word, bit;
	unsigned long pending;

	for (word = 0; word < DIV_ROUND_UP(cores, 32); word++) {
		u32 reg = block ? REFNPU_BLOCK_PENDING(word) : REFNPU_OVERFLOW_PENDING(word);

		pending = refnpu_read32(refnpu, account, reg);
		/* Overflows are acknowledged in the core. */
		if (block && pending)
			refnpu_write32(refnpu, account, reg, pending);
		for_each_set_bit(bit, &pending, min(32u, cores - word * 32)) {
			if (block)
				__set_bit(REFNPU_FIFOS + 32 * word + bit, refnpu->ready);
			else
				__set_bit(32 * word + bit, refnpu->overflowed);
		}
	}
}

/**
 * refnpu_interrupt() - one of the vectors fired
 * @refnpu: device
 *
 * All vectors come here; whichever is first serves what the status register says.
 */
void refnpu_interrupt(struct refnpu *refnpu)
{
	struct npuprof_device *npu = &refnpu->npu;
	struct npuprof_account *account;
	struct npuprof_session *session;
	unsigned long flags;
	u64 begin;
	u32 status;

	flags = npuprof_lock(npu);
	if (!npuprof_awake(npu) || refnpu_dead(refnpu))
		goto out;
	begin = ktime_get_ns();
	account = refnpu_account(refnpu);
	atomic64_inc(&account->interrupts);
	status = refnpu_read32(refnpu, account, REFNPU_INT_STATUS);
	if (!status || refnpu_dead(refnpu))
		goto out;
	refnpu_write32(refnpu, account, REFNPU_INT_STATUS, status);
	if (status & REFNPU_INT_FIFO)
		refnpu_note_fifos(refnpu, account);
	if (status & REFNPU_INT_BLOCK)
		refnpu_note_cores(refnpu, account, true);
	if (status & REFNPU_INT_OVERFLOW)
		refnpu_note_cores(refnpu, account, false);
	/* Which queue it was does not matter: all of a session are looked at together. */
	if (status & REFNPU_INT_QUEUE)
		list_for_each_entry(session, &npu->sessions, node)
			npuprof_poll_now(session);
	if ((status & REFNPU_INT_DRAINED) && npu->window_owner) {
		npuprof_tell_drained(npu->window_owner);
		npuprof_send_wakeup(npu->window_owner);
	}
	refnpu_work_slot(refnpu, begin);
out:
	npuprof_unlock(npu, flags);
}

enum hrtimer_restart refnpu_service_timer(struct hrtimer *timer)
{
	struct refnpu *refnpu = container_of(timer, struct refnpu, service);
	struct npuprof_device *npu = &refnpu->npu;
	unsigned long flags;
	u64 now;

	flags = npuprof_lock(npu);
	refnpu->service_ns = NPC_TIME_NEVER;
	if (npuprof_awake(npu) && !refnpu_dead(refnpu)) {
		now = ktime_get_ns();
		if (now >= refnpu->watchdog_ns) {
			refnpu->watchdog_ns = now + REFNPU_WATCHDOG_NS;
			refnpu_note_fifos(refnpu, refnpu_account(refnpu));
			refnpu_note_cores(refnpu, refnpu_account(refnpu), true);
		}
		refnpu_work_slot(refnpu, now);
	}
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/* --- For requests; npuprof_device.mutex is held --- */

/**
 * refnpu_fifo_arm() - let a FIFO fill a ring
 * @refnpu: device
 * @fifo: FIFO that is not in use
 * @ring: ring
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
 * refnpu_fifos_start() - begin to watch for lost interrupts
 * @refnpu: device
 */
void refnpu_fifos_start(struct refnpu *refnpu)
{
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	flags = npuprof_lock(&refnpu->npu);
	if (!list_empty(&refnpu->busy_fifos)) {
		refnpu->watchdog_ns = ktime_get_ns() + REFNPU_WATCHDOG_NS;
		refnpu_service_at(refnpu, refnpu->watchdog_ns);
	}
	npuprof_unlock(&refnpu->npu, flags);
}

/**
 * refnpu_fifos_disarm() - let go of all FIFOs
 * @refnpu: device
 * @account: who pays for it
 */
void refnpu_fifos_disarm(struct refnpu *refnpu, struct npuprof_account *account)
{
	struct refnpu_fifo *fifo, *next;
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	flags = npuprof_lock(&refnpu->npu);
	list_for_each_entry_safe(fifo, next, &refnpu->busy_fifos, node) {
		refnpu_write32(refnpu, account, fifo->base + REFNPU_FIFO_CTRL, 0);
		fifo->ring = NULL;
		list_del_init(&fifo->node);
	}
	refnpu->watchdog_ns = NPC_TIME_NEVER;
	npuprof_unlock(&refnpu->npu, flags);
}

/**
 * refnpu_fifos_publish() - everything that waits in FIFOs goes into the rings
 * @refnpu: device
 */
void refnpu_fifos_publish(struct refnpu *refnpu)
{
	struct refnpu_fifo *fifo;
	unsigned long flags;

	lockdep_assert_held(&refnpu->npu.mutex);
	list_for_each_entry(fifo, &refnpu->busy_fifos, node) {
		/* Of a look that is under way the rest, then what came since. */
		unsigned int looks = fifo->left ? 2 : 1;
		u32 taken = 0;

		while (looks) {
			flags = npuprof_lock(&refnpu->npu);
			if (refnpu_drain(refnpu, fifo, ktime_get_ns() + NPUPROF_SLOT_NS, &taken))
				looks--;
			npuprof_unlock(&refnpu->npu, flags);
			cond_resched();
		}
	}
}
