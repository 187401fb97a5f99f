// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting for perf: who has which counter, starting, stopping and reading them. What perf calls
 * runs with interrupts off and perf's own raw locks held, and has to be done when it returns; that
 * nobody else waits longer than for one core, npuprof_device.lock is let go after each.
 */
#include "perf_internal.h"
#include "session.h"

/* --- One event --- */

static int npuprof_claim_unit(struct npuprof_device *npu, struct perf_event *event)
{
	u32 unit = NPUPROF_CONFIG_UNIT(event->attr.config);
	bool writes = NPUPROF_CONFIG_EVENT(event->attr.config) >= NPUPROF_LLC_EVENTS;

	lockdep_assert_held(&npu->lock);
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

	lockdep_assert_held(&npu->lock);
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
	     core = npuprof_next_core(event, core + 1))
		npuprof_core_take(npu, core, counter, number);
	event->hw.idx = counter;
	return 0;
}

typedef void (*npuprof_core_act)(struct npuprof_device *npu, unsigned int core,
				 unsigned int counter);

/* Does something on each core of an event. Returns the sum of the totals after it. */
static u64 npuprof_each_core(struct perf_event *event, npuprof_core_act act)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned int core, counter = event->hw.idx;
	unsigned long irq;
	u64 total = 0;

	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1)) {
		irq = npuprof_lock(npu);
		act(npu, core, counter);
		total += npu->perf.cores[core].counters[counter].total;
		npuprof_unlock(npu, irq);
	}
	return total;
}

static void npuprof_add_to(struct perf_event *event, u64 total)
{
	u64 before = local64_read(&event->hw.prev_count);

	local64_set(&event->hw.prev_count, total);
	local64_add(total - before, &event->count);
}

static bool npuprof_unit_total(struct npuprof_device *npu, const struct perf_event *event,
			       u64 *total)
{
	lockdep_assert_held(&npu->lock);
	return npu->ops->unit_total(npu, NPUPROF_CONFIG_UNIT(event->attr.config),
				    NPUPROF_CONFIG_EVENT(event->attr.config), total);
}

/* Takes what a unit says now for the beginning of an event. */
static void npuprof_unit_rebase(struct npuprof_device *npu, struct perf_event *event)
{
	u64 total;

	lockdep_assert_held(&npu->lock);
	if (npu->perf.off || !npuprof_unit_total(npu, event, &total))
		return;
	local64_set(&event->hw.prev_count, total);
	event->hw.event_base = npu->perf.epoch;
}

static void npuprof_unit_update(struct npuprof_device *npu, struct perf_event *event)
{
	u64 total;

	lockdep_assert_held(&npu->lock);
	/* After a reset totals begin anew; until the event does so too, there is no difference. */
	if (event->hw.event_base == npu->perf.epoch && npuprof_unit_total(npu, event, &total))
		npuprof_add_to(event, total);
}

/* --- What perf calls --- */

/**
 * npuprof_perf_start() - struct pmu.start
 * @event: event that was added
 * @flags: PERF_EF_*
 *
 * Context: Interrupts are off, and raw locks of perf are held.
 */
void npuprof_perf_start(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	if (!(event->hw.state & PERF_HES_STOPPED) || event->hw.idx == NPUPROF_NOTHING)
		return;
	if (npuprof_counts_unit(event)) {
		irq = npuprof_lock(npu);
		npuprof_unit_rebase(npu, event);
		list_add_tail(&event->active_entry, &npu->perf.active);
		npuprof_unlock(npu, irq);
	} else {
		local64_set(&event->hw.prev_count, npuprof_each_core(event, npuprof_core_start));
	}
	event->hw.state = 0;
	perf_event_update_userpage(event);
}

/**
 * npuprof_perf_stop() - struct pmu.stop
 * @event: event that was added
 * @flags: PERF_EF_*
 *
 * Context: Interrupts are off, and raw locks of perf are held.
 */
void npuprof_perf_stop(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	if (npuprof_counts_unit(event)) {
		irq = npuprof_lock(npu);
		if (!npu->perf.off)
			npuprof_unit_update(npu, event);
		list_del(&event->active_entry);
		npuprof_unlock(npu, irq);
	} else {
		npuprof_add_to(event, npuprof_each_core(event, npuprof_core_stop));
	}
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/**
 * npuprof_perf_add() - struct pmu.add
 * @event: event
 * @flags: PERF_EF_*
 *
 * Context: Interrupts are off, and raw locks of perf are held.
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
 *
 * Context: Interrupts are off, and raw locks of perf are held.
 */
void npuprof_perf_del(struct perf_event *event, int flags)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	npuprof_perf_stop(event, PERF_EF_UPDATE);
	if (event->hw.idx == NPUPROF_NOTHING)
		return;
	if (npuprof_counts_unit(event)) {
		irq = npuprof_lock(npu);
		npu->perf.units[NPUPROF_CONFIG_UNIT(event->attr.config)]--;
		npuprof_unlock(npu, irq);
	} else {
		npuprof_each_core(event, npuprof_core_give);
	}
	perf_event_update_userpage(event);
}

/**
 * npuprof_perf_read() - struct pmu.read
 * @event: event that counts
 *
 * Context: Interrupts are off, and raw locks of perf are held.
 */
void npuprof_perf_read(struct perf_event *event)
{
	struct npuprof_device *npu = npuprof_of_event(event);
	unsigned long irq;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	if (npuprof_counts_unit(event)) {
		irq = npuprof_lock(npu);
		if (!npu->perf.off)
			npuprof_unit_update(npu, event);
		npuprof_unlock(npu, irq);
	} else {
		npuprof_add_to(event, npuprof_each_core(event, npuprof_core_read));
	}
}

/* --- What the rest of the driver calls --- */

/* Does something with each event that counts in a unit. Events may come and go meanwhile. */
static void npuprof_each_unit_event(struct npuprof_device *npu,
				    void (*act)(struct npuprof_device *npu,
						struct perf_event *event))
{
	struct perf_event *event;
	unsigned long irq;
	LIST_HEAD(left);

	irq = npuprof_lock(npu);
	list_splice_init(&npu->perf.active, &left);
	while (!list_empty(&left)) {
		event = list_first_entry(&left, struct perf_event, active_entry);
		act(npu, event);
		list_move_tail(&event->active_entry, &npu->perf.active);
		npuprof_unlock(npu, irq);
		irq = npuprof_lock(npu);
	}
	npuprof_unlock(npu, irq);
}

/**
 * npuprof_perf_pause() - the device is about to lose its state, or to go
 * @npu: device, still there
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_perf_pause(struct npuprof_device *npu)
{
	unsigned long irq;
	bool off;

	lockdep_assert_held(&npu->mutex);
	irq = npuprof_lock(npu);
	off = npu->perf.off;
	npu->perf.off = true;
	npuprof_unlock(npu, irq);
	if (off)
		return;
	npuprof_each_unit_event(npu, npuprof_unit_update);
	npuprof_perf_cores_off(npu);
}

/**
 * npuprof_perf_resume() - the device is back and knows nothing
 * @npu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_perf_resume(struct npuprof_device *npu)
{
	unsigned long irq;
	bool back;

	lockdep_assert_held(&npu->mutex);
	irq = npuprof_lock(npu);
	back = npu->perf.off && !npu->gone;
	if (back) {
		npu->perf.off = false;
		npu->perf.epoch++;
	}
	npuprof_unlock(npu, irq);
	if (!back)
		return;
	npuprof_perf_cores_on(npu);
	npuprof_each_unit_event(npu, npuprof_unit_rebase);
}
