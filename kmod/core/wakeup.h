/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * When to wake the reader of a ring: when @watermark records came since it was last woken or last
 * read, or when the oldest of them has waited @latency_ns. Never per record, and never twice for
 * the same records.
 */
#ifndef NPUPROF_CORE_WAKEUP_H
#define NPUPROF_CORE_WAKEUP_H

#include "core/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_wakeup - wakeup state of one ring
 * @latency_ns: longest wait of a record
 * @told: head up to which the reader has been woken or has read
 * @since_ns: when the first record after @told was seen; NPC_TIME_NEVER if there is none
 * @watermark: records that wake at once, 1 to slots
 */
struct npc_wakeup {
	__u64 latency_ns;
	__u64 told;
	__u64 since_ns;
	__u32 watermark;
};

/**
 * npc_wakeup_init() - for a ring that holds nothing
 * @wakeup: filled
 * @watermark: records that wake at once, 1 to the ring's slots
 * @latency_ns: longest wait of a record
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_wakeup_init(struct npc_wakeup *wakeup, __u32 watermark, __u64 latency_ns);

/**
 * npc_wakeup_due() - decide, after records were published or time has passed
 * @wakeup: state
 * @ring: the ring; overwrite rings wake nobody
 * @now_ns: any monotonic clock, the same in all calls
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: true if the reader must be woken now; the records of the ring then count as told.
 */
bool npc_wakeup_due(struct npc_wakeup *wakeup, const struct npc_ring *ring, __u64 now_ns);

/**
 * npc_wakeup_deadline() - when to ask npc_wakeup_due() again
 * @wakeup: state
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: time in nanoseconds; NPC_TIME_NEVER: no record waits.
 */
__u64 npc_wakeup_deadline(const struct npc_wakeup *wakeup);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_WAKEUP_H */
