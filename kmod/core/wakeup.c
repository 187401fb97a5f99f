// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/wakeup.h"

void npc_wakeup_init(struct npc_wakeup *wakeup, __u32 watermark, __u64 latency_ns)
{
	wakeup->watermark = watermark;
	wakeup->latency_ns = latency_ns;
	wakeup->told = 0;
	wakeup->since_ns = NPC_TIME_NEVER;
}

bool npc_wakeup_due(struct npc_wakeup *wakeup, const struct npc_ring *ring, __u64 now_ns)
{
	__u64 pending = npc_ring_pending(ring);
	__u64 fresh = ring->head - wakeup->told;

	if (ring->overwrite)
		return false;
	/* A reader that came by itself knows of everything before its tail. */
	if (pending < fresh) {
		fresh = pending;
		wakeup->told = ring->head - pending;
		wakeup->since_ns = NPC_TIME_NEVER;
	}
	if (!fresh) {
		wakeup->since_ns = NPC_TIME_NEVER;
		return false;
	}
	if (wakeup->since_ns == NPC_TIME_NEVER)
		wakeup->since_ns = now_ns;
	if (fresh < wakeup->watermark && now_ns - wakeup->since_ns < wakeup->latency_ns)
		return false;
	wakeup->told = ring->head;
	wakeup->since_ns = NPC_TIME_NEVER;
	return true;
}

__u64 npc_wakeup_deadline(const struct npc_wakeup *wakeup)
{
	__u64 deadline;

	if (wakeup->since_ns == NPC_TIME_NEVER)
		return NPC_TIME_NEVER;
	deadline = wakeup->since_ns + wakeup->latency_ns;
	return deadline < wakeup->since_ns ? NPC_TIME_NEVER : deadline;
}
