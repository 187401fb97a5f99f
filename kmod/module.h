/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUPROF_MODULE_H
#define NPUPROF_MODULE_H

#include <linux/fs.h>
#include <linux/types.h>

struct class;

#define NPUPROF_DEVICES_MAX 64

/* Parameters of the module. */
extern bool npuprof_unprivileged;
extern unsigned int npuprof_mlock_kb;

extern struct class *npuprof_class;
extern dev_t npuprof_devt;
extern const struct file_operations npuprof_fops;
extern const struct attribute_group *npuprof_groups[];

/* debugfs.c */
struct npuprof_device;
void npuprof_debugfs_init(void);
void npuprof_debugfs_exit(void);
void npuprof_debugfs_add(struct npuprof_device *npu);
void npuprof_debugfs_del(struct npuprof_device *npu);

/* Drivers of NPUs. */
int refnpu_register(void);
void refnpu_unregister(void);

#endif /* NPUPROF_MODULE_H */
