// SPDX-License-Identifier: GPL-2.0-only
/* System calls on /dev/npuprof<N>. */
#include <linux/capability.h>
#include <linux/cdev.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "module.h"
#include "session.h"

/*
 * Profiles tell of the tasks of everybody who uses the NPU, so that is privileged information.
 * What counts is who opened the file, not to whom it was handed on.
 */
static bool npuprof_may_profile(const struct file *file)
{
	return READ_ONCE(npuprof_unprivileged) ||
	       file_ns_capable(file, &init_user_ns, CAP_PERFMON) ||
	       file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN);
}

/* Rings are read and their tails written, so half a file is of no use to whoever wants them. */
static bool npuprof_may_hold_rings(const struct file *file)
{
	return (file->f_mode & FMODE_READ) && (file->f_mode & FMODE_WRITE);
}

static int npuprof_open(struct inode *inode, struct file *file)
{
	struct npuprof_device *npu = container_of(inode->i_cdev, struct npuprof_device, cdev);
	struct npuprof_session *session = npuprof_session_open(npu, file);

	if (IS_ERR(session))
		return PTR_ERR(session);
	file->private_data = session;
	return nonseekable_open(inode, file);
}

static int npuprof_is_file(const void *file, struct file *other, unsigned int fd)
{
	return file == other;
}

/*
 * Whether the process that opened a file still has a descriptor of it. Its threads may have tables
 * of their own, and other processes may share one with it.
 */
static bool npuprof_owner_holds(const struct npuprof_session *session, const struct file *file)
{
	struct task_struct *leader, *thread;
	const struct files_struct *seen = NULL;
	bool found = false;

	rcu_read_lock();
	leader = pid_task(session->owner, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			task_lock(thread);
			/* However many threads share a table, it is searched once. */
			if (thread->files && thread->files != seen)
				found = iterate_fd(thread->files, 0, npuprof_is_file, file);
			seen = thread->files;
			task_unlock(thread);
			if (found)
				break;
		}
	}
	rcu_read_unlock();
	return found;
}

/*
 * A descriptor is being closed, by close() or because its process exits; it is in no table any
 * more. The session ends with the last descriptor that the process which opened it has, whoever
 * closes that and whoever else inherited one.
 */
static int npuprof_flush(struct file *file, fl_owner_t id)
{
	struct npuprof_session *session = file->private_data;

	if (!npuprof_owner_holds(session, file))
		npuprof_session_release(session);
	return 0;
}

static int npuprof_release(struct inode *inode, struct file *file)
{
	npuprof_session_close(file->private_data);
	return 0;
}

static __poll_t npuprof_poll(struct file *file, poll_table *wait)
{
	struct npuprof_session *session = file->private_data;

	poll_wait(file, &session->wait, wait);
	return npuprof_session_poll(session);
}

/* --- Requests --- */

/* Any request's structure. */
union npuprof_any {
	struct npuprof_query query;
	struct npuprof_add_ring add;
	struct npuprof_control control;
	struct npuprof_stats stats;
	struct npuprof_clock clock;
};

static int npuprof_query(struct npuprof_session *session, struct npuprof_query *query)
{
	int err;

	if (session->npu->gone || READ_ONCE(session->npu->lost))
		return -ENODEV;
	err = npc_check_query(query);
	if (!err)
		*query = session->npu->caps;
	return err;
}

static int npuprof_control(struct npuprof_session *session, unsigned long number,
			   struct npuprof_control *control)
{
	int err = npc_check_control(control, number);

	if (err)
		return err;
	switch (number) {
	case NPUPROF_IOC_START:
		return npuprof_session_start(session, control);
	case NPUPROF_IOC_STOP:
		return npuprof_session_stop(session, control);
	case NPUPROF_IOC_FREEZE:
		return npuprof_session_freeze(session, control);
	default:
		return npuprof_session_flush(session, control);
	}
}

static int npuprof_serve(struct npuprof_session *session, unsigned long number,
			 union npuprof_any *any)
{
	lockdep_assert_held(&session->npu->mutex);
	if (session->state == NPUPROF_SESSION_CLOSED)
		return -EBADF;
	switch (number) {
	case NPUPROF_IOC_QUERY:
		return npuprof_query(session, &any->query);
	case NPUPROF_IOC_ADD_RING:
		return npuprof_session_add_ring(session, &any->add);
	case NPUPROF_IOC_STATS:
		return npuprof_session_stats(session, &any->stats);
	case NPUPROF_IOC_CLOCK:
		return npuprof_session_clock(session, &any->clock);
	default:
		return npuprof_control(session, number, &any->control);
	}
}

/*
 * Requests that read or write registers. STATS does for sessions that count, and those keep the
 * device powered themselves.
 */
static bool npuprof_needs_power(unsigned long number)
{
	return number != NPUPROF_IOC_QUERY && number != NPUPROF_IOC_ADD_RING &&
	       number != NPUPROF_IOC_STATS;
}

/* Requests that must not meet another that adds a ring. */
static bool npuprof_sets_up(unsigned long number)
{
	return number == NPUPROF_IOC_ADD_RING || number == NPUPROF_IOC_START;
}

/* Serves a request with the device powered, and with the mutex held for most of the time. */
static int npuprof_serve_powered(struct npuprof_session *session, unsigned long number,
				 union npuprof_any *any)
{
	struct npuprof_device *npu = session->npu;
	bool powered = false;
	int err;

	if (npuprof_needs_power(number) && !READ_ONCE(npu->gone)) {
		lockdep_assert_not_held(&session->setup);
		err = npuprof_power_get(npu);
		powered = !err;
		/* EACCES: the system sleeps, or the driver leaves; what follows tells which. */
		if (err && !READ_ONCE(npu->gone) && err != -EACCES)
			return -EIO;
	}
	err = npuprof_sets_up(number) ? mutex_lock_killable(&session->setup) : 0;
	if (err)
		goto put;
	/* Another session's START may hold it for as long as mapping many pages takes. */
	err = mutex_lock_killable(&npu->mutex);
	if (!err) {
		err = npuprof_serve(session, number, any);
		mutex_unlock(&npu->mutex);
	}
	if (npuprof_sets_up(number))
		mutex_unlock(&session->setup);
put:
	if (powered)
		pm_runtime_put(npu->dev.parent);
	return err;
}

static long npuprof_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct npuprof_session *session = file->private_data;
	void __user *user = (void __user *)argument;
	struct npc_request sizes;
	union npuprof_any any;
	unsigned long number;
	void *copy;
	u32 size;
	int err;

	err = npc_request_find(request, &number, &sizes);
	if (err)
		return err;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < sizes.minimum)
		return -EINVAL;
	if (size > NPC_SIZE_MAX)
		return -E2BIG;
	copy = memdup_user(user, size);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	err = npc_copy_in(&any, copy, size, &sizes);
	if (err)
		goto out;
	if (number == NPUPROF_IOC_ADD_RING || number == NPUPROF_IOC_START) {
		err = -EBADF;
		if (!npuprof_may_hold_rings(file))
			goto out;
		err = -EPERM;
		if (!npuprof_may_profile(file))
			goto out;
	}
	err = npuprof_serve_powered(session, number, &any);
	/* Some refusals say more than their number: who is in the way, which period would do. */
	if (err && !(number == NPUPROF_IOC_ADD_RING && (err == -EBUSY || err == -ERANGE)))
		goto out;
	npc_copy_out(copy, &any, size, &sizes);
	/* The first word is the caller's and stays. */
	size = min(size, sizes.known);
	if (copy_to_user(user + sizeof(u32), copy + sizeof(u32), size - sizeof(u32)))
		err = -EFAULT;
out:
	kfree(copy);
	return err;
}

/* --- Mappings --- */

static int npuprof_map_data(struct npuprof_session *session, struct vm_area_struct *vma)
{
	unsigned long address = vma->vm_start;
	unsigned int i;
	int err;

	if (vma->vm_end - vma->vm_start > session->data_bytes)
		return -EINVAL;
	for (i = 0; i < session->ring_count && address < vma->vm_end; i++) {
		err = npuprof_pages_insert(vma, &address, &session->rings[i]->pages);
		if (err)
			return err;
	}
	return 0;
}

static int npuprof_map_entries(struct npuprof_session *session, struct vm_area_struct *vma,
			       const struct npuprof_pages *pages, size_t entry)
{
	unsigned long address = vma->vm_start;

	if (vma->vm_end - vma->vm_start > PAGE_ALIGN(session->ring_count * entry))
		return -EINVAL;
	return npuprof_pages_insert(vma, &address, pages);
}

static int npuprof_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct npuprof_session *session = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	bool tails = offset == NPUPROF_MMAP_TAILS;
	int err;

	if (!npuprof_may_profile(file))
		return -EPERM;
	/* Not VM_SHARED, which a shared mapping of a file that is not open for writing lacks. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if ((vma->vm_flags & VM_EXEC) || (!tails && (vma->vm_flags & VM_WRITE)))
		return -EACCES;
	vm_flags_clear(vma, tails ? VM_MAYEXEC : VM_MAYEXEC | VM_MAYWRITE);
	/* A forked child has no business with the rings, a core dump no use for them. */
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);

	err = mutex_lock_killable(&session->npu->mutex);
	if (err)
		return err;
	switch (offset) {
	case NPUPROF_MMAP_CONTROL:
		err = npuprof_map_entries(session, vma, &session->control,
					  sizeof(struct npuprof_ring_ctrl));
		break;
	case NPUPROF_MMAP_TAILS:
		err = npuprof_map_entries(session, vma, &session->tails,
					  sizeof(struct npuprof_ring_tail));
		break;
	case NPUPROF_MMAP_DATA:
		err = npuprof_map_data(session, vma);
		break;
	default:
		err = -EINVAL;
		break;
	}
	mutex_unlock(&session->npu->mutex);
	return err;
}

const struct file_operations npuprof_fops = {
	.owner = THIS_MODULE,
	.open = npuprof_open,
	.flush = npuprof_flush,
	.release = npuprof_release,
	.poll = npuprof_poll,
	.unlocked_ioctl = npuprof_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = npuprof_mmap,
	.llseek = noop_llseek,
};
