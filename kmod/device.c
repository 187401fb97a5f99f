// SPDX-License-Identifier: GPL-2.0-only
/* One NPU: its number, its character device, its end. */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/pm_runtime.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "device.h"
#include "module.h"
#include "session.h"

/* How long a device that was found missing may turn out to be kept away by the bus only. */
#define NPUPROF_FAREWELL	(HZ / 2)

static DEFINE_IDA(npuprof_ids);
/* Structures of devices that are not freed yet, whether or not their devices are still bound. */
static atomic_t npuprof_devices;
static DECLARE_WAIT_QUEUE_HEAD(npuprof_devices_wait);

static bool npuprof_event_known(const struct npc_device *checks, enum npuprof_core_kind kind,
				__u16 event)
{
	struct npuprof_device *npu = container_of(checks, struct npuprof_device, checks);

	return npu->ops->event_known(npu, kind, event);
}

/* Of a slot, for what ends it: a timer, a wakeup, and interrupts of others in a soft timer. */
#define NPUPROF_SLOT_SPARE	(15 * NSEC_PER_USEC)

/*
 * The longest operation that is not cut accesses half as many registers again as a sample of a core
 * with all its counters; docs/kernel.md lists them. However slow the bus is, half of the slot is
 * for work.
 */
static u64 npuprof_slot_work(u64 sample_cost_ns)
{
	return NPUPROF_SLOT_NS -
	       min_t(u64, NPUPROF_SLOT_SPARE + 2 * sample_cost_ns, NPUPROF_SLOT_NS / 2);
}

static void npuprof_free_id(struct npuprof_device *npu)
{
	if (npu->id >= 0)
		ida_free(&npuprof_ids, npu->id);
	npu->id = -1;
}

static void npuprof_device_release(struct device *dev)
{
	struct npuprof_device *npu = container_of(dev, struct npuprof_device, dev);

	npuprof_free_id(npu);
	put_device(dev->parent);
	kfree(npu->core_owner);
	kfree(npu->perf.cores);
	mutex_destroy(&npu->mutex);
	npu->ops->release(npu);
	if (atomic_dec_and_test(&npuprof_devices))
		wake_up(&npuprof_devices_wait);
}

/**
 * npuprof_devices_wait_released() - wait until no code of the module is needed for a device
 *
 * Context: Process context, may sleep. After the drivers are unregistered, before the module's code
 * goes.
 */
void npuprof_devices_wait_released(void)
{
	/*
	 * The driver core may put off the last step of a device, and that step is
	 * npuprof_device_release().
	 */
	wait_event(npuprof_devices_wait, !atomic_read(&npuprof_devices));
	/* Whoever counted down to zero may still be on the way out of that function. */
	synchronize_rcu_tasks();
}

static void npuprof_gone_work(struct work_struct *work)
{
	struct npuprof_device *npu = container_of(to_delayed_work(work), struct npuprof_device,
						  gone_work);

	mutex_lock(&npu->mutex);
	if (READ_ONCE(npu->lost)) {
		/* The parent, because the device may not have got its name yet. */
		dev_err(npu->dev.parent, "npuprof%u: the device no longer answers\n",
			npuprof_number(npu));
		npuprof_sessions_remove(npu, false);
		npuprof_perf_remove(npu);
	}
	mutex_unlock(&npu->mutex);
}

/**
 * npuprof_device_count() - how many devices there are
 *
 * Context: Any context.
 * Return: their number; one that is gone counts for as long as somebody has rings of it.
 */
unsigned int npuprof_device_count(void)
{
	return atomic_read(&npuprof_devices);
}

/**
 * npuprof_device_init() - begin with a device
 * @npu: zeroed, embedded in the driver's structure
 * @parent: the hardware
 * @ops: operations of its driver
 *
 * Context: Process context, may sleep.
 * Return: 0, or a negative errno, and then the driver still owns the memory. After success the
 * structure is freed through @ops->release by npuprof_device_put().
 */
int npuprof_device_init(struct npuprof_device *npu, struct device *parent,
			const struct npuprof_pmu_ops *ops)
{
	npu->id = ida_alloc_max(&npuprof_ids, NPUPROF_DEVICES_MAX - 1, GFP_KERNEL);
	if (npu->id < 0)
		return npu->id;
	npu->ops = ops;
	/* Until it is known what anything costs; a device may interrupt before that. */
	npu->slot_work_ns = npuprof_slot_work(NPUPROF_SLOT_NS);
	mutex_init(&npu->mutex);
	raw_spin_lock_init(&npu->lock);
	INIT_LIST_HEAD(&npu->sessions);
	/* A device may vanish from now on, long before it is added. */
	INIT_DELAYED_WORK(&npu->gone_work, npuprof_gone_work);
	npuprof_perf_setup(npu);
	npu->checks.caps = &npu->caps;
	npu->checks.event_known = npuprof_event_known;

	atomic_inc(&npuprof_devices);
	device_initialize(&npu->dev);
	npu->dev.class = npuprof_class;
	/* Kept beyond cdev_device_del(): open files ask the parent for power. */
	npu->dev.parent = get_device(parent);
	npu->dev.devt = MKDEV(MAJOR(npuprof_devt), npu->id);
	npu->dev.release = npuprof_device_release;
	return 0;
}

/**
 * npuprof_device_add() - let users open the device
 * @npu: initialised, with @caps filled in as far as the device decides
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno.
 */
int npuprof_device_add(struct npuprof_device *npu)
{
	int err;

	npu->core_owner = kcalloc(npuprof_cores(npu), sizeof(*npu->core_owner), GFP_KERNEL);
	if (!npu->core_owner)
		return -ENOMEM;
	npu->slot_work_ns = npuprof_slot_work(npu->caps.sample_cost_ns);
	npu->caps.size = sizeof(npu->caps);
	npu->caps.abi_major = NPUPROF_ABI_MAJOR;
	npu->caps.abi_minor = NPUPROF_ABI_MINOR;
	npu->caps.device_id = npu->id;
	npu->caps.device_flags |= NPUPROF_DEVICE_OVERWRITE;
	npu->caps.min_period_ns = NPUPROF_PERIOD_MIN_NS;
	npu->caps.max_period_ns = NPUPROF_PERIOD_MAX_NS;
	/* Half of the memory, so that a request beyond reason fails before it hurts anybody. */
	npu->caps.max_data_bytes = min_t(u64, NPUPROF_DATA_MAX,
					 (u64)totalram_pages() / 2 << PAGE_SHIFT);
	npu->caps.record_formats = NPUPROF_RECORDS_VERSION;

	err = npuprof_perf_prepare(npu);
	if (err)
		return err;
	npu->dev.groups = npuprof_groups;
	err = dev_set_name(&npu->dev, "npuprof%d", npu->id);
	if (err)
		return err;
	cdev_init(&npu->cdev, &npuprof_fops);
	npu->cdev.owner = THIS_MODULE;
	err = cdev_device_add(&npu->cdev, &npu->dev);
	if (err)
		return err;
	npuprof_debugfs_add(npu);
	npuprof_perf_attach(npu);
	return 0;
}

/**
 * npuprof_device_del() - the driver is being unbound
 * @npu: device
 *
 * Afterwards no operation of the driver is called any more. Open files stay valid, without a
 * device.
 *
 * Context: Process context, may sleep.
 */
void npuprof_device_del(struct npuprof_device *npu)
{
	cdev_device_del(&npu->cdev, &npu->dev);
	npuprof_debugfs_del(npu);
	npuprof_perf_detach(npu);
	mutex_lock(&npu->mutex);
	npuprof_perf_pause(npu);
	npuprof_sessions_remove(npu, true);
	npuprof_perf_remove(npu);
	mutex_unlock(&npu->mutex);
	cancel_delayed_work_sync(&npu->gone_work);
	/* The next device, perhaps the same again, may have the name at once. */
	npuprof_free_id(npu);
}

/**
 * npuprof_device_put() - the driver lets go of the structure
 * @npu: initialised, and not added or deleted again
 *
 * Context: Process context, may sleep.
 */
void npuprof_device_put(struct npuprof_device *npu)
{
	/* A device that went missing before it was added. */
	cancel_delayed_work_sync(&npu->gone_work);
	/*
	 * One that was never added has a number all the same; others may hold the structure for
	 * long.
	 */
	npuprof_free_id(npu);
	put_device(&npu->dev);
}

/**
 * npuprof_device_lost() - the device no longer answers
 * @npu: device
 *
 * Requests fail from now on. Leave is taken of it later, because that needs the mutex, and because
 * the bus may still say that it can be brought back.
 *
 * Context: any; to be called once, and again after npuprof_device_found().
 */
void npuprof_device_lost(struct npuprof_device *npu)
{
	WRITE_ONCE(npu->lost, true);
	/* One of a false alarm before this may still be under way, and would come too soon. */
	mod_delayed_work(system_wq, &npu->gone_work, NPUPROF_FAREWELL);
}

/**
 * npuprof_device_found() - if the device was found missing, it may be back soon
 * @npu: device
 *
 * Context: Process context, may sleep.
 * Return: false if it is too late: leave was taken of it.
 */
bool npuprof_device_found(struct npuprof_device *npu)
{
	bool in_time;

	mutex_lock(&npu->mutex);
	in_time = !npu->gone;
	if (in_time)
		WRITE_ONCE(npu->lost, false);
	mutex_unlock(&npu->mutex);
	return in_time;
}

/**
 * npuprof_device_pause() - the device is about to lose its state: suspend or reset
 * @npu: device
 *
 * What it holds is published, and it is left alone until npuprof_device_resume().
 *
 * Context: Process context, may sleep.
 */
void npuprof_device_pause(struct npuprof_device *npu)
{
	mutex_lock(&npu->mutex);
	npuprof_perf_pause(npu);
	npuprof_sessions_pause(npu);
	mutex_unlock(&npu->mutex);
}

/**
 * npuprof_device_resume() - the device is back and knows nothing
 * @npu: device
 *
 * Running sessions go on in a new epoch.
 *
 * Context: Process context, may sleep.
 */
void npuprof_device_resume(struct npuprof_device *npu)
{
	mutex_lock(&npu->mutex);
	npuprof_sessions_resume(npu);
	npuprof_perf_resume(npu);
	mutex_unlock(&npu->mutex);
}

/**
 * npuprof_device_abandon() - nobody brought the device back after an error on the bus
 * @npu: device; it may have come back by now
 *
 * Sessions that wait for it are told, and end. Should it come back after all, new ones can be.
 *
 * Context: Process context, may sleep.
 */
void npuprof_device_abandon(struct npuprof_device *npu)
{
	mutex_lock(&npu->mutex);
	if (npu->paused && !npu->gone) {
		dev_err(npu->dev.parent,
			"npuprof%u: the bus did not bring it back after an error; its sessions end, and a reset of it may help\n",
			npuprof_number(npu));
		npuprof_sessions_abandon(npu);
	}
	mutex_unlock(&npu->mutex);
}

/**
 * npuprof_power_get() - wake the hardware and keep it awake until pm_runtime_put() of the parent
 * @npu: device
 *
 * Waking runs code of the bus and of what is above, with its locks. Whoever has those may be
 * waiting for one of ours, so none of ours is held.
 *
 * Context: Process context, may sleep. npuprof_device.mutex must not be held.
 * Return: 0, -EACCES if the system sleeps or the driver leaves, or another negative errno.
 */
int npuprof_power_get(struct npuprof_device *npu)
{
	might_sleep();
	lockdep_assert_not_held(&npu->mutex);
	return pm_runtime_resume_and_get(npu->dev.parent);
}
