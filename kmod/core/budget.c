// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/budget.h"

#define NSEC_IN_SEC 1000000000ULL

__u64 npc_load(__u64 cost_ns, __u64 period_ns)
{
	__u64 product = cost_ns * NSEC_IN_SEC;

	return product / period_ns + (product % period_ns ? 1 : 0);
}

__u64 npc_load_stretch(__u64 used, __u64 asked)
{
	__u64 left = used < NPC_LOAD_MAX ? NPC_LOAD_MAX - used : 0;

	if (asked <= left)
		return 1;
	return left ? asked / left + (asked % left ? 1 : 0) : ~0ULL;
}

int npc_load_admit(__u64 *used, __u64 cost_ns, __u64 *period_ns)
{
	__u64 left = *used < NPC_LOAD_MAX ? NPC_LOAD_MAX - *used : 0;
	__u64 load = npc_load(cost_ns, *period_ns);

	if (load <= left) {
		*used += load;
		return 0;
	}
	/* Load and period change places: the period that costs what is left. */
	*period_ns = left ? npc_load(cost_ns, left) : 0;
	return -ERANGE;
}
