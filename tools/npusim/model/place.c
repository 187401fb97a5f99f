// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which core runs which block, and when. A task is placed at once when it becomes ready: its blocks
 * go, in the order in which tasks became ready, to the cores that are free first. Nothing that
 * comes later changes it, so all progress has a closed form.
 */
#include <stdlib.h>

#include "cost.h"
#include "internal.h"

static void *must_get(struct pool *p)
{
	void *item = pool_get(p);

	if (!item)
		abort(); /* a task that cannot be placed would never end */
	return item;
}

static void add_segment(struct npusim_model *m, struct task *t, u32 core, u64 start, u32 count,
			u32 first, u32 step)
{
	struct segment *s = must_get(&m->segments);
	u32 kind = m->cores[core].kind;

	*s = (struct segment){ .task_next = t->segments,
			       .task = t,
			       .start_ns = start,
			       .count = count,
			       .first = first,
			       .step = step,
			       .core = (u16)core };
	s->end_ns = start + count * t->cost->block_ns;
	t->segments = s;
	t->end_ns = max_u64(t->end_ns, s->end_ns);
	m->cores[core].free_at = s->end_ns;
	m->all_free_at[kind] = max_u64(m->all_free_at[kind], s->end_ns);
	core_add(m, s);
}

static u64 group_free(const struct npusim_model *m, u32 group, u32 per, u32 used)
{
	u64 at = m->cores[m->first_core[KIND_CUBE] + group].free_at;
	u32 k;

	for (k = 0; k < used; k++)
		at = max_u64(at, m->cores[m->first_core[KIND_VECTOR] + group * per + k].free_at);
	return at;
}

/* Lanes are what a block needs: one core, or for mixed kernels one cube core with its vector cores.
 */
struct lanes {
	u32 count;
	u64 free_at[REFNPU_MAX_CORES];
	u32 blocks[REFNPU_MAX_CORES];
};

static void sift_down(const struct lanes *l, u16 *order, u32 i)
{
	u16 lane = order[i];

	for (;;) {
		u32 child = 2 * i + 1;

		if (child >= l->count)
			break;
		if (child + 1 < l->count &&
		    (l->free_at[order[child + 1]] < l->free_at[order[child]] ||
		     (l->free_at[order[child + 1]] == l->free_at[order[child]] &&
		      order[child + 1] < order[child])))
			child++;
		if (l->free_at[lane] < l->free_at[order[child]] ||
		    (l->free_at[lane] == l->free_at[order[child]] && lane < order[child]))
			break;
		order[i] = order[child];
		i = child;
	}
	order[i] = lane;
}

/* Hands @blocks out one by one to the lane that is free first, the lowest of equals. */
static void share_out(struct lanes *l, u32 blocks, u64 block_ns)
{
	u64 low = NEVER, high = 0;
	u16 order[REFNPU_MAX_CORES];
	u64 sure;
	u32 i;

	for (i = 0; i < l->count; i++) {
		low = l->free_at[i] < low ? l->free_at[i] : low;
		high = max_u64(high, l->free_at[i]);
		l->blocks[i] = 0;
	}
	/* So many blocks come to every lane whatever the order. */
	sure = (high - low) / block_ns + 2;
	if (blocks / l->count > sure) {
		sure = blocks / l->count - sure;
		for (i = 0; i < l->count; i++) {
			l->blocks[i] = (u32)sure;
			l->free_at[i] += sure * block_ns;
		}
		blocks -= (u32)sure * l->count;
	}
	for (i = 0; i < l->count; i++)
		order[i] = (u16)i;
	for (i = l->count / 2; i-- > 0;)
		sift_down(l, order, i);
	while (blocks--) {
		l->blocks[order[0]]++;
		l->free_at[order[0]] += block_ns;
		sift_down(l, order, 0);
	}
}

/* Completes the cost once the start is known: HBM may hold the task up. */
static void finish_cost(struct npusim_model *m, struct task *t, u64 start)
{
	struct cost *c = t->cost;
	u64 span = 0;

	if (c->hbm[0] | c->hbm[1])
		span = hbm_reserve(m, start, NPUPROF_FLOW_CORES, c->hbm[0], c->hbm[1]) - start;
	t->start_ns = start;
	t->end_ns = start;
	cost_finish(m, c, span);
}

static void place_plain(struct npusim_model *m, struct task *t, int kind)
{
	u32 n = m->cores_of[kind], blocks = t->cost->blocks[kind], first_core = m->first_core[kind];
	struct lanes l;
	u64 start = NEVER;
	u32 i, first = 0;

	if (m->all_free_at[kind] <= m->now) {
		finish_cost(m, t, m->now);
		for (i = 0; i < n && i < blocks; i++)
			add_segment(m, t, first_core + i, m->now, blocks / n + (i < blocks % n), i,
				    n);
		return;
	}
	l.count = n;
	for (i = 0; i < n; i++) {
		l.free_at[i] = max_u64(m->cores[first_core + i].free_at, m->now);
		start = l.free_at[i] < start ? l.free_at[i] : start;
	}
	finish_cost(m, t, start);
	share_out(&l, blocks, t->cost->block_ns);
	for (i = 0; i < n; i++) {
		if (!l.blocks[i])
			continue;
		add_segment(m, t, first_core + i, max_u64(m->cores[first_core + i].free_at, m->now),
			    l.blocks[i], first, 1);
		first += l.blocks[i];
	}
}

static void place_mix(struct npusim_model *m, struct task *t)
{
	u32 per = m->cores_of[KIND_VECTOR] / m->cores_of[KIND_CUBE], ratio = t->d.mix_ratio;
	u32 used, turns, i, k, first = 0;
	struct lanes l;
	u64 start = NEVER;

	per = per ? per : 1;
	used = ratio < per ? ratio : per;
	turns = (ratio + used - 1) / used;
	l.count = m->cores_of[KIND_CUBE];
	if (l.count > m->cores_of[KIND_VECTOR] / per)
		l.count = m->cores_of[KIND_VECTOR] / per;
	for (i = 0; i < l.count; i++) {
		l.free_at[i] = max_u64(group_free(m, i, per, used), m->now);
		start = l.free_at[i] < start ? l.free_at[i] : start;
	}
	finish_cost(m, t, start);
	share_out(&l, t->cost->blocks[KIND_CUBE], t->cost->block_ns * turns);
	for (i = 0; i < l.count; i++) {
		u64 at = max_u64(group_free(m, i, per, used), m->now);
		u32 n = l.blocks[i], vector_first = first * ratio;

		if (!n)
			continue;
		add_segment(m, t, m->first_core[KIND_CUBE] + i, at, n, first, 1);
		first += n;
		for (k = 0; k < used; k++) {
			/* Vector core k takes every used-th vector block of the group. */
			u32 count = (n * ratio - k + used - 1) / used;

			add_segment(m, t, m->first_core[KIND_VECTOR] + i * per + k, at, count,
				    vector_first + k, used);
		}
		/* The cube core stays with the group until its vector cores are done. */
		m->cores[m->first_core[KIND_CUBE] + i].free_at = at + n * turns * t->cost->block_ns;
		m->all_free_at[KIND_CUBE] =
			max_u64(m->all_free_at[KIND_CUBE], at + n * turns * t->cost->block_ns);
	}
}

void place_kernel(struct npusim_model *m, struct task *t)
{
	t->cost = must_get(&m->costs);
	cost_kernel(m, t, t->cost);
	if (t->cost->blocks[KIND_CUBE] && t->cost->blocks[KIND_VECTOR])
		place_mix(m, t);
	else
		place_plain(m, t, t->cost->main_kind);
}

/* The server of an engine that is free first. */
static u64 *pick_server(struct servers *s)
{
	u32 best = 0, i;

	for (i = 1; i < s->count; i++) {
		if (s->free_at[i] < s->free_at[best])
			best = i;
	}
	return &s->free_at[best];
}

static enum engine copy_engine(const struct task *t)
{
	switch (t->d.copy) {
	case NPUSIM_COPY_FROM_HOST:
		return ENGINE_PCIE_IN;
	case NPUSIM_COPY_TO_HOST:
		return ENGINE_PCIE_OUT;
	case NPUSIM_COPY_FROM_PEER:
		return ENGINE_PEER_IN;
	case NPUSIM_COPY_TO_PEER:
		return ENGINE_PEER_OUT;
	case NPUSIM_COPY_NIC_RECEIVE:
		return ENGINE_NIC_IN;
	case NPUSIM_COPY_NIC_SEND:
		return ENGINE_NIC_OUT;
	default:
		return ENGINE_SDMA;
	}
}

static u64 copy_rate(enum engine e)
{
	switch (e) {
	case ENGINE_PCIE_IN:
	case ENGINE_PCIE_OUT:
		return PCIE_BYTES_PER_NS;
	case ENGINE_PEER_IN:
	case ENGINE_PEER_OUT:
		return PEER_BYTES_PER_NS;
	case ENGINE_NIC_IN:
	case ENGINE_NIC_OUT:
		return NIC_BYTES_PER_NS;
	default:
		return SDMA_BYTES_PER_NS;
	}
}

/* Bytes a copy reads from and writes to the memory of this device. */
void copy_hbm_bytes(const struct task *t, u64 *read, u64 *written)
{
	u64 bytes = t->d.work.copy_bytes;

	*read = t->d.copy == NPUSIM_COPY_LOCAL || t->d.copy == NPUSIM_COPY_TO_HOST ||
				t->d.copy == NPUSIM_COPY_TO_PEER ||
				t->d.copy == NPUSIM_COPY_NIC_SEND
			? bytes
			: 0;
	*written = t->d.copy == NPUSIM_COPY_LOCAL || !*read ? bytes : 0;
}

static u32 copy_flow(const struct task *t)
{
	static const u32 flows[NPUSIM_COPIES] = {
		[NPUSIM_COPY_LOCAL] = NPUPROF_FLOW_COPIES,
		[NPUSIM_COPY_FROM_HOST] = NPUPROF_FLOW_HOST,
		[NPUSIM_COPY_TO_HOST] = NPUPROF_FLOW_HOST,
		[NPUSIM_COPY_FROM_PEER] = NPUPROF_FLOW_PEERS,
		[NPUSIM_COPY_TO_PEER] = NPUPROF_FLOW_PEERS,
		[NPUSIM_COPY_NIC_SEND] = NPUPROF_FLOW_NETWORK,
		[NPUSIM_COPY_NIC_RECEIVE] = NPUPROF_FLOW_NETWORK,
	};

	return flows[t->d.copy];
}

void place_engine(struct npusim_model *m, struct task *t)
{
	u64 duration, read = 0, written = 0;
	enum engine e;
	u64 *free_at;

	switch (t->d.kind) {
	case NPUSIM_TASK_AICPU:
		e = ENGINE_AICPU;
		duration = t->d.duration_ns ? t->d.duration_ns : AICPU_NS;
		break;
	case NPUSIM_TASK_DVPP:
		e = ENGINE_DVPP + t->d.engine;
		duration = t->d.duration_ns ? t->d.duration_ns
					    : (u64)DVPP_NS * max_u64(t->d.work.frames, 1);
		break;
	default:
		e = copy_engine(t);
		copy_hbm_bytes(t, &read, &written);
		duration = COPY_OVERHEAD_NS + div_up(t->d.work.copy_bytes, copy_rate(e));
		duration = max_u64(duration, t->d.duration_ns);
		break;
	}
	duration = max_u64(scaled_ns(m, duration), 1);
	free_at = pick_server(&m->engines[e]);
	t->start_ns = max_u64(m->now, *free_at);
	if (read | written)
		duration =
			max_u64(duration, hbm_reserve(m, t->start_ns, copy_flow(t), read, written) -
						  t->start_ns);
	t->end_ns = t->start_ns + duration;
	*free_at = t->end_ns;
}
