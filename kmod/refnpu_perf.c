// SPDX-License-Identifier: GPL-2.0-only
/* Reference NPU: registers that perf counts with. */
#include "refnpu.h"

static struct npuprof_account *refnpu_perf_account(struct npuprof_device *npu)
{
	lockdep_assert_held(&npu->lock);
	return &npu->perf.account;
}

/**
 * refnpu_core_enable() - npuprof_pmu_ops.core_enable
 * @npu: device
 * @core: core
 * @on: take it, or let go of it
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void refnpu_core_enable(struct npuprof_device *npu, unsigned int core, bool on)
{
	struct npuprof_account *account = refnpu_perf_account(npu);
	struct refnpu *refnpu = to_refnpu(npu);
	unsigned int i;

	lockdep_assert_held(&npu->lock);
	if (!on) {
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CTRL), 0);
		return;
	}
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CTRL), REFNPU_CORE_RESET);
	for (i = 0; i < npu->caps.counters; i++)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_EVENT(i)), 0);
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CTRL),
		       REFNPU_CORE_ENABLE | REFNPU_CORE_INT);
	refnpu_write32(refnpu, account, REFNPU_INT_ENABLE, REFNPU_INT_ALL);
}

/**
 * refnpu_counter_set() - npuprof_pmu_ops.counter_set
 * @npu: device
 * @core: core
 * @counter: one of its counters
 * @event: what it counts
 * @value: from where on
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void refnpu_counter_set(struct npuprof_device *npu, unsigned int core, unsigned int counter,
			u16 event, u64 value)
{
	struct npuprof_account *account = refnpu_perf_account(npu);
	struct refnpu *refnpu = to_refnpu(npu);

	lockdep_assert_held(&npu->lock);
	/* Selecting nothing clears the counter, so that not even a moment of it is counted. */
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_EVENT(counter)), 0);
	/* The counter may have overflowed since it was read last; that is not the next user's. */
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_OVERFLOW), BIT(counter));
	if (!event)
		return;
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_EVENT(counter)), event);
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_COUNTER(counter)), value);
}

/**
 * refnpu_counters_read() - npuprof_pmu_ops.counters_read
 * @npu: device
 * @core: core
 * @counters: which
 * @reading: filled
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: false if the device is gone.
 */
bool refnpu_counters_read(struct npuprof_device *npu, unsigned int core, u32 counters,
			  struct npc_core_reading *reading)
{
	struct npuprof_account *account = refnpu_perf_account(npu);
	struct refnpu *refnpu = to_refnpu(npu);
	unsigned long programmable = counters & ~BIT(NPUPROF_CYCLES);
	unsigned int i;
	u32 overflow;

	lockdep_assert_held(&npu->lock);
	if (refnpu_dead(refnpu))
		return false;
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
	for_each_set_bit(i, &programmable, npu->caps.counters)
		reading->counters[i] = refnpu_read32(refnpu, account,
						     REFNPU_CORE(core, REFNPU_CORE_COUNTER(i)));
	if (counters & BIT(NPUPROF_CYCLES))
		reading->cycles = refnpu_read64(refnpu, account,
						REFNPU_CORE(core, REFNPU_CORE_CYCLES));
	overflow = refnpu_read32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_OVERFLOW));
	/* Flags of other counters are for whoever reads those. */
	overflow &= programmable |
		    (counters & BIT(NPUPROF_CYCLES) ? REFNPU_CORE_OVERFLOW_CYCLES : 0);
	if (overflow)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_OVERFLOW), overflow);
	reading->overflowed = overflow & programmable;
	if (overflow & REFNPU_CORE_OVERFLOW_CYCLES)
		reading->overflowed |= BIT(NPUPROF_CYCLES);
	return !refnpu_dead(refnpu);
}

/**
 * refnpu_unit_total() - npuprof_pmu_ops.unit_total
 * @npu: device
 * @channel: channel that samples the unit
 * @event: event, as in records; of the last-level cache those of writes after those of reads
 * @total: sum over all parts of the unit
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: false if the device is gone.
 */
bool refnpu_unit_total(struct npuprof_device *npu, u32 channel, u16 event, u64 *total)
{
	struct npuprof_account *account = refnpu_perf_account(npu);
	struct refnpu *refnpu = to_refnpu(npu);
	u32 unit = refnpu_unit_of(channel);
	bool llc = unit == REFNPU_UNIT_LLC;
	unsigned int i;
	u64 sum = 0;

	lockdep_assert_held(&npu->lock);
	if (refnpu_dead(refnpu))
		return false;
	if (llc)
		refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_CTRL),
			       event >= NPUPROF_LLC_EVENTS);
	refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
	for (i = event % NPUPROF_LLC_EVENTS; i < refnpu->totals[unit];
	     i += llc ? NPUPROF_LLC_EVENTS : 2)
		sum += refnpu_read64(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i)));
	*total = sum;
	return !refnpu_dead(refnpu);
}
