// SPDX-License-Identifier: GPL-2.0-only
/* npuprof: profiling of NPUs. The module as such; see docs/kernel.md. */
#include <linux/device.h>
#include <linux/init.h>
#include <linux/module.h>

#include "compat.h"
#include "device.h"
#include "module.h"
#include "perf.h"

bool npuprof_unprivileged;
module_param_named(unprivileged, npuprof_unprivileged, bool, 0644);
MODULE_PARM_DESC(unprivileged,
		 "Whoever may open the device node may profile, without CAP_PERFMON (default: no). Profiles show the tasks of all users of the NPU.");

unsigned int npuprof_mlock_kb = 32768;
module_param_named(mlock_kb, npuprof_mlock_kb, uint, 0644);
MODULE_PARM_DESC(mlock_kb,
		 "Ring memory in KiB per NPU that one user may have in addition to RLIMIT_MEMLOCK (default: 32768)");

struct class *npuprof_class;
dev_t npuprof_devt;

static int __init npuprof_init(void)
{
	int err;

	err = alloc_chrdev_region(&npuprof_devt, 0, NPUPROF_DEVICES_MAX, "npuprof");
	if (err)
		return err;
	npuprof_class = npuprof_class_create("npuprof");
	if (IS_ERR(npuprof_class)) {
		err = PTR_ERR(npuprof_class);
		goto no_class;
	}
	npuprof_debugfs_init();
	err = npuprof_perf_init();
	if (err)
		goto no_perf;
	err = refnpu_register();
	if (err)
		goto no_driver;
	return 0;

no_driver:
	npuprof_devices_wait_released();
	npuprof_perf_exit();
no_perf:
	npuprof_debugfs_exit();
	class_destroy(npuprof_class);
no_class:
	unregister_chrdev_region(npuprof_devt, NPUPROF_DEVICES_MAX);
	return err;
}
module_init(npuprof_init);

static void __exit npuprof_exit(void)
{
	refnpu_unregister();
	npuprof_devices_wait_released();
	npuprof_perf_exit();
	npuprof_debugfs_exit();
	class_destroy(npuprof_class);
	unregister_chrdev_region(npuprof_devt, NPUPROF_DEVICES_MAX);
}
module_exit(npuprof_exit);

MODULE_DESCRIPTION("Profiling of NPUs: task logs, counters and samples in memory-mapped rings");
MODULE_AUTHOR("npuprof contributors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
