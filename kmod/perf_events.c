// SPDX-License-Identifier: GPL-2.0-only
/*
 * Named events of the PMUs. Those of cores are the public ones of chip generation A2 that the
 * metric groups of libprof/metrics/a2.json use, under the names that they have there; a test holds
 * both together. aic is a matrix core, aiv a vector core.
 */
#include <linux/device.h>
#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "device.h"

/**
 * struct npuprof_perf_alias - a file in events/
 * @attr: the file
 * @config: perf_event_attr.config
 */
struct npuprof_perf_alias {
	struct device_attribute attr;
	u32 config;
};

static ssize_t npuprof_alias_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 config = container_of(attr, struct npuprof_perf_alias, attr)->config;

	if (NPUPROF_CONFIG_UNIT(config))
		return sysfs_emit(buf, "event=%#x,unit=%#x\n", NPUPROF_CONFIG_EVENT(config),
				  NPUPROF_CONFIG_UNIT(config));
	return sysfs_emit(buf, "event=%#x,kind=%#x\n", NPUPROF_CONFIG_EVENT(config),
			  NPUPROF_CONFIG_KIND(config));
}

#define NPUPROF_ALIAS(_name, _config)					\
{									\
	.attr = __ATTR(_name, 0444, npuprof_alias_show, NULL),		\
	.config = _config,						\
}

#define NPUPROF_CORE_EVENT(_short, _kind, _event, _name)		\
	NPUPROF_ALIAS(_short##_##_name, NPUPROF_CONFIG_CORE(NPUPROF_CORE_##_kind, _event))

#define NPUPROF_UNIT_EVENT(_channel, _event, _name)			\
	NPUPROF_ALIAS(_name, NPUPROF_CONFIG_TOTAL(NPUPROF_CHANNEL_##_channel, _event))

static struct npuprof_perf_alias npuprof_aliases[] = {
	NPUPROF_CORE_EVENT(aic, CUBE, 0x0, cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x9, scalar_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0xc, mte2_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0xf, l2_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x10, l2_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x12, main_mem_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x13, main_mem_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x15, ub_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x16, ub_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x1b, l0a_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x1c, l0a_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x21, l0b_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x22, l0b_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x27, vec_l0c_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x28, cube_l0c_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x29, vec_l0c_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x2a, cube_l0c_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x31, l1_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x32, l1_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x37, scalar_ub_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x38, scalar_ub_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x3d, mte_ub_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x3e, mte_ub_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x43, vec_ub_read_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x44, vec_ub_write_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x49, cube_fp16_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4a, cube_int8_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4b, vec_fp32_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4c, vec_fp16_128_lane_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4d, vec_fp16_64_lane_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4e, vec_int32_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x4f, vec_misc_instr),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x54, icache_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x55, icache_misses),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x64, vec_bank_group_stall_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x65, vec_bank_stall_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x66, vec_resource_stall_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x206, l0c_to_l1_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x20c, l0c_out_requests),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x302, mte1_extra_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x303, fixpipe_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x416, cube_fp_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x417, cube_int_busy_cycles),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x500, l2_write_hits),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x502, l2_write_allocating_misses),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x504, l2_r0_read_hits),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x506, l2_r0_read_allocating_misses),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x508, l2_r1_read_hits),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x50a, l2_r1_read_allocating_misses),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x50c, main_mem_write_units),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x50d, main_mem_r0_read_units),
	NPUPROF_CORE_EVENT(aic, CUBE, 0x50e, main_mem_r1_read_units),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x0, cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x8, vec_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x9, scalar_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0xa, cube_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0xb, mte1_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0xc, mte2_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0xd, mte3_busy_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0xf, l2_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x10, l2_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x12, main_mem_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x13, main_mem_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x15, ub_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x16, ub_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x1b, l0a_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x1c, l0a_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x21, l0b_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x22, l0b_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x27, vec_l0c_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x28, cube_l0c_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x29, vec_l0c_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x2a, cube_l0c_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x31, l1_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x32, l1_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x37, scalar_ub_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x38, scalar_ub_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x3d, mte_ub_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x3e, mte_ub_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x43, vec_ub_read_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x44, vec_ub_write_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x49, cube_fp16_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4a, cube_int8_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4b, vec_fp32_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4c, vec_fp16_128_lane_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4d, vec_fp16_64_lane_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4e, vec_int32_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x4f, vec_misc_instr),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x54, icache_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x55, icache_misses),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x64, vec_bank_group_stall_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x65, vec_bank_stall_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x66, vec_resource_stall_cycles),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x206, l0c_to_l1_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x20c, l0c_out_requests),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x500, l2_write_hits),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x502, l2_write_allocating_misses),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x504, l2_r0_read_hits),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x506, l2_r0_read_allocating_misses),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x508, l2_r1_read_hits),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x50a, l2_r1_read_allocating_misses),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x50c, main_mem_write_units),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x50d, main_mem_r0_read_units),
	NPUPROF_CORE_EVENT(aiv, VECTOR, 0x50e, main_mem_r1_read_units),
	/* Totals of units: numbers as in struct npuprof_rec_bandwidth. */
	NPUPROF_UNIT_EVENT(HBM, 0, hbm_read_bytes),
	NPUPROF_UNIT_EVENT(HBM, 1, hbm_write_bytes),
	NPUPROF_UNIT_EVENT(LLC, 4, llc_read_requests),
	NPUPROF_UNIT_EVENT(LLC, 2, llc_read_hits),
	NPUPROF_UNIT_EVENT(LLC, NPUPROF_LLC_EVENTS + 4, llc_write_requests),
	NPUPROF_UNIT_EVENT(LLC, NPUPROF_LLC_EVENTS + 2, llc_write_hits),
	NPUPROF_UNIT_EVENT(L2, 0, l2_hits),
	NPUPROF_UNIT_EVENT(L2, 1, l2_misses),
	NPUPROF_UNIT_EVENT(NIC, 0, nic_receive_bytes),
	NPUPROF_UNIT_EVENT(NIC, 1, nic_transmit_bytes),
	NPUPROF_UNIT_EVENT(LINK, 0, link_receive_bytes),
	NPUPROF_UNIT_EVENT(LINK, 1, link_transmit_bytes),
	NPUPROF_UNIT_EVENT(PCIE, 0, pcie_receive_bytes),
	NPUPROF_UNIT_EVENT(PCIE, 1, pcie_transmit_bytes),
	NPUPROF_UNIT_EVENT(DVPP, 0, dvpp_busy_us),
	NPUPROF_UNIT_EVENT(DVPP, 1, dvpp_frames),
};

static struct attribute *npuprof_event_attrs[ARRAY_SIZE(npuprof_aliases) + 1];

/* Only what the device can count. */
static umode_t npuprof_event_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	struct npuprof_device *npu = npuprof_perf_device(kobj_to_dev(kobj));
	u32 config = npuprof_aliases[index].config;
	u16 event = NPUPROF_CONFIG_EVENT(config);

	if (NPUPROF_CONFIG_UNIT(config))
		return npu->caps.channels & BIT_ULL(NPUPROF_CONFIG_UNIT(config)) ? attr->mode : 0;
	if (event && !npu->ops->event_known(npu, NPUPROF_CONFIG_KIND(config), event))
		return 0;
	return attr->mode;
}

const struct attribute_group npuprof_perf_events = {
	.name = "events",
	.attrs = npuprof_event_attrs,
	.is_visible = npuprof_event_visible,
};

/**
 * npuprof_perf_events_init() - make the files' list; before the first PMU
 *
 * Context: Process context.
 */
void npuprof_perf_events_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(npuprof_aliases); i++)
		npuprof_event_attrs[i] = &npuprof_aliases[i].attr.attr;
}
