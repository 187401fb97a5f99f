/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated NPUs of one machine and the device side of npusim_port.h, without any emulator: time passes in all
 * models together, signals go between them, messages come in and go out. Passive like the model: its host tells it
 * when to look (port_engine_run) and is told when to come back (wake_at). One caller at a time; operations must not
 * call back except where it is said.
 */
#ifndef NPUSIM_PORT_ENGINE_H
#define NPUSIM_PORT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npusim_model.h"
#include "npusim_port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct port_engine;
struct port_device;

/* The machine. */
struct port_engine_ops {
	uint64_t (*now)(void *ctx);
	/* port_engine_run() is wanted at @ns, UINT64_MAX: never. Replaces what was wanted before. */
	void (*wake_at)(void *ctx, uint64_t ns);
	/* Takes bytes for the guest. @return how many; fewer than @len: call port_engine_writable() when there is room */
	size_t (*send)(void *ctx, const void *data, size_t len);
	/* Input that port_engine_receive() left over may be offered again: soon, not from within this call. */
	void (*resume)(void *ctx);
};

/* One NPU's connection to the machine. Any may be NULL. */
struct port_device_ops {
	void (*irq)(void *ctx, uint32_t vector);
	/* @return false if the write did not reach memory */
	bool (*dma_write)(void *ctx, uint64_t addr, const void *data, size_t len);
	/* RESET: the host resets the whole device, port_device_reset() included. NULL: the model alone is reset. */
	void (*reset)(void *ctx);
	/* The device just went (REMOVE), or a new one is in its place (INSERT). */
	void (*removed)(void *ctx);
	void (*inserted)(void *ctx);
};

/* @return NULL if memory is short */
struct port_engine *port_engine_create(const struct port_engine_ops *ops, void *ctx);
/* All devices must be detached. */
void port_engine_destroy(struct port_engine *e);

/* Lets time pass in all devices until now, then settles. */
void port_engine_run(struct port_engine *e);
/* To be called after whatever may have changed a model: delivers signals, sends messages, asks for the next wake. */
void port_engine_settle(struct port_engine *e);

/* The guest opened the stream, or closed it. */
void port_engine_open(struct port_engine *e);
void port_engine_close(struct port_engine *e);
/*
 * Bytes from the guest; whole messages are carried out.
 * @return bytes taken. Fewer than @len: the guest does not read its replies; offer the rest after resume()
 */
size_t port_engine_receive(struct port_engine *e, const void *data, size_t len);
/* The guest made room. */
void port_engine_writable(struct port_engine *e);
/* Bytes that wait for room. */
size_t port_engine_queued(const struct port_engine *e);

/*
 * A new device, powered on now. @config: origin_ns is filled in.
 * @return NULL with *error -EINVAL (@config or @index out of range), -EEXIST (@index is taken) or -ENOMEM
 */
struct port_device *port_device_attach(struct port_engine *e, uint32_t index,
				       const struct npusim_model_config *config,
				       const struct port_device_ops *ops, void *ctx, int *error);
/* Takes it away for good; a guest is told that it is gone. */
void port_device_detach(struct port_device *d);

/* Register accesses of the driver at the current time; @size 4 or 8. A device that is gone or asleep: all ones. */
uint64_t port_device_read(struct port_device *d, uint32_t offset, unsigned int size);
void port_device_write(struct port_device *d, uint32_t offset, uint64_t value, unsigned int size);

/* Power-on reset: tasks are aborted, registers and clock start anew. */
void port_device_reset(struct port_device *d);
/*
 * D3hot: registers lose what they hold, no interrupts, no DMA. The device's computing goes on: it is powered apart
 * and tasks do not come through the PCI function.
 */
void port_device_sleep(struct port_device *d, bool asleep);
/* Surprise removal. */
void port_device_remove(struct port_device *d);
bool port_device_gone(const struct port_device *d);
/* Whether configuration space answers: not gone, and the link is up. */
bool port_device_on_bus(const struct port_device *d);

#ifdef __cplusplus
}
#endif
#endif /* NPUSIM_PORT_ENGINE_H */
