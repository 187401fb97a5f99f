// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/counter.h"

#define NSEC_IN_SEC 1000000000ULL

__u64 npc_counter_mask(unsigned int bits)
{
	return bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
}

__u64 npc_counter_preset(unsigned int bits)
{
	return 1ULL << (bits - 1);
}

void npc_counter_start(struct npc_counter *counter, unsigned int bits, __u64 raw)
{
	counter->bits = bits;
	counter->total = 0;
	counter->last = raw & npc_counter_mask(bits);
}

__u64 npc_counter_update(struct npc_counter *counter, __u64 raw, bool overflowed)
{
	__u64 mask = npc_counter_mask(counter->bits);
	__u64 delta;

	raw &= mask;
	delta = (raw - counter->last) & mask;
	/* Wrapped, and yet not below the last reading: it went all the way round. */
	if (overflowed && raw >= counter->last && counter->bits < 64)
		delta += mask + 1;
	counter->last = raw;
	counter->total += delta;
	return delta;
}

__u64 npc_counter_deadline_ns(unsigned int bits, __u64 per_second)
{
	__u64 half = npc_counter_preset(bits);
	__u64 seconds, rest;

	if (!per_second)
		return NPC_TIME_NEVER;
	seconds = half / per_second;
	rest = half % per_second;
	if (seconds >= NPC_TIME_NEVER / NSEC_IN_SEC)
		return NPC_TIME_NEVER;
	/* Precision is given up before the product leaves 64 bits. */
	while (rest > NPC_TIME_NEVER / NSEC_IN_SEC) {
		rest >>= 1;
		per_second >>= 1;
	}
	return seconds * NSEC_IN_SEC + rest * NSEC_IN_SEC / per_second;
}
