/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a runtime and simulated NPUs in another machine (a QEMU that hosts the model) say to each other over a
 * byte stream, such as a virtio-serial port. Tasks reach the NPUs this way and no other; profilers never use it.
 *
 * Each message begins with a header. Its size is fixed by its type; all numbers are little-endian, all reserved
 * bytes zero:
 *
 *	 0        4      6        8          12       16
 *	+--------+------+--------+----------+--------+------------------------- - -
 *	|  size  | type | device | sequence | status |  body
 *	+--------+------+--------+----------+--------+------------------------- - -
 *	  u32     u16    u16      u32        s32
 *
 *	HELLO, INFO, TIME, TOTALS, EVENT_TOTAL, STATS, RESET, REMOVE, INSERT, FAULT, RECORDS
 *		request of the runtime. Answered in order by one reply: type | NPUSIM_PORT_REPLY, the request's
 *		device and sequence, status 0 or a negative errno of Linux. A refused request's reply has no body.
 *	SUBMIT	has no reply. The task's cookie comes back in STARTED, and then in ENDED or ABORTED; ABORTED alone
 *		tells that the task was refused.
 *	GONE	the device went away for good or until somebody inserts one; all its tasks were told ABORTED before.
 *
 * The first message is HELLO. Times are nanoseconds of the clock that TIME tells. Whoever opens the stream anew
 * starts anew: what is left of earlier messages and replies is forgotten, earlier tasks run on and nobody is told.
 *
 * A message of a known size but unknown type, or one whose values are out of range, is refused with a reply. If a
 * size cannot be right the rest of the stream means nothing: one reply of type NPUSIM_PORT_REPLY with -EBADMSG is the
 * last that is heard until the stream is opened anew.
 */
#ifndef NPUSIM_PORT_H
#define NPUSIM_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "npusim_model.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the messages are used in memory as they are, which takes a little-endian machine"
#endif

#define NPUSIM_PORT_VERSION    2u
#define NPUSIM_PORT_DEVICES    16u
#define NPUSIM_PORT_MAX_SIZE   512u /* of any message */
/** Largest cookie; more bits would not come back. */
#define NPUSIM_PORT_COOKIE_MAX ((1ull << 40) - 1)
/** Tasks that a device takes before it refuses more with -ENOSPC. */
#define NPUSIM_PORT_MAX_TASKS  (1u << 20)

enum npusim_port_type {
	NPUSIM_PORT_HELLO = 1,	 /* npusim_port_hello both ways; device: 0 */
	NPUSIM_PORT_INFO,	 /* no body; reply npusim_port_info */
	NPUSIM_PORT_TIME,	 /* no body; reply npusim_port_time; device: 0 */
	NPUSIM_PORT_SUBMIT,	 /* npusim_port_submit */
	NPUSIM_PORT_TOTALS,	 /* no body; reply npusim_port_totals */
	NPUSIM_PORT_EVENT_TOTAL, /* npusim_port_event both ways */
	NPUSIM_PORT_STATS,	 /* no body; reply npusim_port_stats */
	NPUSIM_PORT_RESET, /* no body either way: power-on reset, as a function-level reset does it */
	NPUSIM_PORT_REMOVE, /* no body either way: the device goes at once, as if pulled out */
	NPUSIM_PORT_INSERT, /* no body either way: a new device in its place. -EEXIST: the old one is there */
	NPUSIM_PORT_FAULT,   /* npusim_port_fault, reply without body */
	NPUSIM_PORT_RECORDS, /* npusim_port_records both ways */

	NPUSIM_PORT_STARTED = 0x100, /* npusim_port_task */
	NPUSIM_PORT_ENDED,	     /* npusim_port_task */
	NPUSIM_PORT_ABORTED, /* npusim_port_task; status says why: -EIO reset, -ENODEV gone, else refused */
	NPUSIM_PORT_GONE, /* no body */

	NPUSIM_PORT_REPLY = 0x8000
};

struct npusim_port_header {
	uint32_t size; /* of the message, header included */
	uint16_t type;
	uint16_t device;
	uint32_t sequence; /* of a request; 0 in what is no reply */
	int32_t status;	   /* 0 in requests */
};

struct npusim_port_hello {
	struct npusim_port_header header;
	uint32_t
		version; /* NPUSIM_PORT_VERSION; a reply with -EPROTONOSUPPORT has a body too and tells the other's */
	uint32_t devices; /* reply: highest device number + 1 */
};

struct npusim_port_info {
	struct npusim_port_header header;
	uint32_t cube_cores;
	uint32_t vector_cores;
	uint32_t core_mhz;
	uint32_t aicpu_cores;
	uint64_t clock_hz;
	uint64_t clock_start;
	int64_t clock_offset_ns;
	int32_t clock_ppm;
	uint32_t time_scale_ppm;
	uint64_t seed;
	uint32_t jitter_ppm;
	uint32_t fifo_depth;
};

struct npusim_port_time {
	struct npusim_port_header header;
	uint64_t ns;
};

#define NPUSIM_PORT_TELL_START 0x1u /* send STARTED */
#define NPUSIM_PORT_TELL_END   0x2u /* send ENDED or ABORTED. A refusal is told either way */

struct npusim_port_submit {
	struct npusim_port_header header;
	uint32_t flags; /* NPUSIM_PORT_TELL_* */
	uint32_t reserved;
	struct npusim_task task; /* cookie: up to NPUSIM_PORT_COOKIE_MAX */
};

struct npusim_port_task {
	struct npusim_port_header header;
	uint64_t cookie;
	uint64_t ns;
};

struct npusim_port_totals {
	struct npusim_port_header header;
	struct npusim_totals totals;
};

struct npusim_port_event {
	struct npusim_port_header header;
	uint32_t kind;	/* core kind: 0 cube, 1 vector */
	uint32_t event; /* public number, 0 to 65535 */
	uint64_t total; /* reply */
};

struct npusim_port_records {
	struct npusim_port_header header;
	uint32_t channel;		    /* enum npuprof_channel */
	uint32_t core;			    /* cube cores first, NPUSIM_NO_CORE */
	struct npusim_record_counts counts; /* reply */
};

/** What the host of the model did for it; all counts since the device was created. */
struct npusim_port_stats {
	struct npusim_port_header header;
	uint64_t interrupts;	     /* raised by the device, dropped and held ones included */
	uint64_t interrupts_dropped; /* by NPUSIM_PORT_FAULT_DROP_IRQ */
	uint64_t interrupts_held;    /* by NPUSIM_PORT_FAULT_HOLD_IRQ, delivered later */
	uint64_t dma_writes;
	uint64_t dma_bytes;
	uint64_t
		dma_blocked; /* writes lost because bus mastering was off, the device slept or the address is no memory */
	uint64_t resets; /* function-level, bus and system resets */
	uint64_t sleeps; /* times that the device entered D3hot */
};

enum npusim_port_fault_kind {
	NPUSIM_PORT_FAULT_DROP_IRQ =
		1, /* value: so many interrupts of task FIFOs (vector 0) are swallowed */
	NPUSIM_PORT_FAULT_HOLD_IRQ, /* value 1: interrupts are held back; 0: held ones are delivered, once each */
	NPUSIM_PORT_FAULT_REFUSE, /* value 1: windows do not open, queues report an error; 0: all is well again */
	/* value 1: the link is down: reads give all ones, writes, interrupts and DMA go nowhere. 0, or a reset of the bus: up */
	NPUSIM_PORT_FAULT_LINK,
	NPUSIM_PORT_FAULT_KINDS
};

struct npusim_port_fault {
	struct npusim_port_header header;
	uint32_t kind;
	uint32_t reserved;
	uint64_t value;
};

#ifdef __cplusplus
#define NPUSIM_PORT_ASSERT(what) static_assert(what, #what)
#else
#define NPUSIM_PORT_ASSERT(what) _Static_assert(what, #what)
#endif

NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_header) == 16);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_hello) == 24);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_info) == 80);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_time) == 24);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_work) == 120);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_task) == 200);
NPUSIM_PORT_ASSERT(offsetof(struct npusim_task, step_index) == 32);
NPUSIM_PORT_ASSERT(offsetof(struct npusim_task, work) == 80);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_submit) == 224);
NPUSIM_PORT_ASSERT(offsetof(struct npusim_port_submit, task) == 24);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_task) == 32);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_totals) == 344);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_totals) == 360);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_event) == 32);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_records) == 40);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_stats) == 80);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_fault) == 32);
NPUSIM_PORT_ASSERT(sizeof(struct npusim_port_totals) <= NPUSIM_PORT_MAX_SIZE);

#endif /* NPUSIM_PORT_H */
