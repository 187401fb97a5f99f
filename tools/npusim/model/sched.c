// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The task scheduler: streams in order, events and notifies between them. */
#include "cost.h"
#include "internal.h"

static bool is_mark(const struct task *t)
{
	return t->d.kind == NPUSIM_TASK_STEP || t->d.kind == NPUSIM_TASK_FLIP;
}

static void call_started(struct npusim_model *m, const struct task *t)
{
	if (t->d.cookie && m->ops.task_started)
		m->ops.task_started(m->ctx, t->d.cookie, m->now);
}

static void call_ended(struct npusim_model *m, const struct task *t)
{
	if (t->d.cookie && m->ops.task_ended)
		m->ops.task_ended(m->ctx, t->d.cookie, m->now);
}

static void run_mark(struct npusim_model *m, struct stream *s, struct task *t)
{
	call_started(m, t);
	trace_mark(m, t);
	m->totals.marks++;
	call_ended(m, t);
	s->current = NULL;
	s->depth--;
	pool_put(&m->tasks, t);
}

void sched_dispatch(struct npusim_model *m, struct stream *s)
{
	while (!s->current && s->head) {
		struct task *t = s->head;
		u64 when = m->now + (is_mark(t) ? 0 : DISPATCH_NS);

		when = max_u64(when, t->d.ready_ns);
		s->head = t->next;
		s->current = t;
		t->next = NULL;
		if (is_mark(t) && when <= m->now)
			run_mark(m, s, t);
		else
			heap_push(&m->heap, when, TIMED_READY, t, 0, 0);
	}
}

void sched_ready(struct npusim_model *m, struct task *t)
{
	t->ready_ns = m->now;
	switch (t->d.kind) {
	case NPUSIM_TASK_STEP:
	case NPUSIM_TASK_FLIP: {
		struct stream *s = m->streams[t->d.stream];

		run_mark(m, s, t);
		sched_dispatch(m, s);
		return;
	}
	case NPUSIM_TASK_CUBE:
	case NPUSIM_TASK_VECTOR:
	case NPUSIM_TASK_MIX_AIC:
	case NPUSIM_TASK_MIX_AIV:
		place_kernel(m, t);
		break;
	case NPUSIM_TASK_AICPU:
	case NPUSIM_TASK_SDMA:
	case NPUSIM_TASK_PCIE_DMA:
	case NPUSIM_TASK_DVPP:
		place_engine(m, t);
		break;
	default:
		t->start_ns = m->now;
		t->end_ns = m->now + (t->d.duration_ns ? scaled_ns(m, t->d.duration_ns) : SYNC_NS);
		break;
	}
	if (t->start_ns > m->now)
		heap_push(&m->heap, t->start_ns, TIMED_START, t, 0, 0);
	else
		sched_start(m, t);
}

/* Ends a wait whose condition holds now. */
static void release(struct npusim_model *m, struct task *t)
{
	t->end_ns = m->now + (t->d.duration_ns ? scaled_ns(m, t->d.duration_ns) : SYNC_NS);
	heap_push(&m->heap, t->end_ns, TIMED_END, t, 0, 0);
}

static void add_waiter(struct sync *s, struct task *t)
{
	t->next = NULL;
	if (s->waiters)
		s->waiters_tail->next = t;
	else
		s->waiters = t;
	s->waiters_tail = t;
}

static void start_wait(struct npusim_model *m, struct task *t)
{
	struct sync *s;

	if (t->d.kind == NPUSIM_TASK_EVENT_WAIT) {
		s = &m->events[t->d.sync_id];
		if (s->done >= t->wait_target)
			release(m, t);
		else
			add_waiter(s, t);
		return;
	}
	s = &m->notifies[t->d.sync_id];
	if (s->done && !s->waiters) {
		s->done--;
		release(m, t);
	} else {
		add_waiter(s, t);
	}
}

void sched_start(struct npusim_model *m, struct task *t)
{
	t->running = true;
	t->run_prev = NULL;
	t->run_next = m->running;
	if (m->running)
		m->running->run_prev = t;
	m->running = t;
	if (begins_task(t)) {
		m->streams[t->d.stream]->parts_start_ns = m->now;
		m->running_count++;
		m->totals.started++;
	}
	trace_start(m, t);
	call_started(m, t);
	if (t->d.kind == NPUSIM_TASK_EVENT_WAIT || t->d.kind == NPUSIM_TASK_NOTIFY_WAIT)
		start_wait(m, t);
	else
		heap_push(&m->heap, t->end_ns, TIMED_END, t, 0, 0);
}

static void event_recorded(struct npusim_model *m, struct sync *s)
{
	struct task *t = s->waiters;

	s->done++;
	s->waiters = NULL;
	while (t) {
		struct task *next = t->next;

		if (s->done >= t->wait_target)
			release(m, t);
		else
			add_waiter(s, t);
		t = next;
	}
}

void sched_notify(struct npusim_model *m, u32 id)
{
	struct sync *s = &m->notifies[id];
	struct task *t = s->waiters;

	if (!t) {
		s->done++;
		return;
	}
	s->waiters = t->next;
	release(m, t);
}

static void free_kernel(struct npusim_model *m, struct task *t)
{
	while (t->segments) {
		struct segment *s = t->segments;

		t->segments = s->task_next;
		pool_put(&m->segments, s);
	}
	if (t->cost)
		pool_put(&m->costs, t->cost);
	t->cost = NULL;
}

static void count_kernel(struct npusim_model *m, const struct task *t)
{
	const struct cost *c = t->cost;
	u32 i;
	int kind;

	m->totals.kernels_ended++;
	m->totals.macs += c->macs;
	m->totals.vector_ops += c->vector_ops;
	m->totals.hbm_bytes[0] += c->hbm[0];
	m->totals.hbm_bytes[1] += c->hbm[1];
	m->totals.l2_lines[0] += c->l2[0] / L2_LINE + c->l2[2] / L2_LINE;
	m->totals.l2_lines[1] += c->l2[1] / L2_LINE + c->l2[3] / L2_LINE;
	m->totals.task_cycles += c->q[c->main_kind][Q_TOTAL];
	for (kind = 0; kind < 2; kind++) {
		if (!c->blocks[kind])
			continue;
		m->totals.blocks[kind] += c->blocks[kind];
		m->totals.cycles[kind] += c->q[kind][Q_TOTAL];
		for (i = 0; i < event_count(); i++)
			m->event_totals[kind][i] += event_value((int)i, c->q[kind]);
	}
}

static void count_copy(struct npusim_model *m, const struct task *t)
{
	switch (t->d.copy) {
	case NPUSIM_COPY_FROM_HOST:
		m->totals.pcie_bytes[0] += t->d.work.copy_bytes;
		break;
	case NPUSIM_COPY_TO_HOST:
		m->totals.pcie_bytes[1] += t->d.work.copy_bytes;
		break;
	case NPUSIM_COPY_FROM_PEER:
		m->totals.link_bytes[0] += t->d.work.copy_bytes;
		break;
	case NPUSIM_COPY_TO_PEER:
		m->totals.link_bytes[1] += t->d.work.copy_bytes;
		break;
	case NPUSIM_COPY_NIC_RECEIVE:
		m->totals.nic_bytes[0] += t->d.work.copy_bytes;
		break;
	case NPUSIM_COPY_NIC_SEND:
		m->totals.nic_bytes[1] += t->d.work.copy_bytes;
		break;
	}
}

void sched_end(struct npusim_model *m, struct task *t)
{
	struct stream *s = m->streams[t->d.stream];
	struct segment *seg;

	if (t->run_prev)
		t->run_prev->run_next = t->run_next;
	else
		m->running = t->run_next;
	if (t->run_next)
		t->run_next->run_prev = t->run_prev;
	if (ends_task(t)) {
		u64 start = t->d.part ? s->parts_start_ns : t->start_ns;

		m->running_count--;
		m->totals.ended++;
		m->totals.busy_ticks += clock_at(m, m->now) - clock_at(m, start);
	}
	units_task_ended(m, t);
	if (t->cost) {
		for (seg = t->segments; seg; seg = seg->task_next) {
			if (!seg->retired)
				core_sync(m, seg->core);
		}
		count_kernel(m, t);
	} else if (t->d.kind == NPUSIM_TASK_AICPU) {
		m->totals.aicpu_ended++;
	} else if (t->d.kind == NPUSIM_TASK_SDMA || t->d.kind == NPUSIM_TASK_PCIE_DMA) {
		u64 read, written;

		copy_hbm_bytes(t, &read, &written);
		m->totals.hbm_bytes[0] += read;
		m->totals.hbm_bytes[1] += written;
		count_copy(m, t);
	} else if (t->d.kind == NPUSIM_TASK_DVPP) {
		m->totals.dvpp_frames += t->d.work.frames;
	}
	trace_end(m, t);
	call_ended(m, t);

	if (t->d.kind == NPUSIM_TASK_EVENT_RECORD) {
		event_recorded(m, &m->events[t->d.sync_id]);
	} else if (t->d.kind == NPUSIM_TASK_NOTIFY_RECORD) {
		if (t->d.peer == NPUSIM_LOCAL)
			sched_notify(m, t->d.sync_id);
		else if (m->ops.notify_peer)
			m->ops.notify_peer(m->ctx, t->d.peer, t->d.sync_id, m->now);
	}
	free_kernel(m, t);
	pool_put(&m->tasks, t);
	s->current = NULL;
	s->depth--;
	sched_dispatch(m, s);
}

static void abort_task(struct npusim_model *m, struct task *t)
{
	if (!is_mark(t) && ends_task(t))
		m->totals.aborted++;
	free_kernel(m, t);
	if (t->d.cookie && m->ops.task_aborted)
		m->ops.task_aborted(m->ctx, t->d.cookie, m->now);
	pool_put(&m->tasks, t);
}

void sched_abort_all(struct npusim_model *m)
{
	u32 i;

	m->heap.count = 0;
	m->running = NULL;
	m->running_count = 0;
	for (i = 0; i < STREAM_IDS; i++) {
		struct stream *s = m->streams[i];

		if (!s)
			continue;
		if (s->current)
			abort_task(m, s->current);
		while (s->head) {
			struct task *t = s->head;

			s->head = t->next;
			abort_task(m, t);
		}
		*s = (struct stream){ 0 };
	}
	for (i = 0; i < SYNC_IDS; i++) {
		m->events[i] = (struct sync){ 0 };
		m->notifies[i] = (struct sync){ 0 };
	}
}
