// SPDX-License-Identifier: GPL-2.0-only
/* /sys/class/npuprof/npuprof<N>/; documented in docs/kernel-sysfs.md. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "device.h"
#include "module.h"

static struct npuprof_device *npuprof_of(struct device *dev)
{
	return container_of(dev, struct npuprof_device, dev);
}

/* Facts of NPUPROF_IOC_QUERY, which do not change while the device is bound. */
#define NPUPROF_FACT(name, format, value)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{											\
	const struct npuprof_query *caps = &npuprof_of(dev)->caps;			\
											\
	return sysfs_emit(buf, format "\n", value);					\
}											\
static DEVICE_ATTR_RO(name)

NPUPROF_FACT(aicpu_cores, "%u", caps->aicpu_cores);
NPUPROF_FACT(chip, "%u", caps->chip);
NPUPROF_FACT(clock_hz, "%llu", caps->clock_hz);
NPUPROF_FACT(core_hz, "%llu", caps->core_hz);
NPUPROF_FACT(counter_bits, "%u", caps->counter_bits);
NPUPROF_FACT(counters, "%u", caps->counters);
NPUPROF_FACT(cube_cores, "%u", caps->cube_cores);
NPUPROF_FACT(cycle_bits, "%u", caps->cycle_bits);
NPUPROF_FACT(model, "%s", caps->name);
NPUPROF_FACT(simulated, "%u", !!(caps->device_flags & NPUPROF_DEVICE_SIMULATED));
NPUPROF_FACT(vector_cores, "%u", caps->vector_cores);

static ssize_t abi_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct npuprof_query *caps = &npuprof_of(dev)->caps;

	return sysfs_emit(buf, "%u.%u\n", caps->abi_major, caps->abi_minor);
}
static DEVICE_ATTR_RO(abi);

static ssize_t epoch_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(npuprof_of(dev)->epoch));
}
static DEVICE_ATTR_RO(epoch);

static struct attribute *npuprof_attrs[] = {
	&dev_attr_abi.attr,
	&dev_attr_aicpu_cores.attr,
	&dev_attr_chip.attr,
	&dev_attr_clock_hz.attr,
	&dev_attr_core_hz.attr,
	&dev_attr_counter_bits.attr,
	&dev_attr_counters.attr,
	&dev_attr_cube_cores.attr,
	&dev_attr_cycle_bits.attr,
	&dev_attr_epoch.attr,
	&dev_attr_model.attr,
	&dev_attr_simulated.attr,
	&dev_attr_vector_cores.attr,
	NULL
};

static const struct attribute_group npuprof_group = {
	.attrs = npuprof_attrs,
};

const struct attribute_group *npuprof_groups[] = {
	&npuprof_group,
	NULL
};
