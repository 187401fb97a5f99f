// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/npuprof/<N>/, for people; its format may change at any time. */
#include <linux/debugfs.h>
#include <linux/pid.h>
#include <linux/seq_file.h>

#include "module.h"
#include "session.h"

static struct dentry *npuprof_debugfs;

static const char *npuprof_state_name(const struct npuprof_session *session)
{
	static const char * const names[] = {
		[NPUPROF_SESSION_IDLE] = "idle",
		[NPUPROF_SESSION_RUNNING] = "running",
		[NPUPROF_SESSION_STOPPING] = "stopping",
		[NPUPROF_SESSION_STOPPED] = "stopped",
		[NPUPROF_SESSION_CLOSED] = "closed",
	};

	if (session->paused && npuprof_session_active(session))
		return "paused";
	return session->frozen ? "frozen" : names[session->state];
}

static void npuprof_show_account(struct seq_file *m, const char *who,
				 const struct npuprof_account *account)
{
	seq_printf(m, "%s interrupts=%lld reads=%lld writes=%lld busy_ns=%lld max_callback_ns=%lld\n",
		   who, atomic64_read(&account->interrupts), atomic64_read(&account->reads),
		   atomic64_read(&account->writes), atomic64_read(&account->busy_ns),
		   atomic64_read(&account->max_callback_ns));
}

/**
 * struct npuprof_ring_figures - figures of a ring at one moment
 * @head: records published
 * @pending: of them, not consumed
 * @lost: records lost
 * @lost_by_cause: the same by enum npuprof_loss_cause
 */
struct npuprof_ring_figures {
	u64 head;
	u64 pending;
	u64 lost;
	u64 lost_by_cause[NPC_CAUSES];
};

static void npuprof_show_ring(struct seq_file *m, const struct npuprof_ring *ring)
{
	static const char * const causes[NPC_CAUSES] = {
		[NPUPROF_LOSS_RING_FULL] = "ring_full",
		[NPUPROF_LOSS_FIFO_OVERFLOW] = "fifo_overflow",
		[NPUPROF_LOSS_NO_CREDIT] = "no_credit",
		[NPUPROF_LOSS_THROTTLED] = "throttled",
		[NPUPROF_LOSS_RESET] = "reset",
		[NPUPROF_LOSS_REMOVED] = "removed",
		[NPUPROF_LOSS_UNKNOWN] = "unknown",
	};
	const struct npc_ring *producer = &ring->producer;
	struct npuprof_ring_figures now;
	unsigned long flags;
	unsigned int i;

	/* Printing may take its time, and is not for those who wait for this lock. */
	flags = npuprof_lock(ring->session->npu);
	now.head = producer->head;
	now.pending = npc_ring_pending(producer);
	now.lost = producer->lost;
	memcpy(now.lost_by_cause, producer->lost_by_cause, sizeof(now.lost_by_cause));
	npuprof_unlock(ring->session->npu, flags);

	seq_printf(m, "  ring %u channel=%u", ring->config.ring, ring->config.channel);
	if (npc_channel_per_core(ring->config.channel))
		seq_printf(m, " core=%u kind=%u", ring->config.core, ring->config.core_kind);
	if (ring->config.period_ns)
		seq_printf(m, " period_ns=%llu", ring->config.period_ns);
	seq_printf(m, " path=%s%s slots=%u head=%llu pending=%llu lost=%llu",
		   ring->device_path ? "device" : "driver", producer->overwrite ? ",overwrite" : "",
		   ring->config.slots, now.head, now.pending, now.lost);
	for (i = 0; i < NPC_CAUSES; i++)
		if (causes[i] && now.lost_by_cause[i])
			seq_printf(m, " %s=%llu", causes[i], now.lost_by_cause[i]);
	seq_putc(m, '\n');
}

static int sessions_show(struct seq_file *m, void *unused)
{
	struct npuprof_device *npu = m->private;
	struct npuprof_session *session;
	unsigned int i;

	mutex_lock(&npu->mutex);
	list_for_each_entry(session, &npu->sessions, node) {
		seq_printf(m, "session %u owner=%d state=%s epoch=%u rings=%u bytes=%llu pages=%lu started=%llu ended=%llu\n",
			   session->id, pid_vnr(session->owner), npuprof_state_name(session),
			   session->epoch, session->ring_count, session->data_bytes,
			   session->charged, session->tasks_started, session->tasks_ended);
		npuprof_show_account(m, "  account", &session->account);
		for (i = 0; i < session->ring_count; i++)
			npuprof_show_ring(m, session->rings[i]);
	}
	mutex_unlock(&npu->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sessions);

static int account_show(struct seq_file *m, void *unused)
{
	struct npuprof_device *npu = m->private;
	struct npuprof_session *session;
	unsigned long flags;
	u64 longest;
	char who[32];

	mutex_lock(&npu->mutex);
	flags = npuprof_lock(npu);
	longest = npu->longest_ns;
	npuprof_unlock(npu, flags);
	/* Of all that follow, and of sessions that are closed. */
	seq_printf(m, "longest callback_ns=%llu\n", longest);
	npuprof_show_account(m, "driver", &npu->self);
	npuprof_show_account(m, "perf", &npu->perf.account);
	list_for_each_entry(session, &npu->sessions, node) {
		snprintf(who, sizeof(who), "session %u", session->id);
		npuprof_show_account(m, who, &session->account);
	}
	mutex_unlock(&npu->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static u32 npuprof_session_number(const struct npuprof_session *session)
{
	return session ? session->id : 0;
}

/* Which session has what, and how many events of perf; 0 is nobody. */
static int claims_show(struct seq_file *m, void *unused)
{
	struct npuprof_device *npu = m->private;
	u32 window, channels[NPUPROF_CHANNEL_COUNT], events[NPUPROF_CHANNEL_COUNT];
	unsigned int cores = npuprof_cores(npu);
	unsigned long flags;
	unsigned int i;
	u32 owner, users;

	/* Sessions are freed under the mutex, so their numbers are good while it is held. */
	mutex_lock(&npu->mutex);
	flags = npuprof_lock(npu);
	window = npuprof_session_number(npu->window_owner);
	for (i = 0; i < NPUPROF_CHANNEL_COUNT; i++)
		channels[i] = npuprof_session_number(npu->channel_owner[i]);
	memcpy(events, npu->perf.units, sizeof(events));
	npuprof_unlock(npu, flags);
	seq_printf(m, "window session=%u\n", window);
	for (i = 0; i < NPUPROF_CHANNEL_COUNT; i++)
		if (channels[i] || events[i])
			seq_printf(m, "channel %u session=%u perf=%u\n", i, channels[i],
				   events[i]);
	for (i = 0; i < cores; i++) {
		flags = npuprof_lock(npu);
		owner = npuprof_session_number(npu->core_owner[i]);
		/* Without perf in the kernel there are no books. */
		users = npu->perf.cores ? npu->perf.cores[i].users : 0;
		npuprof_unlock(npu, flags);
		if (owner || users)
			seq_printf(m, "core %u session=%u perf=%u\n", i, owner, users);
	}
	mutex_unlock(&npu->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(claims);

/**
 * npuprof_debugfs_init() - make the module's directory
 *
 * Context: Process context, may sleep.
 */
void npuprof_debugfs_init(void)
{
	npuprof_debugfs = debugfs_create_dir("npuprof", NULL);
}

/**
 * npuprof_debugfs_exit() - undo npuprof_debugfs_init()
 *
 * Context: Process context, may sleep.
 */
void npuprof_debugfs_exit(void)
{
	debugfs_remove(npuprof_debugfs);
}

/**
 * npuprof_debugfs_add() - show a device
 * @npu: device
 *
 * Context: Process context, may sleep.
 */
void npuprof_debugfs_add(struct npuprof_device *npu)
{
	char number[12];

	snprintf(number, sizeof(number), "%u", npuprof_number(npu));
	npu->debugfs = debugfs_create_dir(number, npuprof_debugfs);
	debugfs_create_file("sessions", 0400, npu->debugfs, npu, &sessions_fops);
	debugfs_create_file("account", 0400, npu->debugfs, npu, &account_fops);
	debugfs_create_file("claims", 0400, npu->debugfs, npu, &claims_fops);
}

/**
 * npuprof_debugfs_del() - undo npuprof_debugfs_add(), and wait for whoever is reading
 * @npu: device
 *
 * Context: Process context, may sleep. npuprof_device.mutex must not be held.
 */
void npuprof_debugfs_del(struct npuprof_device *npu)
{
	lockdep_assert_not_held(&npu->mutex);
	debugfs_remove(npu->debugfs);
}
