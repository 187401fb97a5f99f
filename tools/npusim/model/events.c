// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Public event numbers of the cores and the quantities they count. An event counts once per 2^shift units of
 * its quantity: the weights of the published bandwidth formulas give back the bytes. Quantities of units that a
 * core kind lacks are zero.
 */
#include "internal.h"

struct event {
	u16 number;
	u8 quantity;
	u8 shift;
};

/* Ascending by number. */
static const struct event events[] = {
	/* instructions */
	{ 0x001, Q_INSTR_VEC, 0 },
	{ 0x002, Q_SCALAR, 0 },
	{ 0x003, Q_INSTR_CUBE, 0 },
	{ 0x004, Q_INSTR_MTE1, 0 },
	{ 0x005, Q_INSTR_MTE2, 0 },
	{ 0x006, Q_INSTR_MTE3, 0 },
	{ 0x007, Q_INSTR_TOTAL, 0 },
	/* busy cycles */
	{ 0x008, Q_VEC, 0 },
	{ 0x009, Q_SCALAR, 0 },
	{ 0x00a, Q_CUBE, 0 },
	{ 0x00b, Q_MTE1, 0 },
	{ 0x00c, Q_MTE2, 0 },
	{ 0x00d, Q_MTE3, 0 },
	{ 0x00e, Q_TOTAL, 0 },
	/* L2 and main memory */
	{ 0x00f, Q_READ, 8 },
	{ 0x010, Q_WRITE, 8 },
	{ 0x012, Q_HBM_READ, 3 },
	{ 0x013, Q_HBM_WRITE, 3 },
	/* unified buffer */
	{ 0x015, Q_UB_READ, 7 },
	{ 0x016, Q_UB_WRITE, 7 },
	/* L0: a busy cube reads one tile of A and of B and updates one of C every cycle */
	{ 0x01b, Q_CUBE, 0 },
	{ 0x01c, Q_L0A_WRITE, 9 },
	{ 0x021, Q_CUBE, 0 },
	{ 0x022, Q_L0B_WRITE, 8 },
	{ 0x027, Q_L0C_READ, 8 },
	{ 0x028, Q_CUBE, 0 },
	{ 0x029, Q_COUNT, 0 }, /* vector units of this device cannot reach L0C */
	{ 0x02a, Q_CUBE, 0 },
	/* L1 */
	{ 0x031, Q_L1_READ, 9 },
	{ 0x032, Q_L1_WRITES, 0 },
	{ 0x037, Q_UB_SCALAR, 0 },
	{ 0x038, Q_UB_SCALAR, 0 },
	{ 0x03d, Q_UB_TO_GM, 7 },
	{ 0x03e, Q_GM_TO_UB, 7 },
	{ 0x043, Q_UB_VEC_READ, 5 },
	{ 0x044, Q_UB_VEC_WRITE, 5 },
	/* arithmetic */
	{ 0x049, Q_CUBE_FP16, 0 },
	{ 0x04a, Q_CUBE_INT8, 0 },
	{ 0x04b, Q_VEC_FP32, 0 },
	{ 0x04c, Q_VEC_FP16_128, 0 },
	{ 0x04d, Q_VEC_FP16_64, 0 },
	{ 0x04e, Q_VEC_INT32, 0 },
	{ 0x04f, Q_VEC_MISC, 0 },
	{ 0x054, Q_ICACHE_REQ, 0 },
	{ 0x055, Q_ICACHE_MISS, 0 },
	/* stalls of the vector unit: fixed shares of its busy cycles */
	{ 0x064, Q_VEC, 5 },
	{ 0x065, Q_VEC, 6 },
	{ 0x066, Q_VEC, 7 },
	{ 0x12c, Q_VEC, 0 },
	{ 0x206, Q_L0C_TO_L1, 7 },
	{ 0x20c, Q_L0C_OUT, 0 },
	{ 0x302, Q_MTE1, 0 },
	{ 0x303, Q_FIXPIPE, 0 },
	{ 0x416, Q_CUBE_FP16, 0 },
	{ 0x417, Q_CUBE_INT8, 0 },
	/* L2 lines */
	{ 0x500, Q_WRITE_HIT, 7 },
	{ 0x502, Q_WRITE_MISS, 7 },
	{ 0x504, Q_READ_HIT_0, 7 },
	{ 0x506, Q_READ_MISS_0, 7 },
	{ 0x508, Q_READ_HIT_1, 7 },
	{ 0x50a, Q_READ_MISS_1, 7 },
	{ 0x50c, Q_HBM_WRITE, 7 },
	{ 0x50d, Q_HBM_READ_0, 7 },
	{ 0x50e, Q_HBM_READ_1, 7 },
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

u32 event_count(void)
{
	return EVENTS;
}

int event_index(u32 event)
{
	u32 low = 0, high = EVENTS;

	while (low < high) {
		u32 mid = (low + high) / 2;

		if (events[mid].number < event)
			low = mid + 1;
		else
			high = mid;
	}
	return low < EVENTS && events[low].number == event ? (int)low : -1;
}

u64 event_value(int index, const u64 *q)
{
	return events[index].quantity == Q_COUNT ? 0
						 : q[events[index].quantity] >> events[index].shift;
}
