/* SPDX-License-Identifier: GPL-2.0-only */
/* What an event asks for, for the files of the perf PMU. */
#ifndef NPUPROF_PERF_INTERNAL_H
#define NPUPROF_PERF_INTERNAL_H

#include <linux/limits.h>
#include <linux/perf_event.h>

#include "device.h"

/* hw.idx of an event that has no counter */
#define NPUPROF_NOTHING	(-1)
#define NPUPROF_NO_CORE	UINT_MAX

static inline struct npuprof_device *npuprof_of_event(const struct perf_event *event)
{
	return event->pmu_private;
}

static inline bool npuprof_counts_unit(const struct perf_event *event)
{
	return NPUPROF_CONFIG_UNIT(event->attr.config);
}

static inline unsigned int npuprof_cores_of(const struct npuprof_device *npu, u32 kind)
{
	return kind == NPUPROF_CORE_CUBE ? npu->caps.cube_cores : npu->caps.vector_cores;
}

static inline unsigned int npuprof_first_core(const struct npuprof_device *npu, u32 kind)
{
	return kind == NPUPROF_CORE_CUBE ? 0 : npu->caps.cube_cores;
}

/* Whether an event covers core @index of its kind; without a mask it covers all. */
static inline bool npuprof_covers(const struct perf_event *event, unsigned int index)
{
	u64 mask = index < 64 ? event->attr.config1 : event->attr.config2;

	if (!event->attr.config1 && !event->attr.config2)
		return true;
	return index < 128 && (mask & BIT_ULL(index % 64));
}

/* The first core from @core on that an event covers, or NPUPROF_NO_CORE. */
static inline unsigned int npuprof_next_core(const struct perf_event *event, unsigned int core)
{
	const struct npuprof_device *npu = npuprof_of_event(event);
	u32 kind = NPUPROF_CONFIG_KIND(event->attr.config);
	unsigned int first = npuprof_first_core(npu, kind);
	unsigned int end = first + npuprof_cores_of(npu, kind);

	for (core = max(core, first); core < end; core++)
		if (npuprof_covers(event, core - first))
			return core;
	return NPUPROF_NO_CORE;
}

/* perf_core.c; npuprof_device.lock is held */
void npuprof_core_take(struct npuprof_device *npu, unsigned int core, unsigned int counter,
		       u16 number);
void npuprof_core_start(struct npuprof_device *npu, unsigned int core, unsigned int counter);
void npuprof_core_read(struct npuprof_device *npu, unsigned int core, unsigned int counter);
void npuprof_core_stop(struct npuprof_device *npu, unsigned int core, unsigned int counter);
void npuprof_core_give(struct npuprof_device *npu, unsigned int core, unsigned int counter);

/* npuprof_device.mutex is held */
void npuprof_perf_cores_off(struct npuprof_device *npu);
void npuprof_perf_cores_on(struct npuprof_device *npu);

#endif /* NPUPROF_PERF_INTERNAL_H */
