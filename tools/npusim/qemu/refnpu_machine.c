// SPDX-License-Identifier: GPL-2.0-or-later
/* Engine, time and submission port of one QEMU process. Everything here runs under QEMU's big lock. */
#include "qemu/osdep.h"

#include "hw/qdev-core.h"
#include "hw/virtio/virtio-serial.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/timer.h"

#include "refnpu_machine.h"

static struct port_engine *engine;
static VirtIOSerialPort *the_port;
static QEMUTimer *timer;

/* --- Time --- */

static uint64_t now(void *ctx)
{
	return (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void wake_at(void *ctx, uint64_t ns)
{
	if (ns > INT64_MAX)
		timer_del(timer);
	else
		timer_mod_ns(timer, (int64_t)ns);
}

static void on_timer(void *ctx)
{
	port_engine_run(engine);
}

/* --- The stream --- */

static size_t send_bytes(void *ctx, const void *data, size_t len)
{
	ssize_t sent = the_port ? virtio_serial_write(the_port, data, len) : 0;

	return sent > 0 ? (size_t)sent : 0;
}

static void resume(void *ctx)
{
	virtio_serial_throttle_port(the_port, false);
}

static const struct port_engine_ops engine_ops = {
	.now = now,
	.wake_at = wake_at,
	.send = send_bytes,
	.resume = resume,
};

struct port_engine *refnpu_machine(void)
{
	if (!engine) {
		timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, on_timer, NULL);
		engine = port_engine_create(&engine_ops, NULL);
		if (!engine)
			g_error("refnpu: out of memory");
	}
	return engine;
}

bool refnpu_machine_set_port(struct VirtIOSerialPort *port)
{
	if (port && the_port)
		return false;
	the_port = port;
	return true;
}
