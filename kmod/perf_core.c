// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of cores for perf: one core at a time, which is how long npuprof_device.lock is held.
 * What an event covers is the business of perf_count.c.
 */
#include <linux/ktime.h>

#include "perf_internal.h"
#include "session.h"
#include "trace.h"

/* However long an interrupt is away, counters are read so often. */
static ktime_t npuprof_perf_interval(const struct npuprof_device *npu)
{
	u64 deadline = npc_counter_deadline_ns(npu->caps.counter_bits,
					       npu->caps.core_hz * npu->ops->counts_per_cycle);

	return ns_to_ktime(min_t(u64, deadline, NSEC_PER_SEC));
}

static void npuprof_begin(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	u64 preset = npc_counter_preset(npu->caps.counter_bits);

	lockdep_assert_held(&npu->lock);
	/*
	 * From half of the range on, the first interrupt leaves half a range of time to answer it.
	 * What was counted before stays in the total.
	 */
	npu->ops->counter_set(npu, core, counter, mine->events[counter], preset);
	mine->counters[counter].last = preset;
}

/*
 * Brings the totals of some counters of a core up to date, on a device that is still there. Whoever
 * reads a counter first after it passed its range, interrupt, timer or perf, tells of that.
 */
static void npuprof_read_core(struct npuprof_device *npu, unsigned int core, u32 counters)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	struct npc_core_reading reading;
	unsigned int i;

	lockdep_assert_held(&npu->lock);
	if (!mine->on || !npu->ops->counters_read(npu, core, counters, &reading))
		return;
	if (reading.overflowed & counters)
		trace_npuprof_overflow(npu, core, reading.overflowed & counters);
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		if (counters & BIT(i))
			npc_counter_update(&mine->counters[i], reading.counters[i],
					   reading.overflowed & BIT(i));
	if (counters & BIT(NPUPROF_CYCLES))
		npc_counter_update(&mine->counters[NPUPROF_CYCLES], reading.cycles,
				   reading.overflowed & BIT(NPUPROF_CYCLES));
}

static void npuprof_refresh(struct npuprof_device *npu, unsigned int core, u32 counters)
{
	lockdep_assert_held(&npu->lock);
	if (!npu->perf.off)
		npuprof_read_core(npu, core, counters);
}

static void npuprof_switch_on(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	struct npc_core_reading reading;
	unsigned int i;

	lockdep_assert_held(&npu->lock);
	if (mine->on || !mine->users || npu->perf.off)
		return;
	npu->ops->core_enable(npu, core, true);
	if (npu->ops->counters_read(npu, core, BIT(NPUPROF_CYCLES), &reading))
		mine->counters[NPUPROF_CYCLES].last = reading.cycles;
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		if (mine->counting & BIT(i))
			npuprof_begin(npu, core, i);
	mine->on = true;
}

static void npuprof_switch_off(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];

	lockdep_assert_held(&npu->lock);
	if (mine->on && !npu->perf.off)
		npu->ops->core_enable(npu, core, false);
	mine->on = false;
}

/**
 * npuprof_core_take() - an event covers a core; no register is touched yet
 * @npu: device
 * @core: core
 * @counter: counter for the event, or NPUPROF_CYCLES
 * @number: what it shall count
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_core_take(struct npuprof_device *npu, unsigned int core, unsigned int counter,
		       u16 number)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	unsigned int i;

	lockdep_assert_held(&npu->lock);
	if (counter != NPUPROF_CYCLES) {
		mine->taken |= BIT(counter);
		mine->events[counter] = number;
	}
	if (mine->users++)
		return;
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		npc_counter_start(&mine->counters[i], npu->caps.counter_bits, 0);
	npc_counter_start(&mine->counters[NPUPROF_CYCLES], npu->caps.cycle_bits, 0);
	if (npu->perf.busy_cores++)
		return;
	npu->perf.cursor = 0;
	hrtimer_start(&npu->perf.timer, npuprof_perf_interval(npu), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * npuprof_core_start() - let a counter of a core count
 * @npu: device
 * @core: core that an event covers
 * @counter: its counter
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_core_start(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];

	lockdep_assert_held(&npu->lock);
	npuprof_switch_on(npu, core);
	if (counter == NPUPROF_CYCLES) {
		npuprof_refresh(npu, core, BIT(NPUPROF_CYCLES));
		return;
	}
	mine->counting |= BIT(counter);
	if (mine->on && !npu->perf.off)
		npuprof_begin(npu, core, counter);
}

/**
 * npuprof_core_read() - bring the total of a counter up to date
 * @npu: device
 * @core: core that an event covers
 * @counter: its counter
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_core_read(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	lockdep_assert_held(&npu->lock);
	npuprof_refresh(npu, core, BIT(counter));
}

/**
 * npuprof_core_stop() - bring the total of a counter up to date and let it rest
 * @npu: device
 * @core: core that an event covers
 * @counter: its counter
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_core_stop(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];

	lockdep_assert_held(&npu->lock);
	npuprof_refresh(npu, core, BIT(counter));
	if (counter == NPUPROF_CYCLES)
		return;
	mine->counting &= ~BIT(counter);
	if (mine->on && !npu->perf.off)
		npu->ops->counter_set(npu, core, counter, 0, 0);
}

/**
 * npuprof_core_give() - an event does not cover a core any more
 * @npu: device
 * @core: core
 * @counter: counter that the event had, stopped
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_core_give(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];

	lockdep_assert_held(&npu->lock);
	if (counter != NPUPROF_CYCLES)
		mine->taken &= ~BIT(counter);
	if (--mine->users)
		return;
	npu->perf.busy_cores--;
	npuprof_switch_off(npu, core);
}

/**
 * npuprof_perf_cores_off() - read and release all cores before the device loses its state
 * @npu: device with npuprof_perf.off set
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_perf_cores_off(struct npuprof_device *npu)
{
	struct npuprof_perf_core *mine;
	unsigned int core;
	unsigned long irq;

	lockdep_assert_held(&npu->mutex);
	for (core = 0; core < npuprof_cores(npu); core++) {
		irq = npuprof_lock(npu);
		mine = &npu->perf.cores[core];
		npuprof_read_core(npu, core, mine->counting | BIT(NPUPROF_CYCLES));
		if (mine->on)
			npu->ops->core_enable(npu, core, false);
		mine->on = false;
		npuprof_unlock(npu, irq);
	}
}

/**
 * npuprof_perf_cores_on() - undo npuprof_perf_cores_off() on a device that knows nothing
 * @npu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_perf_cores_on(struct npuprof_device *npu)
{
	unsigned int core;
	unsigned long irq;

	lockdep_assert_held(&npu->mutex);
	for (core = 0; core < npuprof_cores(npu); core++) {
		irq = npuprof_lock(npu);
		npuprof_switch_on(npu, core);
		npuprof_unlock(npu, irq);
	}
}

/* --- What the rest of the driver calls --- */

/**
 * npuprof_perf_holds() - whether perf has what a ring would need
 * @npu: device
 * @add: checked request
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: true if the ring cannot be.
 */
bool npuprof_perf_holds(const struct npuprof_device *npu, const struct npuprof_add_ring *add)
{
	unsigned int core = add->core;

	lockdep_assert_held(&npu->lock);
	if (add->channel == NPUPROF_CHANNEL_LLC)
		return npu->perf.units[NPUPROF_CHANNEL_LLC];
	if (add->channel != NPUPROF_CHANNEL_CORE_SAMPLE)
		return false;
	return npu->perf.cores[core + npuprof_first_core(npu, add->core_kind)].users;
}

/**
 * npuprof_perf_overflow() - a counter of a core passed its range
 * @npu: device
 * @core: core
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: true if it was perf's and has been read.
 */
bool npuprof_perf_overflow(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = npu->perf.cores;

	lockdep_assert_held(&npu->lock);
	/* Interrupts may come before the device is ready. */
	if (!mine || !mine[core].on)
		return false;
	mine += core;
	npuprof_refresh(npu, core, mine->counting | BIT(NPUPROF_CYCLES));
	return true;
}

/**
 * npuprof_perf_timer() - function of npuprof_perf.timer
 * @timer: timer
 *
 * Context: Hard interrupt.
 * Return: HRTIMER_NORESTART; it starts the timer itself.
 */
enum hrtimer_restart npuprof_perf_timer(struct hrtimer *timer)
{
	struct npuprof_device *npu = container_of(timer, struct npuprof_device, perf.timer);
	unsigned int cores = npuprof_cores(npu);
	u64 begin = ktime_get_ns();
	ktime_t next, rest;
	unsigned long irq;
	u64 spent;

	irq = npuprof_lock(npu);
	if (npu->gone || !npu->perf.busy_cores)
		goto out;
	spent = ktime_get_ns() - begin;
	while (npu->perf.cursor < cores && spent < npu->slot_work_ns) {
		npuprof_refresh(npu, npu->perf.cursor,
				npu->perf.cores[npu->perf.cursor].counting | BIT(NPUPROF_CYCLES));
		npu->perf.cursor++;
		spent = ktime_get_ns() - begin;
	}
	rest = ns_to_ktime(spent * NPUPROF_PAUSE_RATIO);
	next = rest;
	if (npu->perf.cursor == cores) {
		npu->perf.cursor = 0;
		next = max(npuprof_perf_interval(npu), rest);
	}
	npuprof_charge(npu, &npu->perf.account, spent);
	hrtimer_start(timer, next, HRTIMER_MODE_REL_PINNED_HARD);
out:
	npuprof_unlock(npu, irq);
	return HRTIMER_NORESTART;
}
