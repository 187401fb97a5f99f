// SPDX-License-Identifier: GPL-2.0-only
/* Reference NPU, register path: samples of cores and of shared units. */
#include <linux/slab.h>

#include "refnpu.h"

/**
 * refnpu_unit_of() - the unit behind a sampled channel that is not about cores
 * @channel: enum npuprof_channel
 *
 * Return: REFNPU_UNIT_*.
 */
u32 refnpu_unit_of(u32 channel)
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
	case NPUPROF_CHANNEL_LINK:
		return REFNPU_UNIT_LINK;
	case NPUPROF_CHANNEL_PCIE:
		return REFNPU_UNIT_PCIE;
	default:
		return REFNPU_UNIT_DVPP;
	}
}

/**
 * refnpu_read_core() - read what the latch of a core froze, and clear overflow flags that showed
 * @refnpu: device
 * @account: who pays for it
 * @core: core
 * @counters: how many of its counters
 * @reading: filled; means nothing if refnpu_dead() afterwards
 */
void refnpu_read_core(struct refnpu *refnpu, struct npuprof_account *account, unsigned int core,
		      unsigned int counters, struct npc_core_reading *reading)
{
	unsigned int i;
	u32 overflow;

	for (i = 0; i < counters; i++)
		reading->counters[i] = refnpu_read32(refnpu, account,
						     REFNPU_CORE(core, REFNPU_CORE_COUNTER(i)));
	reading->cycles = refnpu_read64(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CYCLES));
	overflow = refnpu_read32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_OVERFLOW));
	reading->overflowed = overflow & npc_counter_mask(NPUPROF_MAX_COUNTERS);
	if (overflow & REFNPU_CORE_OVERFLOW_CYCLES)
		reading->overflowed |= BIT(NPUPROF_MAX_COUNTERS);
	if (overflow)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_OVERFLOW), overflow);
}

/* Whether a counter could pass its range between two samples. */
static bool refnpu_needs_overflow(const struct npuprof_ring *ring)
{
	const struct npuprof_query *caps = &ring->session->npu->caps;

	return ring->config.period_ns >
	       npc_counter_deadline_ns(caps->counter_bits, caps->core_hz * REFNPU_COUNTS_PER_CYCLE);
}

/**
 * refnpu_core_arm() - set up the counters of a sampled core
 * @ring: its ring; npuprof_device.mutex is held
 *
 * Return: 0 or -ENOMEM.
 */
int refnpu_core_arm(struct npuprof_ring *ring)
{
	struct npuprof_session *session = ring->session;
	struct refnpu *refnpu = to_refnpu(session->npu);
	const struct npuprof_query *caps = &session->npu->caps;
	struct npuprof_account *account = &session->account;
	bool vector = ring->config.core_kind == NPUPROF_CORE_VECTOR;
	const __u16 *events = vector ? ring->config.vector_events : ring->config.cube_events;
	bool interrupts = refnpu_needs_overflow(ring);
	unsigned int used = ring->slots[vector].count;
	unsigned int core = ring->core;
	struct npc_core_reading reading;
	unsigned long flags;
	unsigned int i;

	lockdep_assert_held(&session->npu->mutex);
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CTRL), REFNPU_CORE_RESET);
	for (i = 0; i < caps->counters; i++)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_EVENT(i)),
			       i < used ? events[i] : 0);
	/*
	 * From half of the range on, the first interrupt leaves half a range of time to answer it.
	 */
	for (i = 0; interrupts && i < used; i++)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_COUNTER(i)),
			       npc_counter_preset(caps->counter_bits));
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_CTRL),
		       REFNPU_CORE_ENABLE | (interrupts ? REFNPU_CORE_INT : 0));
	if (ring->device_path)
		return 0;

	flags = npuprof_lock(session->npu);
	refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
	refnpu_read_core(refnpu, account, core, used, &reading);
	npc_core_start(&ring->counters, used, caps->counter_bits, caps->cycle_bits, &reading);
	refnpu->core_ring[core] = ring;
	npuprof_unlock(session->npu, flags);
	return npuprof_sampler_add(ring);
}

/**
 * refnpu_unit_arm() - set up the totals of a sampled unit
 * @ring: its ring; npuprof_device.mutex is held
 *
 * Return: 0 or -ENOMEM.
 */
int refnpu_unit_arm(struct npuprof_ring *ring)
{
	struct npuprof_session *session = ring->session;
	struct refnpu *refnpu = to_refnpu(session->npu);
	struct npuprof_account *account = &session->account;
	u32 unit = refnpu_unit_of(ring->config.channel);
	unsigned int count = refnpu->totals[unit];
	unsigned int i;

	lockdep_assert_held(&session->npu->mutex);
	refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_CTRL), ring->config.options);
	if (ring->device_path)
		return 0;
	kfree(ring->totals);
	ring->total_count = 0;
	ring->totals = kcalloc(count, sizeof(*ring->totals), GFP_KERNEL_ACCOUNT);
	if (!ring->totals)
		return -ENOMEM;
	ring->total_count = count;
	refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
	for (i = 0; i < count; i++)
		npc_counter_start(&ring->totals[i], 64,
				  refnpu_read64(refnpu, account,
						REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i))));
	return npuprof_sampler_add(ring);
}

/**
 * refnpu_sample_cost() - npuprof_pmu_ops.sample_cost
 * @npu: device
 * @add: ring of a sampled channel
 *
 * Return: nanoseconds.
 */
u32 refnpu_sample_cost(struct npuprof_device *npu, const struct npuprof_add_ring *add)
{
	const struct npuprof_query *caps = &npu->caps;
	unsigned int totals;

	if (add->channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		return caps->sample_cost_ns;
	/*
	 * A latch and a time beside the totals; a core has a latch, cycles, overflow beside
	 * counters.
	 */
	totals = to_refnpu(npu)->totals[refnpu_unit_of(add->channel)];
	return div_u64((u64)caps->sample_cost_ns * (totals + 2), caps->counters + 3);
}

/**
 * refnpu_latch() - npuprof_pmu_ops.latch
 * @group: rings that are about to be sampled; npuprof_device.lock is held
 *
 * Return: true if all cores were frozen with one write.
 */
bool refnpu_latch(struct npuprof_group *group)
{
	struct npuprof_device *npu = group->session->npu;

	lockdep_assert_held(&npu->lock);
	if (group->core_count <= npuprof_cores(npu) / 2)
		return false;
	refnpu_write32(to_refnpu(npu), &group->session->account, REFNPU_LATCH_ALL, 1);
	return true;
}

static void refnpu_sample_core(struct refnpu *refnpu, struct npuprof_ring *ring, bool latched)
{
	struct npuprof_account *account = &ring->session->account;
	bool vector = ring->config.core_kind == NPUPROF_CORE_VECTOR;
	struct npc_core_reading reading;
	unsigned int core = ring->core;
	u64 time_ns, clock;
	void *slot;

	if (!latched)
		refnpu_write32(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_LATCH), 1);
	refnpu_read_core(refnpu, account, core, ring->counters.used, &reading);
	time_ns = refnpu_read64(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_TIME_NS));
	clock = refnpu_read64(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_TIME));
	if (refnpu_dead(refnpu))
		return;
	npc_core_update(&ring->counters, &reading);
	/*
	 * Without room the differences stay in the counters and go into the next sample that fits.
	 */
	slot = npc_ring_reserve(&ring->producer, clock);
	if (!slot)
		return;
	npc_record_core_sample(slot, &ring->counters, &ring->slots[vector], core, time_ns);
	npc_ring_commit(&ring->producer);
	npc_ring_publish(&ring->producer);
}

static void refnpu_sample_unit(struct refnpu *refnpu, struct npuprof_ring *ring)
{
	struct npuprof_account *account = &ring->session->account;
	u32 unit = refnpu_unit_of(ring->config.channel);
	unsigned int events = unit == REFNPU_UNIT_LLC ? 8 : 2;
	unsigned int i;
	u64 clock;

	refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
	clock = refnpu_read64(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_TIME));
	for (i = 0; i < ring->total_count; i++) {
		u64 total = refnpu_read64(refnpu, account,
					  REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i)));
		void *slot;

		if (refnpu_dead(refnpu))
			break;
		slot = npc_ring_reserve(&ring->producer, clock);
		/* As above: the difference is not lost, only the record. */
		if (!slot)
			continue;
		npc_record_bandwidth(slot, clock, i / events, i % events,
				     npc_counter_update(&ring->totals[i], total, false));
		npc_ring_commit(&ring->producer);
	}
	npc_ring_publish(&ring->producer);
}

/**
 * refnpu_sample() - npuprof_pmu_ops.sample
 * @ring: ring of a core or a unit; npuprof_device.lock is held
 * @latched: what refnpu_latch() said
 */
void refnpu_sample(struct npuprof_ring *ring, bool latched)
{
	struct refnpu *refnpu = to_refnpu(ring->session->npu);

	lockdep_assert_held(&refnpu->npu.lock);
	if (refnpu_dead(refnpu))
		return;
	if (ring->config.channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		refnpu_sample_core(refnpu, ring, latched);
	else
		refnpu_sample_unit(refnpu, ring);
}
