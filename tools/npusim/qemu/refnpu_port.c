// SPDX-License-Identifier: GPL-2.0-or-later
/* The virtio-serial port through which a guest's runtime submits tasks to all reference NPUs of the machine. */
#include "qemu/osdep.h"

#include "hw/qdev-core.h"
#include "hw/virtio/virtio-serial.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qemu/module.h"

#include "refnpu_machine.h"

#define TYPE_NPUSIM_PORT "npusim-port"

static void set_guest_connected(VirtIOSerialPort *port, int connected)
{
	if (connected)
		port_engine_open(refnpu_machine());
	else
		port_engine_close(refnpu_machine());
}

static void guest_writable(VirtIOSerialPort *port)
{
	port_engine_writable(refnpu_machine());
}

static ssize_t have_data(VirtIOSerialPort *port, const uint8_t *data, ssize_t len)
{
	size_t taken = port_engine_receive(refnpu_machine(), data, (size_t)len);

	/* What was not taken stays in the guest's queue, and at last the guest's write has to wait. */
	if (taken < (size_t)len)
		virtio_serial_throttle_port(port, true);
	return (ssize_t)taken;
}

static void realize(DeviceState *dev, Error **errp)
{
	VirtIOSerialPort *port = VIRTIO_SERIAL_PORT(dev);

	if (!refnpu_machine_set_port(port)) {
		error_setg(errp, TYPE_NPUSIM_PORT
			   ": the machine has one already, and it serves every refnpu");
		return;
	}
	virtio_serial_open(port);
}

static void unrealize(DeviceState *dev)
{
	port_engine_close(refnpu_machine());
	refnpu_machine_set_port(NULL);
}

static const VMStateDescription vmstate = {
	.name = TYPE_NPUSIM_PORT,
	.unmigratable = 1,
};

static void class_init(ObjectClass *klass, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);
	VirtIOSerialPortClass *pc = VIRTIO_SERIAL_PORT_CLASS(klass);

	dc->desc = "submission port of the reference NPUs (npuprof)";
	dc->vmsd = &vmstate;
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
	pc->realize = realize;
	pc->unrealize = unrealize;
	pc->set_guest_connected = set_guest_connected;
	pc->guest_writable = guest_writable;
	pc->have_data = have_data;
}

static const TypeInfo type = {
	.name = TYPE_NPUSIM_PORT,
	.parent = TYPE_VIRTIO_SERIAL_PORT,
	.instance_size = sizeof(VirtIOSerialPort),
	.class_init = class_init,
};

static void register_types(void)
{
	type_register_static(&type);
}

type_init(register_types)
