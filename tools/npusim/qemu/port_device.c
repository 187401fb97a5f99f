// SPDX-License-Identifier: GPL-2.0-or-later
/* One NPU: its model, its power, the faults put into it. */
#include <errno.h>
#include <stdlib.h>

#include "port_internal.h"
#include "refnpu_regs.h"

#define FIFO_VECTOR 0

static bool reachable(const struct port_device *d)
{
	return !d->gone && !d->asleep && !d->link_down;
}

/* --- Calls of the model --- */

static void deliver_irq(struct port_device *d, uint32_t vector)
{
	if (d->ops->irq)
		d->ops->irq(d->ctx, vector);
}

static void on_irq(void *ctx, uint32_t vector)
{
	struct port_device *d = ctx;

	if (!reachable(d))
		return;
	d->stats.interrupts++;
	if (vector == FIFO_VECTOR && d->drop_irq) {
		d->drop_irq--;
		d->stats.interrupts_dropped++;
	} else if (d->hold_irq) {
		d->held |= 1u << vector;
		d->stats.interrupts_held++;
	} else {
		deliver_irq(d, vector);
	}
}

static void on_dma(void *ctx, uint64_t addr, const void *data, size_t len)
{
	struct port_device *d = ctx;

	if (!reachable(d) || !d->ops->dma_write || !d->ops->dma_write(d->ctx, addr, data, len)) {
		d->stats.dma_blocked++;
		return;
	}
	d->stats.dma_writes++;
	d->stats.dma_bytes += len;
}

static void on_started(void *ctx, uint64_t tag, uint64_t ns)
{
	engine_tell_task(ctx, NPUSIM_PORT_STARTED, tag, ns, 0);
}

static void on_ended(void *ctx, uint64_t tag, uint64_t ns)
{
	struct port_device *d = ctx;

	d->tasks--;
	engine_tell_task(d, NPUSIM_PORT_ENDED, tag, ns, 0);
}

static void on_aborted(void *ctx, uint64_t tag, uint64_t ns)
{
	struct port_device *d = ctx;

	d->tasks--;
	engine_tell_task(d, NPUSIM_PORT_ABORTED, tag, ns, d->gone ? -ENODEV : -EIO);
}

static void on_notify_peer(void *ctx, uint32_t peer, uint32_t id, uint64_t ns)
{
	struct port_device *d = ctx;

	engine_signal(d->engine, peer, id, ns);
}

static const struct npusim_model_ops model_ops = {
	.irq = on_irq,
	.dma_write = on_dma,
	.task_started = on_started,
	.task_ended = on_ended,
	.task_aborted = on_aborted,
	.notify_peer = on_notify_peer,
};

/* --- Life --- */

static int power_up(struct port_device *d)
{
	struct npusim_model *model;

	d->config.origin_ns = d->engine->ops->now(d->engine->ctx);
	model = npusim_model_create(&d->config, &model_ops, d);
	if (!model)
		return -EINVAL;
	npusim_model_destroy(d->model);
	d->model = model;
	d->gone = d->asleep = d->hold_irq = d->refuse = d->link_down = false;
	d->drop_irq = d->held = 0;
	d->stats = (struct npusim_port_stats){ 0 };
	return 0;
}

struct port_device *port_device_attach(struct port_engine *e, uint32_t index,
				       const struct npusim_model_config *config,
				       const struct port_device_ops *ops, void *ctx, int *error)
{
	struct port_device *d;

	*error = -EINVAL;
	if (index >= NPUSIM_PORT_DEVICES)
		return NULL;
	*error = -EEXIST;
	if (e->devices[index])
		return NULL;
	*error = -ENOMEM;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->engine = e;
	d->index = index;
	d->config = *config;
	d->ops = ops;
	d->ctx = ctx;
	*error = power_up(d);
	if (*error) {
		free(d);
		return NULL;
	}
	e->devices[index] = d;
	return d;
}

void port_device_detach(struct port_device *d)
{
	struct port_engine *e = d->engine;

	if (!d->gone) {
		d->gone = true;
		npusim_model_remove(d->model);
		engine_tell_gone(d);
	}
	e->devices[d->index] = NULL;
	port_engine_settle(e);
	npusim_model_destroy(d->model);
	free(d);
}

void port_device_reset(struct port_device *d)
{
	if (d->gone)
		return;
	/* Powered up at this very moment, as all devices are when a machine starts with a reset: nothing to undo. */
	if (d->config.origin_ns == d->engine->ops->now(d->engine->ctx))
		return;
	port_engine_run(d->engine);
	d->asleep = d->link_down = false;
	d->held = 0;
	d->stats.resets++;
	npusim_model_reset(d->model);
	port_engine_settle(d->engine);
}

void port_device_sleep(struct port_device *d, bool asleep)
{
	if (d->gone || d->asleep == asleep)
		return;
	port_engine_run(d->engine);
	d->asleep = asleep;
	if (!asleep)
		return;
	d->stats.sleeps++;
	/* Held interrupts are on their way and arrive all the same. */
	npusim_model_lose_registers(d->model);
	port_engine_settle(d->engine);
}

void port_device_remove(struct port_device *d)
{
	if (d->gone)
		return;
	port_engine_run(d->engine);
	d->gone = true;
	npusim_model_remove(d->model);
	engine_tell_gone(d);
	if (d->ops->removed)
		d->ops->removed(d->ctx);
	port_engine_settle(d->engine);
}

bool port_device_gone(const struct port_device *d)
{
	return d->gone;
}

bool port_device_on_bus(const struct port_device *d)
{
	return !d->gone && !d->link_down;
}

int device_insert(struct port_device *d)
{
	int error;

	if (!d->gone)
		return -EEXIST;
	error = power_up(d);
	if (!error && d->ops->inserted)
		d->ops->inserted(d->ctx);
	return error;
}

/* --- Registers --- */

static bool is_queue_ctrl(uint32_t offset)
{
	return offset >= REFNPU_QUEUE(0, 0) && offset < REFNPU_QUEUE(REFNPU_MAX_QUEUES, 0) &&
	       (offset - REFNPU_QUEUE(0, 0)) % (REFNPU_QUEUE(1, 0) - REFNPU_QUEUE(0, 0)) ==
		       REFNPU_QUEUE_CTRL;
}

static uint64_t refused(uint32_t offset, uint64_t value)
{
	return is_queue_ctrl(offset) ? (value & ~(uint64_t)REFNPU_QUEUE_ENABLE) | REFNPU_QUEUE_ERROR
				     : value;
}

static bool refuses(uint32_t offset, uint64_t value)
{
	if (offset == REFNPU_TRACE_WINDOW)
		return value & 1;
	return is_queue_ctrl(offset) && value & REFNPU_QUEUE_ENABLE;
}

uint64_t port_device_read(struct port_device *d, uint32_t offset, unsigned int size)
{
	uint64_t value;

	port_engine_run(d->engine);
	if (!reachable(d))
		return UINT64_MAX;
	value = size == 8 ? npusim_model_read64(d->model, offset)
			  : npusim_model_read32(d->model, offset);
	return d->refuse ? refused(offset, value) : value;
}

void port_device_write(struct port_device *d, uint32_t offset, uint64_t value, unsigned int size)
{
	port_engine_run(d->engine);
	if (!reachable(d) || (d->refuse && refuses(offset, value)))
		return;
	if (size == 8)
		npusim_model_write64(d->model, offset, value);
	else
		npusim_model_write32(d->model, offset, (uint32_t)value);
	port_engine_settle(d->engine);
}

/* --- Requests --- */

int device_submit(struct port_device *d, const struct npusim_task *task)
{
	int error;

	if (d->gone)
		return -ENODEV;
	if (d->tasks >= NPUSIM_PORT_MAX_TASKS)
		return -ENOSPC;
	error = npusim_model_submit(d->model, task);
	d->tasks += error == 0;
	return error;
}

int device_fault(struct port_device *d, uint32_t kind, uint64_t value)
{
	uint32_t held;

	if (d->gone)
		return -ENODEV;
	if (kind != NPUSIM_PORT_FAULT_DROP_IRQ && value > 1)
		return -EINVAL;
	switch (kind) {
	case NPUSIM_PORT_FAULT_DROP_IRQ:
		d->drop_irq = value;
		return 0;
	case NPUSIM_PORT_FAULT_HOLD_IRQ:
		d->hold_irq = value;
		held = value ? 0 : d->held;
		for (d->held = value ? d->held : 0; held; held &= held - 1)
			deliver_irq(d, (uint32_t)__builtin_ctz(held));
		return 0;
	case NPUSIM_PORT_FAULT_REFUSE:
		d->refuse = value;
		return 0;
	case NPUSIM_PORT_FAULT_LINK:
		d->link_down = value;
		return 0;
	}
	return -EINVAL;
}
