// SPDX-License-Identifier: GPL-2.0-only
/* Reference NPU, register path: samples of cores and of shared units. */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "refnpu.h"

/* Samples that are taken to find out what one costs. */
#define REFNPU_TRIALS	64

/**
 * refnpu_unit_of() - the unit behind a sampled channel that is not about cores
 * @channel: enum npuprof_channel
 *
 * Context: Any context.
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
	case NPUPROF_CHANNEL_FLOWS:
		return REFNPU_UNIT_FLOWS;
	case NPUPROF_CHANNEL_ACCELERATORS:
		return REFNPU_UNIT_ACC;
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
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void refnpu_read_core(struct refnpu *refnpu, struct npuprof_account *account, unsigned int core,
		      unsigned int counters, struct npc_core_reading *reading)
{
	unsigned int i;
	u32 overflow;

	lockdep_assert_held(&refnpu->npu.lock);
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

/*
 * Whether a counter could pass its range between two samples. That of a device which samples by
 * itself cannot: it adds up what came in between.
 */
static bool refnpu_needs_overflow(const struct npuprof_ring *ring)
{
	const struct npuprof_query *caps = &ring->session->npu->caps;

	if (ring->device_path)
		return false;
	return ring->config.period_ns * ring->stretch >
	       npc_counter_deadline_ns(caps->counter_bits, caps->core_hz * REFNPU_COUNTS_PER_CYCLE);
}

/**
 * refnpu_core_arm() - set up the counters of a sampled core
 * @ring: its ring
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
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
 * @ring: its ring
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
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
	ring->next_total = 0;
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
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 * Return: nanoseconds.
 */
u32 refnpu_sample_cost(struct npuprof_device *npu, const struct npuprof_add_ring *add)
{
	const struct npuprof_query *caps = &npu->caps;
	unsigned int totals;

	lockdep_assert_held(&npu->mutex);
	if (add->channel == NPUPROF_CHANNEL_CORE_SAMPLE)
		return caps->sample_cost_ns;
	/*
	 * A latch and a time beside the totals; a core has a latch, cycles, overflow beside
	 * counters.
	 */
	totals = to_refnpu(npu)->totals[refnpu_unit_of(add->channel)];
	return min_t(u64, U32_MAX,
		     div_u64((u64)caps->sample_cost_ns * (totals + 2), caps->counters + 3));
}

/**
 * refnpu_latch() - npuprof_pmu_ops.latch
 * @group: rings that are about to be sampled
 *
 * Context: Any context. npuprof_device.lock is held.
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

/* Reads a core that is frozen and puts a record into @producer. */
static void refnpu_record_core(struct refnpu *refnpu, struct npuprof_account *account,
			       unsigned int core, struct npc_core *counters,
			       const struct npc_slots *slots, struct npc_ring *producer)
{
	struct npc_core_reading reading;
	u64 time_ns, clock;
	void *slot;

	lockdep_assert_held(&refnpu->npu.lock);
	refnpu_read_core(refnpu, account, core, counters->used, &reading);
	time_ns = refnpu_read64(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_TIME_NS));
	clock = refnpu_read64(refnpu, account, REFNPU_CORE(core, REFNPU_CORE_TIME));
	if (refnpu_dead(refnpu))
		return;
	npc_core_update(counters, &reading);
	/*
	 * Without room the differences stay in the counters and go into the next sample that fits.
	 */
	slot = npc_ring_reserve(producer, clock);
	if (!slot)
		return;
	npc_record_core_sample(slot, counters, slots, core, time_ns);
	npc_ring_commit(producer);
	npc_ring_publish(producer);
}

static void refnpu_sample_core(struct refnpu *refnpu, struct npuprof_ring *ring, bool latched)
{
	struct npuprof_account *account = &ring->session->account;
	bool vector = ring->config.core_kind == NPUPROF_CORE_VECTOR;

	lockdep_assert_held(&refnpu->npu.lock);
	if (!latched)
		refnpu_write32(refnpu, account, REFNPU_CORE(ring->core, REFNPU_CORE_LATCH), 1);
	refnpu_record_core(refnpu, account, ring->core, &ring->counters, &ring->slots[vector],
			   &ring->producer);
}

static bool refnpu_sample_unit(struct refnpu *refnpu, struct npuprof_ring *ring, u64 until)
{
	struct npuprof_account *account = &ring->session->account;
	u32 unit = refnpu_unit_of(ring->config.channel);
	unsigned int events = unit == REFNPU_UNIT_LLC ? 8 : 2;
	u64 clock = ring->sample_clock;
	bool over = true;

	lockdep_assert_held(&refnpu->npu.lock);
	if (!ring->next_total) {
		refnpu_write32(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_LATCH), 1);
		clock = refnpu_read64(refnpu, account, REFNPU_UNIT(unit, REFNPU_UNIT_TIME));
		ring->sample_clock = clock;
	}
	/*
	 * Should perf have latched the unit since the slot before, what came between belongs to
	 * this sample instead of the next: the sums stay what they are.
	 */
	while (ring->next_total < ring->total_count) {
		unsigned int i = ring->next_total++;
		u64 total = refnpu_read64(refnpu, account,
					  REFNPU_UNIT(unit, REFNPU_UNIT_TOTAL(i)));
		void *slot;

		if (refnpu_dead(refnpu))
			break;
		slot = npc_ring_reserve(&ring->producer, clock);
		/* As above: the difference is not lost, only the record. */
		if (slot) {
			npc_record_bandwidth(slot, clock, i / events, i % events,
					     npc_counter_update(&ring->totals[i], total, false));
			npc_ring_commit(&ring->producer);
		}
		over = ring->next_total == ring->total_count || ktime_get_ns() < until;
		if (!over)
			break;
	}
	if (over)
		ring->next_total = 0;
	npc_ring_publish(&ring->producer);
	return over;
}

/**
 * refnpu_sample() - npuprof_pmu_ops.sample
 * @ring: ring of a core or a unit
 * @latched: what refnpu_latch() said
 * @until: when to stop, in CLOCK_MONOTONIC
 *
 * Context: Any context. npuprof_device.lock is held.
 * Return: false if the sample is not complete.
 */
bool refnpu_sample(struct npuprof_ring *ring, bool latched, u64 until)
{
	struct refnpu *refnpu = to_refnpu(ring->session->npu);

	lockdep_assert_held(&refnpu->npu.lock);
	if (refnpu_dead(refnpu))
		return true;
	if (ring->config.channel != NPUPROF_CHANNEL_CORE_SAMPLE)
		return refnpu_sample_unit(refnpu, ring, until);
	refnpu_sample_core(refnpu, ring, latched);
	return true;
}

/* A ring for samples that nobody reads. */
struct refnpu_trial {
	struct npuprof_ring_ctrl ctrl;
	struct npuprof_ring_tail tail;
	struct npc_ring producer;
	struct npc_wakeup wakeup;
	struct npc_core counters;
	struct npc_slots slots;
	struct npuprof_rec_core_sample records[REFNPU_TRIALS];
};

static u64 refnpu_try_sample(struct refnpu *refnpu, struct refnpu_trial *trial)
{
	struct npuprof_account *account = &refnpu->npu.self;
	u64 begin = ktime_get_ns();
	unsigned long flags;

	flags = npuprof_lock(&refnpu->npu);
	refnpu_write32(refnpu, account, REFNPU_CORE(0, REFNPU_CORE_LATCH), 1);
	refnpu_record_core(refnpu, account, 0, &trial->counters, &trial->slots, &trial->producer);
	npc_wakeup_due(&trial->wakeup, &trial->producer, ktime_get_ns());
	npuprof_unlock(&refnpu->npu, flags);
	return ktime_get_ns() - begin;
}

/**
 * refnpu_measure_cost() - find out what a sample of a core takes
 * @refnpu: device that nobody uses yet
 *
 * A whole one, with all counters and the way into a ring: on a quick bus that is the larger part.
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int refnpu_measure_cost(struct refnpu *refnpu)
{
	struct npuprof_query *caps = &refnpu->npu.caps;
	struct npc_core_reading reading = {};
	struct refnpu_trial *trial;
	u64 best = U32_MAX;
	unsigned int i;

	trial = kzalloc(sizeof(*trial), GFP_KERNEL);
	if (!trial)
		return -ENOMEM;
	npc_ring_init(&trial->producer, &(struct npc_ring_setup){
		.ctrl = &trial->ctrl,
		.tail = &trial->tail,
		.data = trial->records,
		.slots = REFNPU_TRIALS,
		.record_size = sizeof(trial->records[0]),
	});
	npc_wakeup_init(&trial->wakeup, REFNPU_TRIALS, NSEC_PER_SEC);
	npc_core_start(&trial->counters, caps->counters, caps->counter_bits, caps->cycle_bits,
		       &reading);
	trial->slots.count = caps->counters;
	for (i = 0; i < caps->counters; i++)
		trial->slots.slot[i] = i;
	/* The quickest of many: whatever else the CPU did meanwhile is no cost of sampling. */
	for (i = 0; i < REFNPU_TRIALS; i++)
		best = min(best, refnpu_try_sample(refnpu, trial));
	caps->sample_cost_ns = max(1ULL, best);
	kfree(trial);
	return 0;
}
