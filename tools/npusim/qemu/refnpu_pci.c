// SPDX-License-Identifier: GPL-2.0-or-later
/* The reference NPU as a PCI Express endpoint (docs/reference-npu.md, "As a PCI device"). */
#include "qemu/osdep.h"

#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pci_bridge.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qemu/module.h"

#include "refnpu_machine.h"
#include "refnpu_regs.h"

#define TYPE_REFNPU "refnpu"
OBJECT_DECLARE_SIMPLE_TYPE(RefNpu, REFNPU)

#define PCI_CLASS_ACCELERATOR 0x1200
#define PM_OFFSET	      0x60
#define EXPRESS_OFFSET	      0x80
#define ERRORS_OFFSET	      0x100

struct RefNpu {
	PCIDevice pci;
	MemoryRegion registers;
	struct port_device *device;
	uint32_t index;
	struct npusim_model_config config;
	uint32_t clock_mhz;
	bool waking; /* the reset under way is the one that comes with leaving D3hot */
};

/* --- Registers, interrupts, memory --- */

static uint64_t registers_read(void *opaque, hwaddr offset, unsigned int size)
{
	RefNpu *s = opaque;

	return port_device_read(s->device, (uint32_t)offset, size);
}

static void registers_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
	RefNpu *s = opaque;

	port_device_write(s->device, (uint32_t)offset, value, size);
}

static const MemoryRegionOps registers_ops = {
	.read = registers_read,
	.write = registers_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 8 },
	.impl = { .min_access_size = 4, .max_access_size = 8 },
};

static void on_irq(void *ctx, uint32_t vector)
{
	RefNpu *s = ctx;

	if (msix_enabled(&s->pci))
		msix_notify(&s->pci, vector);
}

static bool on_dma(void *ctx, uint64_t addr, const void *data, size_t len)
{
	RefNpu *s = ctx;
	AddressSpace *memory = pci_get_address_space(&s->pci);

	/* Without bus mastering nothing is mapped here. */
	if (len == 8 && addr % 8 == 0) {
		MemTxResult result;
		uint64_t value = ldq_le_p(data);

		/* It may publish what was written before: it must not be seen earlier, and never by halves. */
		smp_mb_release();
		address_space_stq_le(memory, addr, value, MEMTXATTRS_UNSPECIFIED, &result);
		return result == MEMTX_OK;
	}
	return address_space_write(memory, addr, MEMTXATTRS_UNSPECIFIED, data, len) == MEMTX_OK;
}

/* --- Coming and going --- */

/* The port above, if it is a slot for hot-plugging. */
static PCIDevice *slot_of(RefNpu *s)
{
	PCIDevice *port = pci_bridge_get_device(pci_get_bus(&s->pci));

	if (!port || !pci_is_express(port) || !port->exp.exp_cap)
		return NULL;
	return pci_get_long(port->config + port->exp.exp_cap + PCI_EXP_SLTCAP) & PCI_EXP_SLTCAP_HPC
		       ? port
		       : NULL;
}

/*
 * What a slot does when its card is pulled out or put in: presence and link change, and an interrupt unless one is
 * pending. QEMU knows only removals that the guest agreed to, so it has no function for this.
 */
static void tell_slot(RefNpu *s, bool present)
{
	PCIDevice *port = slot_of(s);
	uint16_t status;
	uint8_t *express;

	if (!port)
		return;
	express = port->config + port->exp.exp_cap;
	status = pci_get_word(express + PCI_EXP_SLTSTA);
	status = present ? status | PCI_EXP_SLTSTA_PDS : status & ~PCI_EXP_SLTSTA_PDS;
	pci_set_word(express + PCI_EXP_SLTSTA, status | PCI_EXP_SLTSTA_PDC);
	if (present)
		pci_word_test_and_set_mask(express + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_DLLLA);
	else
		pci_word_test_and_clear_mask(express + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_DLLLA);
	/*
	 * Linux asks for changes of the link rather than of presence where there is an attention
	 * button, but this port cannot keep that bit; the event's name in the status is enough for it.
	 */
	if (!(pci_get_word(express + PCI_EXP_SLTCTL) & PCI_EXP_SLTCTL_HPIE))
		return;
	if (msix_enabled(port))
		msix_notify(port, pcie_cap_flags_get_vector(port));
	else if (msi_enabled(port))
		msi_notify(port, pcie_cap_flags_get_vector(port));
	else
		pci_set_irq(port, 1);
}

static void on_removed(void *ctx)
{
	tell_slot(ctx, false);
}

static void on_inserted(void *ctx)
{
	RefNpu *s = ctx;

	pci_device_reset(&s->pci);
	tell_slot(s, true);
}

static void on_reset(void *ctx)
{
	RefNpu *s = ctx;

	pci_device_reset(&s->pci);
}

static const struct port_device_ops device_ops = {
	.irq = on_irq,
	.dma_write = on_dma,
	.reset = on_reset,
	.removed = on_removed,
	.inserted = on_inserted,
};

/* --- Configuration space: power states, resets --- */

static uint8_t *power_control(RefNpu *s)
{
	return s->pci.config + s->pci.exp.pm_cap + PCI_PM_CTRL;
}

static unsigned int power_state(RefNpu *s)
{
	return pci_get_word(power_control(s)) & PCI_PM_CTRL_STATE_MASK;
}

static void power_changed(RefNpu *s, unsigned int before)
{
	const unsigned int after = power_state(s);

	if (before == after)
		return;
	if (after != 0 && after != 3) {
		/* D1 and D2 are not offered; a write of them changes nothing. */
		pci_set_word(power_control(s),
			     (pci_get_word(power_control(s)) & ~PCI_PM_CTRL_STATE_MASK) | before);
		return;
	}
	if (after == 3) {
		port_device_sleep(s->device, true);
		return;
	}
	/* No_Soft_Reset is clear: the function comes back with its configuration at its defaults. */
	s->waking = true;
	pci_device_reset(&s->pci);
	s->waking = false;
	port_device_sleep(s->device, false);
}

static uint32_t config_read(PCIDevice *pci, uint32_t address, int len)
{
	if (!port_device_on_bus(REFNPU(pci)->device))
		return UINT32_MAX >> (32 - 8 * len);
	return pci_default_read_config(pci, address, len);
}

static void config_write(PCIDevice *pci, uint32_t address, uint32_t value, int len)
{
	RefNpu *s = REFNPU(pci);
	const unsigned int before = power_state(s);

	if (!port_device_on_bus(s->device))
		return;
	pci_default_write_config(pci, address, value, len);
	pcie_cap_flr_write_config(pci, address, value, len);
	pcie_aer_write_config(pci, address, value, len);
	power_changed(s, before);
}

/* Reset of the machine or the bus, function-level reset, RESET through the port. */
static void reset(DeviceState *dev)
{
	RefNpu *s = REFNPU(dev);

	if (s->waking)
		return;
	pci_word_test_and_clear_mask(power_control(s), PCI_PM_CTRL_STATE_MASK);
	port_device_reset(s->device);
}

/* --- The device as a property of QEMU's --- */

static bool get_removed(Object *obj, Error **errp)
{
	RefNpu *s = REFNPU(obj);

	return s->device && port_device_gone(s->device);
}

static void set_removed(Object *obj, bool removed, Error **errp)
{
	RefNpu *s = REFNPU(obj);

	if (!s->device || !removed)
		error_setg(errp, TYPE_REFNPU
			   ": \"removed\" can only be set, and only on a device that is there");
	else
		port_device_remove(s->device);
}

static bool check_config(RefNpu *s, Error **errp)
{
	const struct npusim_model_config *c = &s->config;
	const struct {
		const char *name;
		int64_t value, low, high;
	} limits[] = {
		{ "index", s->index, 0, NPUSIM_PORT_DEVICES - 1 },
		{ "cube-cores", c->cube_cores, 1, 128 },
		{ "vector-cores", c->vector_cores, 1, 128 },
		{ "core-mhz", c->core_mhz, 1, 10000 },
		{ "clock-mhz", s->clock_mhz, 1, 10000 },
		{ "clock-ppm", c->clock_ppm, -100000, 100000 },
		{ "clock-offset-ns", c->clock_offset_ns, -315360000000000000, 315360000000000000 },
		{ "time-scale-ppm", c->time_scale_ppm, 1, 1000000000 },
		{ "fifo-depth", c->fifo_depth, 1, 65535 },
		{ "block-fifo-depth", c->block_fifo_depth, 1, 65535 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (limits[i].value >= limits[i].low && limits[i].value <= limits[i].high)
			continue;
		error_setg(errp,
			   TYPE_REFNPU ": %s=%" PRId64
				       " is not allowed: it takes a whole number from %" PRId64
				       " to %" PRId64,
			   limits[i].name, limits[i].value, limits[i].low, limits[i].high);
		return false;
	}
	return true;
}

static void realize(PCIDevice *pci, Error **errp)
{
	RefNpu *s = REFNPU(pci);
	int error, vector;

	if (!check_config(s, errp))
		return;
	s->config.clock_hz = s->clock_mhz * 1000000ull;
	/* As in process: a seed other than 0 makes equal kernels differ by up to 1 %. */
	s->config.jitter_ppm = s->config.seed ? 10000 : 0;
	s->config.seed += s->index;
	if (pcie_endpoint_cap_init(pci, EXPRESS_OFFSET) < 0) {
		error_setg(errp, TYPE_REFNPU ": no PCI Express capability");
		return;
	}
	pcie_cap_flr_init(pci);
	error = pci_add_capability(pci, PCI_CAP_ID_PM, PM_OFFSET, PCI_PM_SIZEOF, errp);
	if (error < 0)
		return;
	pci->exp.pm_cap = PM_OFFSET;
	pci_set_word(pci->config + PM_OFFSET + PCI_PM_PMC, 3);
	pci_set_word(pci->wmask + PM_OFFSET + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	memory_region_init_io(&s->registers, OBJECT(s), &registers_ops, s, "refnpu",
			      REFNPU_REGION_SIZE);
	pci_register_bar(pci, REFNPU_PCI_BAR,
			 PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64,
			 &s->registers);
	if (msix_init_exclusive_bar(pci, REFNPU_INT_VECTORS, REFNPU_PCI_MSIX_BAR, errp))
		return;
	for (vector = 0; vector < REFNPU_INT_VECTORS; vector++)
		msix_vector_use(pci, vector);
	/* Errors are reported below a root port only; elsewhere nobody asks. */
	if (pcie_aer_init(pci, PCI_ERR_VER, ERRORS_OFFSET, PCI_ERR_SIZEOF, errp) < 0) {
		msix_uninit_exclusive_bar(pci);
		return;
	}
	s->device =
		port_device_attach(refnpu_machine(), s->index, &s->config, &device_ops, s, &error);
	if (s->device)
		return;
	pcie_aer_exit(pci);
	msix_uninit_exclusive_bar(pci);
	if (error == -EEXIST)
		error_setg(errp, TYPE_REFNPU ": index=%u is taken by another device", s->index);
	else
		error_setg_errno(errp, -error, TYPE_REFNPU ": the device cannot be created");
}

static void unrealize(PCIDevice *pci)
{
	RefNpu *s = REFNPU(pci);

	port_device_detach(s->device);
	s->device = NULL;
	pcie_aer_exit(pci);
	msix_uninit_exclusive_bar(pci);
}

static Property properties[] = {
	DEFINE_PROP_UINT32("index", RefNpu, index, 0),
	DEFINE_PROP_UINT32("cube-cores", RefNpu, config.cube_cores, 24),
	DEFINE_PROP_UINT32("vector-cores", RefNpu, config.vector_cores, 48),
	DEFINE_PROP_UINT32("core-mhz", RefNpu, config.core_mhz, 1800),
	DEFINE_PROP_UINT32("clock-mhz", RefNpu, clock_mhz, 50),
	DEFINE_PROP_UINT64("clock-start", RefNpu, config.clock_start, 0),
	DEFINE_PROP_INT64("clock-offset-ns", RefNpu, config.clock_offset_ns, 0),
	DEFINE_PROP_INT32("clock-ppm", RefNpu, config.clock_ppm, 0),
	DEFINE_PROP_UINT32("time-scale-ppm", RefNpu, config.time_scale_ppm, 1000000),
	DEFINE_PROP_UINT64("seed", RefNpu, config.seed, 0),
	DEFINE_PROP_UINT32("fifo-depth", RefNpu, config.fifo_depth, 1024),
	DEFINE_PROP_UINT32("block-fifo-depth", RefNpu, config.block_fifo_depth, 64),
	DEFINE_PROP_END_OF_LIST(),
};

static const VMStateDescription vmstate = {
	.name = TYPE_REFNPU,
	.unmigratable = 1,
};

static void instance_init(Object *obj)
{
	RefNpu *s = REFNPU(obj);

	PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
	s->config.aicpu_cores = 6;
}

static void class_init(ObjectClass *klass, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

	dc->desc = "reference NPU (npuprof)";
	dc->vmsd = &vmstate;
	dc->reset = reset;
	device_class_set_props(dc, properties);
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
	object_class_property_add_bool(klass, "removed", get_removed, set_removed);
	pc->realize = realize;
	pc->exit = unrealize;
	pc->config_read = config_read;
	pc->config_write = config_write;
	pc->vendor_id = REFNPU_PCI_VENDOR;
	pc->device_id = REFNPU_PCI_DEVICE;
	pc->revision = 1;
	pc->class_id = PCI_CLASS_ACCELERATOR;
}

static const InterfaceInfo interfaces[] = {
	{ INTERFACE_PCIE_DEVICE },
	{},
};

static const TypeInfo type = {
	.name = TYPE_REFNPU,
	.parent = TYPE_PCI_DEVICE,
	.instance_size = sizeof(RefNpu),
	.instance_init = instance_init,
	.class_init = class_init,
	.interfaces = (InterfaceInfo *)interfaces,
};

static void register_types(void)
{
	type_register_static(&type);
}

type_init(register_types)
