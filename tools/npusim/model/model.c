// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The device as a whole: creation, time, submission, reset and removal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "npuprof_layout.h"

void npusim_model_defaults(struct npusim_model_config *config)
{
	*config = (struct npusim_model_config){
		.cube_cores = 24,
		.vector_cores = 48,
		.core_mhz = 1800,
		.aicpu_cores = 6,
		.clock_hz = 50000000,
		.time_scale_ppm = 1000000,
		.fifo_depth = 1024,
		.block_fifo_depth = 64,
	};
}

static bool in(u64 value, u64 low, u64 high)
{
	return value >= low && value <= high;
}

static bool config_is_valid(const struct npusim_model_config *c)
{
	return in(c->cube_cores, 1, 128) && in(c->vector_cores, 1, 128) &&
	       in(c->core_mhz, 1, 10000) && in(c->aicpu_cores, 1, ENGINE_MAX_SERVERS) &&
	       in(c->clock_hz, 1, 10000000000ull) && c->clock_ppm >= -100000 &&
	       c->clock_ppm <= 100000 && in(c->time_scale_ppm, 1, 1000000000) &&
	       in(c->jitter_ppm, 0, 1000000000) && in(c->fifo_depth, 1, 65535) &&
	       in(c->block_fifo_depth, 1, 65535);
}

static bool allocate(struct npusim_model *m)
{
	u32 i;

	m->streams = calloc(STREAM_IDS, sizeof(*m->streams));
	m->events = calloc(SYNC_IDS, sizeof(*m->events));
	m->notifies = calloc(SYNC_IDS, sizeof(*m->notifies));
	m->cores = calloc(m->core_count, sizeof(*m->cores));
	m->queues = calloc(REFNPU_MAX_QUEUES, sizeof(*m->queues));
	m->event_totals[0] = calloc(event_count(), sizeof(u64));
	m->event_totals[1] = calloc(event_count(), sizeof(u64));
	if (!m->streams || !m->events || !m->notifies || !m->cores || !m->queues ||
	    !m->event_totals[0] || !m->event_totals[1])
		return false;
	for (i = 0; i < REFNPU_FIFOS; i++) {
		if (!fifo_init(&m->fifos[i], m->cfg.fifo_depth))
			return false;
	}
	for (i = 0; i < m->core_count; i++) {
		if (!fifo_init(&m->cores[i].fifo, m->cfg.block_fifo_depth))
			return false;
	}
	return true;
}

/* State as after power-on at the current time; tasks are gone already. */
static void power_on(struct npusim_model *m)
{
	u32 i;

	m->origin = m->now;
	for (i = 0; i < m->core_count; i++) {
		struct core *c = &m->cores[i];

		c->first = c->last = NULL;
		c->free_at = 0;
		c->kind = i < m->cores_of[KIND_CUBE] ? KIND_CUBE : KIND_VECTOR;
	}
	m->all_free_at[0] = m->all_free_at[1] = 0;
	for (i = 0; i < ENGINE_COUNT; i++)
		m->engines[i] = (struct servers){ .count = 1 };
	m->engines[ENGINE_AICPU].count = m->cfg.aicpu_cores;
	m->engines[ENGINE_SDMA].count = 4;
	m->hbm.head = m->hbm.count = 0;
	m->hbm.free_at = 0;
	memset(m->hbm.done, 0, sizeof(m->hbm.done));
	memset(m->linear, 0, sizeof(m->linear));
	regs_reset(m);
}

struct npusim_model *npusim_model_create(const struct npusim_model_config *config,
					 const struct npusim_model_ops *ops, void *ctx)
{
	struct npusim_model *m;

	if (!config_is_valid(config))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->cfg = *config;
	if (ops)
		m->ops = *ops;
	m->ctx = ctx;
	m->cores_of[KIND_CUBE] = config->cube_cores;
	m->cores_of[KIND_VECTOR] = config->vector_cores;
	m->core_count = config->cube_cores + config->vector_cores;
	m->first_core[KIND_VECTOR] = config->cube_cores;
	m->tasks.size = sizeof(struct task);
	m->segments.size = sizeof(struct segment);
	m->costs.size = sizeof(struct cost);
	m->now = config->origin_ns;
	clock_setup(m);
	if (!allocate(m)) {
		npusim_model_destroy(m);
		return NULL;
	}
	power_on(m);
	return m;
}

void npusim_model_destroy(struct npusim_model *m)
{
	u32 i;

	if (!m)
		return;
	for (i = 0; m->streams && i < STREAM_IDS; i++)
		free(m->streams[i]);
	for (i = 0; m->cores && i < m->core_count; i++)
		free(m->cores[i].fifo.words);
	for (i = 0; i < REFNPU_FIFOS; i++)
		free(m->fifos[i].words);
	for (i = 0; m->queues && i < REFNPU_MAX_QUEUES; i++)
		free(m->queues[i].pages);
	pool_destroy(&m->tasks);
	pool_destroy(&m->segments);
	pool_destroy(&m->costs);
	free(m->heap.v);
	free(m->hbm.slots);
	free(m->streams);
	free(m->events);
	free(m->notifies);
	free(m->cores);
	free(m->queues);
	free(m->event_totals[0]);
	free(m->event_totals[1]);
	free(m);
}

void npusim_model_reset(struct npusim_model *m)
{
	if (m->gone)
		return;
	sched_abort_all(m);
	m->epoch++;
	power_on(m);
}

void npusim_model_lose_registers(struct npusim_model *m)
{
	if (!m->gone)
		regs_reset(m);
}

void npusim_model_remove(struct npusim_model *m)
{
	if (m->gone)
		return;
	m->gone = true;
	sched_abort_all(m);
	power_on(m);
}

static void happen(struct npusim_model *m, const struct timed *e)
{
	switch ((enum timed_kind)e->kind) {
	case TIMED_READY:
		sched_ready(m, e->ptr);
		break;
	case TIMED_START:
		sched_start(m, e->ptr);
		break;
	case TIMED_END:
		sched_end(m, e->ptr);
		break;
	case TIMED_BLOCK:
		trace_block(m, e->ptr);
		break;
	case TIMED_OVERFLOW:
		core_overflow_due(m, e->arg);
		break;
	case TIMED_SAMPLE:
		queue_sample(m, e->arg, e->gen);
		break;
	}
}

void npusim_model_advance(struct npusim_model *m, uint64_t now_ns)
{
	struct timed e;

	if (now_ns <= m->now)
		return;
	while (m->heap.count && m->heap.v[0].ns <= now_ns) {
		heap_pop(&m->heap, &e);
		m->now = max_u64(m->now, e.ns);
		happen(m, &e);
	}
	m->now = now_ns;
	queue_publish(m);
}

uint64_t npusim_model_next_event(const struct npusim_model *m)
{
	return m->heap.count ? m->heap.v[0].ns : NEVER;
}

uint64_t npusim_model_now(const struct npusim_model *m)
{
	return m->now;
}

/* With these limits no time and no counter of a task overflows 64 bits. */
static bool amounts_are_valid(const struct npusim_task *t)
{
	const struct npusim_work *w = &t->work;
	const u64 amounts[] = { w->macs_fp16,	   w->macs_int8,       w->vec_fp32,
				w->vec_fp16,	   w->vec_int32,       w->vec_misc,
				w->scalar,	   w->read_bytes,      w->write_bytes,
				w->l1_read_bytes,  w->l0c_to_l1_bytes, w->ub_read_bytes,
				w->ub_write_bytes, w->copy_bytes };
	u32 i;

	for (i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		if (amounts[i] > NPUSIM_MAX_WORK)
			return false;
	}
	return t->cycles <= NPUSIM_MAX_CYCLES && t->duration_ns <= NPUSIM_MAX_DURATION_NS;
}

static bool task_is_valid(const struct npusim_task *t)
{
	if (!amounts_are_valid(t))
		return false;
	if (t->part & ~(NPUSIM_PART | NPUSIM_PART_FIRST | NPUSIM_PART_LAST) ||
	    (t->part && (!(t->part & NPUSIM_PART) || t->kind > NPUSIM_TASK_MIX_AIV)))
		return false;
	switch (t->kind) {
	case NPUSIM_TASK_MIX_AIC:
	case NPUSIM_TASK_MIX_AIV:
		if (!in(t->mix_ratio, 1, 2))
			return false;
		/* fall through */
	case NPUSIM_TASK_CUBE:
	case NPUSIM_TASK_VECTOR:
		return in(t->block_dim, 1, 65535) && t->work.l2_hit_ppm <= 1000000;
	case NPUSIM_TASK_SDMA:
	case NPUSIM_TASK_PCIE_DMA:
		return t->copy <= NPUSIM_COPY_NIC_RECEIVE;
	case NPUSIM_TASK_DVPP:
		return t->engine < NPUSIM_DVPP_ENGINES;
	case NPUSIM_TASK_EVENT_RECORD:
	case NPUSIM_TASK_EVENT_WAIT:
	case NPUSIM_TASK_NOTIFY_RECORD:
	case NPUSIM_TASK_NOTIFY_WAIT:
		return t->sync_id < SYNC_IDS;
	default:
		return t->kind < NPUSIM_TASK_KINDS;
	}
}

int npusim_model_check_task(const struct npusim_task *task)
{
	return task_is_valid(task) ? 0 : -EINVAL;
}

int npusim_model_submit(struct npusim_model *m, const struct npusim_task *task)
{
	struct stream *s;
	struct task *t;

	if (m->gone)
		return -ENODEV;
	if (!task_is_valid(task))
		return -EINVAL;
	s = m->streams[task->stream];
	if (!s) {
		s = m->streams[task->stream] = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
	}
	if (m->cfg.stream_depth && s->depth >= m->cfg.stream_depth)
		return -EAGAIN;
	t = pool_get(&m->tasks);
	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	t->d = *task;
	t->seq = m->task_seq++;
	t->submit_ns = m->now;
	if (task->kind != NPUSIM_TASK_STEP && task->kind != NPUSIM_TASK_FLIP && begins_task(t))
		m->totals.submitted++;
	if (task->kind == NPUSIM_TASK_EVENT_RECORD)
		m->events[task->sync_id].submitted++;
	else if (task->kind == NPUSIM_TASK_EVENT_WAIT)
		t->wait_target = m->events[task->sync_id].submitted;
	if (s->head)
		s->tail->next = t;
	else
		s->head = t;
	s->tail = t;
	s->depth++;
	sched_dispatch(m, s);
	queue_publish(m);
	return 0;
}

int npusim_model_signal(struct npusim_model *m, uint32_t id)
{
	if (id >= SYNC_IDS)
		return -EINVAL;
	if (!m->gone)
		sched_notify(m, id);
	return 0;
}

uint32_t npusim_model_pending(const struct npusim_model *m, uint16_t stream)
{
	return m->streams[stream] ? m->streams[stream]->depth : 0;
}

void npusim_model_totals(const struct npusim_model *m, struct npusim_totals *totals)
{
	*totals = m->totals;
}

struct npusim_record_counts *made_for(struct npusim_model *m, u32 channel, u32 core)
{
	if (channel >= NPUPROF_CHANNEL_COUNT)
		return NULL;
	if (core == NPUSIM_NO_CORE)
		return &m->made[channel];
	if (core >= m->core_count ||
	    (channel != NPUPROF_CHANNEL_BLOCK_PMU && channel != NPUPROF_CHANNEL_CORE_SAMPLE))
		return NULL;
	return &m->core_made[channel == NPUPROF_CHANNEL_CORE_SAMPLE][core];
}

int npusim_model_record_counts(struct npusim_model *m, uint32_t channel, uint32_t core,
			       struct npusim_record_counts *counts)
{
	const struct npusim_record_counts *made = made_for(m, channel, core);

	if (!made)
		return -EINVAL;
	*counts = *made;
	return 0;
}

uint64_t npusim_model_clock_at(const struct npusim_model *m, uint64_t ns)
{
	return clock_at(m, ns);
}

uint64_t npusim_model_event_total(const struct npusim_model *m, int kind, uint16_t event)
{
	int index = event_index(event);

	return index < 0 || kind < 0 || kind > 1 ? 0 : m->event_totals[kind][index];
}

int npusim_model_event_known(uint16_t event)
{
	return event_index(event) >= 0;
}
