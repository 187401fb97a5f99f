/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which event is counted by which counter of a core kind. The rings of a session share the counters
 * of the cores: an event wanted by two rings takes one counter, and a list that does not fit with
 * what is there is refused as a whole. Nothing is multiplexed.
 */
#ifndef NPUPROF_CORE_SCHEDULE_H
#define NPUPROF_CORE_SCHEDULE_H

#include "core/port.h"
#include "npuprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_schedule - counters of one core kind
 * @events: event of each used counter
 * @used: counters in use; they are the first ones
 * @counters: counters there are, at most NPUPROF_MAX_COUNTERS
 */
struct npc_schedule {
	__u16 events[NPUPROF_MAX_COUNTERS];
	__u8 used;
	__u8 counters;
};

/**
 * struct npc_slots - where a ring's events are counted
 * @slot: counter of each event in the order of the ring's list
 * @count: number of events
 */
struct npc_slots {
	__u8 slot[NPUPROF_MAX_COUNTERS];
	__u8 count;
};

/**
 * npc_schedule_init() - no counter in use
 * @schedule: filled
 * @counters: how many counters there are; more than NPUPROF_MAX_COUNTERS are not used
 *
 * Context: Any context.
 */
void npc_schedule_init(struct npc_schedule *schedule, unsigned int counters);

/**
 * npc_schedule_add() - find counters for a list of events
 * @schedule: counters of the core kind
 * @events: events without duplicates
 * @count: number of events
 * @slots: returned: where they are counted
 *
 * Context: Any context.
 * Return: 0, or -ENOSPC if there are not enough counters; nothing has changed then.
 */
int npc_schedule_add(struct npc_schedule *schedule, const __u16 *events, unsigned int count,
		     struct npc_slots *slots);

/**
 * npc_slots_in_order() - whether the order of events is that of the counters
 * @slots: where the events of a ring are counted
 *
 * Context: Any context.
 * Return: true if event k is counted by counter k, for all of them.
 */
bool npc_slots_in_order(const struct npc_slots *slots);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_SCHEDULE_H */
