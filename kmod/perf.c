// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMUs named npuprof_<N>.
 *
 * perf cannot lose a PMU that has events: on the kernels of today it would go on using it. So a
 * PMU stays registered until the module goes, which events prevent by the reference that perf
 * takes for each. While it has no device it is parked: new events are refused with ENODEV, old
 * ones keep what they counted. The next device with the same number takes it over.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/perf_event.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "compat.h"
#include "device.h"
#include "module.h"
#include "session.h"

/* Events that do not fit take turns so often; each turn programs every core that they cover. */
#define NPUPROF_MULTIPLEX_MS	50

/**
 * struct npuprof_perf_pmu - one PMU
 * @pmu: what perf sees
 * @node: for changes of the set of CPUs
 * @npu: its device, NULL while parked; under npuprof_pmus_lock
 * @cpu: where events live
 * @name: npuprof_<N>
 * @chip: generation of its device, or of the last one; under npuprof_pmus_lock like @simulated
 * @simulated: that device's figures come from a model
 */
struct npuprof_perf_pmu {
	struct pmu pmu;
	struct hlist_node node;
	struct npuprof_device *npu;
	unsigned int cpu;
	char name[16];
	u32 chip;
	bool simulated;
};

/*
 * Two locks, because perf calls event_init with a lock held that it also takes when a PMU is
 * registered: the mutex serialises devices that come and go, the spinlock is for events.
 */
static DEFINE_MUTEX(npuprof_pmus_mutex);
static DEFINE_SPINLOCK(npuprof_pmus_lock);
static struct npuprof_perf_pmu *npuprof_pmus[NPUPROF_DEVICES_MAX];
static enum cpuhp_state npuprof_cpuhp;

static struct npuprof_perf_pmu *npuprof_pmu_of(struct pmu *pmu)
{
	return container_of(pmu, struct npuprof_perf_pmu, pmu);
}

/**
 * npuprof_perf_device() - the device behind a PMU in sysfs
 * @dev: device that perf made for the PMU
 *
 * Context: Process context, while a device that comes or goes makes sysfs files.
 * Return: the device while files of events are made; NULL if the PMU is parked.
 */
struct npuprof_device *npuprof_perf_device(struct device *dev)
{
	return npuprof_pmu_of(dev_get_drvdata(dev))->npu;
}

/* --- sysfs; the files of events are in perf_events.c --- */

PMU_FORMAT_ATTR(event, "config:0-15");
PMU_FORMAT_ATTR(kind, "config:16-19");
PMU_FORMAT_ATTR(unit, "config:20-23");
PMU_FORMAT_ATTR(core_mask, "config1:0-63");
PMU_FORMAT_ATTR(core_mask_high, "config2:0-63");

static struct attribute *npuprof_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_kind.attr,
	&format_attr_unit.attr,
	&format_attr_core_mask.attr,
	&format_attr_core_mask_high.attr,
	NULL
};

static const struct attribute_group npuprof_format_group = {
	.name = "format",
	.attrs = npuprof_format_attrs,
};

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npuprof_perf_pmu *mine = npuprof_pmu_of(dev_get_drvdata(dev));

	return cpumap_print_to_pagebuf(true, buf, cpumask_of(READ_ONCE(mine->cpu)));
}
static DEVICE_ATTR_RO(cpumask);

static ssize_t identifier_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npuprof_perf_pmu *mine = npuprof_pmu_of(dev_get_drvdata(dev));
	bool simulated;
	u32 chip;

	spin_lock(&npuprof_pmus_lock);
	chip = mine->chip;
	simulated = mine->simulated;
	spin_unlock(&npuprof_pmus_lock);
	return sysfs_emit(buf, "npuprof-%u%s\n", chip, simulated ? "-simulated" : "");
}
static DEVICE_ATTR_RO(identifier);

static struct attribute *npuprof_pmu_attrs[] = {
	&dev_attr_cpumask.attr,
	&dev_attr_identifier.attr,
	NULL
};

static const struct attribute_group npuprof_pmu_group = {
	.attrs = npuprof_pmu_attrs,
};

static const struct attribute_group *npuprof_pmu_groups[] = {
	&npuprof_format_group,
	&npuprof_perf_events,
	&npuprof_pmu_group,
	NULL
};

/* --- Events come and go --- */

/* Takes a reference to the device for an event, and one to its power. */
static struct npuprof_device *npuprof_get_powered(struct npuprof_perf_pmu *mine)
{
	struct npuprof_device *npu;
	int err = -ENODEV;

	spin_lock(&npuprof_pmus_lock);
	npu = mine->npu;
	if (npu)
		get_device(&npu->dev);
	spin_unlock(&npuprof_pmus_lock);
	if (!npu)
		return ERR_PTR(-ENODEV);

	/* Disabled is as good as powered. */
	if (!READ_ONCE(npu->gone)) {
		err = npuprof_power_get(npu);
		if (err == -EACCES) {
			pm_runtime_get_noresume(npu->dev.parent);
			err = 0;
		}
	}
	if (err)
		goto put;
	mutex_lock(&npu->mutex);
	err = npu->gone ? -ENODEV : 0;
	if (!err)
		npu->perf.power++;
	mutex_unlock(&npu->mutex);
	if (!err)
		return npu;
	pm_runtime_put(npu->dev.parent);
put:
	put_device(&npu->dev);
	return ERR_PTR(err);
}

static void npuprof_put_powered(struct npuprof_device *npu)
{
	mutex_lock(&npu->mutex);
	/* None is left if the device went, see npuprof_perf_remove(). */
	if (npu->perf.power) {
		npu->perf.power--;
		pm_runtime_put(npu->dev.parent);
	}
	mutex_unlock(&npu->mutex);
	put_device(&npu->dev);
}

static void npuprof_event_destroy(struct perf_event *event)
{
	npuprof_put_powered(event->pmu_private);
}

static int npuprof_event_init(struct perf_event *event)
{
	struct npuprof_perf_pmu *mine = npuprof_pmu_of(event->pmu);
	struct npuprof_device *npu;
	int err;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/*
	 * The NPU knows nothing of the host's tasks, and interrupts for nobody's program
	 * counter.
	 */
	if (is_sampling_event(event) || event->attach_state & PERF_ATTACH_TASK)
		return -EOPNOTSUPP;
	if (has_branch_stack(event) || event->cpu < 0)
		return -EOPNOTSUPP;

	npu = npuprof_get_powered(mine);
	if (IS_ERR(npu))
		return PTR_ERR(npu);
	event->pmu_private = npu;
	err = npuprof_perf_check(npu, event);
	if (err) {
		event->pmu_private = NULL;
		npuprof_put_powered(npu);
		return err;
	}
	event->cpu = READ_ONCE(mine->cpu);
	event->hw.idx = -1;
	event->destroy = npuprof_event_destroy;
	return 0;
}

/* --- The set of CPUs changes --- */

static void npuprof_pmu_move(struct npuprof_perf_pmu *mine, unsigned int target)
{
	perf_pmu_migrate_context(&mine->pmu, mine->cpu, target);
	WRITE_ONCE(mine->cpu, target);
}

static int npuprof_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct npuprof_perf_pmu *mine = hlist_entry(node, struct npuprof_perf_pmu, node);

	/* It went before anybody asked to be told. */
	if (!cpu_online(mine->cpu))
		npuprof_pmu_move(mine, cpu);
	return 0;
}

static int npuprof_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct npuprof_perf_pmu *mine = hlist_entry(node, struct npuprof_perf_pmu, node);
	unsigned int target;

	if (cpu != mine->cpu)
		return 0;
	target = cpumask_any_but(cpu_online_mask, cpu);
	if (target >= nr_cpu_ids)
		return 0;
	npuprof_pmu_move(mine, target);
	return 0;
}

/* --- Devices come and go --- */

/* What sysfs tells of a PMU is that of its device. */
static void npuprof_pmu_assign(struct npuprof_perf_pmu *mine, struct npuprof_device *npu)
{
	spin_lock(&npuprof_pmus_lock);
	mine->npu = npu;
	mine->chip = npu->caps.chip;
	mine->simulated = npu->caps.device_flags & NPUPROF_DEVICE_SIMULATED;
	spin_unlock(&npuprof_pmus_lock);
}

static struct npuprof_perf_pmu *npuprof_pmu_create(struct npuprof_device *npu)
{
	struct npuprof_perf_pmu *mine = kzalloc(sizeof(*mine), GFP_KERNEL);
	int err = -ENOMEM;

	if (!mine)
		return ERR_PTR(-ENOMEM);
	mine->pmu = (struct pmu){
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_NO_EXCLUDE,
		.hrtimer_interval_ms = NPUPROF_MULTIPLEX_MS,
		.attr_groups = npuprof_pmu_groups,
		.event_init = npuprof_event_init,
		.add = npuprof_perf_add,
		.del = npuprof_perf_del,
		.start = npuprof_perf_start,
		.stop = npuprof_perf_stop,
		.read = npuprof_perf_read,
	};
	/* Before it is registered: tools may look at its files at once. */
	npuprof_pmu_assign(mine, npu);
	mine->cpu = cpumask_any(cpu_online_mask);
	snprintf(mine->name, sizeof(mine->name), "npuprof_%u", npuprof_number(npu));
	/*
	 * CPUs that come and go move events from context to context, and before it is registered
	 * a PMU has none.
	 */
	err = perf_pmu_register(&mine->pmu, mine->name, -1);
	if (err)
		goto no_pmu;
	err = cpuhp_state_add_instance(npuprof_cpuhp, &mine->node);
	if (err)
		goto no_cpu;
	return mine;

no_cpu:
	/*
	 * The PMU is public and may have events, which must not happen. It does not: adding fails
	 * only where npuprof_cpu_online() does, and that returns 0.
	 */
	perf_pmu_unregister(&mine->pmu);
no_pmu:
	kfree(mine);
	return ERR_PTR(err);
}

/**
 * npuprof_perf_setup() - make what can be stopped and removed at any time from now on
 * @npu: device that is being initialised
 *
 * Context: Process context.
 */
void npuprof_perf_setup(struct npuprof_device *npu)
{
	INIT_LIST_HEAD(&npu->perf.active);
	hrtimer_setup(&npu->perf.timer, npuprof_perf_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * npuprof_perf_prepare() - get what counting needs
 * @npu: device whose number of cores is known
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int npuprof_perf_prepare(struct npuprof_device *npu)
{
	npu->perf.cores = kcalloc(npuprof_cores(npu), sizeof(*npu->perf.cores), GFP_KERNEL);
	return npu->perf.cores ? 0 : -ENOMEM;
}

/* A device takes over a PMU that was parked. It may count other events than the one before. */
static int npuprof_pmu_adopt(struct npuprof_perf_pmu *mine, struct npuprof_device *npu)
{
	npuprof_pmu_assign(mine, npu);
	return sysfs_update_group(&mine->pmu.dev->kobj, &npuprof_perf_events);
}

/**
 * npuprof_perf_attach() - let perf count on a device
 * @npu: device
 *
 * Without perf the device is still good for sessions, so a failure is only told.
 *
 * Context: Process context, may sleep.
 */
void npuprof_perf_attach(struct npuprof_device *npu)
{
	struct npuprof_perf_pmu *mine;
	int err = 0;

	mutex_lock(&npuprof_pmus_mutex);
	mine = npuprof_pmus[npuprof_number(npu)];
	if (mine) {
		err = npuprof_pmu_adopt(mine, npu);
		if (err)
			dev_warn(&npu->dev, "no list of its events for perf: error %d\n", err);
	} else {
		mine = npuprof_pmu_create(npu);
		if (IS_ERR(mine))
			dev_warn(&npu->dev, "perf cannot count on it: error %ld\n", PTR_ERR(mine));
		else
			npuprof_pmus[npuprof_number(npu)] = mine;
	}
	mutex_unlock(&npuprof_pmus_mutex);
}

/**
 * npuprof_perf_detach() - no new events for a device
 * @npu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex must not be held.
 */
void npuprof_perf_detach(struct npuprof_device *npu)
{
	struct npuprof_perf_pmu *mine;

	lockdep_assert_not_held(&npu->mutex);
	mutex_lock(&npuprof_pmus_mutex);
	mine = npuprof_pmus[npuprof_number(npu)];
	spin_lock(&npuprof_pmus_lock);
	if (mine && mine->npu == npu)
		mine->npu = NULL;
	spin_unlock(&npuprof_pmus_lock);
	mutex_unlock(&npuprof_pmus_mutex);
}

/**
 * npuprof_perf_remove() - the device is gone
 * @npu: device, with @gone set
 *
 * Context: Process context, may sleep. npuprof_device.mutex is held.
 */
void npuprof_perf_remove(struct npuprof_device *npu)
{
	unsigned long flags;

	lockdep_assert_held(&npu->mutex);
	flags = npuprof_lock(npu);
	npu->perf.off = true;
	npuprof_unlock(npu, flags);
	hrtimer_cancel(&npu->perf.timer);
	for (; npu->perf.power; npu->perf.power--)
		pm_runtime_put(npu->dev.parent);
}

/**
 * npuprof_perf_init() - get ready for devices
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno.
 */
int npuprof_perf_init(void)
{
	int state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/npuprof:online",
					    npuprof_cpu_online, npuprof_cpu_offline);

	if (state < 0)
		return state;
	npuprof_cpuhp = state;
	npuprof_perf_events_init();
	return 0;
}

/**
 * npuprof_perf_exit() - take all PMUs away; no event is left, or the module would not go
 *
 * Context: Process context, may sleep.
 */
void npuprof_perf_exit(void)
{
	unsigned int i;

	for (i = 0; i < NPUPROF_DEVICES_MAX; i++) {
		if (!npuprof_pmus[i])
			continue;
		/* First, because a CPU that goes asks for the contexts of the PMU. */
		cpuhp_state_remove_instance_nocalls(npuprof_cpuhp, &npuprof_pmus[i]->node);
		perf_pmu_unregister(&npuprof_pmus[i]->pmu);
		kfree(npuprof_pmus[i]);
	}
	cpuhp_remove_multi_state(npuprof_cpuhp);
}
