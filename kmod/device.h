/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One NPU and its character device.
 *
 * Locks, outermost first:
 *
 *   mmap_lock
 *     npuprof_session.setup	one request at a time that adds rings or starts
 *       npuprof_device.mutex	sessions and their state, programming of the device
 *         npuprof_session.poll_lock	rings that the device writes, around DMA syncs
 *           npuprof_device.lock	producers of all rings, what interrupts and timers look
 *					at, owners
 *             refnpu.presence		whether the device is gone
 *
 * A reference to runtime power management of the parent is taken before the mutex, by
 * npuprof_power_get().
 */
#ifndef NPUPROF_DEVICE_H
#define NPUPROF_DEVICE_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/validate.h"
#include "npuprof.h"
#include "perf.h"
#include "pmu.h"

/*
 * Longest that an interrupt or timer callback works, and how many times as long other work then has
 * the CPU. Nothing is begun that would not be over by then, see npuprof_slot_end().
 */
#define NPUPROF_SLOT_NS		(50 * NSEC_PER_USEC)
#define NPUPROF_PAUSE_RATIO	3

/**
 * struct npuprof_device - one NPU
 * @dev: device of the class; its reference count is that of the structure
 * @cdev: character device
 * @ops: driver of this kind of NPU
 * @id: number in /dev/npuprof<N>
 * @caps: answer to NPUPROF_IOC_QUERY
 * @checks: what requests are checked against
 * @mutex: see above
 * @sessions: open sessions; changed under both mutex and lock
 * @lock: see above
 * @gone: the device is not there any more; set under both mutex and lock
 * @lost: it was found missing, and will be @gone; what it said since then is nothing
 * @paused: the device is suspended or being reset; set under both mutex and lock
 * @asleep: the device has no power, for want of sessions that count; under @lock
 * @window_owner: session that records tasks; under @lock like the next two
 * @channel_owner: session that samples a unit, by channel
 * @core_owner: session that samples a core, by number, matrix cores first
 * @load: CPU time per second that sampling over registers may take, as admitted; under @mutex
 * @slot_work_ns: part of a slot in which something new is begun
 * @longest_ns: longest interrupt or timer callback so far, for whomever; under @lock
 * @stagger: fraction of a period by which the last sampled group was put off; under @mutex
 * @self: account of what is done for no session
 * @gone_work: takes leave of a device that was found missing
 * @epoch: how often the device came back without its state; under @mutex
 * @last_session: number of the last session that was opened; under @mutex
 * @debugfs: directory of this device
 * @perf: what perf has of this device
 */
struct npuprof_device {
	struct device dev;
	struct cdev cdev;
	const struct npuprof_pmu_ops *ops;
	int id;
	struct npuprof_query caps;
	struct npc_device checks;

	struct mutex mutex; /* sessions and their state */
	struct list_head sessions;
	raw_spinlock_t lock; /* producers, owners, what interrupts see */
	bool gone;
	bool lost;
	bool paused;
	bool asleep;
	struct npuprof_session *window_owner;
	struct npuprof_session *channel_owner[NPUPROF_CHANNEL_COUNT];
	struct npuprof_session **core_owner;
	u64 load;
	u64 slot_work_ns;
	u64 longest_ns;
	u32 stagger;
	struct npuprof_account self;
	struct delayed_work gone_work;
	u32 epoch;
	u32 last_session;
	struct dentry *debugfs;
	struct npuprof_perf perf;
};

int npuprof_device_init(struct npuprof_device *npu, struct device *parent,
			const struct npuprof_pmu_ops *ops);
int npuprof_device_add(struct npuprof_device *npu);
void npuprof_device_del(struct npuprof_device *npu);
void npuprof_device_put(struct npuprof_device *npu);
void npuprof_device_lost(struct npuprof_device *npu);
bool npuprof_device_found(struct npuprof_device *npu);
void npuprof_device_pause(struct npuprof_device *npu);
void npuprof_device_resume(struct npuprof_device *npu);
void npuprof_device_abandon(struct npuprof_device *npu);
int npuprof_power_get(struct npuprof_device *npu);
void npuprof_devices_wait_released(void);
unsigned int npuprof_device_count(void);

/* N of /dev/npuprof<N>, also once the name is given to another device. */
static inline unsigned int npuprof_number(const struct npuprof_device *npu)
{
	return MINOR(npu->dev.devt);
}

/* Up to when something new is begun in a slot, so that it is over in time. */
static inline u64 npuprof_slot_end(const struct npuprof_device *npu, u64 begin_ns)
{
	return begin_ns + npu->slot_work_ns;
}

/*
 * Accounts for an interrupt or timer callback, or for what of it was done for somebody. A callback
 * begins before it waits for the lock: the CPU is nobody else's meanwhile.
 */
static inline void npuprof_charge(struct npuprof_device *npu, struct npuprof_account *account,
				  u64 ns)
{
	lockdep_assert_held(&npu->lock);
	atomic64_add(ns, &account->busy_ns);
	if (ns > (u64)atomic64_read(&account->max_callback_ns))
		atomic64_set(&account->max_callback_ns, ns);
	npu->longest_ns = max(npu->longest_ns, ns);
}

/* Whether interrupts and timers may touch registers. */
static inline bool npuprof_awake(const struct npuprof_device *npu)
{
	lockdep_assert_held(&npu->lock);
	return !npu->gone && !npu->paused && !npu->asleep;
}

static inline unsigned int npuprof_cores(const struct npuprof_device *npu)
{
	return npu->caps.cube_cores + npu->caps.vector_cores;
}

#endif /* NPUPROF_DEVICE_H */
