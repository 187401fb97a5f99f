// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What will happen when: a binary heap ordered by time, then by order of insertion; and pools of
 * fixed items. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bool earlier(const struct timed *a, const struct timed *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->seq < b->seq;
}

void heap_push(struct heap *h, u64 ns, enum timed_kind kind, void *ptr, u16 arg, u32 gen)
{
	/* Blocks of a task are reported before its end at the same instant frees them. */
	u64 late = kind == TIMED_BLOCK ? 0 : 1ull << 63;
	struct timed e = { .ns = ns,
			   .seq = h->seq++ | late,
			   .ptr = ptr,
			   .kind = (u16)kind,
			   .arg = arg,
			   .gen = gen };
	size_t i;

	if (h->count == h->room) {
		size_t room = h->room ? 2 * h->room : 256;
		struct timed *v = realloc(h->v, room * sizeof(*v));

		if (!v)
			abort(); /* losing an event would silently lose a task */
		h->v = v;
		h->room = room;
	}
	i = h->count++;
	while (i) {
		size_t up = (i - 1) / 2;

		if (!earlier(&e, &h->v[up]))
			break;
		h->v[i] = h->v[up];
		i = up;
	}
	h->v[i] = e;
}

void heap_pop(struct heap *h, struct timed *out)
{
	struct timed e;
	size_t i = 0;

	*out = h->v[0];
	e = h->v[--h->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && earlier(&h->v[child + 1], &h->v[child]))
			child++;
		if (!earlier(&h->v[child], &e))
			break;
		h->v[i] = h->v[child];
		i = child;
	}
	h->v[i] = e;
}

#define SLAB_ITEMS 64

void *pool_get(struct pool *p)
{
	void *item;

	if (!p->free) {
		char *slab = malloc(sizeof(void *) + SLAB_ITEMS * p->size);
		int i;

		if (!slab)
			return NULL;
		*(void **)slab = p->slabs;
		p->slabs = slab;
		for (i = SLAB_ITEMS - 1; i >= 0; i--)
			pool_put(p, slab + sizeof(void *) + (size_t)i * p->size);
	}
	item = p->free;
	p->free = *(void **)item;
	return item;
}

void pool_put(struct pool *p, void *item)
{
	*(void **)item = p->free;
	p->free = item;
}

void pool_destroy(struct pool *p)
{
	while (p->slabs) {
		void *slab = p->slabs;

		p->slabs = *(void **)slab;
		free(slab);
	}
	p->free = NULL;
}
