// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* FIFOs that the driver pops through registers. What does not fit is lost and counted. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool fifo_init(struct fifo *f, u32 depth)
{
	f->depth = depth;
	f->words = calloc(depth, REFNPU_FIFO_WORDS * sizeof(u64));
	return f->words;
}

void fifo_reset(struct fifo *f)
{
	u64 *words = f->words;
	u32 depth = f->depth;

	*f = (struct fifo){ .words = words, .depth = depth };
}

bool fifo_push(struct fifo *f, const u64 *words, u32 count, u64 clock, bool *lost)
{
	u64 *slot;
	bool first;

	*lost = f->count == f->depth;
	if (*lost) {
		first = !f->loss_noted;
		if (first)
			f->lost_first = clock;
		f->loss_noted = true;
		f->lost_last = clock;
		f->lost++;
		return first;
	}
	slot = f->words + (size_t)((f->head + f->count) % f->depth) * REFNPU_FIFO_WORDS;
	memcpy(slot, words, count * sizeof(u64));
	memset(slot + count, 0, (REFNPU_FIFO_WORDS - count) * sizeof(u64));
	f->count++;
	return f->watermark && f->count >= f->watermark;
}

u64 fifo_read(const struct fifo *f, u32 reg)
{
	if (reg >= REFNPU_FIFO_DATA(0) && reg < REFNPU_FIFO_DATA(REFNPU_FIFO_WORDS))
		return f->count ? f->words[(size_t)f->head * REFNPU_FIFO_WORDS +
					   (reg - REFNPU_FIFO_DATA(0)) / 8]
				: 0;
	switch (reg) {
	case REFNPU_FIFO_CTRL:
		return f->ctrl;
	case REFNPU_FIFO_COUNT:
		return f->count;
	case REFNPU_FIFO_WATERMARK:
		return f->watermark;
	case REFNPU_FIFO_LOST:
		return f->lost;
	case REFNPU_FIFO_LOST_FIRST:
		return f->lost_first;
	case REFNPU_FIFO_LOST_LAST:
		return f->lost_last;
	}
	return 0;
}

void fifo_write(struct fifo *f, u32 reg, u64 value)
{
	switch (reg) {
	case REFNPU_FIFO_CTRL:
		if (value & REFNPU_FIFO_FLUSH) {
			f->head = f->count = 0;
			f->lost = f->lost_first = f->lost_last = 0;
			f->loss_noted = false;
		}
		f->ctrl = value & REFNPU_FIFO_ENABLE;
		break;
	case REFNPU_FIFO_WATERMARK:
		f->watermark = (u32)value;
		break;
	case REFNPU_FIFO_POP:
		if (value > f->count)
			value = f->count;
		f->head = (u32)((f->head + value) % f->depth);
		f->count -= (u32)value;
		break;
	case REFNPU_FIFO_LOST_ACK:
		f->loss_noted = false;
		break;
	}
}
