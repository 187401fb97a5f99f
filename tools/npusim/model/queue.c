// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Device-written queues: the device composes the records itself and writes them to memory while the
 * driver's credit lasts. Heads are published once per model call, after the records they cover.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_SLOTS (1u << 22)
#define MAX_PAGES (1u << 17) /* the largest queue in the smallest pages */

struct queue *queue_for(struct npusim_model *m, u32 channel)
{
	int q = m->channel_queue[channel];

	return q < 0 ? NULL : &m->queues[q];
}

struct queue *core_queue_for(struct npusim_model *m, u32 channel, u32 core)
{
	int q = m->core_queue[channel == NPUPROF_CHANNEL_CORE_SAMPLE][core];

	return q < 0 ? queue_for(m, channel) : &m->queues[q];
}

static u32 record_size(u32 channel)
{
	switch (channel) {
	case NPUPROF_CHANNEL_TASK_LOG:
		return sizeof(struct npuprof_rec_task_log);
	case NPUPROF_CHANNEL_TASK_PMU:
		return sizeof(struct npuprof_rec_task_pmu);
	case NPUPROF_CHANNEL_TS_TRACK:
		return sizeof(struct npuprof_rec_ts_track);
	case NPUPROF_CHANNEL_BLOCK_PMU:
		return sizeof(struct npuprof_rec_block_pmu);
	case NPUPROF_CHANNEL_CORE_SAMPLE:
		return sizeof(struct npuprof_rec_core_sample);
	case NPUPROF_CHANNEL_AICPU:
		return sizeof(struct npuprof_rec_aicpu);
	case NPUPROF_CHANNEL_HBM:
	case NPUPROF_CHANNEL_LLC:
	case NPUPROF_CHANNEL_NIC:
	case NPUPROF_CHANNEL_DVPP:
	case NPUPROF_CHANNEL_L2:
	case NPUPROF_CHANNEL_LINK:
	case NPUPROF_CHANNEL_PCIE:
	case NPUPROF_CHANNEL_FLOWS:
	case NPUPROF_CHANNEL_ACCELERATORS:
		return sizeof(struct npuprof_rec_bandwidth);
	case NPUPROF_CHANNEL_SOC_PMU:
		return sizeof(struct npuprof_rec_soc_pmu);
	}
	return 0;
}

static int channel_unit(u32 channel)
{
	switch (channel) {
	case NPUPROF_CHANNEL_HBM:
		return REFNPU_UNIT_HBM;
	case NPUPROF_CHANNEL_LLC:
		return REFNPU_UNIT_LLC;
	case NPUPROF_CHANNEL_L2:
		return REFNPU_UNIT_L2;
	case NPUPROF_CHANNEL_NIC:
		return REFNPU_UNIT_NIC;
	case NPUPROF_CHANNEL_DVPP:
		return REFNPU_UNIT_DVPP;
	case NPUPROF_CHANNEL_LINK:
		return REFNPU_UNIT_LINK;
	case NPUPROF_CHANNEL_PCIE:
		return REFNPU_UNIT_PCIE;
	case NPUPROF_CHANNEL_FLOWS:
		return REFNPU_UNIT_FLOWS;
	case NPUPROF_CHANNEL_ACCELERATORS:
		return REFNPU_UNIT_ACC;
	}
	return -1;
}

static u32 channel_of(const struct queue *q)
{
	return q->channel & 0xffff;
}

static u32 core_of(const struct queue *q)
{
	return q->channel >> 16;
}

/* Where the model remembers which queue serves the channel of @q; NULL if there is no such channel
 * or core. */
static int *owner(struct npusim_model *m, const struct queue *q)
{
	u32 channel = channel_of(q), core = core_of(q);

	if (!record_size(channel))
		return NULL;
	if (channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		return core < m->core_count ? &m->core_queue[1][core] : NULL;
	if (channel == NPUPROF_CHANNEL_BLOCK_PMU && core != 0xffff)
		return core < m->core_count ? &m->core_queue[0][core] : NULL;
	return core == 0xffff || core == 0 ? &m->channel_queue[channel] : NULL;
}

static bool sampled(u32 channel)
{
	return channel == NPUPROF_CHANNEL_CORE_SAMPLE || channel_unit(channel) >= 0;
}

static void mark_dirty(struct npusim_model *m, struct queue *q)
{
	if (q->dirty)
		return;
	q->dirty = true;
	m->dirty[m->dirty_count++] = (u16)(q - m->queues);
}

static void write_record(struct npusim_model *m, const struct queue *q, const char *record,
			 u32 size)
{
	u64 offset = (q->producer & (q->slots - 1)) * size;

	if (!m->ops.dma_write)
		return;
	if (!q->page_shift) {
		m->ops.dma_write(m->ctx, q->base + offset, record, size);
		return;
	}
	while (size) {
		u64 page = offset >> q->page_shift, inside = offset & ((1ull << q->page_shift) - 1);
		u64 room = (1ull << q->page_shift) - inside;
		u32 part = size < room ? size : (u32)room;

		m->ops.dma_write(m->ctx, q->pages[page] + inside, record, part);
		record += part;
		offset += part;
		size -= part;
	}
}

/* An enabled queue is one that owner() knows a place for, except that a channel's core may be called 0. */
static struct npusim_record_counts *made_by(struct npusim_model *m, const struct queue *q)
{
	struct npusim_record_counts *made = made_for(m, channel_of(q), core_of(q));

	return made ? made : made_for(m, channel_of(q), NPUSIM_NO_CORE);
}

void queue_put(struct npusim_model *m, struct queue *q, const void *record, u32 size, u64 clock)
{
	if (q->producer >= q->credit) {
		q->dropped++;
		made_by(m, q)->lost++;
		m->totals.queue_dropped++;
		if (!q->gap_count++) {
			q->gap_position = q->producer;
			q->gap_first = clock;
			mark_dirty(m, q);
		}
		q->gap_last = clock;
		return;
	}
	write_record(m, q, record, size);
	q->producer++;
	made_by(m, q)->kept++;
	m->totals.queue_written++;
	mark_dirty(m, q);
}

static void check_wake(struct npusim_model *m, struct queue *q, bool gap)
{
	u32 index = (u32)(q - m->queues);
	bool wake = q->wake && !q->wake_done && q->producer >= q->wake;

	q->wake_done |= wake;
	if (!wake && !gap)
		return;
	m->queue_pending[index / 32] |= 1u << index % 32;
	raise_cause(m, REFNPU_INT_QUEUE);
}

void queue_publish(struct npusim_model *m)
{
	u32 i;

	for (i = 0; i < m->dirty_count; i++) {
		struct queue *q = &m->queues[m->dirty[i]];

		q->dirty = false;
		if (q->head_address && q->published != q->producer && m->ops.dma_write)
			m->ops.dma_write(m->ctx, q->head_address, &q->producer,
					 sizeof(q->producer));
		q->published = q->producer;
		check_wake(m, q, q->gap_count && !q->gap_told);
		q->gap_told = q->gap_count;
	}
	m->dirty_count = 0;
}

static void schedule_sample(struct npusim_model *m, struct queue *q)
{
	u64 at = sample_time(m, q->timer_base, q->period, ++q->timer_tick);

	heap_push(&m->heap, at, TIMED_SAMPLE, NULL, (u16)(q - m->queues), q->timer_gen);
}

static void sample_core(struct npusim_model *m, struct queue *q)
{
	u32 index = core_of(q), i;
	struct core *c = &m->cores[index];
	struct npuprof_rec_core_sample r;

	core_sync(m, index);
	memset(&r, 0, sizeof(r));
	r.mode = 1;
	for (i = 0; i < REFNPU_COUNTERS; i++) {
		if (c->event[i])
			r.count = (u8)(i + 1);
		r.counters[i] = c->acc[i] - c->sample_acc[i];
		c->sample_acc[i] = c->acc[i];
	}
	r.cycles = c->cycles - c->sample_cycles;
	c->sample_cycles = c->cycles;
	r.time_ns = mono_at(m, m->now);
	r.core_id = (u8)index;
	queue_put(m, q, &r, sizeof(r), clock_at(m, m->now));
}

static void sample_unit(struct npusim_model *m, struct queue *q)
{
	u32 unit = (u32)channel_unit(channel_of(q)), n, i;
	u32 events = unit == REFNPU_UNIT_LLC ? 8 : 2;
	u64 now[REFNPU_UNIT_TOTALS];
	struct npuprof_rec_bandwidth r;

	memset(&r, 0, sizeof(r));
	n = units_totals(m, unit, m->units[REFNPU_UNIT_LLC].ctrl & 1, now);
	r.clock = clock_at(m, m->now);
	for (i = 0; i < n; i++) {
		r.value = now[i] - q->last_total[i];
		r.event = i % events;
		r.unit = i / events;
		queue_put(m, q, &r, sizeof(r), r.clock);
		q->last_total[i] = now[i];
	}
}

static void take_sample(struct npusim_model *m, struct queue *q)
{
	q->sampled_at = m->now;
	if (channel_of(q) == NPUPROF_CHANNEL_CORE_SAMPLE)
		sample_core(m, q);
	else
		sample_unit(m, q);
}

void queue_sample(struct npusim_model *m, u32 index, u32 gen)
{
	struct queue *q = &m->queues[index];

	if (gen != q->timer_gen || !(q->ctrl & REFNPU_QUEUE_ENABLE))
		return;
	take_sample(m, q);
	schedule_sample(m, q);
}

/* What was counted since the last sample is told before the queue goes off, or nobody would know. */
static void sample_rest(struct npusim_model *m, struct queue *q)
{
	if (sampled(channel_of(q)) && m->now > q->sampled_at)
		take_sample(m, q);
}

static void start_sampling(struct npusim_model *m, struct queue *q)
{
	u32 core = core_of(q);

	if (channel_of(q) == NPUPROF_CHANNEL_CORE_SAMPLE) {
		core_sync(m, core);
		memcpy(m->cores[core].sample_acc, m->cores[core].acc, sizeof(m->cores[core].acc));
		m->cores[core].sample_cycles = m->cores[core].cycles;
	} else {
		units_totals(m, (u32)channel_unit(channel_of(q)),
			     m->units[REFNPU_UNIT_LLC].ctrl & 1, q->last_total);
	}
	q->timer_base = q->sampled_at = m->now;
	q->timer_tick = 0;
	schedule_sample(m, q);
}

static bool memory_is_set(const struct queue *q, u32 size)
{
	if (!q->slots || q->slots & (q->slots - 1) || q->slots > MAX_SLOTS)
		return false;
	if (!q->page_shift)
		return q->base;
	return ((u64)q->page_count << q->page_shift) >= (u64)q->slots * size;
}

static void enable(struct npusim_model *m, struct queue *q)
{
	int *slot = owner(m, q);

	if (q->ctrl & REFNPU_QUEUE_ENABLE)
		return;
	if (!slot || *slot >= 0 || !memory_is_set(q, record_size(channel_of(q))) ||
	    (sampled(channel_of(q)) &&
	     (q->period < REFNPU_MIN_PERIOD_NS || q->period > REFNPU_MAX_PERIOD_NS))) {
		q->ctrl = REFNPU_QUEUE_ERROR;
		return;
	}
	*slot = (int)(q - m->queues);
	q->ctrl = REFNPU_QUEUE_ENABLE;
	q->producer = q->dropped = q->published = 0;
	q->gap_count = q->gap_position = q->gap_first = q->gap_last = 0;
	q->gap_told = q->wake_done = false;
	q->timer_gen++;
	if (sampled(channel_of(q)))
		start_sampling(m, q);
}

static void disable(struct npusim_model *m, struct queue *q)
{
	int *slot = owner(m, q);

	if (q->ctrl & REFNPU_QUEUE_ENABLE && slot) {
		sample_rest(m, q);
		*slot = -1;
	}
	q->ctrl = 0;
	q->timer_gen++;
}

void queue_reset(struct npusim_model *m)
{
	u32 i;

	for (i = 0; i < REFNPU_MAX_QUEUES; i++) {
		u32 gen = m->queues[i].timer_gen;

		free(m->queues[i].pages);
		/* Timers of before the reset must not fire after it. */
		m->queues[i] = (struct queue){ .timer_gen = gen + 1 };
	}
	for (i = 0; i < NPUPROF_CHANNEL_COUNT; i++)
		m->channel_queue[i] = -1;
	for (i = 0; i < REFNPU_MAX_CORES; i++)
		m->core_queue[0][i] = m->core_queue[1][i] = -1;
	m->dirty_count = 0;
}

static void set_page(struct queue *q, u64 address)
{
	if (q->page_index >= MAX_PAGES)
		return;
	if (q->page_index >= q->page_room) {
		u32 room = q->page_room ? 2 * q->page_room : 64;
		u64 *pages;

		while (room <= q->page_index)
			room *= 2;
		pages = realloc(q->pages, room * sizeof(*pages));
		if (!pages)
			return; /* memory_is_set() will refuse the queue */
		memset(pages + q->page_room, 0, (room - q->page_room) * sizeof(*pages));
		q->pages = pages;
		q->page_room = room;
	}
	q->pages[q->page_index++] = address;
	if (q->page_index > q->page_count)
		q->page_count = q->page_index;
}

u64 queue_read(const struct queue *q, u32 reg)
{
	switch (reg) {
	case REFNPU_QUEUE_CTRL:
		return q->ctrl;
	case REFNPU_QUEUE_CHANNEL:
		return q->channel;
	case REFNPU_QUEUE_BASE:
		return q->base;
	case REFNPU_QUEUE_SLOTS:
		return q->slots;
	case REFNPU_QUEUE_PAGE_SHIFT:
		return q->page_shift;
	case REFNPU_QUEUE_PAGE_INDEX:
		return q->page_index;
	case REFNPU_QUEUE_HEAD_ADDRESS:
		return q->head_address;
	case REFNPU_QUEUE_CREDIT:
		return q->credit;
	case REFNPU_QUEUE_PRODUCER:
		return q->producer;
	case REFNPU_QUEUE_DROPPED:
		return q->dropped;
	case REFNPU_QUEUE_WAKE:
		return q->wake;
	case REFNPU_QUEUE_PERIOD_NS:
		return q->period;
	case REFNPU_QUEUE_GAP_COUNT:
		return q->gap_count;
	case REFNPU_QUEUE_GAP_POSITION:
		return q->gap_position;
	case REFNPU_QUEUE_GAP_FIRST:
		return q->gap_first;
	case REFNPU_QUEUE_GAP_LAST:
		return q->gap_last;
	}
	return 0;
}

/* Registers that describe the queue; fixed while it is enabled. */
static void write_setup(struct queue *q, u32 reg, u64 value)
{
	switch (reg) {
	case REFNPU_QUEUE_CHANNEL:
		q->channel = (u32)value;
		break;
	case REFNPU_QUEUE_BASE:
		q->base = value;
		break;
	case REFNPU_QUEUE_SLOTS:
		q->slots = (u32)value;
		break;
	case REFNPU_QUEUE_PAGE_SHIFT:
		q->page_shift = value >= 12 && value <= 30 ? (u32)value : 0;
		q->page_index = q->page_count = 0;
		break;
	case REFNPU_QUEUE_PAGE_INDEX:
		q->page_index = value < q->page_count ? (u32)value : q->page_count;
		break;
	case REFNPU_QUEUE_PAGE_ADDRESS:
		set_page(q, value);
		break;
	case REFNPU_QUEUE_HEAD_ADDRESS:
		q->head_address = value;
		break;
	case REFNPU_QUEUE_PERIOD_NS:
		q->period = value;
		break;
	}
}

void queue_write(struct npusim_model *m, u32 index, u32 reg, u64 value)
{
	struct queue *q = &m->queues[index];

	switch (reg) {
	case REFNPU_QUEUE_CTRL:
		if (value & REFNPU_QUEUE_ENABLE)
			enable(m, q);
		else
			disable(m, q);
		break;
	case REFNPU_QUEUE_CREDIT:
		q->credit = value;
		break;
	case REFNPU_QUEUE_WAKE:
		q->wake = value;
		q->wake_done = false;
		check_wake(m, q, false);
		break;
	case REFNPU_QUEUE_GAP_ACK:
		q->gap_count = 0;
		q->gap_told = false;
		break;
	default:
		if (!(q->ctrl & REFNPU_QUEUE_ENABLE))
			write_setup(q, reg, value);
		break;
	}
}
