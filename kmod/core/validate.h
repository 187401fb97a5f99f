/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Checks of everything a caller hands over: structure sizes, flags, reserved fields, ranges. All
 * functions return 0 or a negative errno and change nothing but their output.
 */
#ifndef NPUPROF_CORE_VALIDATE_H
#define NPUPROF_CORE_VALIDATE_H

#include "core/port.h"
#include "npuprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first published size of each structure: everything but the reserved words at its end. */
#define NPC_QUERY_SIZE_MIN    128
#define NPC_ADD_RING_SIZE_MIN 96
#define NPC_CONTROL_SIZE_MIN  40
#define NPC_STATS_SIZE_MIN    72
#define NPC_CLOCK_SIZE_MIN    32
#define NPC_SIZE_MAX	      4096 /* of any structure, however new the caller */

/* npuprof_add_ring.core of channels that belong to no core */
#define NPC_CORE_DEVICE		0xffff
#define NPC_LATENCY_DEFAULT_NS	100000000ULL
#define NPC_LATENCY_MAX_NS	60000000000ULL
#define NPC_STOP_TIMEOUT_MAX_NS 600000000000ULL

/**
 * struct npc_request - one request number of the ABI
 * @known: sizeof() of the structure here
 * @minimum: its first published size
 */
struct npc_request {
	__u32 known;
	__u32 minimum;
};

/**
 * npc_request_find() - look up a request number
 * @request: as given to ioctl(); the size encoded in it is the caller's and plays no part
 * @number: returned: NPUPROF_IOC_* as this header knows it
 * @found: returned: its sizes
 *
 * Context: Any context.
 * Return: 0 or -ENOTTY.
 */
int npc_request_find(unsigned long request, unsigned long *number, struct npc_request *found);

/**
 * npc_copy_in() - take over a caller's structure of any age
 * @to: structure of @request->known bytes, zero-filled beyond what the caller has
 * @from: the caller's structure, @size bytes readable
 * @size: its first word, read once
 * @request: sizes known here
 *
 * Context: Any context.
 * Return: 0, -EINVAL (shorter than the first published size), -E2BIG (longer, and the part unknown
 * here is not zero, or beyond NPC_SIZE_MAX).
 */
int npc_copy_in(void *to, const void *from, __u32 size, const struct npc_request *request);

/**
 * npc_copy_out() - give back what fits, but not the first word, the size
 * @to: the caller's structure
 * @from: structure as known here
 * @size: bytes that the caller has
 * @request: sizes known here
 *
 * Context: Any context.
 */
void npc_copy_out(void *to, const void *from, __u32 size, const struct npc_request *request);

/**
 * npc_record_size() - how large a record of a channel is
 * @channel: enum npuprof_channel
 *
 * Context: Any context.
 * Return: bytes, 0 if the channel is unknown.
 */
__u32 npc_record_size(__u32 channel);

/**
 * npc_channel_per_core() - whether each core has a ring of its own
 * @channel: enum npuprof_channel
 *
 * Context: Any context.
 * Return: true if so.
 */
bool npc_channel_per_core(__u32 channel);

/**
 * npc_channel_sampled() - whether records come every period
 * @channel: enum npuprof_channel
 *
 * Context: Any context.
 * Return: true if so.
 */
bool npc_channel_sampled(__u32 channel);

/**
 * npc_check_query() - flags of a query
 * @query: request
 *
 * Context: Any context.
 * Return: 0 or -EINVAL.
 */
int npc_check_query(const struct npuprof_query *query);

/**
 * struct npc_device - what requests are checked against
 * @caps: the device's answer to NPUPROF_IOC_QUERY
 * @event_known: true if cores of this kind can count the event; @device is the structure itself
 */
struct npc_device {
	const struct npuprof_query *caps;
	bool (*event_known)(const struct npc_device *device, enum npuprof_core_kind kind,
			    __u16 event);
};

/**
 * npc_check_add_ring() - everything that can be said of a ring without looking at other rings
 * @add: request
 * @device: what it is checked against
 *
 * Context: Any context.
 * Return: 0, -EINVAL (flags, reserved fields, ranges, duplicates in an event list, events for cores
 * the ring is not about, both paths asked for), -EOPNOTSUPP (channel, event or mode the device does
 * not have).
 */
int npc_check_add_ring(const struct npuprof_add_ring *add, const struct npc_device *device);

/**
 * npc_place_ring() - give a checked ring its defaults and its place
 * @add: checked request; watermark, latency_ns, ring, record_size and data_offset are set
 * @rings: rings of the session so far
 * @data_used: bytes of the session's data area so far
 * @data_max: bytes it may have
 * @page: page size
 * @data_bytes: returned: size of the data area with this ring
 *
 * Context: Any context.
 * Return: 0, -ENOSPC (too many rings), -ENOMEM (data limit); nothing is set then.
 */
int npc_place_ring(struct npuprof_add_ring *add, __u32 rings, __u64 data_used, __u64 data_max,
		   __u32 page, __u64 *data_bytes);

/**
 * npc_check_control() - START, STOP, FREEZE or FLUSH
 * @control: request
 * @number: NPUPROF_IOC_START ...
 *
 * Context: Any context.
 * Return: 0 or -EINVAL.
 */
int npc_check_control(const struct npuprof_control *control, unsigned long number);

/**
 * npc_check_stats() - flags of a statistics request
 * @stats: request
 *
 * Context: Any context.
 * Return: 0 or -EINVAL.
 */
int npc_check_stats(const struct npuprof_stats *stats);

/**
 * npc_check_clock() - flags of a clock request
 * @clock: request
 *
 * Context: Any context.
 * Return: 0 or -EINVAL.
 */
int npc_check_clock(const struct npuprof_clock *clock);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_VALIDATE_H */
