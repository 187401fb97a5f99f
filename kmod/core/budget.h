/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What sampling over registers may cost: a driver refuses rings that would take more than
 * NPC_LOAD_MAX of one CPU together, before they do, and says which period it could keep. Load is
 * nanoseconds of CPU time per second.
 */
#ifndef NPUPROF_CORE_BUDGET_H
#define NPUPROF_CORE_BUDGET_H

#include "core/port.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPC_LOAD_MAX 50000000ULL /* 5 % */

/**
 * npc_load() - load of a sample that is taken regularly
 * @cost_ns: what one sample takes, up to 2^32
 * @period_ns: how often there is one, not 0
 *
 * Context: Any context.
 * Return: load, rounded up.
 */
__u64 npc_load(__u64 cost_ns, __u64 period_ns);

/**
 * npc_load_admit() - ask for room beside what is there
 * @used: load admitted so far; grows on success
 * @cost_ns: cost of one sample, up to 2^32
 * @period_ns: wanted period, not 0; on refusal the shortest that would be admitted, 0 if none would
 *
 * Context: Any context.
 * Return: 0 or -ERANGE.
 */
int npc_load_admit(__u64 *used, __u64 cost_ns, __u64 *period_ns);

/**
 * npc_load_stretch() - how many times as long periods have to be, for what cannot be refused any
 * more
 * @used: load admitted so far
 * @asked: load of what comes on top, with the periods that were asked for
 *
 * Context: Any context.
 * Return: factor, 1 if there is room, ~0 if there is none at all.
 */
__u64 npc_load_stretch(__u64 used, __u64 asked);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_BUDGET_H */
