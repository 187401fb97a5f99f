/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that the module is built for: Debian 12's 6.1, its backport
 * (6.12) and their PREEMPT_RT flavours. Everything else is written for the newest of them.
 */
#ifndef NPUPROF_COMPAT_H
#define NPUPROF_COMPAT_H

#include <linux/device/class.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

#ifndef CONFIG_64BIT
#error "npuprof reads 64-bit registers with one access and needs a 64-bit kernel"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

static inline struct class *npuprof_class_create(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* NPUPROF_COMPAT_H */
