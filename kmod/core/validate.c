// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/validate.h"

#include "core/record.h"
#include "npuprof_layout.h"

/**
 * struct channel - what is fixed about each channel
 * @record_size: bytes of one record
 * @per_core: one ring per core
 * @sampled: a record every period
 * @counts: takes event lists
 * @options_max: largest value of npuprof_add_ring.options
 */
struct channel {
	__u8 record_size;
	bool per_core;
	bool sampled;
	bool counts;
	__u8 options_max;
};

static const struct channel channels[NPUPROF_CHANNEL_COUNT] = {
	[NPUPROF_CHANNEL_EVENTS] = {sizeof(struct npuprof_rec_event), false, false, false, 0},
	[NPUPROF_CHANNEL_TASK_LOG] = {sizeof(struct npuprof_rec_task_log), false, false, false, 0},
	[NPUPROF_CHANNEL_TASK_PMU] = {sizeof(struct npuprof_rec_task_pmu), false, false, true, 0},
	[NPUPROF_CHANNEL_TS_TRACK] = {sizeof(struct npuprof_rec_ts_track), false, false, false, 0},
	[NPUPROF_CHANNEL_BLOCK_PMU] = {sizeof(struct npuprof_rec_block_pmu), true, false, true, 1},
	[NPUPROF_CHANNEL_CORE_SAMPLE] = {sizeof(struct npuprof_rec_core_sample), true, true, true,
					 0},
	[NPUPROF_CHANNEL_HBM] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_LLC] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 1},
	[NPUPROF_CHANNEL_NIC] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_DVPP] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_L2] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_AICPU] = {sizeof(struct npuprof_rec_aicpu), false, false, false, 0},
	[NPUPROF_CHANNEL_LINK] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_PCIE] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_SOC_PMU] = {sizeof(struct npuprof_rec_soc_pmu), false, false, false, 0},
	[NPUPROF_CHANNEL_FLOWS] = {sizeof(struct npuprof_rec_bandwidth), false, true, false, 0},
	[NPUPROF_CHANNEL_ACCELERATORS] = {sizeof(struct npuprof_rec_bandwidth), false, true, false,
					  0},
};

/* Requests in the order of their numbers, from NPUPROF_IOC_QUERY. */
static const struct {
	unsigned long number;
	struct npc_request sizes;
} requests[] = {
	{NPUPROF_IOC_QUERY, {sizeof(struct npuprof_query), NPC_QUERY_SIZE_MIN}},
	{NPUPROF_IOC_ADD_RING, {sizeof(struct npuprof_add_ring), NPC_ADD_RING_SIZE_MIN}},
	{NPUPROF_IOC_START, {sizeof(struct npuprof_control), NPC_CONTROL_SIZE_MIN}},
	{NPUPROF_IOC_STOP, {sizeof(struct npuprof_control), NPC_CONTROL_SIZE_MIN}},
	{NPUPROF_IOC_FREEZE, {sizeof(struct npuprof_control), NPC_CONTROL_SIZE_MIN}},
	{NPUPROF_IOC_FLUSH, {sizeof(struct npuprof_control), NPC_CONTROL_SIZE_MIN}},
	{NPUPROF_IOC_STATS, {sizeof(struct npuprof_stats), NPC_STATS_SIZE_MIN}},
	{NPUPROF_IOC_CLOCK, {sizeof(struct npuprof_clock), NPC_CLOCK_SIZE_MIN}},
};

#define SIZE_BITS ((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)

int npc_request_find(unsigned long request, unsigned long *number, struct npc_request *found)
{
	size_t i;

	for (i = 0; i < npc_array_size(requests); i++) {
		if ((requests[i].number ^ request) & ~SIZE_BITS)
			continue;
		*number = requests[i].number;
		*found = requests[i].sizes;
		return 0;
	}
	return -ENOTTY;
}

int npc_copy_in(void *to, const void *from, __u32 size, const struct npc_request *request)
{
	const __u8 *bytes = from;
	__u32 i;

	if (size < request->minimum)
		return -EINVAL;
	if (size > NPC_SIZE_MAX)
		return -E2BIG;
	for (i = request->known; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(to, 0, request->known);
	memcpy(to, from, size < request->known ? size : request->known);
	return 0;
}

void npc_copy_out(void *to, const void *from, __u32 size, const struct npc_request *request)
{
	__u32 bytes = size < request->known ? size : request->known;

	memcpy((__u8 *)to + sizeof(__u32), (const __u8 *)from + sizeof(__u32),
	       bytes - sizeof(__u32));
}

__u32 npc_record_size(__u32 channel)
{
	return channel < NPUPROF_CHANNEL_COUNT ? channels[channel].record_size : 0;
}

bool npc_channel_per_core(__u32 channel)
{
	return channel < NPUPROF_CHANNEL_COUNT && channels[channel].per_core;
}

bool npc_channel_sampled(__u32 channel)
{
	return channel < NPUPROF_CHANNEL_COUNT && channels[channel].sampled;
}

static bool all_zero(const __u64 *words, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (words[i])
			return false;
	return true;
}

#define RESERVED_ZERO(s) all_zero((s)->reserved, sizeof((s)->reserved) / sizeof((s)->reserved[0]))

int npc_check_query(const struct npuprof_query *query)
{
	return query->flags || !RESERVED_ZERO(query) ? -EINVAL : 0;
}

static int check_events(const __u16 *events, unsigned int count, enum npuprof_core_kind kind,
			const struct npc_device *device)
{
	unsigned int i, k;

	if (count > NPUPROF_MAX_COUNTERS || count > device->caps->counters)
		return -EINVAL;
	for (i = 0; i < NPUPROF_MAX_COUNTERS; i++) {
		if (i >= count) {
			if (events[i])
				return -EINVAL;
			continue;
		}
		for (k = 0; k < i; k++)
			if (events[k] == events[i])
				return -EINVAL;
	}
	for (i = 0; i < count; i++)
		if (!device->event_known(device, kind, events[i]))
			return -EOPNOTSUPP;
	return 0;
}

static int check_core(const struct npuprof_add_ring *add, const struct npuprof_query *caps)
{
	__u32 cores;

	if (!channels[add->channel].per_core)
		return add->core == NPC_CORE_DEVICE && add->core_kind == NPUPROF_CORE_NONE
			       ? 0
			       : -EINVAL;
	switch (add->core_kind) {
	case NPUPROF_CORE_CUBE:
		cores = caps->cube_cores;
		break;
	case NPUPROF_CORE_VECTOR:
		cores = caps->vector_cores;
		break;
	default:
		return -EINVAL;
	}
	if (add->core >= cores)
		return -EINVAL;
	/* Its records could not say which core they are about. */
	if (add->channel == NPUPROF_CHANNEL_BLOCK_PMU && add->core >= NPC_BLOCK_CORES)
		return -EOPNOTSUPP;
	return 0;
}

static int check_counts(const struct npuprof_add_ring *add, const struct npc_device *device)
{
	bool cube = channels[add->channel].counts;
	bool vector = cube;
	int err;

	if (channels[add->channel].per_core) {
		cube = cube && add->core_kind == NPUPROF_CORE_CUBE;
		vector = vector && add->core_kind == NPUPROF_CORE_VECTOR;
	}
	if ((!cube && add->cube_event_count) || (!vector && add->vector_event_count))
		return -EINVAL;
	err = check_events(add->cube_events, add->cube_event_count, NPUPROF_CORE_CUBE, device);
	if (err)
		return err;
	return check_events(add->vector_events, add->vector_event_count, NPUPROF_CORE_VECTOR,
			    device);
}

static int check_flags(const struct npuprof_add_ring *add, const struct npuprof_query *caps)
{
	const __u32 paths = NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_DEVICE_PATH;

	if (add->flags & ~(NPUPROF_RING_OVERWRITE | paths))
		return -EINVAL;
	if ((add->flags & paths) == paths)
		return -EINVAL;
	if ((add->flags & NPUPROF_RING_OVERWRITE) &&
	    !(caps->device_flags & NPUPROF_DEVICE_OVERWRITE))
		return -EOPNOTSUPP;
	if (!(add->flags & NPUPROF_RING_DEVICE_PATH))
		return 0;
	/* A device that writes by itself stops at its credit: it can only keep the oldest. */
	if ((add->flags & NPUPROF_RING_OVERWRITE) || !(caps->device_flags & NPUPROF_DEVICE_WRITTEN))
		return -EOPNOTSUPP;
	return 0;
}

int npc_check_add_ring(const struct npuprof_add_ring *add, const struct npc_device *device)
{
	const struct npuprof_query *caps = device->caps;
	int err;

	if (add->reserved0 || add->reserved1 || !RESERVED_ZERO(add))
		return -EINVAL;
	if (add->channel == NPUPROF_CHANNEL_EVENTS)
		return -EINVAL;
	/* A channel of a newer header is no mistake of the caller, it is just not here. */
	if (add->channel >= NPUPROF_CHANNEL_COUNT)
		return -EOPNOTSUPP;
	err = check_flags(add, caps);
	if (err)
		return err;
	if (!(caps->channels & (1ULL << add->channel)))
		return -EOPNOTSUPP;
	err = check_core(add, caps);
	if (err)
		return err;
	if (add->slots < NPUPROF_MIN_SLOTS || add->slots > NPUPROF_MAX_SLOTS ||
	    (add->slots & (add->slots - 1)))
		return -EINVAL;
	if (add->watermark > add->slots || add->latency_ns > NPC_LATENCY_MAX_NS)
		return -EINVAL;
	if (channels[add->channel].sampled) {
		if (add->period_ns < caps->min_period_ns || add->period_ns > caps->max_period_ns)
			return -EINVAL;
	} else if (add->period_ns) {
		return -EINVAL;
	}
	if (add->options > channels[add->channel].options_max)
		return -EINVAL;
	return check_counts(add, device);
}

int npc_place_ring(struct npuprof_add_ring *add, __u32 rings, __u64 data_used, __u64 data_max,
		   __u32 page, __u64 *data_bytes)
{
	__u32 record_size = npc_record_size(add->channel);
	/* Below 2^30, so no sum here comes near 64 bits. */
	__u64 bytes = ((__u64)add->slots * record_size + page - 1) / page * page;

	if (rings >= NPUPROF_MAX_RINGS)
		return -ENOSPC;
	if (data_used > data_max || bytes > data_max - data_used)
		return -ENOMEM;
	if (!add->watermark)
		add->watermark = add->slots / 2;
	if (!add->latency_ns)
		add->latency_ns = NPC_LATENCY_DEFAULT_NS;
	add->ring = rings;
	add->record_size = record_size;
	add->data_offset = data_used;
	*data_bytes = data_used + bytes;
	return 0;
}

int npc_check_control(const struct npuprof_control *control, unsigned long number)
{
	__u32 flags = number == NPUPROF_IOC_STOP ? NPUPROF_STOP_WAIT : 0;

	if ((control->flags & ~flags) || control->reserved0 || !RESERVED_ZERO(control))
		return -EINVAL;
	if (control->timeout_ns > NPC_STOP_TIMEOUT_MAX_NS)
		return -EINVAL;
	/* A timeout without waiting is a mistake of the caller. */
	if (control->timeout_ns && !(control->flags & NPUPROF_STOP_WAIT))
		return -EINVAL;
	return 0;
}

int npc_check_stats(const struct npuprof_stats *stats)
{
	return stats->flags || !RESERVED_ZERO(stats) ? -EINVAL : 0;
}

int npc_check_clock(const struct npuprof_clock *clock)
{
	return clock->flags || !RESERVED_ZERO(clock) ? -EINVAL : 0;
}
