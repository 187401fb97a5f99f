// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the guest: taking them out of the stream, carrying them out. */
#include <errno.h>
#include <string.h>

#include "port_internal.h"

/* --- Requests --- */

static void reply(struct port_engine *e, const struct npusim_port_header *request, int status,
		  void *message, size_t size)
{
	struct npusim_port_header *header = message;

	*header = *request;
	header->size = (uint32_t)size;
	header->type = request->type | NPUSIM_PORT_REPLY;
	header->status = status;
	engine_put(e, message, size);
}

static void reply_status(struct port_engine *e, const struct npusim_port_header *request,
			 int status)
{
	struct npusim_port_header header;

	reply(e, request, status, &header, sizeof(header));
}

static void hello(struct port_engine *e, const struct npusim_port_hello *request)
{
	struct npusim_port_hello answer = { .version = NPUSIM_PORT_VERSION };
	uint32_t i;

	for (i = 0; i < NPUSIM_PORT_DEVICES; i++) {
		if (e->devices[i])
			answer.devices = i + 1;
	}
	e->greeted = request->version == NPUSIM_PORT_VERSION;
	reply(e, &request->header, e->greeted ? 0 : -EPROTONOSUPPORT, &answer, sizeof(answer));
}

static void info(struct port_engine *e, const struct npusim_port_header *request,
		 const struct port_device *d)
{
	const struct npusim_model_config *c = &d->config;
	struct npusim_port_info answer = {
		.cube_cores = c->cube_cores,
		.vector_cores = c->vector_cores,
		.core_mhz = c->core_mhz,
		.aicpu_cores = c->aicpu_cores,
		.clock_hz = c->clock_hz,
		.clock_start = c->clock_start,
		.clock_offset_ns = c->clock_offset_ns,
		.clock_ppm = c->clock_ppm,
		.time_scale_ppm = c->time_scale_ppm,
		.seed = c->seed,
		.jitter_ppm = c->jitter_ppm,
		.fifo_depth = c->fifo_depth,
	};

	reply(e, request, d->gone ? -ENODEV : 0, &answer,
	      d->gone ? sizeof(answer.header) : sizeof(answer));
}

static void submit(struct port_engine *e, const struct npusim_port_submit *request,
		   struct port_device *d)
{
	const uint32_t known = NPUSIM_PORT_TELL_START | NPUSIM_PORT_TELL_END;
	struct npusim_port_task refusal = { .header = request->header };
	struct npusim_task task = request->task;
	int error;

	if (request->flags & ~known || request->reserved || task.cookie > NPUSIM_PORT_COOKIE_MAX) {
		error = -EINVAL;
	} else {
		task.cookie = TAG(e->generation, request->flags, task.cookie);
		error = d ? device_submit(d, &task) : -ENODEV;
	}
	if (!error)
		return;
	refusal.header.size = sizeof(refusal);
	refusal.header.type = NPUSIM_PORT_ABORTED;
	refusal.header.status = error;
	refusal.cookie = request->task.cookie;
	refusal.ns = e->ops->now(e->ctx);
	engine_put(e, &refusal, sizeof(refusal));
}

static void event_total(struct port_engine *e, const struct npusim_port_event *request,
			struct port_device *d)
{
	struct npusim_port_event answer = *request;

	if (request->kind > 1 || request->event > UINT16_MAX) {
		reply_status(e, &request->header, -EINVAL);
		return;
	}
	answer.total =
		npusim_model_event_total(d->model, (int)request->kind, (uint16_t)request->event);
	reply(e, &request->header, 0, &answer, sizeof(answer));
}

static void records(struct port_engine *e, const struct npusim_port_records *request,
		    struct port_device *d)
{
	struct npusim_port_records answer = *request;
	int error = npusim_model_record_counts(d->model, request->channel, request->core,
					       &answer.counts);

	if (error)
		reply_status(e, &request->header, error);
	else
		reply(e, &request->header, 0, &answer, sizeof(answer));
}

static void reset(struct port_device *d)
{
	if (d->ops->reset)
		d->ops->reset(d->ctx);
	else
		port_device_reset(d);
}

/* Requests to a device; @d is NULL if there is none of that number. */
static void device_request(struct port_engine *e, const struct npusim_port_header *request,
			   struct port_device *d)
{
	const struct npusim_port_fault *fault = (const void *)request;
	struct npusim_port_totals totals;
	struct npusim_port_stats stats;

	if (!d) {
		reply_status(e, request, -ENODEV);
		return;
	}
	switch (request->type) {
	case NPUSIM_PORT_INFO:
		info(e, request, d);
		break;
	case NPUSIM_PORT_TOTALS:
		npusim_model_totals(d->model, &totals.totals);
		reply(e, request, 0, &totals, sizeof(totals));
		break;
	case NPUSIM_PORT_EVENT_TOTAL:
		event_total(e, (const void *)request, d);
		break;
	case NPUSIM_PORT_RECORDS:
		records(e, (const void *)request, d);
		break;
	case NPUSIM_PORT_STATS:
		stats = d->stats;
		reply(e, request, 0, &stats, sizeof(stats));
		break;
	case NPUSIM_PORT_RESET:
		if (!d->gone)
			reset(d);
		reply_status(e, request, d->gone ? -ENODEV : 0);
		break;
	case NPUSIM_PORT_REMOVE:
		if (d->gone) {
			reply_status(e, request, -ENODEV);
			break;
		}
		port_device_remove(d);
		reply_status(e, request, 0);
		break;
	case NPUSIM_PORT_INSERT:
		reply_status(e, request, device_insert(d));
		break;
	case NPUSIM_PORT_FAULT:
		reply_status(e, request,
			     fault->reserved ? -EINVAL
					     : device_fault(d, fault->kind, fault->value));
		break;
	}
}

static size_t request_size(uint16_t type)
{
	switch (type) {
	case NPUSIM_PORT_HELLO:
		return sizeof(struct npusim_port_hello);
	case NPUSIM_PORT_SUBMIT:
		return sizeof(struct npusim_port_submit);
	case NPUSIM_PORT_EVENT_TOTAL:
		return sizeof(struct npusim_port_event);
	case NPUSIM_PORT_FAULT:
		return sizeof(struct npusim_port_fault);
	case NPUSIM_PORT_RECORDS:
		return sizeof(struct npusim_port_records);
	case NPUSIM_PORT_INFO:
	case NPUSIM_PORT_TIME:
	case NPUSIM_PORT_TOTALS:
	case NPUSIM_PORT_STATS:
	case NPUSIM_PORT_RESET:
	case NPUSIM_PORT_REMOVE:
	case NPUSIM_PORT_INSERT:
		return sizeof(struct npusim_port_header);
	}
	return 0;
}

static void carry_out(struct port_engine *e, const struct npusim_port_header *request)
{
	const size_t size = request_size(request->type);
	struct port_device *d =
		request->device < NPUSIM_PORT_DEVICES ? e->devices[request->device] : NULL;
	struct npusim_port_time time;

	port_engine_run(e);
	if (size == 0) {
		reply_status(e, request, -ENOSYS);
	} else if (size != request->size || request->status) {
		reply_status(e, request, -EINVAL);
	} else if (request->type == NPUSIM_PORT_HELLO) {
		hello(e, (const void *)request);
	} else if (!e->greeted) {
		reply_status(e, request, -EPROTO);
	} else if (request->type == NPUSIM_PORT_TIME) {
		time.ns = e->ops->now(e->ctx);
		reply(e, request, 0, &time, sizeof(time));
	} else if (request->type == NPUSIM_PORT_SUBMIT) {
		submit(e, (const void *)request, d);
	} else {
		device_request(e, request, d);
	}
	port_engine_settle(e);
}

/* --- Input --- */

void port_engine_open(struct port_engine *e)
{
	port_engine_close(e);
	e->open = true;
}

void port_engine_close(struct port_engine *e)
{
	e->open = e->greeted = e->broken = false;
	e->in_len = 0;
	e->out.first = e->out.end = 0;
	/* Zero is no generation, so that the tag of a task is never zero, which the model would not tell of. */
	if (++e->generation == 0)
		e->generation = 1;
	if (e->held_back) {
		e->held_back = false;
		e->ops->resume(e->ctx);
	}
}

size_t port_engine_receive(struct port_engine *e, const void *data, size_t len)
{
	union {
		struct npusim_port_header header;
		uint64_t align;
		unsigned char bytes[NPUSIM_PORT_MAX_SIZE];
	} message;
	const unsigned char *from = data;
	size_t taken = 0, want, part;

	while (taken < len) {
		if (!e->open || e->broken)
			return len;
		if (port_engine_queued(e) >= OUT_LIMIT) {
			e->held_back = true;
			return taken;
		}
		want = sizeof(message.header);
		if (e->in_len >= want) {
			memcpy(&message.header, e->in, want);
			want = message.header.size;
		}
		part = want - e->in_len < len - taken ? want - e->in_len : len - taken;
		memcpy(e->in + e->in_len, from + taken, part);
		e->in_len += part;
		taken += part;
		if (e->in_len < sizeof(message.header))
			break;
		memcpy(&message.header, e->in, sizeof(message.header));
		if (message.header.size < sizeof(message.header) ||
		    message.header.size > NPUSIM_PORT_MAX_SIZE) {
			message.header.type = 0;
			reply_status(e, &message.header, -EBADMSG);
			e->broken = true;
			engine_flush(e);
			continue;
		}
		if (e->in_len < message.header.size)
			continue;
		memcpy(&message, e->in, e->in_len);
		e->in_len = 0;
		carry_out(e, &message.header);
	}
	return taken;
}
