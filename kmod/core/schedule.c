// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/schedule.h"

void npc_schedule_init(struct npc_schedule *schedule, unsigned int counters)
{
	memset(schedule, 0, sizeof(*schedule));
	if (counters > NPUPROF_MAX_COUNTERS)
		counters = NPUPROF_MAX_COUNTERS;
	schedule->counters = counters;
}

int npc_schedule_add(struct npc_schedule *schedule, const __u16 *events, unsigned int count,
		     struct npc_slots *slots)
{
	struct npc_schedule next = *schedule;
	struct npc_slots found = {.count = count};
	unsigned int i, k;

	if (count > next.counters)
		return -ENOSPC;
	for (i = 0; i < count; i++) {
		for (k = 0; k < next.used; k++)
			if (next.events[k] == events[i])
				break;
		if (k == next.used) {
			if (k == next.counters)
				return -ENOSPC;
			next.events[next.used++] = events[i];
		}
		found.slot[i] = k;
	}
	*schedule = next;
	*slots = found;
	return 0;
}

bool npc_slots_in_order(const struct npc_slots *slots)
{
	unsigned int i;

	for (i = 0; i < slots->count; i++)
		if (slots->slot[i] != i)
			return false;
	return true;
}
