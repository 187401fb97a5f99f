/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the driver of one kind of NPU provides to the rest of npuprof.
 *
 * The common part (device.c, file.c, session.c, sampler.c, memory.c) owns the character device,
 * sessions, rings and their memory, timers, wakeups, privileges and accounting. A driver for an
 * NPU knows registers: it programs them for a session, brings records from the device into rings,
 * and takes it all back.
 *
 * Contexts. "mutex" means called with npuprof_device.mutex held, in process context, with the
 * device powered. "lock" means called with npuprof_device.lock held, in any context, and within
 * NPUPROF_SLOT_NS. No operation is called once the device is gone, but any may find out that it
 * has. It then calls npuprof_device_lost() and reports nothing that the device has said: clocks and
 * counts of tasks are 0.
 */
#ifndef NPUPROF_PMU_H
#define NPUPROF_PMU_H

#include <linux/types.h>

#include "npuprof.h"

struct npuprof_device;
struct npuprof_ring;
struct npuprof_session;
struct npuprof_group;
struct npc_core_reading;

/**
 * struct npuprof_pmu_ops - a driver for one kind of NPU
 * @ring_size: bytes of driver data behind each ring, see npuprof_ring_priv()
 * @event_known: whether cores of a kind can count an event; any context
 * @sample_cost: nanoseconds of CPU time that one sample of a ring costs over registers. mutex
 * @arm: program everything for @session but let no record come yet. With @registers_only, rings
 *	that the device could write are served over registers, because they go on in the middle.
 *	On error what was done so far is taken back by @disarm. mutex
 * @open: let records come; fills clock and straddling of @control. Returns -EIO if the device
 *	refuses; @disarm follows then. mutex
 * @close: end the session's window of tasks; fills clock of @control and
 *	npuprof_session.straddling. mutex
 * @drained: true if no task of the window runs any more. mutex
 * @task_counts: bring npuprof_session.tasks_started and tasks_ended up to date. mutex
 * @publish: publish what waits in the device for @session. With @last, the device is first made
 *	to produce nothing more for it. mutex
 * @cut: count as lost to @cause, in each ring, the records that recorded tasks would still have
 *	had when a @publish with @last cut them off. May be NULL if no task leaves more than one
 *	record, at its end or never. mutex
 * @disarm: let go of registers, interrupts and DMA; nothing of @session happens in the device
 *	afterwards. Also called when the device is gone, for memory and timers. mutex
 * @poll: look at rings that the device writes, from the one behind npuprof_session.poll_next on,
 *	until all have had their turn (then poll_next is 0) or a time has come. Called from a soft
 *	timer with npuprof_session.poll_lock held; returns nanoseconds until the next round, 0 for
 *	never
 * @latch: freeze the counters of all rings of @group at one instant. Returns false if this is not
 *	worth it, and @sample then freezes those of its ring. lock
 * @sample: put one sample into @ring; @latched tells what @latch returned. Returns false if a time
 *	came before it was complete; it is then called again for the rest. lock
 * @clock: read the device clock on account of @session; 0 if the device does not answer. lock
 * @counts_per_cycle: fastest that any event of a core may count
 * @core_enable: take a core into use for perf, with all counters at rest and overflows
 *	interrupting, or let go of it. lock, like the next three
 * @counter_set: let a counter count an event from a value on, with no overflow on record; event 0
 *	is nothing
 * @counters_read: read some counters of a core (bit k: counter k, NPUPROF_CYCLES: cycles) at one
 *	instant. Returns false if the device is gone
 * @unit_total: running total of an event of a unit, over all its parts. The same
 * @release: free the structure that embeds the npuprof_device, after its last user is gone
 */
struct npuprof_pmu_ops {
	size_t ring_size;
	bool (*event_known)(struct npuprof_device *npu, enum npuprof_core_kind kind, u16 event);
	u32 (*sample_cost)(struct npuprof_device *npu, const struct npuprof_add_ring *add);
	int (*arm)(struct npuprof_session *session, bool registers_only);
	int (*open)(struct npuprof_session *session, struct npuprof_control *control);
	void (*close)(struct npuprof_session *session, struct npuprof_control *control);
	bool (*drained)(struct npuprof_session *session);
	void (*task_counts)(struct npuprof_session *session);
	void (*publish)(struct npuprof_session *session, bool last);
	void (*cut)(struct npuprof_session *session, enum npuprof_loss_cause cause);
	void (*disarm)(struct npuprof_session *session);
	u64 (*poll)(struct npuprof_session *session, u64 until);
	bool (*latch)(struct npuprof_group *group);
	bool (*sample)(struct npuprof_ring *ring, bool latched, u64 until);
	u64 (*clock)(struct npuprof_session *session);
	unsigned int counts_per_cycle;
	void (*core_enable)(struct npuprof_device *npu, unsigned int core, bool on);
	void (*counter_set)(struct npuprof_device *npu, unsigned int core, unsigned int counter,
			    u16 event, u64 value);
	bool (*counters_read)(struct npuprof_device *npu, unsigned int core, u32 counters,
			      struct npc_core_reading *reading);
	bool (*unit_total)(struct npuprof_device *npu, u32 channel, u16 event, u64 *total);
	void (*release)(struct npuprof_device *npu);
};

#endif /* NPUPROF_PMU_H */
