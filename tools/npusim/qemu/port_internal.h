/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of the engine. */
#ifndef NPUSIM_PORT_INTERNAL_H
#define NPUSIM_PORT_INTERNAL_H

#include "port_engine.h"

/* Replies and completions that may wait for the guest before its next request must. */
#define OUT_LIMIT (1u << 20)

/* A task's cookie in the model: generation [63:48], NPUSIM_PORT_TELL_* [47:40], the guest's cookie [39:0]. */
#define TAG(generation, flags, cookie)                                                             \
	((uint64_t)(generation) << 48 | (uint64_t)(flags) << 40 | (cookie))
#define TAG_GENERATION(tag) ((uint16_t)((tag) >> 48))
#define TAG_FLAGS(tag)	    ((uint32_t)((tag) >> 40) & 0xffu)
#define TAG_COOKIE(tag)	    ((tag)&NPUSIM_PORT_COOKIE_MAX)

struct port_device {
	struct port_engine *engine;
	uint32_t index;
	const struct port_device_ops *ops;
	void *ctx;
	struct npusim_model_config config;
	struct npusim_model *model;
	uint32_t tasks; /* taken and not ended */
	bool gone;
	bool asleep;
	uint64_t drop_irq; /* faults */
	bool hold_irq;
	uint32_t held; /* vectors */
	bool refuse;
	bool link_down;
	struct npusim_port_stats stats; /* the header is unused */
};

struct signal {
	uint32_t device;
	uint32_t id;
	uint64_t ns;
};

/* Bytes that grow at the end and go from the front. */
struct bytes {
	unsigned char *data;
	size_t first, end, room;
};

struct port_engine {
	const struct port_engine_ops *ops;
	void *ctx;
	struct port_device *devices[NPUSIM_PORT_DEVICES];
	struct signal *signals;
	size_t signal_count, signal_room;
	uint64_t wake; /* what the host was asked for last */

	bool open;
	bool greeted;
	bool broken;	     /* the rest of the input means nothing */
	bool held_back;	     /* input was refused because of the output */
	uint16_t generation; /* of the connection; tasks carry it in their cookies */
	unsigned char in[NPUSIM_PORT_MAX_SIZE];
	size_t in_len;
	struct bytes out;
};

/* port_engine.c */
/* Sends what the guest has room for. */
void engine_flush(struct port_engine *e);
void engine_put(struct port_engine *e, const void *message, size_t size);
void engine_tell_task(struct port_device *d, uint16_t type, uint64_t tag, uint64_t ns, int status);
void engine_tell_gone(struct port_device *d);
void engine_signal(struct port_engine *e, uint32_t device, uint32_t id, uint64_t ns);

/* port_device.c */
int device_submit(struct port_device *d, const struct npusim_task *task);
int device_insert(struct port_device *d);
int device_fault(struct port_device *d, uint32_t kind, uint64_t value);

#endif /* NPUSIM_PORT_INTERNAL_H */
