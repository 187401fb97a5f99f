// SPDX-License-Identifier: GPL-2.0-only
/* Pages of rings: allocation, accounting per user, mapping. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>

#include "device.h"
#include "memory.h"
#include "module.h"

/**
 * npuprof_pages_free() - give pages back
 * @pages: pages, or a zeroed structure; user mappings of them keep those that they show
 *
 * Context: Process context, may sleep.
 */
void npuprof_pages_free(struct npuprof_pages *pages)
{
	unsigned int i;

	vunmap(pages->address);
	for (i = 0; i < pages->count; i++) {
		put_page(pages->pages[i]);
		cond_resched();
	}
	kvfree(pages->pages);
	memset(pages, 0, sizeof(*pages));
}

/**
 * npuprof_pages_alloc() - zeroed memory for the driver and user space
 * @pages: filled
 * @bytes: at least so many, not 0
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM, or -EINTR if the caller was killed meanwhile.
 */
int npuprof_pages_alloc(struct npuprof_pages *pages, u64 bytes)
{
	unsigned int count = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	int err = -ENOMEM;

	memset(pages, 0, sizeof(*pages));
	pages->pages = kvcalloc(count, sizeof(*pages->pages), NPUPROF_GFP);
	if (!pages->pages)
		return -ENOMEM;
	while (pages->count < count) {
		struct page *page;

		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto fail;
		}
		page = alloc_page(NPUPROF_GFP | __GFP_ZERO);
		if (!page)
			goto fail;
		pages->pages[pages->count++] = page;
		cond_resched();
	}
	pages->address = vmap(pages->pages, count, VM_MAP, PAGE_KERNEL);
	if (pages->address)
		return 0;
fail:
	npuprof_pages_free(pages);
	return err;
}

/**
 * npuprof_pages_insert() - map pages into user space
 * @vma: mapping that is being set up
 * @address: where the next page goes; moved on
 * @pages: as many of them are mapped as the mapping has room for
 *
 * Context: Process context, may sleep. mmap_lock is held for writing.
 * Return: 0 or a negative errno.
 */
int npuprof_pages_insert(struct vm_area_struct *vma, unsigned long *address,
			 const struct npuprof_pages *pages)
{
	unsigned long room = (vma->vm_end - *address) >> PAGE_SHIFT;
	unsigned long count = min_t(unsigned long, room, pages->count);
	unsigned long left = count;
	int err;

	if (!count)
		return 0;
	err = vm_insert_pages(vma, *address, pages->pages, &left);
	if (!err)
		*address += count << PAGE_SHIFT;
	/* The addresses are right; its fault is a table of pages that it got no memory for. */
	return err == -EFAULT ? -ENOMEM : err;
}

/**
 * npuprof_memory_limit() - how much a process that opens a session may lock anyway
 *
 * Context: Process context.
 * Return: RLIMIT_MEMLOCK in pages.
 */
unsigned long npuprof_memory_limit(void)
{
	return rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

/**
 * npuprof_memory_charge() - account ring memory to a user
 * @user: who opened the session
 * @file: the session's
 * @limit: npuprof_memory_limit() when it was opened
 * @pages: how many pages
 *
 * A user may have npuprof.mlock_kb for each device plus @limit in all sessions together, and if
 * they were opened with CAP_IPC_LOCK as much as there is. Whoever profiles several devices needs
 * rings for each.
 *
 * Context: Process context.
 * Return: 0 or -ENOMEM.
 */
int npuprof_memory_charge(struct user_struct *user, const struct file *file, unsigned long limit,
			  unsigned long pages)
{
	unsigned long used = atomic_long_add_return(pages, &user->locked_vm);

	limit += (unsigned long)(READ_ONCE(npuprof_mlock_kb) >> (PAGE_SHIFT - 10)) *
		 npuprof_device_count();
	if (used <= limit || file_ns_capable(file, &init_user_ns, CAP_IPC_LOCK))
		return 0;
	atomic_long_sub(pages, &user->locked_vm);
	return -ENOMEM;
}

/**
 * npuprof_memory_uncharge() - take back npuprof_memory_charge()
 * @user: the same user
 * @pages: the same number
 *
 * Context: Any context.
 */
void npuprof_memory_uncharge(struct user_struct *user, unsigned long pages)
{
	atomic_long_sub(pages, &user->locked_vm);
}
