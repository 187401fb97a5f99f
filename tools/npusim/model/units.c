// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is shared by all cores: HBM, which serves one transfer after the other at its peak, and the
 * quantities that grow evenly over a task: L2 and LLC traffic, network, media engines.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void hbm_retire(struct npusim_model *m)
{
	struct hbm *h = &m->hbm;

	while (h->count && h->slots[h->head].end_ns <= m->now) {
		u64 *done = h->done[h->slots[h->head].flow];

		done[0] += h->slots[h->head].bytes[0];
		done[1] += h->slots[h->head].bytes[1];
		h->head = (h->head + 1) & (h->room - 1);
		h->count--;
	}
}

static void hbm_grow(struct hbm *h)
{
	u32 room = h->room ? 2 * h->room : 64, i;
	struct hbm_slot *slots = malloc(room * sizeof(*slots));

	if (!slots)
		abort(); /* bytes would be missing from the totals */
	for (i = 0; i < h->count; i++)
		slots[i] = h->slots[(h->head + i) & (h->room - 1)];
	free(h->slots);
	h->slots = slots;
	h->room = room;
	h->head = 0;
}

u64 hbm_reserve(struct npusim_model *m, u64 start_ns, u32 flow, u64 read, u64 written)
{
	struct hbm *h = &m->hbm;
	u64 start = max_u64(start_ns, h->free_at);

	hbm_retire(m);
	if (h->count == h->room)
		hbm_grow(h);
	h->free_at = start + hbm_ns(m, read + written);
	h->slots[(h->head + h->count++) & (h->room - 1)] = (struct hbm_slot){
		.start_ns = start, .end_ns = h->free_at, .bytes = { read, written }, .flow = flow
	};
	return h->free_at;
}

static void flow_totals(struct npusim_model *m, u64 done[NPUPROF_FLOWS][2])
{
	struct hbm *h = &m->hbm;
	u32 way;

	hbm_retire(m);
	memcpy(done, h->done, sizeof(h->done));
	/* Transfers are served in turn, so only the first may be under way. */
	if (h->count && h->slots[h->head].start_ns < m->now) {
		struct hbm_slot *s = &h->slots[h->head];

		for (way = 0; way < 2; way++)
			done[s->flow][way] += mul_div(s->bytes[way], m->now - s->start_ns,
						      s->end_ns - s->start_ns);
	}
}

static void hbm_totals(struct npusim_model *m, u64 *out)
{
	u64 flows[NPUPROF_FLOWS][2], done[2] = { 0 };
	u32 i;

	flow_totals(m, flows);
	for (i = 0; i < NPUPROF_FLOWS; i++) {
		done[0] += flows[i][0];
		done[1] += flows[i][1];
	}
	for (i = 0; i < HBM_CHANNELS; i++) {
		out[2 * i] = block_share(done[0], HBM_CHANNELS, i);
		out[2 * i + 1] = block_share(done[1], HBM_CHANNELS, i);
	}
}

/* What the bytes of a copy count as, by direction. */
static u32 copy_counts(u8 copy)
{
	static const u32 counts[] = {
		[NPUSIM_COPY_LOCAL] = L_LOCAL,	      [NPUSIM_COPY_FROM_HOST] = L_PCIE_RX,
		[NPUSIM_COPY_TO_HOST] = L_PCIE_TX,    [NPUSIM_COPY_FROM_PEER] = L_LINK_RX,
		[NPUSIM_COPY_TO_PEER] = L_LINK_TX,    [NPUSIM_COPY_NIC_SEND] = L_NIC_TX,
		[NPUSIM_COPY_NIC_RECEIVE] = L_NIC_RX,
	};

	return counts[copy];
}

static u64 linear_total(const struct task *t, u32 what)
{
	if (t->cost)
		return what <= L_WRITE_MISS ? t->cost->l2[what] : 0;
	switch (t->d.kind) {
	case NPUSIM_TASK_SDMA:
	case NPUSIM_TASK_PCIE_DMA:
		if (what == (u32)L_COPY_NS + t->d.copy)
			return t->end_ns - t->start_ns;
		return what == copy_counts(t->d.copy) ? t->d.work.copy_bytes : 0;
	case NPUSIM_TASK_DVPP:
		if (what == (u32)L_DVPP_NS + t->d.engine)
			return t->end_ns - t->start_ns;
		if (what == (u32)L_DVPP_FRAMES + t->d.engine)
			return t->d.work.frames;
		return 0;
	default:
		return 0;
	}
}

void units_task_ended(struct npusim_model *m, const struct task *t)
{
	u32 i;

	if (t->cost) {
		for (i = 0; i <= L_WRITE_MISS; i++)
			m->linear[i] += t->cost->l2[i];
		return;
	}
	if (t->d.kind != NPUSIM_TASK_SDMA && t->d.kind != NPUSIM_TASK_PCIE_DMA &&
	    t->d.kind != NPUSIM_TASK_DVPP)
		return;
	for (i = L_NIC_RX; i < L_COUNT; i++)
		m->linear[i] += linear_total(t, i);
}

static u64 linear_now(const struct npusim_model *m, u32 what)
{
	const struct task *t;
	u64 sum = m->linear[what];

	for (t = m->running; t; t = t->run_next) {
		u64 total = linear_total(t, what);

		if (total)
			sum += mul_div(total, m->now - t->start_ns, t->end_ns - t->start_ns);
	}
	return sum;
}

/*
 * Cache events of the requests of one direction, in lines of 64 bytes: 0 and 1 requests (even and
 * odd lines), 2 hits, 4 requests; the others stay zero.
 */
static void llc_totals(const struct npusim_model *m, bool writes, u64 *out)
{
	u64 hit = linear_now(m, writes ? L_WRITE_HIT : L_READ_HIT) / 64;
	u64 miss = linear_now(m, writes ? L_WRITE_MISS : L_READ_MISS) / 64;
	u32 s;

	memset(out, 0, LLC_SLICES * 8 * sizeof(*out));
	for (s = 0; s < LLC_SLICES; s++) {
		u64 hits = block_share(hit, LLC_SLICES, s);
		u64 requests = hits + block_share(miss, LLC_SLICES, s);

		out[8 * s] = requests - requests / 2;
		out[8 * s + 1] = requests / 2;
		out[8 * s + 2] = hits;
		out[8 * s + 4] = requests;
	}
}

/* Of each engine: bytes of main memory that it read and wrote, and the microseconds of both. */
static void accelerator_totals(const struct npusim_model *m, u64 *out)
{
	static const struct {
		u32 bytes[2], copy[2]; /* by way: reads main memory, writes it */
	} engines[NPUPROF_ACCELERATORS] = {
		[NPUPROF_ACC_COPIES] = { { L_LOCAL, L_LOCAL },
					 { NPUSIM_COPY_LOCAL, NPUSIM_COPY_LOCAL } },
		[NPUPROF_ACC_HOST] = { { L_PCIE_TX, L_PCIE_RX },
				       { NPUSIM_COPY_TO_HOST, NPUSIM_COPY_FROM_HOST } },
		[NPUPROF_ACC_PEERS] = { { L_LINK_TX, L_LINK_RX },
					{ NPUSIM_COPY_TO_PEER, NPUSIM_COPY_FROM_PEER } },
		[NPUPROF_ACC_NETWORK] = { { L_NIC_TX, L_NIC_RX },
					  { NPUSIM_COPY_NIC_SEND, NPUSIM_COPY_NIC_RECEIVE } },
	};
	u32 i, way;

	for (i = 0; i < NPUPROF_ACCELERATORS; i++) {
		for (way = 0; way < 2; way++) {
			out[4 * i + way] = linear_now(m, engines[i].bytes[way]);
			out[4 * i + 2 + way] =
				linear_now(m, L_COPY_NS + engines[i].copy[way]) / 1000;
		}
	}
}

u32 units_totals(struct npusim_model *m, u32 unit, bool llc_writes, u64 *out)
{
	u32 i;

	switch (unit) {
	case REFNPU_UNIT_HBM:
		hbm_totals(m, out);
		return 2 * HBM_CHANNELS;
	case REFNPU_UNIT_LLC:
		llc_totals(m, llc_writes, out);
		return 8 * LLC_SLICES;
	case REFNPU_UNIT_L2:
		out[0] = (linear_now(m, L_READ_HIT) + linear_now(m, L_WRITE_HIT)) / L2_LINE;
		out[1] = (linear_now(m, L_READ_MISS) + linear_now(m, L_WRITE_MISS)) / L2_LINE;
		return 2;
	case REFNPU_UNIT_NIC:
		out[0] = linear_now(m, L_NIC_RX);
		out[1] = linear_now(m, L_NIC_TX);
		return 2 * NIC_PORTS;
	case REFNPU_UNIT_LINK:
		out[0] = linear_now(m, L_LINK_RX);
		out[1] = linear_now(m, L_LINK_TX);
		return 2;
	case REFNPU_UNIT_PCIE:
		out[0] = linear_now(m, L_PCIE_RX);
		out[1] = linear_now(m, L_PCIE_TX);
		return 2;
	case REFNPU_UNIT_FLOWS:
		flow_totals(m, (u64(*)[2])out);
		return 2 * NPUPROF_FLOWS;
	case REFNPU_UNIT_ACC:
		accelerator_totals(m, out);
		return 4 * NPUPROF_ACCELERATORS;
	default:
		for (i = 0; i < NPUSIM_DVPP_ENGINES; i++) {
			out[2 * i] = linear_now(m, L_DVPP_NS + i) / 1000;
			out[2 * i + 1] = linear_now(m, L_DVPP_FRAMES + i);
		}
		return 2 * NPUSIM_DVPP_ENGINES;
	}
}

void units_latch(struct npusim_model *m, u32 unit)
{
	struct unit *u = &m->units[unit];

	units_totals(m, unit, u->ctrl & 1, u->latched);
	u->latch_clock = clock_at(m, m->now);
}
