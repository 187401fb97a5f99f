// SPDX-License-Identifier: GPL-2.0-only
/* Reference NPU on the PCI bus: probe, remove, interrupts, power, reset. */
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "compat.h"
#include "module.h"
#include "refnpu.h"

#define REFNPU_CHIP_A2		5 /* platform_version of info.json */

static irqreturn_t refnpu_irq(int irq, void *data)
{
	return IRQ_RETVAL(refnpu_interrupt(data));
}

static bool refnpu_answers(struct refnpu *refnpu)
{
	return readl(refnpu->regs + REFNPU_ID) == REFNPU_ID_VALUE;
}

/* At once, so that whoever takes it back afterwards takes back all of it. */
static void refnpu_give_up_locked(struct refnpu *refnpu)
{
	lockdep_assert_held(&refnpu->presence);
	if (!test_and_set_bit(REFNPU_GONE, &refnpu->dead))
		npuprof_device_lost(&refnpu->npu);
}

static void refnpu_give_up(struct refnpu *refnpu)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&refnpu->presence, flags);
	refnpu_give_up_locked(refnpu);
	raw_spin_unlock_irqrestore(&refnpu->presence, flags);
}

/**
 * refnpu_check_presence() - a register read as all ones: is there still a device?
 * @refnpu: device
 *
 * Context: Any context.
 */
void refnpu_check_presence(struct refnpu *refnpu)
{
	unsigned long flags;

	/*
	 * The bus may say meanwhile that it keeps the device away after an error; it may bring it
	 * back.
	 */
	raw_spin_lock_irqsave(&refnpu->presence, flags);
	if (READ_ONCE(to_pci_dev(refnpu->bus)->error_state) == pci_channel_io_frozen)
		set_bit(REFNPU_FROZEN, &refnpu->dead);
	if (!test_bit(REFNPU_FROZEN, &refnpu->dead) && !refnpu_answers(refnpu))
		refnpu_give_up_locked(refnpu);
	raw_spin_unlock_irqrestore(&refnpu->presence, flags);
}

/* From now on nobody takes it for gone, and whoever did has said so to the last word. */
static void refnpu_freeze(struct refnpu *refnpu)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&refnpu->presence, flags);
	set_bit(REFNPU_FROZEN, &refnpu->dead);
	raw_spin_unlock_irqrestore(&refnpu->presence, flags);
}

/* Nobody was called back after an error on the bus. */
static void refnpu_not_recovered(struct work_struct *work)
{
	struct refnpu *refnpu = container_of(to_delayed_work(work), struct refnpu, recovery);

	npuprof_device_abandon(&refnpu->npu);
}

static u32 refnpu_self_read32(struct refnpu *refnpu, u32 reg)
{
	return refnpu_read32(refnpu, &refnpu->npu.self, reg);
}

static void refnpu_self_write32(struct refnpu *refnpu, u32 reg, u32 value)
{
	refnpu_write32(refnpu, &refnpu->npu.self, reg, value);
}

static int refnpu_identify(struct refnpu *refnpu)
{
	u32 id = readl(refnpu->regs + REFNPU_ID);
	u32 version = readl(refnpu->regs + REFNPU_VERSION);

	if (id != REFNPU_ID_VALUE) {
		dev_err(refnpu->bus, "identity register reads %#x, not %#x\n", id,
			REFNPU_ID_VALUE);
		return -ENODEV;
	}
	if (version >> 16 != REFNPU_VERSION_VALUE >> 16) {
		dev_err(refnpu->bus, "register map has version %u, this driver knows %u\n",
			version >> 16, REFNPU_VERSION_VALUE >> 16);
		return -ENODEV;
	}
	return 0;
}

static int refnpu_read_caps(struct refnpu *refnpu)
{
	struct npuprof_query *caps = &refnpu->npu.caps;
	u32 cores = refnpu_self_read32(refnpu, REFNPU_CAP_CORES);
	u32 counters = refnpu_self_read32(refnpu, REFNPU_CAP_COUNTERS);
	u32 units = refnpu_self_read32(refnpu, REFNPU_CAP_UNITS);
	u32 depth = refnpu_self_read32(refnpu, REFNPU_CAP_FIFO);
	unsigned int all, unit, f;

	caps->chip = REFNPU_CHIP_A2;
	caps->device_flags = NPUPROF_DEVICE_WRITTEN;
	if (refnpu_self_read32(refnpu, REFNPU_CAP_FLAGS) & REFNPU_CAP_SIMULATED)
		caps->device_flags |= NPUPROF_DEVICE_SIMULATED;
	caps->cube_cores = cores & 0xffff;
	caps->vector_cores = cores >> 16;
	caps->counters = counters & 0xff;
	caps->counter_bits = counters >> 8;
	caps->cycle_bits = counters >> 16;
	caps->clock_hz = refnpu_read64(refnpu, &refnpu->npu.self, REFNPU_CAP_CLOCK_HZ);
	caps->core_hz = refnpu_read64(refnpu, &refnpu->npu.self, REFNPU_CAP_CORE_HZ);
	caps->channels = BIT_ULL(NPUPROF_CHANNEL_COUNT) - 1 - BIT_ULL(NPUPROF_CHANNEL_EVENTS);
	caps->hbm_channels = units & 0xff;
	caps->llc_channels = units >> 8 & 0xff;
	caps->aicpu_cores = refnpu_self_read32(refnpu, REFNPU_CAP_AICPU);
	strscpy(caps->name, "reference NPU", sizeof(caps->name));
	refnpu->queue_count = refnpu_self_read32(refnpu, REFNPU_CAP_QUEUES);

	/* What the driver sizes its tables by. */
	all = npuprof_cores(&refnpu->npu);
	if (!all || all > REFNPU_MAX_CORES || !caps->counters ||
	    caps->counters > NPUPROF_MAX_COUNTERS || caps->counter_bits < 16 ||
	    caps->counter_bits > 32 || caps->cycle_bits < 8 || caps->cycle_bits > 64 ||
	    refnpu->queue_count > REFNPU_MAX_QUEUES || !caps->clock_hz || refnpu_dead(refnpu)) {
		dev_err(refnpu->bus, "capabilities make no sense: cores %#x, counters %#x\n",
			cores, counters);
		return -ENODEV;
	}
	refnpu->fifos = devm_kcalloc(refnpu->bus, REFNPU_FIFOS + all, sizeof(*refnpu->fifos),
				     GFP_KERNEL);
	if (!refnpu->fifos)
		return -ENOMEM;
	for (unit = 0; unit < REFNPU_UNITS; unit++) {
		u32 totals = refnpu_self_read32(refnpu, REFNPU_UNIT(unit, REFNPU_UNIT_COUNT));

		refnpu->totals[unit] = min_t(u32, totals, REFNPU_UNIT_TOTALS);
	}
	for (f = 0; f < REFNPU_FIFOS + all; f++) {
		bool task = f < REFNPU_FIFOS;

		INIT_LIST_HEAD(&refnpu->fifos[f].node);
		refnpu->fifos[f].base = task ? REFNPU_FIFO(f, 0) :
					       REFNPU_CORE(f - REFNPU_FIFOS, REFNPU_CORE_FIFO);
		refnpu->fifos[f].depth = task ? depth & 0xffff : depth >> 16;
	}
	return 0;
}

/* The list of events lives in user space; the device itself says which of them it can count. */
static void refnpu_find_events(struct refnpu *refnpu)
{
	unsigned int counters = refnpu->npu.caps.counters;
	unsigned int event, i;

	for (event = 1; event < REFNPU_EVENT_LIMIT; event += counters) {
		for (i = 0; i < counters; i++)
			refnpu_self_write32(refnpu, REFNPU_TRACE_EVENT(0, i), event + i);
		for (i = 0; i < counters && event + i < REFNPU_EVENT_LIMIT; i++)
			if (refnpu_self_read32(refnpu, REFNPU_TRACE_EVENT(0, i)) == event + i)
				__set_bit(event + i, refnpu->events);
		cond_resched();
	}
	for (i = 0; i < counters; i++)
		refnpu_self_write32(refnpu, REFNPU_TRACE_EVENT(0, i), 0);
}

/* No interrupt can start it any more; one may have, although the probe failed. */
static void refnpu_stop_service(void *data)
{
	hrtimer_cancel(&((struct refnpu *)data)->service);
}

static int refnpu_request_irqs(struct refnpu *refnpu, struct pci_dev *pdev)
{
	int vector, err;

	/* Undone after the interrupts and before the mapping goes, which the timer reads. */
	err = devm_add_action_or_reset(&pdev->dev, refnpu_stop_service, refnpu);
	if (err)
		return err;
	err = pci_alloc_irq_vectors(pdev, REFNPU_INT_VECTORS, REFNPU_INT_VECTORS, PCI_IRQ_MSIX);
	if (err < 0)
		return dev_err_probe(&pdev->dev, err, "no %u MSI-X vectors\n", REFNPU_INT_VECTORS);
	for (vector = 0; vector < REFNPU_INT_VECTORS; vector++) {
		err = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, vector), refnpu_irq, 0,
				       "npuprof", refnpu);
		if (err)
			return dev_err_probe(&pdev->dev, err, "vector %d\n", vector);
	}
	return 0;
}

static void refnpu_put(void *data)
{
	struct refnpu *refnpu = data;

	npuprof_device_put(&refnpu->npu);
}

static struct refnpu *refnpu_alloc(struct pci_dev *pdev)
{
	struct refnpu *refnpu = kzalloc(sizeof(*refnpu), GFP_KERNEL);
	int err;

	if (!refnpu)
		return ERR_PTR(-ENOMEM);
	err = npuprof_device_init(&refnpu->npu, &pdev->dev, &refnpu_ops);
	if (err) {
		kfree(refnpu);
		return ERR_PTR(err);
	}
	refnpu->bus = &pdev->dev;
	raw_spin_lock_init(&refnpu->presence);
	refnpu->service_ns = NPC_TIME_NEVER;
	refnpu->watchdog_ns = NPC_TIME_NEVER;
	INIT_LIST_HEAD(&refnpu->busy_fifos);
	INIT_LIST_HEAD(&refnpu->polled);
	INIT_DELAYED_WORK(&refnpu->recovery, refnpu_not_recovered);
	hrtimer_setup(&refnpu->service, refnpu_service_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
	/* Undone last, after interrupts and mappings. */
	err = devm_add_action_or_reset(&pdev->dev, refnpu_put, refnpu);
	return err ? ERR_PTR(err) : refnpu;
}

static int refnpu_map_device(struct refnpu *refnpu, struct pci_dev *pdev)
{
	int err = pcim_enable_device(pdev);

	if (!err)
		err = pcim_iomap_regions(pdev, BIT(REFNPU_PCI_BAR), "npuprof");
	if (err)
		return err;
	if (pci_resource_len(pdev, REFNPU_PCI_BAR) < REFNPU_REGION_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR %u is too small\n", REFNPU_PCI_BAR);
	refnpu->regs = pcim_iomap_table(pdev)[REFNPU_PCI_BAR];
	return dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
}

static void refnpu_free_config(void *config)
{
	kfree(config);
}

/*
 * Keeps what a reset of the slot makes the device forget. The core uses up what was saved last
 * whenever it wakes the device, and after an error on the bus it is too late to save it.
 */
static int refnpu_keep_config(struct refnpu *refnpu, struct pci_dev *pdev)
{
	pci_save_state(pdev);
	refnpu->config = pci_store_saved_state(pdev);
	if (!refnpu->config)
		return -ENOMEM;
	return devm_add_action_or_reset(&pdev->dev, refnpu_free_config, refnpu->config);
}

static int refnpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct refnpu *refnpu = refnpu_alloc(pdev);
	int err;

	if (IS_ERR(refnpu))
		return PTR_ERR(refnpu);
	err = refnpu_map_device(refnpu, pdev);
	if (!err)
		err = refnpu_identify(refnpu);
	if (err)
		return err;
	/* Nothing of a driver before this one writes to memory any more once the device may. */
	refnpu_self_write32(refnpu, REFNPU_CONTROL, REFNPU_CONTROL_RESET_PMU);
	pci_set_master(pdev);
	err = refnpu_read_caps(refnpu);
	if (err)
		goto no_master;
	refnpu_find_events(refnpu);
	err = refnpu_measure_cost(refnpu);
	if (err)
		goto no_master;
	/* If it went meanwhile, what it said is not true. */
	refnpu_check_presence(refnpu);
	if (refnpu_dead(refnpu)) {
		err = dev_err_probe(&pdev->dev, -ENODEV, "went missing while it was looked at\n");
		goto no_master;
	}
	err = -ENOMEM;
	refnpu->heads = dmam_alloc_coherent(&pdev->dev,
					    REFNPU_MAX_QUEUES * sizeof(*refnpu->heads),
					    &refnpu->heads_dma, GFP_KERNEL);
	if (!refnpu->heads)
		goto no_master;
	err = refnpu_request_irqs(refnpu, pdev);
	if (err)
		goto no_master;
	pci_set_drvdata(pdev, refnpu);
	err = refnpu_keep_config(refnpu, pdev);
	if (err)
		goto no_master;
	err = npuprof_device_add(&refnpu->npu);
	if (err)
		goto no_master;
	pm_runtime_put_noidle(&pdev->dev);
	dev_info(&pdev->dev, "npuprof%d: %u matrix and %u vector cores%s\n", refnpu->npu.id,
		 refnpu->npu.caps.cube_cores, refnpu->npu.caps.vector_cores,
		 refnpu->npu.caps.device_flags & NPUPROF_DEVICE_SIMULATED ? ", simulated" : "");
	return 0;

no_master:
	pci_clear_master(pdev);
	return err;
}

static void refnpu_remove(struct pci_dev *pdev)
{
	struct refnpu *refnpu = pci_get_drvdata(pdev);

	npuprof_device_del(&refnpu->npu);
	cancel_delayed_work_sync(&refnpu->recovery);
	hrtimer_cancel(&refnpu->service);
	if (!refnpu_dead(refnpu))
		refnpu_self_write32(refnpu, REFNPU_CONTROL, REFNPU_CONTROL_RESET_PMU);
	pci_clear_master(pdev);
	pm_runtime_get_noresume(&pdev->dev);
}

static int refnpu_suspend(struct device *dev)
{
	npuprof_device_pause(&((struct refnpu *)dev_get_drvdata(dev))->npu);
	return 0;
}

static int refnpu_resume(struct device *dev)
{
	npuprof_device_resume(&((struct refnpu *)dev_get_drvdata(dev))->npu);
	return 0;
}

/*
 * Nobody counts. An interrupt that is still on its way must not take a sleeping device for a
 * missing one.
 */
static void refnpu_set_asleep(struct device *dev, bool asleep)
{
	struct refnpu *refnpu = dev_get_drvdata(dev);
	unsigned long flags;

	flags = npuprof_lock(&refnpu->npu);
	refnpu->npu.asleep = asleep;
	npuprof_unlock(&refnpu->npu, flags);
}

static int refnpu_runtime_suspend(struct device *dev)
{
	refnpu_set_asleep(dev, true);
	return 0;
}

static int refnpu_runtime_resume(struct device *dev)
{
	refnpu_set_asleep(dev, false);
	return 0;
}

static const struct dev_pm_ops refnpu_pm = {
	SYSTEM_SLEEP_PM_OPS(refnpu_suspend, refnpu_resume)
	RUNTIME_PM_OPS(refnpu_runtime_suspend, refnpu_runtime_resume, NULL)
};

static void refnpu_reset_prepare(struct pci_dev *pdev)
{
	refnpu_suspend(&pdev->dev);
}

static void refnpu_restore_config(struct refnpu *refnpu, struct pci_dev *pdev)
{
	pci_load_saved_state(pdev, refnpu->config);
	pci_restore_state(pdev);
}

static void refnpu_reset_done(struct pci_dev *pdev)
{
	struct refnpu *refnpu = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&refnpu->recovery);
	/* The kernel gave up on it, and what it saved before this reset is worth nothing. */
	if (test_bit(REFNPU_FROZEN, &refnpu->dead)) {
		refnpu_restore_config(refnpu, pdev);
		if (refnpu_answers(refnpu))
			clear_bit(REFNPU_FROZEN, &refnpu->dead);
	}
	refnpu_resume(&pdev->dev);
}

/*
 * An error on the bus: sessions pause as for a reset. While the channel is frozen nothing can be
 * read, so that what the device still had is lost without a count.
 */
static pci_ers_result_t refnpu_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct refnpu *refnpu = pci_get_drvdata(pdev);

	if (state == pci_channel_io_perm_failure) {
		refnpu_give_up(refnpu);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	if (state == pci_channel_io_frozen) {
		refnpu_freeze(refnpu);
		/* A read may have found it missing before the bus said why. */
		if (npuprof_device_found(&refnpu->npu))
			clear_bit(REFNPU_GONE, &refnpu->dead);
	}
	npuprof_device_pause(&refnpu->npu);
	mod_delayed_work(system_wq, &refnpu->recovery, REFNPU_RECOVERY);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t refnpu_slot_reset(struct pci_dev *pdev)
{
	struct refnpu *refnpu = pci_get_drvdata(pdev);

	/*
	 * The kernel woke it before it spoke of the error; where the link was down that came to
	 * nothing, and the reset did it. Whether it worked is seen below. Our caller holds
	 * pci_bus_sem.
	 */
	pci_set_power_state_locked(pdev, PCI_D0);
	refnpu_restore_config(refnpu, pdev);
	/* Sessions that ended with it do not begin again. */
	if (test_bit(REFNPU_GONE, &refnpu->dead))
		return PCI_ERS_RESULT_DISCONNECT;
	if (!refnpu_answers(refnpu)) {
		refnpu_give_up(refnpu);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	/* The bus says that it is frozen until the very end. */
	clear_bit(REFNPU_FROZEN, &refnpu->dead);
	mod_delayed_work(system_wq, &refnpu->recovery, REFNPU_RECOVERY);
	/* Also if there was no reset after all: nothing of before goes on by itself. */
	refnpu_self_write32(refnpu, REFNPU_CONTROL, REFNPU_CONTROL_RESET_PMU);
	return PCI_ERS_RESULT_RECOVERED;
}

static void refnpu_error_resume(struct pci_dev *pdev)
{
	struct refnpu *refnpu = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&refnpu->recovery);
	/* Whoever read all ones meanwhile was told that. */
	clear_bit(REFNPU_FROZEN, &refnpu->dead);
	refnpu_check_presence(refnpu);
	refnpu_resume(&pdev->dev);
}

static const struct pci_error_handlers refnpu_errors = {
	.error_detected = refnpu_error_detected,
	.slot_reset = refnpu_slot_reset,
	.resume = refnpu_error_resume,
	.reset_prepare = refnpu_reset_prepare,
	.reset_done = refnpu_reset_done,
};

static const struct pci_device_id refnpu_ids[] = {
	{ PCI_DEVICE(REFNPU_PCI_VENDOR, REFNPU_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, refnpu_ids);

static struct pci_driver refnpu_driver = {
	.name = "npuprof_refnpu",
	.id_table = refnpu_ids,
	.probe = refnpu_probe,
	.remove = refnpu_remove,
	.err_handler = &refnpu_errors,
	.driver.pm = pm_ptr(&refnpu_pm),
};

/**
 * refnpu_register() - look for reference NPUs from now on
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno.
 */
int refnpu_register(void)
{
	return pci_register_driver(&refnpu_driver);
}

/**
 * refnpu_unregister() - undo refnpu_register()
 *
 * Context: Process context, may sleep.
 */
void refnpu_unregister(void)
{
	pci_unregister_driver(&refnpu_driver);
}
