// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the device reports about tasks: the window, and each record either composed for a
 * device-written queue or pushed into a FIFO for the driver.
 */
#include <string.h>

#include "internal.h"

#define STEP_RECORD_LENGTH 40

/* FFTS+ tasks that are under way stay out of the record, also those between two contexts. */
static void forget_parts(struct npusim_model *m)
{
	u32 i;

	for (i = 0; i < STREAM_IDS; i++) {
		if (m->streams[i])
			m->streams[i]->parts_recorded = false;
	}
}

void trace_open(struct npusim_model *m)
{
	struct trace *t = &m->trace;
	struct task *task;
	u32 i;

	if (t->window)
		return;
	memset(t->cut, 0, sizeof(t->cut));
	for (i = 0; i < m->core_count; i++)
		m->cores[i].cut = 0;
	t->window = 1;
	t->t0 = clock_at(m, m->now);
	t->at_open = m->running_count;
	t->started = t->ended = 0;
	m->totals.straddled_open += m->running_count;
	/* Tasks of an earlier window that still run stay outside this one. */
	for (task = m->running; task; task = task->run_next)
		task->recorded = false;
	forget_parts(m);
	t->running = 0;
}

void trace_close(struct npusim_model *m)
{
	struct trace *t = &m->trace;

	if (!t->window)
		return;
	t->window = 0;
	t->t1 = clock_at(m, m->now);
	t->at_close = t->running;
	if (!t->running)
		raise_cause(m, REFNPU_INT_DRAINED);
}

static u8 sqe_type(const struct task *t)
{
	static const u8 dvpp[NPUSIM_DVPP_ENGINES] = { 12, 13, 14, 12, 12, 12 };

	if (t->d.part)
		return NPUPROF_SQE_AI_CORE;
	switch (t->d.kind) {
	case NPUSIM_TASK_VECTOR:
		return NPUPROF_SQE_AIV;
	case NPUSIM_TASK_AICPU:
		return NPUPROF_SQE_AI_CPU;
	case NPUSIM_TASK_SDMA:
		return NPUPROF_SQE_SDMA;
	case NPUSIM_TASK_PCIE_DMA:
		return NPUPROF_SQE_PCIE_DMA;
	case NPUSIM_TASK_DVPP:
		return dvpp[t->d.engine];
	case NPUSIM_TASK_EVENT_RECORD:
		return NPUPROF_SQE_EVENT_RECORD;
	case NPUSIM_TASK_EVENT_WAIT:
		return NPUPROF_SQE_EVENT_WAIT;
	case NPUSIM_TASK_NOTIFY_RECORD:
		return NPUPROF_SQE_NOTIFY_RECORD;
	case NPUSIM_TASK_NOTIFY_WAIT:
		return NPUPROF_SQE_NOTIFY_WAIT;
	case NPUSIM_TASK_WRITE_VALUE:
		return NPUPROF_SQE_WRITE_VALUE;
	case NPUSIM_TASK_PLACE_HOLDER:
		return NPUPROF_SQE_PLACE_HOLDER;
	default:
		return NPUPROF_SQE_AI_CORE;
	}
}

static bool is_mix(const struct task *t)
{
	return t->d.kind == NPUSIM_TASK_MIX_AIC || t->d.kind == NPUSIM_TASK_MIX_AIV;
}

/* Whether it runs as a context of its task. */
static bool is_context(const struct task *t)
{
	return t->d.part || is_mix(t);
}

static u8 subtask_type(const struct task *t)
{
	switch (t->d.kind) {
	case NPUSIM_TASK_VECTOR:
		return NPUPROF_SUBTASK_AIV;
	case NPUSIM_TASK_MIX_AIC:
		return NPUPROF_SUBTASK_MIX_AIC;
	case NPUSIM_TASK_MIX_AIV:
		return NPUPROF_SUBTASK_MIX_AIV;
	default:
		return NPUPROF_SUBTASK_AIC;
	}
}

static u8 ffts_type(const struct task *t)
{
	if (is_context(t))
		return NPUPROF_FFTS_PLUS;
	return t->d.kind == NPUSIM_TASK_VECTOR ? NPUPROF_FFTS_AIV : NPUPROF_FFTS_AIC;
}

static u64 word0(const struct task *t, u32 type, bool with_subtask, int kind)
{
	u64 w = type | (u64)sqe_type(t) << 8 | (u64)t->d.stream << 16 | (u64)t->d.task_id << 32;

	if (with_subtask)
		w |= (u64)subtask_type(t) << 48 | (u64)ffts_type(t) << 56 |
		     (u64)(kind == KIND_VECTOR) << 59;
	return w;
}

static void count_made(struct npusim_model *m, u32 channel, u32 core, bool lost)
{
	struct npusim_record_counts *made = made_for(m, channel, core);

	made->kept += !lost;
	made->lost += lost;
}

static void push(struct npusim_model *m, u32 fifo, const u64 *words, u32 count, u64 clock)
{
	static const u8 channels[REFNPU_FIFOS] = {
		[REFNPU_FIFO_LOG] = NPUPROF_CHANNEL_TASK_LOG,
		[REFNPU_FIFO_PMU] = NPUPROF_CHANNEL_TASK_PMU,
		[REFNPU_FIFO_TRACK] = NPUPROF_CHANNEL_TS_TRACK,
		[REFNPU_FIFO_AICPU] = NPUPROF_CHANNEL_AICPU,
		[REFNPU_FIFO_SOC] = NPUPROF_CHANNEL_SOC_PMU,
	};
	struct fifo *f = &m->fifos[fifo];
	bool lost;

	if (!(f->ctrl & REFNPU_FIFO_ENABLE))
		return;
	m->totals.fifo_produced[fifo]++;
	if (fifo_push(f, words, count, clock, &lost)) {
		m->fifo_pending |= 1u << fifo;
		raise_cause(m, REFNPU_INT_FIFO);
	}
	m->totals.fifo_lost[fifo] += lost;
	count_made(m, channels[fifo], NPUSIM_NO_CORE, lost);
}

static void log_entry(struct npusim_model *m, const struct task *t, u32 type, u64 clock)
{
	static const u8 func[] = {
		[REFNPU_ENTRY_START] = NPUPROF_FUNC_TASK_START,
		[REFNPU_ENTRY_END] = NPUPROF_FUNC_TASK_END,
		[REFNPU_ENTRY_SUB_START] = NPUPROF_FUNC_SUBTASK_START,
		[REFNPU_ENTRY_SUB_END] = NPUPROF_FUNC_SUBTASK_END,
	};
	bool sub = type == REFNPU_ENTRY_SUB_START || type == REFNPU_ENTRY_SUB_END;
	struct queue *q = queue_for(m, NPUPROF_CHANNEL_TASK_LOG);

	if (q) {
		struct npuprof_rec_task_log r = {
			.head = NPUPROF_HEAD(func[type], sqe_type(t)),
			.magic = NPUPROF_STARS_MAGIC,
			.stream_id = t->d.stream,
			.task_id = t->d.task_id,
			.clock = clock,
			.subtask_type = sub ? subtask_type(t) : 0,
			.subtask_id = sub ? t->d.context : 0,
			.ffts_type = sub ? (u16)(ffts_type(t) << NPUPROF_FFTS_SHIFT) : 0,
		};

		queue_put(m, q, &r, sizeof(r), clock);
	} else {
		u64 w[3] = { word0(t, type, sub, KIND_CUBE), clock, sub ? t->d.context : 0 };

		push(m, REFNPU_FIFO_LOG, w, 3, clock);
	}
}

/* Events of the list of @kind, of a whole task. */
static void task_counters(const struct npusim_model *m, const struct task *t, int kind, u64 *out)
{
	u32 i;

	for (i = 0; i < REFNPU_COUNTERS; i++) {
		int index = m->trace.index[kind][i];

		out[i] = index < 0 ? 0 : event_value(index, t->cost->q[kind]);
	}
}

static void pmu_entry(struct npusim_model *m, const struct task *t, u64 start, u64 end)
{
	const struct cost *c = t->cost;
	struct queue *q = queue_for(m, NPUPROF_CHANNEL_TASK_PMU);
	u64 counters[REFNPU_COUNTERS];

	task_counters(m, t, c->main_kind, counters);
	if (q) {
		struct npuprof_rec_task_pmu r = {
			.head = NPUPROF_HEAD(NPUPROF_FUNC_TASK_PMU, 0),
			.magic = NPUPROF_STARS_MAGIC,
			.stream_id = t->d.stream,
			.task_id = t->d.task_id,
			.subtask_type = subtask_type(t),
			.subtask_id = t->d.context,
			.ffts_type = (u16)(ffts_type(t) << NPUPROF_FFTS_SHIFT),
			.cycles = c->q[c->main_kind][Q_TOTAL],
			.start = start,
			.end = end,
		};

		memcpy(r.counters, counters, sizeof(counters));
		queue_put(m, q, &r, sizeof(r), end);
	} else {
		u64 w[13] = { word0(t, REFNPU_ENTRY_PMU, true, c->main_kind), start, end,
			      c->q[c->main_kind][Q_TOTAL], t->d.context };

		memcpy(w + 5, counters, sizeof(counters));
		push(m, REFNPU_FIFO_PMU, w, 13, end);
	}
}

static void soc_entry(struct npusim_model *m, const struct task *t, u64 end)
{
	const u64 *bytes = t->cost->l2;
	u64 read_hits = bytes[0] / L2_LINE, read_misses = bytes[1] / L2_LINE;
	u64 write_hits = bytes[2] / L2_LINE, write_misses = bytes[3] / L2_LINE;
	/* A line that is not there takes the place of another; one that was written goes back to HBM. */
	u64 counters[8] = {
		read_hits + read_misses + write_hits + write_misses,
		read_hits + read_misses,
		write_hits + write_misses,
		read_misses + write_misses,
		read_hits,
		write_hits,
		read_misses + write_misses,
		write_misses,
	};
	struct queue *q = queue_for(m, NPUPROF_CHANNEL_SOC_PMU);

	if (q) {
		struct npuprof_rec_soc_pmu r = {
			.task_type = sqe_type(t),
			.stream_id = t->d.stream,
			.task_id = t->d.task_id,
			.data_type = NPUPROF_SOC_L2,
		};

		memcpy(r.counters, counters, sizeof(counters));
		queue_put(m, q, &r, sizeof(r), end);
	} else {
		u64 w[10] = { word0(t, REFNPU_ENTRY_SOC, false, 0), end };

		memcpy(w + 2, counters, sizeof(counters));
		push(m, REFNPU_FIFO_SOC, w, 10, end);
	}
}

static void aicpu_entry(struct npusim_model *m, const struct task *t, u64 start, u64 end)
{
	u64 submitted = clock_at(m, t->submit_ns), scheduled = clock_at(m, t->ready_ns);
	struct queue *q = queue_for(m, NPUPROF_CHANNEL_AICPU);

	if (q) {
		struct npuprof_rec_aicpu r = {
			.stream_id = t->d.stream,
			.task_id = t->d.task_id,
			.submitted = submitted,
			.scheduled = scheduled,
			.start = start,
			.end = end,
		};

		queue_put(m, q, &r, sizeof(r), end);
	} else {
		u64 w[5] = { word0(t, REFNPU_ENTRY_AICPU, false, 0), submitted, scheduled, start,
			     end };

		push(m, REFNPU_FIFO_AICPU, w, 5, end);
	}
}

void trace_mark(struct npusim_model *m, const struct task *t)
{
	u64 clock = clock_at(m, m->now);
	bool step = t->d.kind == NPUSIM_TASK_STEP;
	struct queue *q;

	if (!m->trace.window || !(m->trace.enable & REFNPU_TRACE_TRACK))
		return;
	q = queue_for(m, NPUPROF_CHANNEL_TS_TRACK);
	if (q) {
		struct npuprof_rec_ts_track r;

		memset(&r, 0, sizeof(r));
		r.tag = step ? NPUPROF_TS_STEP : NPUPROF_TS_FLIP;
		r.length = STEP_RECORD_LENGTH;
		r.clock = clock;
		if (step) {
			r.step.index_id = t->d.step_index;
			r.step.model_id = t->d.step_model;
			r.step.stream_id = t->d.stream;
			r.step.task_id = t->d.task_id;
			r.step.tag_id = t->d.step_tag;
		} else {
			r.flip.stream_id = t->d.stream;
			r.flip.flip_count = t->d.flip_count;
			r.flip.task_id = t->d.task_id;
		}
		queue_put(m, q, &r, sizeof(r), clock);
	} else {
		u64 w[5] = { word0(t, step ? REFNPU_ENTRY_STEP : REFNPU_ENTRY_FLIP, false, 0),
			     clock };

		w[2] = step ? t->d.step_index : t->d.flip_count;
		w[3] = step ? t->d.step_model : 0;
		w[4] = step ? t->d.step_tag : 0;
		push(m, REFNPU_FIFO_TRACK, w, 5, clock);
	}
}

static bool blocks_enabled(u32 enable, const struct task *t, int kind)
{
	if (!t->recorded || !t->cost)
		return false;
	if (enable & REFNPU_TRACE_BLOCK)
		return true;
	return enable & REFNPU_TRACE_MIX_BLOCK && is_mix(t) && kind != t->cost->main_kind;
}

static bool traces_blocks(const struct npusim_model *m, const struct task *t, int kind)
{
	return blocks_enabled(m->trace.enable, t, kind);
}

/* What a running task will have no record of any more. */
static void cut_task(struct npusim_model *m, const struct task *t, u32 enable)
{
	u32 cleared = m->trace.enable & ~enable;
	u32 *cut = m->trace.cut;
	const struct segment *s;

	if (cleared & REFNPU_TRACE_LOG)
		cut[REFNPU_FIFO_LOG] += is_context(t) ? 2 : 1;
	if (cleared & REFNPU_TRACE_PMU && t->cost)
		cut[REFNPU_FIFO_PMU]++;
	if (cleared & REFNPU_TRACE_SOC && t->cost)
		cut[REFNPU_FIFO_SOC]++;
	if (cleared & REFNPU_TRACE_AICPU && t->d.kind == NPUSIM_TASK_AICPU)
		cut[REFNPU_FIFO_AICPU]++;
	for (s = t->segments; s; s = s->task_next) {
		int kind = m->cores[s->core].kind;

		if (traces_blocks(m, t, kind) && !blocks_enabled(enable, t, kind))
			m->cores[s->core].cut += s->count - s->reported;
	}
}

void trace_enable(struct npusim_model *m, u32 enable)
{
	const struct task *t;

	for (t = m->running; t; t = t->run_next) {
		if (t->recorded)
			cut_task(m, t, enable);
	}
	m->trace.enable = enable;
}

void trace_start(struct npusim_model *m, struct task *t)
{
	struct stream *stream = m->streams[t->d.stream];
	bool first = begins_task(t);
	struct segment *s;
	u64 clock;

	/* A task belongs to the window in which it starts, with all its contexts. */
	t->recorded = first ? m->trace.window : stream->parts_recorded;
	if (t->d.part)
		stream->parts_recorded = t->recorded;
	if (!t->recorded)
		return;
	if (first) {
		m->trace.running++;
		m->trace.started++;
		m->totals.recorded_started++;
	}
	if (m->trace.enable & REFNPU_TRACE_LOG) {
		clock = clock_at(m, m->now);
		if (first)
			log_entry(m, t, REFNPU_ENTRY_START, clock);
		if (is_context(t))
			log_entry(m, t, REFNPU_ENTRY_SUB_START, clock);
	}
	for (s = t->segments; s; s = s->task_next) {
		if (traces_blocks(m, t, m->cores[s->core].kind))
			heap_push(&m->heap, s->start_ns + t->cost->block_ns, TIMED_BLOCK, s, 0, 0);
	}
}

static void block_entry(struct npusim_model *m, const struct segment *s, u32 nth)
{
	const struct task *t = s->task;
	const struct cost *c = t->cost;
	struct core *core = &m->cores[s->core];
	u32 kind = core->kind, block = s->first + nth * s->step, i;
	u64 start = clock_at(m, s->start_ns + nth * c->block_ns);
	u64 end = clock_at(m, s->start_ns + (nth + 1) * c->block_ns);
	u32 sub = is_mix(t) && kind == KIND_VECTOR ? block % t->d.mix_ratio : 0;
	struct queue *q = core_queue_for(m, NPUPROF_CHANNEL_BLOCK_PMU, s->core);
	u64 counters[REFNPU_COUNTERS];
	bool lost;

	task_counters(m, t, (int)kind, counters);
	for (i = 0; i < REFNPU_COUNTERS; i++)
		counters[i] = block_share(counters[i], c->blocks[kind], block);
	if (q) {
		struct npuprof_rec_block_pmu r = {
			.head = NPUPROF_HEAD(NPUPROF_FUNC_BLOCK_PMU, 0),
			.magic = NPUPROF_STARS_MAGIC,
			.stream_id = t->d.stream,
			.task_id = t->d.task_id,
			.subtask_type = subtask_type(t),
			.subtask_id = t->d.context,
			.core = (u8)(kind | (s->core - m->first_core[kind]) << 1),
			.ffts_type = (u8)(ffts_type(t) << 5),
			.subblock_id = (u16)sub,
			.block_id = (u16)block,
			.cycles = c->block_cycles,
			.start = start,
			.end = end,
		};

		memcpy(r.counters, counters, sizeof(counters));
		queue_put(m, q, &r, sizeof(r), end);
	} else if (core->fifo.ctrl & REFNPU_FIFO_ENABLE) {
		u64 w[13] = { word0(t, REFNPU_ENTRY_BLOCK, true, (int)kind), start, end,
			      c->block_cycles,
			      (u64)t->d.context | (u64)block << 16 | (u64)sub << 32 };

		memcpy(w + 5, counters, sizeof(counters));
		if (fifo_push(&core->fifo, w, 13, end, &lost)) {
			m->block_pending[s->core / 32] |= 1u << s->core % 32;
			raise_cause(m, REFNPU_INT_BLOCK);
		}
		count_made(m, NPUPROF_CHANNEL_BLOCK_PMU, s->core, lost);
	}
}

void trace_block(struct npusim_model *m, struct segment *s)
{
	if (!traces_blocks(m, s->task, m->cores[s->core].kind))
		return;
	block_entry(m, s, s->reported++);
	if (s->reported < s->count)
		heap_push(&m->heap, s->start_ns + (s->reported + 1) * s->task->cost->block_ns,
			  TIMED_BLOCK, s, 0, 0);
}

void trace_end(struct npusim_model *m, struct task *t)
{
	u32 enable = m->trace.enable;
	u64 start, end;

	if (!t->recorded)
		return;
	if (ends_task(t)) {
		m->trace.running--;
		m->trace.ended++;
		m->totals.recorded_ended++;
	}
	start = clock_at(m, t->start_ns);
	end = clock_at(m, m->now);
	if (t->cost && enable & REFNPU_TRACE_PMU)
		pmu_entry(m, t, start, end);
	if (t->cost && enable & REFNPU_TRACE_SOC)
		soc_entry(m, t, end);
	if (enable & REFNPU_TRACE_LOG) {
		if (is_context(t))
			log_entry(m, t, REFNPU_ENTRY_SUB_END, end);
		if (ends_task(t))
			log_entry(m, t, REFNPU_ENTRY_END, end);
	}
	if (t->d.kind == NPUSIM_TASK_AICPU && enable & REFNPU_TRACE_AICPU)
		aicpu_entry(m, t, start, end);
	if (!m->trace.window && !m->trace.running)
		raise_cause(m, REFNPU_INT_DRAINED);
}

void trace_reset(struct npusim_model *m)
{
	struct task *t;
	u32 kind, i;

	memset(&m->trace, 0, sizeof(m->trace));
	for (kind = 0; kind < 2; kind++) {
		for (i = 0; i < REFNPU_COUNTERS; i++)
			m->trace.index[kind][i] = -1;
	}
	for (t = m->running; t; t = t->run_next)
		t->recorded = false;
	forget_parts(m);
}

void trace_select(struct npusim_model *m, u32 kind, u32 slot, u32 event)
{
	int index = event_index(event);

	m->trace.index[kind][slot] = (s16)index;
	m->trace.event[kind][slot] = index < 0 ? 0 : event;
}
