// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Register accesses: which block an offset belongs to, and the registers of the device as a whole.
 */
#include "internal.h"

#define FIFO_FIRST  REFNPU_FIFO(0, 0)
#define FIFO_END    REFNPU_FIFO(REFNPU_FIFOS, 0)
#define UNIT_FIRST  REFNPU_UNIT(0, 0)
#define UNIT_END    REFNPU_UNIT(REFNPU_UNITS, 0)
#define CORE_FIRST  REFNPU_CORE(0, 0)
#define CORE_END    REFNPU_CORE(REFNPU_MAX_CORES, 0)
#define QUEUE_FIRST REFNPU_QUEUE(0, 0)
#define QUEUE_END   REFNPU_QUEUE(REFNPU_MAX_QUEUES, 0)

static bool within(u32 offset, u32 first, u32 end)
{
	return offset >= first && offset < end;
}

void raise_cause(struct npusim_model *m, u32 cause)
{
	u32 fresh = cause & ~m->int_status;
	u32 vector;

	m->int_status |= cause;
	fresh &= m->int_enable;
	for (vector = 0; fresh && m->ops.irq; vector++, fresh >>= 1) {
		if (fresh & 1)
			m->ops.irq(m->ctx, vector);
	}
}

static bool fifo_wide(u32 reg)
{
	return within(reg, REFNPU_FIFO_LOST, REFNPU_FIFO_LOST_ACK) || reg >= REFNPU_FIFO_DATA(0);
}

/* Is the register at this multiple of eight 64 bits wide? */
static bool is_wide(u32 offset)
{
	u32 reg;

	if (within(offset, FIFO_FIRST, FIFO_END))
		return fifo_wide(offset & 0xff);
	if (within(offset, UNIT_FIRST, UNIT_END)) {
		reg = offset & 0x3ff;
		return reg == REFNPU_UNIT_TIME || reg >= REFNPU_UNIT_TOTAL(0);
	}
	if (within(offset, CORE_FIRST, CORE_END)) {
		reg = offset & 0x1ff;
		return within(reg, REFNPU_CORE_CYCLES, REFNPU_CORE_TIME_NS + 8) ||
		       (reg >= REFNPU_CORE_FIFO && fifo_wide(reg - REFNPU_CORE_FIFO));
	}
	if (within(offset, QUEUE_FIRST, QUEUE_END)) {
		reg = offset & 0x7f;
		return reg == REFNPU_QUEUE_BASE ||
		       within(reg, REFNPU_QUEUE_PAGE_ADDRESS, REFNPU_QUEUE_GAP_ACK);
	}
	switch (offset) {
	case REFNPU_CAP_CLOCK_HZ:
	case REFNPU_CAP_CORE_HZ:
	case REFNPU_CLOCK:
	case REFNPU_MONO_NS:
	case REFNPU_TRACE_T0:
	case REFNPU_TRACE_T1:
	case REFNPU_TRACE_STARTED:
	case REFNPU_TRACE_ENDED:
		return true;
	}
	return false;
}

static u64 read_capability(const struct npusim_model *m, u32 offset)
{
	switch (offset) {
	case REFNPU_ID:
		return REFNPU_ID_VALUE;
	case REFNPU_VERSION:
		return REFNPU_VERSION_VALUE;
	case REFNPU_CAP_CORES:
		return m->cores_of[KIND_CUBE] | m->cores_of[KIND_VECTOR] << 16;
	case REFNPU_CAP_COUNTERS:
		return REFNPU_COUNTERS | REFNPU_COUNTER_BITS << 8 | REFNPU_CYCLE_BITS << 16;
	case REFNPU_CAP_CLOCK_HZ:
		return m->cfg.clock_hz;
	case REFNPU_CAP_CORE_HZ:
		return m->cfg.core_mhz * 1000000ull;
	case REFNPU_CAP_FIFO:
		return m->cfg.fifo_depth | m->cfg.block_fifo_depth << 16;
	case REFNPU_CAP_UNITS:
		return HBM_CHANNELS | LLC_SLICES << 8 | NIC_PORTS << 16 |
		       (u32)NPUSIM_DVPP_ENGINES << 24;
	case REFNPU_CAP_AICPU:
		return m->cfg.aicpu_cores;
	case REFNPU_CAP_QUEUES:
		return REFNPU_MAX_QUEUES;
	case REFNPU_CAP_FLAGS:
		return REFNPU_CAP_SIMULATED;
	case REFNPU_EPOCH:
		return m->epoch;
	}
	return 0;
}

static u64 read_interrupt(const struct npusim_model *m, u32 offset)
{
	if (within(offset, REFNPU_QUEUE_PENDING(0), REFNPU_QUEUE_PENDING(REFNPU_MAX_QUEUES / 32)))
		return m->queue_pending[(offset - REFNPU_QUEUE_PENDING(0)) / 4];
	if (within(offset, REFNPU_OVERFLOW_PENDING(0),
		   REFNPU_OVERFLOW_PENDING(REFNPU_MAX_CORES / 32)))
		return m->overflow_pending[(offset - REFNPU_OVERFLOW_PENDING(0)) / 4];
	if (within(offset, REFNPU_BLOCK_PENDING(0), REFNPU_BLOCK_PENDING(REFNPU_MAX_CORES / 32)))
		return m->block_pending[(offset - REFNPU_BLOCK_PENDING(0)) / 4];
	switch (offset) {
	case REFNPU_INT_STATUS:
		return m->int_status;
	case REFNPU_INT_ENABLE:
		return m->int_enable;
	case REFNPU_FIFO_PENDING:
		return m->fifo_pending;
	}
	return 0;
}

static u64 read_trace(const struct npusim_model *m, u32 offset)
{
	const struct trace *t = &m->trace;

	if (within(offset, REFNPU_TRACE_EVENT(0, 0), REFNPU_TRACE_EVENT(2, 0)))
		return t->event[(offset - REFNPU_TRACE_EVENT(0, 0)) / 0x20]
			       [offset / 4 % REFNPU_COUNTERS];
	if (within(offset, REFNPU_TRACE_CUT(0), REFNPU_TRACE_CUT(REFNPU_FIFOS)))
		return t->cut[(offset - REFNPU_TRACE_CUT(0)) / 4];
	switch (offset) {
	case REFNPU_TRACE_ENABLE:
		return t->enable;
	case REFNPU_TRACE_WINDOW:
		return t->window;
	case REFNPU_TRACE_T0:
		return t->t0;
	case REFNPU_TRACE_T1:
		return t->t1;
	case REFNPU_TRACE_AT_OPEN:
		return t->at_open;
	case REFNPU_TRACE_AT_CLOSE:
		return t->at_close;
	case REFNPU_TRACE_RUNNING:
		return t->running;
	case REFNPU_TRACE_STARTED:
		return t->started;
	case REFNPU_TRACE_ENDED:
		return t->ended;
	}
	return 0;
}

static u64 read_unit(const struct npusim_model *m, u32 offset)
{
	static const u32 counts[REFNPU_UNITS] = { 2 * HBM_CHANNELS,
						  8 * LLC_SLICES,
						  2,
						  2 * NIC_PORTS,
						  2 * NPUSIM_DVPP_ENGINES,
						  2,
						  2,
						  2 * NPUPROF_FLOWS,
						  4 * NPUPROF_ACCELERATORS };
	u32 unit = (offset - UNIT_FIRST) / 0x400, reg = (offset - UNIT_FIRST) % 0x400;

	if (within(reg, REFNPU_UNIT_TOTAL(0), REFNPU_UNIT_TOTAL(REFNPU_UNIT_TOTALS)))
		return m->units[unit].latched[(reg - REFNPU_UNIT_TOTAL(0)) / 8];
	switch (reg) {
	case REFNPU_UNIT_CTRL:
		return m->units[unit].ctrl;
	case REFNPU_UNIT_COUNT:
		return counts[unit];
	case REFNPU_UNIT_TIME:
		return m->units[unit].latch_clock;
	}
	return 0;
}

static u64 read_register(struct npusim_model *m, u32 offset)
{
	if (within(offset, FIFO_FIRST, FIFO_END))
		return fifo_read(&m->fifos[(offset - FIFO_FIRST) / 0x100], offset & 0xff);
	if (within(offset, UNIT_FIRST, UNIT_END))
		return read_unit(m, offset);
	if (within(offset, CORE_FIRST, CORE_END)) {
		u32 core = (offset - CORE_FIRST) / 0x200;

		return core < m->core_count ? core_read(m, core, offset & 0x1ff) : 0;
	}
	if (within(offset, QUEUE_FIRST, QUEUE_END))
		return queue_read(&m->queues[(offset - QUEUE_FIRST) / 0x80], offset & 0x7f);
	if (offset < REFNPU_INT_STATUS)
		return read_capability(m, offset);
	if (offset < REFNPU_CLOCK)
		return read_interrupt(m, offset);
	if (offset == REFNPU_CLOCK)
		return clock_at(m, m->now);
	if (offset == REFNPU_MONO_NS)
		return mono_at(m, m->now);
	return read_trace(m, offset);
}

static void reset_pmu(struct npusim_model *m)
{
	u32 i;

	trace_reset(m);
	for (i = 0; i < REFNPU_FIFOS; i++)
		fifo_reset(&m->fifos[i]);
	queue_reset(m);
	for (i = 0; i < m->core_count; i++) {
		core_sync(m, i);
		core_reset(&m->cores[i]);
	}
	for (i = 0; i < REFNPU_UNITS; i++)
		m->units[i] = (struct unit){ 0 };
	m->int_status = m->int_enable = m->fifo_pending = 0;
	for (i = 0; i < REFNPU_MAX_QUEUES / 32; i++)
		m->queue_pending[i] = 0;
	for (i = 0; i < REFNPU_MAX_CORES / 32; i++)
		m->overflow_pending[i] = m->block_pending[i] = 0;
}

void regs_reset(struct npusim_model *m)
{
	reset_pmu(m);
	m->held_low = 0;
}

static void write_interrupt(struct npusim_model *m, u32 offset, u32 value)
{
	u32 pending;

	if (within(offset, REFNPU_QUEUE_PENDING(0), REFNPU_QUEUE_PENDING(REFNPU_MAX_QUEUES / 32))) {
		m->queue_pending[(offset - REFNPU_QUEUE_PENDING(0)) / 4] &= ~value;
		return;
	}
	if (within(offset, REFNPU_BLOCK_PENDING(0), REFNPU_BLOCK_PENDING(REFNPU_MAX_CORES / 32))) {
		m->block_pending[(offset - REFNPU_BLOCK_PENDING(0)) / 4] &= ~value;
		return;
	}
	switch (offset) {
	case REFNPU_INT_STATUS:
		m->int_status &= ~value;
		break;
	case REFNPU_INT_ENABLE:
		/* A cause that was pending all along interrupts when it is enabled. */
		pending = m->int_status & value & ~m->int_enable;
		m->int_enable = value & ((1u << REFNPU_INT_VECTORS) - 1);
		m->int_status &= ~pending;
		raise_cause(m, pending);
		break;
	case REFNPU_FIFO_PENDING:
		m->fifo_pending &= ~value;
		break;
	}
}

static void write_trace(struct npusim_model *m, u32 offset, u32 value)
{
	if (within(offset, REFNPU_TRACE_EVENT(0, 0), REFNPU_TRACE_EVENT(2, 0))) {
		trace_select(m, (offset - REFNPU_TRACE_EVENT(0, 0)) / 0x20,
			     offset / 4 % REFNPU_COUNTERS, value);
	} else if (offset == REFNPU_TRACE_ENABLE) {
		trace_enable(m, value & 0x7f);
	} else if (offset == REFNPU_TRACE_WINDOW) {
		if (value & 1)
			trace_open(m);
		else
			trace_close(m);
	}
}

static void write_register(struct npusim_model *m, u32 offset, u64 value)
{
	u32 i;

	if (within(offset, FIFO_FIRST, FIFO_END)) {
		fifo_write(&m->fifos[(offset - FIFO_FIRST) / 0x100], offset & 0xff, value);
	} else if (within(offset, UNIT_FIRST, UNIT_END)) {
		u32 unit = (offset - UNIT_FIRST) / 0x400;

		if ((offset - UNIT_FIRST) % 0x400 == REFNPU_UNIT_LATCH)
			units_latch(m, unit);
		else if ((offset - UNIT_FIRST) % 0x400 == REFNPU_UNIT_CTRL)
			m->units[unit].ctrl = unit == REFNPU_UNIT_LLC ? value & 1 : 0;
	} else if (within(offset, CORE_FIRST, CORE_END)) {
		if ((offset - CORE_FIRST) / 0x200 < m->core_count)
			core_write(m, (offset - CORE_FIRST) / 0x200, offset & 0x1ff, value);
	} else if (within(offset, QUEUE_FIRST, QUEUE_END)) {
		queue_write(m, (offset - QUEUE_FIRST) / 0x80, offset & 0x7f, value);
	} else if (offset == REFNPU_LATCH_ALL) {
		for (i = 0; i < m->core_count; i++)
			core_latch(m, i);
	} else if (offset == REFNPU_CONTROL) {
		if (value & REFNPU_CONTROL_RESET_PMU)
			reset_pmu(m);
	} else if (within(offset, REFNPU_INT_STATUS, REFNPU_CLOCK)) {
		write_interrupt(m, offset, (u32)value);
	} else if (within(offset, REFNPU_TRACE_ENABLE, FIFO_FIRST)) {
		write_trace(m, offset, (u32)value);
	}
}

static bool usable(const struct npusim_model *m, u32 offset, u32 width)
{
	return !m->gone && offset % width == 0 && offset <= REFNPU_REGION_SIZE - width;
}

uint32_t npusim_model_read32(struct npusim_model *m, uint32_t offset)
{
	bool clock = (offset & ~7u) == REFNPU_CLOCK || (offset & ~7u) == REFNPU_MONO_NS;
	u32 *held = (offset & ~7u) == REFNPU_CLOCK ? &m->clock_held : &m->mono_held;
	u64 value;

	if (!usable(m, offset, 4))
		return UINT32_MAX;
	m->totals.reg_reads++;
	if (!is_wide(offset & ~7u))
		return (u32)read_register(m, offset);
	if (clock && offset & 4)
		return *held;
	value = read_register(m, offset & ~7u);
	if (clock)
		*held = (u32)(value >> 32);
	return (u32)(offset & 4 ? value >> 32 : value);
}

uint64_t npusim_model_read64(struct npusim_model *m, uint32_t offset)
{
	if (!usable(m, offset, 8))
		return UINT64_MAX;
	m->totals.reg_reads++;
	return read_register(m, offset);
}

void npusim_model_write32(struct npusim_model *m, uint32_t offset, uint32_t value)
{
	if (!usable(m, offset, 4))
		return;
	m->totals.reg_writes++;
	if (!is_wide(offset & ~7u))
		write_register(m, offset, value);
	else if (offset & 4)
		write_register(m, offset & ~7u, (u64)value << 32 | m->held_low);
	else
		m->held_low = value;
	queue_publish(m);
}

void npusim_model_write64(struct npusim_model *m, uint32_t offset, uint64_t value)
{
	if (!usable(m, offset, 8))
		return;
	m->totals.reg_writes++;
	write_register(m, offset, value);
	queue_publish(m);
}
