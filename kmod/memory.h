/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that the driver writes and user space maps: ordinary pages, so that mappings of it can
 * be read by the disk directly and outlive the device, mapped into the kernel once.
 */
#ifndef NPUPROF_MEMORY_H
#define NPUPROF_MEMORY_H

#include <linux/gfp.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct file;
struct user_struct;

/* Memory in the size of rings. What does not fit is refused; nobody is killed for it. */
#define NPUPROF_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct npuprof_pages - a stretch of pages
 * @pages: the pages
 * @count: how many
 * @address: where the kernel sees them in one piece
 */
struct npuprof_pages {
	struct page **pages;
	unsigned int count;
	void *address;
};

int npuprof_pages_alloc(struct npuprof_pages *pages, u64 bytes);
void npuprof_pages_free(struct npuprof_pages *pages);
int npuprof_pages_insert(struct vm_area_struct *vma, unsigned long *address,
			 const struct npuprof_pages *pages);

unsigned long npuprof_memory_limit(void);
int npuprof_memory_charge(struct user_struct *user, const struct file *file, unsigned long limit,
			  unsigned long pages);
void npuprof_memory_uncharge(struct user_struct *user, unsigned long pages);

#endif /* NPUPROF_MEMORY_H */
