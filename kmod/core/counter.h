/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Narrow hardware counters extended to 64 bits.
 *
 * A counter is read together with its sticky overflow flag, both frozen at one instant (LATCH). The
 * wrap is seen in the value when it came back below the last reading, and in the flag when it ran
 * past it; so a counter may run for nearly two whole ranges between readings, and neither a lost
 * nor a late interrupt matters as long as someone reads in time. Counters start at half their
 * range, which makes the first interrupt come with half a range to spare.
 */
#ifndef NPUPROF_CORE_COUNTER_H
#define NPUPROF_CORE_COUNTER_H

#include "core/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_counter - one extended counter
 * @total: counted since npc_counter_start()
 * @last: raw value of the last reading
 * @bits: width of the hardware counter, 8 to 64
 */
struct npc_counter {
	__u64 total;
	__u64 last;
	__u8 bits;
};

/**
 * npc_counter_mask() - largest value of a counter
 * @bits: width of a counter, 1 to 64
 *
 * Context: Any context.
 * Return: its largest value.
 */
__u64 npc_counter_mask(unsigned int bits);

/**
 * npc_counter_preset() - half of the range of a counter
 * @bits: width of a counter, 1 to 64
 *
 * Context: Any context.
 * Return: the value, to be written to the hardware before it starts.
 */
__u64 npc_counter_preset(unsigned int bits);

/**
 * npc_counter_start() - count from zero
 * @counter: counter
 * @bits: width of the hardware counter, 8 to 64
 * @raw: where it stands
 *
 * Context: Any context.
 */
void npc_counter_start(struct npc_counter *counter, unsigned int bits, __u64 raw);

/**
 * npc_counter_update() - take one reading
 * @counter: counter
 * @raw: raw value; bits above the width are ignored
 * @overflowed: the overflow flag at the instant of @raw, set if the counter wrapped since the flag
 *	was last cleared; the caller clears it after each reading that showed it
 *
 * Context: Any context.
 * Return: what was counted since the last reading.
 */
__u64 npc_counter_update(struct npc_counter *counter, __u64 raw, bool overflowed);

/**
 * npc_counter_deadline_ns() - longest time between two readings of a counter that nobody interrupts
 * for
 * @bits: width
 * @per_second: highest rate at which it can count
 *
 * Context: Any context.
 * Return: time in which it covers half its range, NPC_TIME_NEVER if that is beyond 64 bits of
 * nanoseconds.
 */
__u64 npc_counter_deadline_ns(unsigned int bits, __u64 per_second);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_COUNTER_H */
