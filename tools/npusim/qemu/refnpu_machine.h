/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine of this emulator's machine: its clock is QEMU's virtual clock, its stream one virtio-serial port. */
#ifndef REFNPU_MACHINE_H
#define REFNPU_MACHINE_H

#include "port_engine.h"

struct VirtIOSerialPort;

/* Created with the first call, lives as long as the process. */
struct port_engine *refnpu_machine(void);

/* The port that messages go through; NULL: none. @return false if there is another one */
bool refnpu_machine_set_port(struct VirtIOSerialPort *port);

#endif /* REFNPU_MACHINE_H */
