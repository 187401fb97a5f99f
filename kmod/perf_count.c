// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting for perf: who has which counter, starting, stopping and reading them. What perf calls
 * runs with interrupts off and perf's own raw locks held.
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

/* --- Counters of cores --- */

static void npuprof_begin(struct npuprof_device *npu, unsigned int core, unsigned int counter)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	u64 preset = npc_counter_preset(npu->caps.counter_bits);

	/*
	 * From half of the range on, the first interrupt leaves half a range of time to answer it.
	 * What was counted before stays in the total.
	 */
	npu->ops->counter_set(npu, core, counter, mine->events[counter], preset);
	mine->counters[counter].last = preset;
}

/* Brings the totals of some counters of a core up to date. Returns which of them overflowed. */
static u32 npuprof_refresh(struct npuprof_device *npu, unsigned int core, u32 counters)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	struct npc_core_reading reading;
	unsigned int i;

	if (npu->perf.off || !npu->ops->counters_read(npu, core, counters, &reading))
		return 0;
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		if (counters & BIT(i))
			npc_counter_update(&mine->counters[i], reading.counters[i],
					   reading.overflowed & BIT(i));
	if (counters & BIT(NPUPROF_CYCLES))
		npc_counter_update(&mine->counters[NPUPROF_CYCLES], reading.cycles,
				   reading.overflowed & BIT(NPUPROF_CYCLES));
	return reading.overflowed & counters;
}

static void npuprof_switch_on(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	struct npc_core_reading reading;

	npu->ops->core_enable(npu, core, true);
	if (npu->ops->counters_read(npu, core, BIT(NPUPROF_CYCLES), &reading))
		mine->counters[NPUPROF_CYCLES].last = reading.cycles;
}

static void npuprof_take_core(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = &npu->perf.cores[core];
	unsigned int i;

	if (mine->users++)
		return;
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++)
		npc_counter_start(&mine->counters[i], npu->caps.counter_bits, 0);
	npc_counter_start(&mine->counters[NPUPROF_CYCLES], npu->caps.cycle_bits, 0);
	if (!npu->perf.off)
		npuprof_switch_on(npu, core);
	if (!npu->perf.busy_cores++)
		hrtimer_start(&npu->perf.timer, npuprof_perf_interval(npu),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

static void npuprof_give_core(struct npuprof_device *npu, unsigned int core)
{
	if (--npu->perf.cores[core].users)
		return;
	npu->perf.busy_cores--;
	if (!npu->perf.off)
		npu->ops->core_enable(npu, core, false);
}

/* --- One event; npuprof_device.lock is held --- */

static int npuprof_claim_unit(struct npuprof_device *npu, struct perf_event *event)
{
	u32 unit = NPUPROF_CONFIG_UNIT(event->attr.config);
	bool writes = NPUPROF_CONFIG_EVENT(event->attr.config) >= NPUPROF_LLC_EVENTS;

	/* The other units have totals that anybody may read. */
	if (unit == NPUPROF_CHANNEL_LLC) {
		if (npu->channel_owner[unit])
			return -EAGAIN;
		if (npu->perf.units[unit] && npu->perf.llc_writes != writes)
			return -EAGAIN;
		npu->perf.llc_writes = writes;
	}
	npu->perf.units[unit]++;
	event->hw.idx = NPUPROF_CYCLES;
	return 0;
}

static int npuprof_claim_cores(struct npuprof_device *npu, struct perf_event *event)
{
	u16 number = NPUPROF_CONFIG_EVENT(event->attr.config);
	unsigned int core, counter = NPUPROF_CYCLES;
	u32 taken = 0;

	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		if (npu->core_owner[core])
			return -EAGAIN;
		taken |= npu->perf.cores[core].taken;
	}
	if (number) {
		counter = ffz(taken);
		if (counter >= npu->caps.counters)
			return -EAGAIN;
	}
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		npuprof_take_core(npu, core);
		if (!number)
			continue;
		npu->perf.cores[core].taken |= BIT(counter);
		npu->perf.cores[core].events[counter] = number;
	}
	event->hw.idx = counter;
	return 0;
}

/* What the hardware counted for an event so far, from an arbitrary beginning. */
static bool npuprof_total(struct npuprof_device *npu, const struct perf_event *event, u64 *total)
{
	unsigned int core;

	if (npuprof_counts_unit(event)) {
		if (npu->perf.off)
			return false;
		return npu->ops->unit_total(npu, NPUPROF_CONFIG_UNIT(event->attr.config),
					    NPUPROF_CONFIG_EVENT(event->attr.config), total);
	}
	*total = 0;
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		npuprof_refresh(npu, core, BIT(event->hw.idx));
		*total += npu->perf.cores[core].counters[event->hw.idx].total;
	}
	return true;
}

static void npuprof_update(struct npuprof_device *npu, struct perf_event *event)
{
	u64 before = local64_read(&event->hw.prev_count);
	u64 total;

	lockdep_assert_held(&npu->lock);
	if (!npuprof_total(npu, event, &total))
		return;
	local64_set(&event->hw.prev_count, total);
	local64_add(total - before, &event->count);
}

/* Lets the hardware count for an event. */
static void npuprof_engage(struct npuprof_device *npu, struct perf_event *event)
{
	unsigned int core;

	if (npuprof_counts_unit(event) || event->hw.idx == NPUPROF_CYCLES)
		return;
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		npu->perf.cores[core].counting |= BIT(event->hw.idx);
		if (!npu->perf.off)
			npuprof_begin(npu, core, event->hw.idx);
	}
}

/* Takes what the hardware says now for the beginning of an event. */
static void npuprof_rebase(struct npuprof_device *npu, struct perf_event *event)
{
	unsigned int core;
	u64 total = 0;

	if (npuprof_counts_unit(event) || event->hw.idx == NPUPROF_CYCLES) {
		if (!npuprof_total(npu, event, &total))
			return;
	} else {
		/* Just set, so there is nothing to read. */
		for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
		     core = npuprof_next_core(event, core + 1))
			total += npu->perf.cores[core].counters[event->hw.idx].total;
	}
	local64_set(&event->hw.prev_count, total);
}

static void npuprof_disengage(struct npuprof_device *npu, struct perf_event *event)
{
	unsigned int core;

	if (npuprof_counts_unit(event) || event->hw.idx == NPUPROF_CYCLES)
		return;
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		npu->perf.cores[core].counting &= ~BIT(event->hw.idx);
		if (!npu->perf.off)
			npu->ops->counter_set(npu, core, event->hw.idx, 0, 0);
	}
}

/* --- What perf calls --- */

/**
 * npuprof_perf_start() - struct pmu.start
 * @event: event that was added
 * @flags: PERF_EF_*
 */
void npuprof_perf_start(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	if (!(event->hw.state & PERF_HES_STOPPED) || event->hw.idx == NPUPROF_NOTHING)
		return;
	irq = npuprof_lock(npu);
	npuprof_engage(npu, event);
	npuprof_rebase(npu, event);
	list_add_tail(&event->active_entry, &npu->perf.active);
	npuprof_unlock(npu, irq);
	event->hw.state = 0;
	perf_event_update_userpage(event);
}

/**
 * npuprof_perf_stop() - struct pmu.stop
 * @event: event that was added
 * @flags: PERF_EF_*
 */
void npuprof_perf_stop(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	irq = npuprof_lock(npu);
	npuprof_update(npu, event);
	npuprof_disengage(npu, event);
	list_del(&event->active_entry);
	npuprof_unlock(npu, irq);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/**
 * npuprof_perf_add() - struct pmu.add
 * @event: event
 * @flags: PERF_EF_*
 *
 * Return: 0, or -EAGAIN if somebody else has what it needs now. An event whose device is gone gets
 * nothing and counts nothing, because one that failed for good would hold up those behind it.
 */
int npuprof_perf_add(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;
	int err = 0;

	irq = npuprof_lock(npu);
	event->hw.idx = NPUPROF_NOTHING;
	if (!npu->gone)
		err = npuprof_counts_unit(event) ? npuprof_claim_unit(npu, event) :
						   npuprof_claim_cores(npu, event);
	npuprof_unlock(npu, irq);
	if (err)
		return err;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		npuprof_perf_start(event, 0);
	return 0;
}

/**
 * npuprof_perf_del() - struct pmu.del
 * @event: event that was added
 * @flags: PERF_EF_*
 */
void npuprof_perf_del(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned int core;
	unsigned long irq;

	npuprof_perf_stop(event, PERF_EF_UPDATE);
	if (event->hw.idx == NPUPROF_NOTHING)
		return;
	irq = npuprof_lock(npu);
	if (npuprof_counts_unit(event)) {
		npu->perf.units[NPUPROF_CONFIG_UNIT(event->attr.config)]--;
	} else {
		for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
		     core = npuprof_next_core(event, core + 1)) {
			if (event->hw.idx != NPUPROF_CYCLES)
				npu->perf.cores[core].taken &= ~BIT(event->hw.idx);
			npuprof_give_core(npu, core);
		}
	}
	npuprof_unlock(npu, irq);
	perf_event_update_userpage(event);
}

/**
 * npuprof_perf_read() - struct pmu.read
 * @event: event that counts
 */
void npuprof_perf_read(struct perf_event *event)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	irq = npuprof_lock(npu);
	if (!(event->hw.state & PERF_HES_STOPPED))
		npuprof_update(npu, event);
	npuprof_unlock(npu, irq);
}

/* --- What the rest of the driver calls --- */

/**
 * npuprof_perf_holds() - whether perf has what a ring would need
 * @npu: device; npuprof_device.lock is held
 * @add: checked request
 *
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
 * @npu: device; npuprof_device.lock is held
 * @core: core
 *
 * Return: true if it was perf's and has been read.
 */
bool npuprof_perf_overflow(struct npuprof_device *npu, unsigned int core)
{
	struct npuprof_perf_core *mine = npu->perf.cores;
	u32 overflowed;

	lockdep_assert_held(&npu->lock);
	/* Interrupts may come before the device is ready. */
	if (!mine || !mine[core].users)
		return false;
	mine += core;
	overflowed = npuprof_refresh(npu, core, mine->counting | BIT(NPUPROF_CYCLES));
	/* The timer may have been first. */
	if (overflowed)
		trace_npuprof_overflow(npu, core, overflowed);
	return true;
}

/**
 * npuprof_perf_timer() - function of npuprof_perf.timer
 * @timer: timer
 *
 * Return: HRTIMER_NORESTART; it starts the timer itself.
 */
enum hrtimer_restart npuprof_perf_timer(struct hrtimer *timer)
{
	struct npuprof_device *npu = container_of(timer, struct npuprof_device, perf.timer);
	unsigned int cores = npuprof_cores(npu);
	ktime_t next = npuprof_perf_interval(npu);
	struct npuprof_perf_core *mine;
	u64 begin, spent = 0;
	unsigned long irq;

	irq = npuprof_lock(npu);
	if (npu->gone || !npu->perf.busy_cores)
		goto out;
	begin = ktime_get_ns();
	while (npu->perf.cursor < cores && spent < NPUPROF_SLOT_NS) {
		mine = &npu->perf.cores[npu->perf.cursor];
		if (mine->users)
			npuprof_refresh(npu, npu->perf.cursor,
					mine->counting | BIT(NPUPROF_CYCLES));
		npu->perf.cursor++;
		spent = ktime_get_ns() - begin;
	}
	if (npu->perf.cursor < cores)
		next = ns_to_ktime(spent * NPUPROF_PAUSE_RATIO);
	else
		npu->perf.cursor = 0;
	atomic64_add(spent, &npu->perf.account.busy_ns);
	hrtimer_start(timer, next, HRTIMER_MODE_REL_PINNED_HARD);
out:
	npuprof_unlock(npu, irq);
	return HRTIMER_NORESTART;
}

/**
 * npuprof_perf_pause() - the device is about to lose its state, or to go
 * @npu: device, still there; npuprof_device.mutex is held
 */
void npuprof_perf_pause(struct npuprof_device *npu)
{
	struct perf_event *event;
	unsigned int core;
	unsigned long irq;

	lockdep_assert_held(&npu->mutex);
	irq = npuprof_lock(npu);
	if (!npu->perf.off) {
		list_for_each_entry(event, &npu->perf.active, active_entry)
			npuprof_update(npu, event);
		for (core = 0; core < npuprof_cores(npu); core++)
			if (npu->perf.cores[core].users)
				npu->ops->core_enable(npu, core, false);
	}
	npu->perf.off = true;
	npuprof_unlock(npu, irq);
}

/**
 * npuprof_perf_resume() - the device is back and knows nothing
 * @npu: device; npuprof_device.mutex is held
 */
void npuprof_perf_resume(struct npuprof_device *npu)
{
	struct perf_event *event;
	unsigned int core;
	unsigned long irq;

	lockdep_assert_held(&npu->mutex);
	irq = npuprof_lock(npu);
	if (npu->perf.off && !npu->gone) {
		npu->perf.off = false;
		for (core = 0; core < npuprof_cores(npu); core++)
			if (npu->perf.cores[core].users)
				npuprof_switch_on(npu, core);
		/* Totals of cores went into the books before; those of units begin anew. */
		list_for_each_entry(event, &npu->perf.active, active_entry) {
			npuprof_engage(npu, event);
			if (npuprof_counts_unit(event))
				npuprof_rebase(npu, event);
		}
	}
	npuprof_unlock(npu, irq);
}
