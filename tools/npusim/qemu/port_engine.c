// SPDX-License-Identifier: GPL-2.0-or-later
/* Time of all devices, signals between them, what is told to the guest. */
#include "port_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "port_internal.h"

/* No time that wake_at() was asked for. */
#define NO_WAKE 0

struct port_engine *port_engine_create(const struct port_engine_ops *ops, void *ctx)
{
	struct port_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ops = ops;
	e->ctx = ctx;
	e->wake = UINT64_MAX;
	return e;
}

void port_engine_destroy(struct port_engine *e)
{
	free(e->signals);
	free(e->out.data);
	free(e);
}

/* --- Output --- */

void engine_put(struct port_engine *e, const void *message, size_t size)
{
	struct bytes *out = &e->out;
	unsigned char *data;
	size_t room;

	if (!e->open)
		return;
	if (out->end + size > out->room && out->first) {
		memmove(out->data, out->data + out->first, out->end - out->first);
		out->end -= out->first;
		out->first = 0;
	}
	if (out->end + size > out->room) {
		room = out->room ? 2 * out->room : 65536;
		data = realloc(out->data, room);
		if (!data) {
			/* Half a stream is worse than none: the guest sees the end and knows that it lost the rest. */
			e->broken = true;
			return;
		}
		out->data = data;
		out->room = room;
	}
	memcpy(out->data + out->end, message, size);
	out->end += size;
}

size_t port_engine_queued(const struct port_engine *e)
{
	return e->out.end - e->out.first;
}

void engine_flush(struct port_engine *e)
{
	struct bytes *out = &e->out;
	size_t sent;

	while (out->first < out->end) {
		sent = e->ops->send(e->ctx, out->data + out->first, out->end - out->first);
		if (sent == 0)
			return;
		out->first += sent;
	}
	out->first = out->end = 0;
}

void port_engine_writable(struct port_engine *e)
{
	engine_flush(e);
	if (e->held_back && port_engine_queued(e) < OUT_LIMIT / 2) {
		e->held_back = false;
		e->ops->resume(e->ctx);
	}
}

void engine_tell_task(struct port_device *d, uint16_t type, uint64_t tag, uint64_t ns, int status)
{
	const uint32_t wanted =
		type == NPUSIM_PORT_STARTED ? NPUSIM_PORT_TELL_START : NPUSIM_PORT_TELL_END;
	const struct npusim_port_task message = {
		.header = { .size = sizeof(message),
			    .type = type,
			    .device = (uint16_t)d->index,
			    .status = status },
		.cookie = TAG_COOKIE(tag),
		.ns = ns,
	};

	if (TAG_GENERATION(tag) == d->engine->generation && TAG_FLAGS(tag) & wanted)
		engine_put(d->engine, &message, sizeof(message));
}

void engine_tell_gone(struct port_device *d)
{
	const struct npusim_port_header message = {
		.size = sizeof(message),
		.type = NPUSIM_PORT_GONE,
		.device = (uint16_t)d->index,
		.status = -ENODEV,
	};

	if (d->engine->greeted)
		engine_put(d->engine, &message, sizeof(message));
}

/* --- Time --- */

void engine_signal(struct port_engine *e, uint32_t device, uint32_t id, uint64_t ns)
{
	struct signal *signals;
	size_t room;

	if (e->signal_count == e->signal_room) {
		room = e->signal_room ? 2 * e->signal_room : 64;
		signals = realloc(e->signals, room * sizeof(*signals));
		if (!signals)
			return;
		e->signals = signals;
		e->signal_room = room;
	}
	e->signals[e->signal_count++] = (struct signal){ device, id, ns };
}

static void deliver_signals(struct port_engine *e)
{
	struct port_device *d;
	size_t i;

	/* A signal may lead to others, which are put behind it. */
	for (i = 0; i < e->signal_count; i++) {
		const struct signal s = e->signals[i];

		d = s.device < NPUSIM_PORT_DEVICES ? e->devices[s.device] : NULL;
		if (!d)
			continue;
		npusim_model_advance(d->model, s.ns);
		npusim_model_signal(d->model, s.id);
	}
	e->signal_count = 0;
}

static struct port_device *first_due(struct port_engine *e, uint64_t *ns)
{
	struct port_device *first = NULL;
	uint64_t next;
	uint32_t i;

	*ns = UINT64_MAX;
	for (i = 0; i < NPUSIM_PORT_DEVICES; i++) {
		if (!e->devices[i])
			continue;
		next = npusim_model_next_event(e->devices[i]->model);
		if (next >= *ns)
			continue;
		*ns = next;
		first = e->devices[i];
	}
	return first;
}

void port_engine_run(struct port_engine *e)
{
	const uint64_t now = e->ops->now(e->ctx);
	struct port_device *d;
	bool happened = false;
	uint64_t next;
	uint32_t i;

	/* One event after the other, so that no device runs ahead of a signal from another. */
	while ((d = first_due(e, &next)) != NULL && next <= now) {
		npusim_model_advance(d->model, next);
		deliver_signals(e);
		happened = true;
	}
	for (i = 0; i < NPUSIM_PORT_DEVICES; i++) {
		if (e->devices[i])
			npusim_model_advance(e->devices[i]->model, now);
	}
	if (!happened && now < e->wake)
		return;
	if (e->wake <= now)
		e->wake = NO_WAKE; /* that wake is used up */
	port_engine_settle(e);
}

void port_engine_settle(struct port_engine *e)
{
	uint64_t next;

	deliver_signals(e);
	port_engine_writable(e);
	first_due(e, &next);
	if (next == e->wake)
		return;
	e->wake = next;
	e->ops->wake_at(e->ctx, next);
}
