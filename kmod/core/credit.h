/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Credits of a ring that the device writes by itself: the device may fill slots up to, but not
 * including, record number @limit. The driver renews the limit from the reader's tail; the device
 * drops and counts what comes beyond it, so that no word of the reader ever makes the device
 * overwrite unread records.
 */
#ifndef NPUPROF_CORE_CREDIT_H
#define NPUPROF_CORE_CREDIT_H

#include "core/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_credit - credit of one device-written ring
 * @limit: number of records the device may have written in total; only ever grows
 * @step: smallest renewal worth a register write, 1 to slots
 * @most: largest renewal at a time, for a driver that has to prepare slots for the device; all of
 *	the ring unless changed
 */
struct npc_credit {
	__u64 limit;
	__u32 step;
	__u32 most;
};

/**
 * npc_credit_init() - a fresh ring may be filled once
 * @credit: credit
 * @ring: its ring, empty
 * @step: smallest renewal worth a register write; 0 means an eighth of the ring
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_credit_init(struct npc_credit *credit, const struct npc_ring *ring, __u32 step);

/**
 * npc_credit_renew() - look at the tail and raise the limit
 * @credit: credit
 * @ring: its ring
 *
 * An unbelievable tail renews nothing. What is more than @credit->most is left for the next time.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: true if @credit->limit grew, by at least a step or as much as it may, or out of
 * exhaustion, and must be given to the device.
 */
bool npc_credit_renew(struct npc_credit *credit, struct npc_ring *ring);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_CREDIT_H */
