// SPDX-License-Identifier: GPL-2.0-only
/* Which events perf can count at all. */
#include <linux/slab.h>

#include "perf_internal.h"
#include "session.h"

static int npuprof_check_unit(const struct npuprof_device *npu, const struct perf_event *event)
{
	u32 unit = NPUPROF_CONFIG_UNIT(event->attr.config);
	u16 number = NPUPROF_CONFIG_EVENT(event->attr.config);

	if (unit >= NPUPROF_CHANNEL_COUNT || !(npu->caps.channels & BIT_ULL(unit)) ||
	    unit == NPUPROF_CHANNEL_CORE_SAMPLE || !npc_channel_sampled(unit))
		return -EINVAL;
	if (event->attr.config1 || event->attr.config2)
		return -EINVAL;
	return number < (unit == NPUPROF_CHANNEL_LLC ? 2 * NPUPROF_LLC_EVENTS : 2) ? 0 : -EINVAL;
}

static int npuprof_check_core(struct npuprof_device *npu, const struct perf_event *event)
{
	u32 kind = NPUPROF_CONFIG_KIND(event->attr.config);
	u16 number = NPUPROF_CONFIG_EVENT(event->attr.config);
	unsigned int cores, index;

	if (kind != NPUPROF_CORE_CUBE && kind != NPUPROF_CORE_VECTOR)
		return -EINVAL;
	if (number && !npu->ops->event_known(npu, kind, number))
		return -EINVAL;
	cores = npuprof_cores_of(npu, kind);
	if (!cores)
		return -EINVAL;
	if (!event->attr.config1 && !event->attr.config2)
		return 0;
	for (index = cores; index < 128; index++)
		if (npuprof_covers(event, index))
			return -EINVAL;
	return 0;
}

/* Places an event into counters of which those in @taken are not free, as npuprof_perf_add(). */
static int npuprof_place(const struct perf_event *event, u8 *taken)
{
	const struct npuprof_device *npu = npuprof_of_event(event);
	unsigned int core, counter;
	u32 used = 0;

	if (npuprof_counts_unit(event) || !NPUPROF_CONFIG_EVENT(event->attr.config))
		return NPUPROF_CYCLES;
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1))
		used |= taken[core];
	counter = ffz(used);
	if (counter >= npu->caps.counters)
		return -ENOSPC;
	for (core = npuprof_next_core(event, 0); core != NPUPROF_NO_CORE;
	     core = npuprof_next_core(event, core + 1))
		taken[core] |= BIT(counter);
	return counter;
}

/* Events of a group count together or not at all, so all of them must fit at once. */
static int npuprof_check_group(struct npuprof_device *npu, const struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	struct perf_event *sibling;
	int err = -EINVAL;
	u8 *taken;

	if (leader == event)
		return 0;
	taken = kcalloc(npuprof_cores(npu), sizeof(*taken), GFP_KERNEL);
	if (!taken)
		return -ENOMEM;
	if (leader->pmu != event->pmu && !is_software_event(leader))
		goto out;
	if (leader->pmu == event->pmu &&
	    (npuprof_of_event(leader) != npu || npuprof_place(leader, taken) < 0))
		goto out;
	for_each_sibling_event(sibling, leader) {
		if (sibling->pmu != event->pmu) {
			if (!is_software_event(sibling))
				goto out;
			continue;
		}
		if (npuprof_of_event(sibling) != npu || npuprof_place(sibling, taken) < 0)
			goto out;
	}
	if (npuprof_place(event, taken) >= 0)
		err = 0;
out:
	kfree(taken);
	return err;
}

/**
 * npuprof_perf_check() - whether an event can be counted at all
 * @npu: device
 * @event: event, with pmu_private set
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int npuprof_perf_check(struct npuprof_device *npu, const struct perf_event *event)
{
	u64 config = event->attr.config;
	int err;

	if (config >> NPUPROF_CONFIG_BITS)
		return -EINVAL;
	if (NPUPROF_CONFIG_UNIT(config) && NPUPROF_CONFIG_KIND(config))
		return -EINVAL;
	err = npuprof_counts_unit(event) ? npuprof_check_unit(npu, event) :
					   npuprof_check_core(npu, event);
	return err ?: npuprof_check_group(npu, event);
}
