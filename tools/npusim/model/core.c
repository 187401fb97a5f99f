// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Counters of one core. Nothing ticks: a counter is brought up to date from the progress of the
 * blocks on the core when somebody looks, or when an overflow is due.
 */
#include <string.h>

#include "internal.h"

#define COUNTER_MASK ((1ull << REFNPU_COUNTER_BITS) - 1)
#define CYCLE_MASK   ((1ull << REFNPU_CYCLE_BITS) - 1)

u64 block_share(u64 total, u32 blocks, u32 block)
{
	return total / blocks + (block < total % blocks);
}

/* How far a segment is: whole blocks and cycles of the block after them. */
struct progress {
	u32 whole;
	u64 cycles;
};

static struct progress progress_at(const struct npusim_model *m, const struct segment *s, u64 ns)
{
	const struct cost *c = s->task->cost;
	struct progress p = { 0, 0 };
	u64 elapsed;

	if (ns <= s->start_ns)
		return p;
	if (ns >= s->end_ns) {
		p.whole = s->count;
		return p;
	}
	elapsed = ns - s->start_ns;
	p.whole = (u32)(elapsed / c->block_ns);
	p.cycles = ns_to_cycles(m, elapsed % c->block_ns);
	if (p.cycles > c->block_cycles)
		p.cycles = c->block_cycles;
	return p;
}

static u64 counted(const struct segment *s, const struct core *core, u32 slot, struct progress p)
{
	const struct cost *c = s->task->cost;
	u32 blocks = c->blocks[core->kind], whole = p.whole;
	u64 total, rest, sum;

	if (core->index[slot] < 0)
		return 0;
	total = event_value(core->index[slot], c->q[core->kind]);
	if (!total)
		return 0;
	/* The first `rest` blocks count one more, so that the blocks add up to the task. */
	rest = total % blocks;
	sum = whole * (total / blocks);
	if (s->first < rest) {
		u64 richer = (rest - s->first + s->step - 1) / s->step;

		sum += richer < whole ? richer : whole;
	}
	if (p.cycles)
		sum += mul_div(block_share(total, blocks, s->first + whole * s->step), p.cycles,
			       c->block_cycles);
	return sum;
}

static u64 cycles_counted(const struct segment *s, struct progress p)
{
	return p.whole * s->task->cost->block_cycles + p.cycles;
}

static void set_overflow(struct npusim_model *m, struct core *c, u32 bit)
{
	u32 index = (u32)(c - m->cores);

	c->overflow |= bit;
	if (!(c->ctrl & REFNPU_CORE_INT))
		return;
	m->overflow_pending[index / 32] |= 1u << index % 32;
	raise_cause(m, REFNPU_INT_OVERFLOW);
}

static void add_counts(struct npusim_model *m, struct core *c, const struct segment *s,
		       struct progress p)
{
	u64 value, sum;
	u32 i;

	for (i = 0; i < REFNPU_COUNTERS; i++) {
		value = counted(s, c, i, p);
		sum = c->acc[i] + value - c->seen[i];
		if (sum >> REFNPU_COUNTER_BITS != c->acc[i] >> REFNPU_COUNTER_BITS)
			set_overflow(m, c, 1u << i);
		c->acc[i] = sum;
		c->seen[i] = value;
	}
	value = cycles_counted(s, p);
	sum = c->cycles + value - c->seen_cycles;
	if (sum >> REFNPU_CYCLE_BITS != c->cycles >> REFNPU_CYCLE_BITS)
		set_overflow(m, c, REFNPU_CORE_OVERFLOW_CYCLES);
	c->cycles = sum;
	c->seen_cycles = value;
}

void core_sync(struct npusim_model *m, u32 index)
{
	struct core *c = &m->cores[index];
	struct segment *s;

	while ((s = c->first) && s->start_ns < m->now) {
		if (c->ctrl & REFNPU_CORE_ENABLE)
			add_counts(m, c, s, progress_at(m, s, m->now));
		if (s->end_ns > m->now)
			break;
		c->first = s->core_next;
		if (!c->first)
			c->last = NULL;
		s->retired = true;
		memset(c->seen, 0, sizeof(c->seen));
		c->seen_cycles = 0;
	}
}

/* After a change of what is counted: what the running block did before is not counted. */
static void forget_progress(struct npusim_model *m, struct core *c)
{
	struct progress p = { 0, 0 };
	u32 i;

	if (c->first)
		p = progress_at(m, c->first, m->now);
	for (i = 0; i < REFNPU_COUNTERS; i++)
		c->seen[i] = c->first ? counted(c->first, c, i, p) : 0;
	c->seen_cycles = c->first ? cycles_counted(c->first, p) : 0;
}

/* Value a counter will have at @ns if @s is the segment that runs then and @before is its value at
 * the start. */
static bool passes(const struct npusim_model *m, const struct core *c, const struct segment *s,
		   u32 slot, u64 base, u64 seen, u64 ns)
{
	struct progress p = progress_at(m, s, ns);
	u64 gained =
		(slot < REFNPU_COUNTERS ? counted(s, c, slot, p) : cycles_counted(s, p)) - seen;
	u32 bits = slot < REFNPU_COUNTERS ? REFNPU_COUNTER_BITS : REFNPU_CYCLE_BITS;

	return (base + gained) >> bits != base >> bits;
}

/* First time at which counter @slot passes its width, among the blocks already on the core. */
static u64 overflow_time(const struct npusim_model *m, const struct core *c, u32 slot)
{
	u64 base = slot < REFNPU_COUNTERS ? c->acc[slot] : c->cycles;
	u64 seen = slot < REFNPU_COUNTERS ? c->seen[slot] : c->seen_cycles;
	const struct segment *s;

	for (s = c->first; s; s = s->core_next, seen = 0) {
		struct progress end = { .whole = s->count, .cycles = 0 };
		u64 low, high;

		if (!passes(m, c, s, slot, base, seen, s->end_ns)) {
			base += (slot < REFNPU_COUNTERS ? counted(s, c, slot, end)
							: cycles_counted(s, end)) -
				seen;
			continue;
		}
		low = max_u64(s->start_ns, m->now);
		high = s->end_ns;
		while (low + 1 < high) {
			u64 mid = low + (high - low) / 2;

			if (passes(m, c, s, slot, base, seen, mid))
				high = mid;
			else
				low = mid;
		}
		return high;
	}
	return NEVER;
}

static void foresee_overflow(struct npusim_model *m, u32 index)
{
	struct core *c = &m->cores[index];
	u64 at = NEVER;
	u32 i;

	if ((c->ctrl & (REFNPU_CORE_ENABLE | REFNPU_CORE_INT)) !=
	    (REFNPU_CORE_ENABLE | REFNPU_CORE_INT))
		return;
	for (i = 0; i <= REFNPU_COUNTERS; i++) {
		u64 t;

		if (c->overflow & (i < REFNPU_COUNTERS ? 1u << i : REFNPU_CORE_OVERFLOW_CYCLES))
			continue;
		t = overflow_time(m, c, i);
		at = t < at ? t : at;
	}
	if (at == NEVER || at == c->overflow_at)
		return;
	c->overflow_at = at;
	heap_push(&m->heap, at, TIMED_OVERFLOW, NULL, (u16)index, 0);
}

void core_overflow_due(struct npusim_model *m, u32 index)
{
	m->cores[index].overflow_at = 0;
	core_sync(m, index);
	foresee_overflow(m, index);
}

void core_add(struct npusim_model *m, struct segment *s)
{
	struct core *c = &m->cores[s->core];

	if (c->last)
		c->last->core_next = s;
	else
		c->first = s;
	c->last = s;
	foresee_overflow(m, s->core);
}

void core_latch(struct npusim_model *m, u32 index)
{
	struct core *c = &m->cores[index];
	u32 i;

	core_sync(m, index);
	for (i = 0; i < REFNPU_COUNTERS; i++)
		c->latched[i] = (u32)(c->acc[i] & COUNTER_MASK);
	c->latched_cycles = c->cycles & CYCLE_MASK;
	c->latched_overflow = c->overflow;
	c->latch_clock = clock_at(m, m->now);
	c->latch_mono = mono_at(m, m->now);
}

void core_reset(struct core *c)
{
	u32 i;

	c->ctrl = 0;
	c->overflow = c->latched_overflow = 0;
	c->overflow_at = 0;
	c->cut = 0;
	c->cycles = c->latched_cycles = c->sample_cycles = c->seen_cycles = 0;
	c->latch_clock = c->latch_mono = 0;
	for (i = 0; i < REFNPU_COUNTERS; i++) {
		c->event[i] = 0;
		c->index[i] = -1;
		c->acc[i] = c->seen[i] = c->sample_acc[i] = 0;
		c->latched[i] = 0;
	}
	fifo_reset(&c->fifo);
}

static void set_counter(struct core *c, u32 i, u64 value)
{
	c->sample_acc[i] += value - c->acc[i];
	c->acc[i] = value;
}

u64 core_read(struct npusim_model *m, u32 index, u32 reg)
{
	struct core *c = &m->cores[index];

	if (reg >= REFNPU_CORE_FIFO)
		return fifo_read(&c->fifo, reg - REFNPU_CORE_FIFO);
	if (reg >= REFNPU_CORE_EVENT(0) && reg < REFNPU_CORE_EVENT(REFNPU_COUNTERS))
		return c->event[(reg - REFNPU_CORE_EVENT(0)) / 4];
	if (reg >= REFNPU_CORE_COUNTER(0) && reg < REFNPU_CORE_COUNTER(REFNPU_COUNTERS))
		return c->latched[(reg - REFNPU_CORE_COUNTER(0)) / 4];
	switch (reg) {
	case REFNPU_CORE_CTRL:
		return c->ctrl;
	case REFNPU_CORE_CUT:
		return c->cut;
	case REFNPU_CORE_KIND:
		return c->kind == KIND_CUBE ? 1 : 2;
	case REFNPU_CORE_BUSY:
		core_sync(m, index);
		return c->first && c->first->start_ns <= m->now;
	case REFNPU_CORE_OVERFLOW:
		return c->latched_overflow;
	case REFNPU_CORE_CYCLES:
		return c->latched_cycles;
	case REFNPU_CORE_TIME:
		return c->latch_clock;
	case REFNPU_CORE_TIME_NS:
		return c->latch_mono;
	}
	return 0;
}

static void write_ctrl(struct npusim_model *m, struct core *c, u32 value)
{
	u32 index = (u32)(c - m->cores), i;

	c->ctrl = value & (REFNPU_CORE_ENABLE | REFNPU_CORE_INT);
	if (value & REFNPU_CORE_RESET) {
		for (i = 0; i < REFNPU_COUNTERS; i++)
			set_counter(c, i, 0);
		c->sample_cycles -= c->cycles;
		c->cycles = 0;
		c->overflow = c->latched_overflow = 0;
		m->overflow_pending[index / 32] &= ~(1u << index % 32);
	}
}

static void write_event(struct core *c, u32 slot, u64 value)
{
	c->index[slot] = (s16)(value <= UINT16_MAX ? event_index((u32)value) : -1);
	c->event[slot] = c->index[slot] < 0 ? 0 : (u16)value;
	c->acc[slot] = 0;
	c->sample_acc[slot] = 0;
}

void core_write(struct npusim_model *m, u32 index, u32 reg, u64 value)
{
	struct core *c = &m->cores[index];

	if (reg >= REFNPU_CORE_FIFO) {
		fifo_write(&c->fifo, reg - REFNPU_CORE_FIFO, value);
		return;
	}
	core_sync(m, index);
	if (reg >= REFNPU_CORE_EVENT(0) && reg < REFNPU_CORE_EVENT(REFNPU_COUNTERS)) {
		write_event(c, (reg - REFNPU_CORE_EVENT(0)) / 4, value);
	} else if (reg >= REFNPU_CORE_COUNTER(0) && reg < REFNPU_CORE_COUNTER(REFNPU_COUNTERS)) {
		set_counter(c, (reg - REFNPU_CORE_COUNTER(0)) / 4, value & COUNTER_MASK);
	} else if (reg == REFNPU_CORE_CTRL) {
		write_ctrl(m, c, (u32)value);
	} else if (reg == REFNPU_CORE_OVERFLOW) {
		c->overflow &= ~(u32)value;
		c->latched_overflow &= ~(u32)value;
		if (!c->overflow)
			m->overflow_pending[index / 32] &= ~(1u << index % 32);
	} else if (reg == REFNPU_CORE_LATCH) {
		core_latch(m, index);
		return;
	} else {
		return;
	}
	forget_progress(m, c);
	foresee_overflow(m, index);
}
