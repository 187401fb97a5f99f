// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How long kernels take and what they count: a roofline over the pipes of a core, and HBM shared by
 * all cores. Time and counters come from the same quantities, so that no ratio can pass 1 and no
 * bandwidth its peak.
 */
#include <string.h>

#include "cost.h"
#include "internal.h"

static u64 mix_hash(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static bool work_is_empty(const struct npusim_work *w)
{
	return !(w->macs_fp16 | w->macs_int8 | w->vec_fp32 | w->vec_fp16 | w->vec_int32 |
		 w->vec_misc | w->scalar | w->read_bytes | w->write_bytes | w->l1_read_bytes |
		 w->l0c_to_l1_bytes | w->ub_read_bytes | w->ub_write_bytes);
}

/* A kernel described by its cycles alone keeps its pipes half busy and stays within L2. */
static void typical_work(struct npusim_work *w, u64 cycles, const u32 *blocks)
{
	u64 cube = cycles * blocks[KIND_CUBE];
	u64 vector = cycles * blocks[KIND_VECTOR];

	w->macs_fp16 = cube / 2 * CUBE_MACS_FP16;
	w->vec_fp16 = vector / 2 * VEC_LANES_FP16;
	w->scalar = (cube + vector) / 16;
	w->read_bytes = 16 * (cube + vector);
	w->write_bytes = 8 * (cube + vector);
	w->l2_hit_ppm = 1000000;
}

static void cube_quantities(const struct npusim_work *w, u64 blocks, u64 *q)
{
	u64 read = q[Q_READ], write = q[Q_WRITE];
	u64 l1_read;

	q[Q_CUBE_FP16] = div_up(w->macs_fp16, CUBE_MACS_FP16);
	q[Q_CUBE_INT8] = div_up(w->macs_int8, CUBE_MACS_INT8);
	q[Q_CUBE] = q[Q_CUBE_FP16] + q[Q_CUBE_INT8];
	/* Each tile is used four times from L0 before the next is loaded. */
	l1_read = w->l1_read_bytes ? w->l1_read_bytes : max_u64(read, q[Q_CUBE] * 1024 / 4);
	q[Q_L1_READ] = l1_read;
	q[Q_L0A_WRITE] = l1_read / 2;
	q[Q_L0B_WRITE] = l1_read - l1_read / 2;
	q[Q_L1_WRITES] = (read >> 8) + (w->l0c_to_l1_bytes >> 7);
	q[Q_L0C_TO_L1] = w->l0c_to_l1_bytes;
	q[Q_L0C_READ] = write + w->l0c_to_l1_bytes;
	q[Q_L0C_OUT] = (write >> 7) + (w->l0c_to_l1_bytes >> 7);
	q[Q_MTE1] = div_up(l1_read, L1_READ_BYTES);
	q[Q_FIXPIPE] = div_up(write, L2_WRITE_BYTES) + div_up(w->l0c_to_l1_bytes, L0C_TO_L1_BYTES);
	q[Q_INSTR_CUBE] = div_up(q[Q_CUBE], 64);
	q[Q_INSTR_MTE1] = div_up(l1_read, 16384);
	q[Q_INSTR_MTE2] = div_up(read, 16384);
	q[Q_INSTR_MTE3] = div_up(write, 16384);
	q[Q_SCALAR] = w->scalar ? w->scalar : q[Q_CUBE] / 16 + BLOCK_SCALAR * blocks;
}

static void vector_quantities(const struct npusim_work *w, u64 blocks, u64 *q)
{
	u64 read = q[Q_READ], write = q[Q_WRITE];
	u64 arithmetic, full, ub;

	q[Q_VEC_FP32] = div_up(w->vec_fp32, VEC_LANES_FP32);
	q[Q_VEC_FP16_128] = w->vec_fp16 / VEC_LANES_FP16;
	q[Q_VEC_FP16_64] = div_up(w->vec_fp16 % VEC_LANES_FP16, VEC_LANES_FP16_HALF);
	q[Q_VEC_INT32] = div_up(w->vec_int32, VEC_LANES_INT32);
	q[Q_VEC_MISC] = div_up(w->vec_misc, VEC_LANES_MISC);
	full = q[Q_VEC_FP32] + q[Q_VEC_FP16_128] + q[Q_VEC_INT32];
	arithmetic = full + q[Q_VEC_FP16_64] + q[Q_VEC_MISC];
	/* Two operands in, one result out, unless said otherwise. */
	q[Q_UB_VEC_READ] = w->ub_read_bytes
				   ? w->ub_read_bytes
				   : full * 512 + q[Q_VEC_FP16_64] * 256 + q[Q_VEC_MISC] * 256;
	q[Q_UB_VEC_WRITE] = w->ub_write_bytes
				    ? w->ub_write_bytes
				    : full * 256 + q[Q_VEC_FP16_64] * 128 + q[Q_VEC_MISC] * 128;
	ub = max_u64(div_up(q[Q_UB_VEC_READ], UB_READ_BYTES),
		     div_up(q[Q_UB_VEC_WRITE], UB_WRITE_BYTES));
	q[Q_VEC] = max_u64(arithmetic, ub);
	q[Q_MTE2] = div_up(read, L2_READ_BYTES);
	q[Q_MTE3] = div_up(write, L2_WRITE_BYTES);
	q[Q_UB_TO_GM] = write;
	q[Q_GM_TO_UB] = read;
	q[Q_SCALAR] = w->scalar ? w->scalar : q[Q_VEC] / 16 + BLOCK_SCALAR * blocks;
	q[Q_UB_SCALAR] = q[Q_SCALAR] / 8;
	q[Q_UB_READ] = q[Q_UB_VEC_READ] + write + 16 * q[Q_UB_SCALAR];
	q[Q_UB_WRITE] = q[Q_UB_VEC_WRITE] + read + 16 * q[Q_UB_SCALAR];
	q[Q_INSTR_VEC] = div_up(arithmetic, 8);
	q[Q_INSTR_MTE2] = div_up(read, 16384);
	q[Q_INSTR_MTE3] = div_up(write, 16384);
}

/* What both kinds share: global memory, instructions fetched. */
static void common_quantities(u64 l2_hit_ppm, u64 blocks, u64 *q)
{
	u64 read_hit = mul_div(q[Q_READ], l2_hit_ppm, 1000000);
	u64 write_hit = mul_div(q[Q_WRITE], l2_hit_ppm, 1000000);
	u64 instructions;

	q[Q_MTE2] = div_up(q[Q_READ], L2_READ_BYTES);
	q[Q_HBM_READ] = q[Q_READ] - read_hit;
	q[Q_HBM_READ_1] = q[Q_HBM_READ] / 2;
	q[Q_HBM_READ_0] = q[Q_HBM_READ] - q[Q_HBM_READ_1];
	q[Q_HBM_WRITE] = q[Q_WRITE] - write_hit;
	q[Q_READ_HIT_1] = read_hit / 2;
	q[Q_READ_HIT_0] = read_hit - q[Q_READ_HIT_1];
	q[Q_READ_MISS_1] = q[Q_HBM_READ_1];
	q[Q_READ_MISS_0] = q[Q_HBM_READ_0];
	q[Q_WRITE_HIT] = write_hit;
	q[Q_WRITE_MISS] = q[Q_HBM_WRITE];
	instructions = q[Q_INSTR_VEC] + q[Q_INSTR_CUBE] + q[Q_INSTR_MTE1] + q[Q_INSTR_MTE2] +
		       q[Q_INSTR_MTE3] + q[Q_SCALAR];
	q[Q_INSTR_TOTAL] = instructions;
	q[Q_ICACHE_REQ] = div_up(instructions, 8) + 8 * blocks;
	q[Q_ICACHE_MISS] = q[Q_ICACHE_REQ] / 64 + 4 * blocks;
}

/* Cycles of the busiest pipe of the busiest block. */
static u64 bound_cycles(const u64 *q, u64 blocks)
{
	u64 busiest = max_u64(q[Q_CUBE], q[Q_VEC]);

	busiest = max_u64(busiest, q[Q_SCALAR]);
	busiest = max_u64(busiest, q[Q_MTE1]);
	busiest = max_u64(busiest, q[Q_MTE2]);
	busiest = max_u64(busiest, q[Q_MTE3]);
	busiest = max_u64(busiest, q[Q_FIXPIPE]);
	busiest = max_u64(busiest, q[Q_ICACHE_REQ]);
	return div_up(busiest, blocks);
}

void cost_kernel(const struct npusim_model *m, const struct task *t, struct cost *c)
{
	struct npusim_work w = t->d.work;
	bool empty = work_is_empty(&w);
	u64 bound = 0;
	int kind;

	memset(c, 0, sizeof(*c));
	switch (t->d.kind) {
	case NPUSIM_TASK_CUBE:
		c->blocks[KIND_CUBE] = t->d.block_dim;
		break;
	case NPUSIM_TASK_VECTOR:
		c->blocks[KIND_VECTOR] = t->d.block_dim;
		break;
	default:
		c->blocks[KIND_CUBE] = t->d.block_dim;
		c->blocks[KIND_VECTOR] = t->d.block_dim * t->d.mix_ratio;
		break;
	}
	c->main_kind = t->d.kind == NPUSIM_TASK_VECTOR || t->d.kind == NPUSIM_TASK_MIX_AIV
			       ? KIND_VECTOR
			       : KIND_CUBE;
	if (empty && t->d.cycles)
		typical_work(&w, t->d.cycles, c->blocks);

	for (kind = 0; kind < 2; kind++) {
		u64 *q = c->q[kind];
		bool both = c->blocks[0] && c->blocks[1];

		if (!c->blocks[kind])
			continue;
		/* In a mixed kernel each kind loads half, and the vector cores store the results.
		 */
		q[Q_READ] = !both		? w.read_bytes
			    : kind == KIND_CUBE ? w.read_bytes / 2
						: w.read_bytes - w.read_bytes / 2;
		q[Q_WRITE] = !both || kind == KIND_VECTOR ? w.write_bytes : 0;
		if (kind == KIND_CUBE)
			cube_quantities(&w, c->blocks[kind], q);
		else
			vector_quantities(&w, c->blocks[kind], q);
		common_quantities(w.l2_hit_ppm, c->blocks[kind], q);
		bound = max_u64(bound, bound_cycles(q, c->blocks[kind]));
		c->hbm[0] += q[Q_HBM_READ];
		c->hbm[1] += q[Q_HBM_WRITE];
		c->l2[0] += q[Q_READ_HIT_0] + q[Q_READ_HIT_1];
		c->l2[1] += q[Q_HBM_READ];
		c->l2[2] += q[Q_WRITE_HIT];
		c->l2[3] += q[Q_HBM_WRITE];
	}
	if (c->blocks[KIND_CUBE])
		c->macs = w.macs_fp16 + w.macs_int8;
	if (c->blocks[KIND_VECTOR])
		c->vector_ops = w.vec_fp32 + w.vec_fp16 + w.vec_int32 + w.vec_misc;

	if (t->d.cycles)
		c->block_cycles = max_u64(t->d.cycles, empty ? 0 : bound);
	else
		c->block_cycles = bound + BLOCK_OVERHEAD_CYCLES;
	if (m->cfg.jitter_ppm) {
		u64 extra = mix_hash(m->cfg.seed ^ mix_hash(t->seq)) % (m->cfg.jitter_ppm + 1ull);

		c->block_cycles += mul_div(c->block_cycles, extra, 1000000);
	}
}

u64 hbm_ns(const struct npusim_model *m, u64 bytes)
{
	return mul_div_up(bytes, m->cfg.time_scale_ppm, (u64)HBM_BYTES_PER_NS * 1000000);
}

static u64 rounds(const struct npusim_model *m, const struct cost *c)
{
	u64 n[2];
	int kind;

	for (kind = 0; kind < 2; kind++)
		n[kind] = div_up(c->blocks[kind], m->cores_of[kind]);
	return max_u64(max_u64(n[0], n[1]), 1);
}

void cost_finish(const struct npusim_model *m, struct cost *c, u64 hbm_span_ns)
{
	int kind;

	if (hbm_span_ns) {
		u64 block_ns = div_up(hbm_span_ns, rounds(m, c));
		u64 stretched = ns_to_cycles(m, block_ns);

		/* Whole cycles, rounded up. */
		stretched += cycles_to_ns(m, stretched) < block_ns;
		c->block_cycles = max_u64(c->block_cycles, stretched);
	}
	c->block_ns = cycles_to_ns(m, c->block_cycles);
	for (kind = 0; kind < 2; kind++)
		c->q[kind][Q_TOTAL] = c->block_cycles * c->blocks[kind];
}
