// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/credit.h"

void npc_credit_init(struct npc_credit *credit, const struct npc_ring *ring, __u32 step)
{
	if (!step)
		step = ring->slots / 8 ? ring->slots / 8 : 1;
	credit->step = step;
	credit->most = ring->slots;
	credit->limit = ring->head + ring->slots;
}

bool npc_credit_renew(struct npc_credit *credit, struct npc_ring *ring)
{
	/* Pending is slots for a tail that cannot be believed, which offers no more than is there.
	 */
	__u64 limit = ring->head + ring->slots - npc_ring_pending(ring);
	__u64 gain = limit - credit->limit;
	bool exhausted = credit->limit == ring->head;

	/* A limit behind the present one comes from a tail that went back: keep what was given. */
	if (!gain || gain > ring->slots)
		return false;
	if (gain < credit->step && !exhausted)
		return false;
	credit->limit += gain < credit->most ? gain : credit->most;
	npc_ring_promise(ring, credit->limit);
	return true;
}
