// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reference NPU, register path: interrupts, and the timer that does what they ask for.
 *
 * Work comes in slots of NPUPROF_SLOT_NS, and after each the driver rests NPUPROF_PAUSE_RATIO times
 * as long as it worked. Meanwhile an interrupt is noted and not even asked for its cause: causes
 * that are not acknowledged do not interrupt again, so the rest cannot be broken by however many
 * entries.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "refnpu.h"
#include "trace.h"

static void refnpu_service_at(struct refnpu *refnpu, u64 due_ns)
{
	lockdep_assert_held(&refnpu->npu.lock);
	due_ns = max(due_ns, refnpu->rest_ns);
	if (due_ns >= refnpu->service_ns || refnpu->npu.gone)
		return;
	refnpu->service_ns = due_ns;
	hrtimer_start(&refnpu->service, ns_to_ktime(due_ns), HRTIMER_MODE_ABS_HARD);
}

/* Returns the account of whoever has the core, whose cost that is. */
static struct npuprof_account *refnpu_read_overflowed(struct refnpu *refnpu, unsigned int core)
{
	struct npuprof_ring *ring = refnpu->core_ring[core];
	struct npuprof_account *account = ring ? &ring->session->account : &refnpu->npu.self;
	struct npc_core_reading reading;

	lockdep_assert_held(&refnpu->npu.lock);
	if (npuprof_perf_overflow(&refnpu->npu, core))
		return &refnpu->npu.perf.account;
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
	refnpu_read_core(refnpu, account, core, ring ? ring->counters.used : 0, &reading);
	if (!refnpu_dead(refnpu))
		trace_npuprof_overflow(&refnpu->npu, core, reading.overflowed);
	if (ring && !refnpu_dead(refnpu))
		npc_core_update(&ring->counters, &reading);
	return account;
}

/* Has sessions looked at, one after the other, because a queue interrupted. False as below. */
static bool refnpu_poll_sessions(struct refnpu *refnpu, u64 until)
{
	struct npuprof_session *session;

	lockdep_assert_held(&refnpu->npu.lock);
	for (; refnpu->polls_left && !list_empty(&refnpu->polled); refnpu->polls_left--) {
		if (ktime_get_ns() >= until)
			return false;
		session = list_first_entry(&refnpu->polled, struct npuprof_session, polled);
		list_move_tail(&session->polled, &refnpu->polled);
		npuprof_poll_now(session);
	}
	refnpu->polls_left = 0;
	return true;
}

/*
 * Works at what interrupts left and time has brought. Returns false if @until came before the
 * end.
 */
static bool refnpu_work_off(struct refnpu *refnpu, u64 now, u64 until)
{
	struct npuprof_account *account;
	u64 begin, spent;
	unsigned int bit;

	lockdep_assert_held(&refnpu->npu.lock);
	if (!refnpu_poll_sessions(refnpu, until))
		return false;
	for_each_set_bit(bit, refnpu->overflowed, npuprof_cores(&refnpu->npu)) {
		begin = ktime_get_ns();
		account = refnpu_read_overflowed(refnpu, bit);
		spent = ktime_get_ns() - begin;
		npuprof_charge(&refnpu->npu, account, spent);
		refnpu->elsewhere_ns += spent;
		__clear_bit(bit, refnpu->overflowed);
		if (begin + spent >= until)
			return false;
	}
	return refnpu_fifos_serve(refnpu, now, until);
}

static void refnpu_note_fifos(struct refnpu *refnpu, struct npuprof_account *account)
{
	unsigned long pending = refnpu_read32(refnpu, account, REFNPU_FIFO_PENDING);
	unsigned int bit;

	lockdep_assert_held(&refnpu->npu.lock);
	refnpu_write32(refnpu, account, REFNPU_FIFO_PENDING, pending);
	for_each_set_bit(bit, &pending, REFNPU_FIFOS)
		__set_bit(bit, refnpu->ready);
}

static void refnpu_note_cores(struct refnpu *refnpu, struct npuprof_account *account, bool block)
{
	unsigned int cores = npuprof_cores(&refnpu->npu);
	unsigned int word, bit;
	unsigned long pending;

	lockdep_assert_held(&refnpu->npu.lock);
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

/* Asks the device why it interrupted; with @watchdog it may have wanted to and not come through. */
static void refnpu_note(struct refnpu *refnpu, bool watchdog)
{
	struct npuprof_account *account = refnpu_account(refnpu);
	struct npuprof_device *npu = &refnpu->npu;
	u32 status;

	lockdep_assert_held(&npu->lock);
	refnpu->interrupted = false;
	status = refnpu_read32(refnpu, account, REFNPU_INT_STATUS);
	if (refnpu_dead(refnpu))
		return;
	if (status)
		refnpu_write32(refnpu, account, REFNPU_INT_STATUS, status);
	if (watchdog)
		status |= REFNPU_INT_FIFO | REFNPU_INT_BLOCK;
	if (status & REFNPU_INT_FIFO)
		refnpu_note_fifos(refnpu, account);
	if (status & REFNPU_INT_BLOCK)
		refnpu_note_cores(refnpu, account, true);
	if (status & REFNPU_INT_OVERFLOW)
		refnpu_note_cores(refnpu, account, false);
	/* Which queue it was does not matter: all of a session are looked at together. */
	if (status & REFNPU_INT_QUEUE)
		refnpu->polls_left = refnpu->polled_count;
	if ((status & REFNPU_INT_DRAINED) && npu->window_owner) {
		npuprof_tell_drained(npu->window_owner);
		npuprof_send_wakeup(npu->window_owner);
	}
}

/* Asks what there is to do, and does it. Returns false if @until came before the end. */
static bool refnpu_work(struct refnpu *refnpu, u64 begin, u64 until)
{
	bool watchdog = begin >= refnpu->watchdog_ns;

	lockdep_assert_held(&refnpu->npu.lock);
	/* Whoever had the lock before used the slot up. */
	if (ktime_get_ns() >= until)
		return false;
	if (watchdog)
		refnpu->watchdog_ns = begin + REFNPU_WATCHDOG_NS;
	if (watchdog || refnpu->interrupted)
		refnpu_note(refnpu, watchdog);
	return refnpu_dead(refnpu) || refnpu_work_off(refnpu, begin, until);
}

static void refnpu_work_slot(struct refnpu *refnpu, u64 begin)
{
	struct npuprof_account *account = refnpu_account(refnpu);
	u64 now, next;
	bool over;

	lockdep_assert_held(&refnpu->npu.lock);
	refnpu->elsewhere_ns = 0;
	over = refnpu_work(refnpu, begin, npuprof_slot_end(&refnpu->npu, begin));
	now = ktime_get_ns();
	npuprof_charge(&refnpu->npu, account, now - begin - refnpu->elsewhere_ns);
	refnpu->npu.longest_ns = max(refnpu->npu.longest_ns, now - begin);
	refnpu->rest_ns = now + (now - begin) * NPUPROF_PAUSE_RATIO;
	if (refnpu_dead(refnpu))
		return;
	next = over ? min(refnpu->watchdog_ns, refnpu_fifos_next(refnpu)) : now;
	if (next != NPC_TIME_NEVER)
		refnpu_service_at(refnpu, next);
}

/**
 * refnpu_interrupt() - one of the vectors fired
 * @refnpu: device
 *
 * All vectors come here; whichever is first serves what the status register says.
 *
 * Context: Hard interrupt, or the thread of one.
 * Return: false if the device has no reason to interrupt: it is away or asleep.
 */
bool refnpu_interrupt(struct refnpu *refnpu)
{
	struct npuprof_device *npu = &refnpu->npu;
	struct npuprof_account *account;
	u64 begin = ktime_get_ns();
	unsigned long flags;
	bool awake;

	flags = npuprof_lock(npu);
	awake = npuprof_awake(npu) && !refnpu_dead(refnpu);
	if (!awake)
		goto out;
	account = refnpu_account(refnpu);
	atomic64_inc(&account->interrupts);
	refnpu->interrupted = true;
	if (begin >= refnpu->rest_ns) {
		refnpu_work_slot(refnpu, begin);
	} else {
		refnpu_service_at(refnpu, refnpu->rest_ns);
		npuprof_charge(npu, account, ktime_get_ns() - begin);
	}
out:
	npuprof_unlock(npu, flags);
	return awake;
}

/**
 * refnpu_service_timer() - function of refnpu.service: a slot of work, when a rest is over, FIFOs
 * have gathered long enough, or the watchdog is due
 * @timer: timer
 *
 * Context: Hard interrupt.
 * Return: HRTIMER_NORESTART; it starts the timer itself.
 */
enum hrtimer_restart refnpu_service_timer(struct hrtimer *timer)
{
	struct refnpu *refnpu = container_of(timer, struct refnpu, service);
	struct npuprof_device *npu = &refnpu->npu;
	u64 begin = ktime_get_ns();
	unsigned long flags;

	flags = npuprof_lock(npu);
	refnpu->service_ns = NPC_TIME_NEVER;
	if (npuprof_awake(npu) && !refnpu_dead(refnpu))
		refnpu_work_slot(refnpu, begin);
	npuprof_unlock(npu, flags);
	return HRTIMER_NORESTART;
}

/**
 * refnpu_service_start() - begin to watch for lost interrupts
 * @refnpu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void refnpu_service_start(struct refnpu *refnpu)
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
