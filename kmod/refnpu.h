/* SPDX-License-Identifier: GPL-2.0-only */
/* The reference NPU: what the files of its driver share. */
#ifndef NPUPROF_REFNPU_H
#define NPUPROF_REFNPU_H

#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/list.h>

#include "core/entry.h"
#include "device.h"
#include "refnpu_regs.h"
#include "session.h"

/* After the first entry of a FIFO interrupted, how long the driver lets more of them gather. */
#define REFNPU_GATHER_NS	(1ULL * NSEC_PER_MSEC)
/* However soon readers want to be woken, entries gather so long; see docs/kernel.md. */
#define REFNPU_GATHER_MIN_NS	(100ULL * NSEC_PER_USEC)
/* All that the driver serves; enabled at the first use and left on. */
#define REFNPU_INT_ALL		(REFNPU_INT_FIFO | REFNPU_INT_OVERFLOW | REFNPU_INT_QUEUE | \
				 REFNPU_INT_BLOCK | REFNPU_INT_DRAINED)
/* Fastest that any event of a core may count per cycle: a wide path in bytes. */
#define REFNPU_COUNTS_PER_CYCLE	64
/* How long a lost interrupt stays unnoticed. */
#define REFNPU_WATCHDOG_NS	(100ULL * NSEC_PER_MSEC)

/* Why a device is not asked: it went, or the bus keeps it away until it is reset. */
#define REFNPU_GONE	0
#define REFNPU_FROZEN	1

/*
 * How long the kernel may take to bring a device back after an error on the bus. It tells nobody
 * when it gives up, as it does if another device below the same port cannot be brought back.
 */
#define REFNPU_RECOVERY		(30UL * HZ)

/* After how long without records the next one of a queue shall interrupt. */
#define REFNPU_QUIET_NS		(4ULL * NSEC_PER_MSEC)

/**
 * struct refnpu_fifo - a FIFO that the driver empties: four of the task scheduler and one per core
 * @node: in refnpu.busy_fifos while in use
 * @base: its registers
 * @depth: entries it holds
 * @core: index within its kind of the core, for block FIFOs
 * @ring: where entries go; NULL if not in use
 * @left: entries that were waiting when a look began and are still to be read
 * @lost: of the device's count of lost entries, how many are accounted for
 * @new_lost: lost entries that come after @left
 * @lost_first: device clock of the first of them
 * @lost_last: device clock of the last
 * @polling: looked at by time instead of by interrupts
 * @drain_ns: when, in CLOCK_MONOTONIC
 */
struct refnpu_fifo {
	struct list_head node;
	u32 base;
	u32 depth;
	unsigned int core;
	struct npuprof_ring *ring;
	u32 left;
	u64 lost;
	u64 new_lost;
	u64 lost_first;
	u64 lost_last;
	bool polling;
	u64 drain_ns;
};

/**
 * struct refnpu_queue - a ring in the device-written path; driver data of a ring
 * @index: queue of the device
 * @on: @index is taken and programmed
 * @sync: the CPU's view must be synchronised
 * @pages: DMA addresses of the ring's pages
 * @page_count: how many are mapped
 * @credit: what the device may write
 * @returned: records whose slots the device has back; @credit.limit - slots once a renewal is
 *	written
 * @wake: PRODUCER at which the device interrupts, 0 for none
 * @dropped: of the device's count of dropped records, how many are accounted for
 * @suspect: credit that was in force at some time since the last look; only a device that has
 *	come so far can have dropped records
 */
struct refnpu_queue {
	unsigned int index;
	bool on;
	bool sync;
	dma_addr_t *pages;
	unsigned int page_count;
	struct npc_credit credit;
	u64 returned;
	u64 wake;
	u64 dropped;
	u64 suspect;
};

/**
 * struct refnpu - one reference NPU
 * @npu: the part that is common to all NPUs
 * @bus: device for DMA
 * @regs: register region
 * @config: what a reset of the slot makes it forget
 * @recovery: ends sessions if the kernel gave up on the device after an error on the bus
 * @presence: orders those who find the device missing and what the bus says; innermost
 * @dead: it no longer answers; bits REFNPU_GONE and REFNPU_FROZEN, set by whoever noticed, under
 *	@presence
 * @totals: how many totals each unit has
 * @events: numbers of the events its cores can count
 * @heads: words into which the device writes how far its queues are
 * @heads_dma: where the device sees them
 * @queues: bit q set if queue q is in use; npuprof_device.mutex
 * @queue_count: how many there are
 * @fifos: FIFOs, those of the task scheduler first; npuprof_device.lock from here on
 * @busy_fifos: those in use
 * @ready: FIFOs that interrupted and were not served yet
 * @next_fifo: the FIFO that is served next
 * @interrupted: the device was not asked yet why it interrupted
 * @polled: sessions with rings that the device writes
 * @polled_count: how many
 * @polls_left: of them, those to be looked at because a queue interrupted
 * @overflowed: cores with overflowed counters not read yet
 * @core_ring: ring that samples a core over registers
 * @service: what interrupts left, FIFOs that gather, and the watchdog
 * @service_ns: when it is due
 * @elsewhere_ns: of the slot under way, what is charged already
 * @rest_ns: up to when the CPU is left to others
 * @watchdog_ns: when FIFOs are looked at without having interrupted
 */
struct refnpu {
	struct npuprof_device npu;
	struct device *bus;
	void __iomem *regs;
	struct pci_saved_state *config;
	struct delayed_work recovery;
	raw_spinlock_t presence; /* who says that it is gone */
	unsigned long dead;
	unsigned int totals[REFNPU_UNITS];
	DECLARE_BITMAP(events, REFNPU_EVENT_LIMIT);
	__le64 *heads;
	dma_addr_t heads_dma;
	DECLARE_BITMAP(queues, REFNPU_MAX_QUEUES);
	unsigned int queue_count;

	struct refnpu_fifo *fifos;
	struct list_head busy_fifos;
	DECLARE_BITMAP(ready, REFNPU_FIFOS + REFNPU_MAX_CORES);
	unsigned int next_fifo;
	bool interrupted;
	struct list_head polled;
	unsigned int polled_count;
	unsigned int polls_left;
	DECLARE_BITMAP(overflowed, REFNPU_MAX_CORES);
	struct npuprof_ring *core_ring[REFNPU_MAX_CORES];
	struct hrtimer service;
	u64 service_ns;
	u64 elsewhere_ns;
	u64 rest_ns;
	u64 watchdog_ns;
};

static inline struct refnpu *to_refnpu(struct npuprof_device *npu)
{
	return container_of(npu, struct refnpu, npu);
}

/* --- Registers, counted for whom they are accessed --- */

void refnpu_check_presence(struct refnpu *refnpu);

static inline u32 refnpu_read32(struct refnpu *refnpu, struct npuprof_account *account, u32 reg)
{
	u32 value = readl(refnpu->regs + reg);

	atomic64_inc(&account->reads);
	/*
	 * What a device that is gone would say. Callers look at refnpu_dead() before they believe
	 * it.
	 */
	if (unlikely(value == U32_MAX))
		refnpu_check_presence(refnpu);
	return value;
}

static inline u64 refnpu_read64(struct refnpu *refnpu, struct npuprof_account *account, u32 reg)
{
	u64 value = readq(refnpu->regs + reg);

	atomic64_inc(&account->reads);
	if (unlikely(value == U64_MAX))
		refnpu_check_presence(refnpu);
	return value;
}

static inline void refnpu_write32(struct refnpu *refnpu, struct npuprof_account *account, u32 reg,
				  u32 value)
{
	atomic64_inc(&account->writes);
	writel(value, refnpu->regs + reg);
}

static inline void refnpu_write64(struct refnpu *refnpu, struct npuprof_account *account, u32 reg,
				  u64 value)
{
	atomic64_inc(&account->writes);
	writeq(value, refnpu->regs + reg);
}

static inline bool refnpu_dead(const struct refnpu *refnpu)
{
	return READ_ONCE(refnpu->dead);
}

/* Account of the session that records tasks, or the driver's own. */
static inline struct npuprof_account *refnpu_account(struct refnpu *refnpu)
{
	struct npuprof_session *session = refnpu->npu.window_owner;

	lockdep_assert_held(&refnpu->npu.lock);
	return session ? &session->account : &refnpu->npu.self;
}

static inline bool refnpu_owns_window(const struct npuprof_session *session)
{
	return session->npu->window_owner == session;
}

/* refnpu_arm.c */
extern const struct npuprof_pmu_ops refnpu_ops;

/* refnpu_fifo.c */
void refnpu_fifo_arm(struct refnpu *refnpu, struct refnpu_fifo *fifo, struct npuprof_ring *ring);
void refnpu_fifos_disarm(struct refnpu *refnpu, struct npuprof_account *account);
void refnpu_fifos_publish(struct refnpu *refnpu);
bool refnpu_fifos_serve(struct refnpu *refnpu, u64 now, u64 until);
u64 refnpu_fifos_next(struct refnpu *refnpu);

/* refnpu_service.c */
void refnpu_service_start(struct refnpu *refnpu);
bool refnpu_interrupt(struct refnpu *refnpu);
enum hrtimer_restart refnpu_service_timer(struct hrtimer *timer);

/* refnpu_queue.c */
int refnpu_queue_arm(struct npuprof_ring *ring);
void refnpu_queue_off(struct npuprof_ring *ring);
void refnpu_queue_disarm(struct npuprof_ring *ring);
void refnpu_queues_publish(struct npuprof_session *session);
u64 refnpu_poll(struct npuprof_session *session, u64 until);

/* refnpu_sample.c */
int refnpu_measure_cost(struct refnpu *refnpu);
u32 refnpu_unit_of(u32 channel);
void refnpu_read_core(struct refnpu *refnpu, struct npuprof_account *account, unsigned int core,
		      unsigned int counters, struct npc_core_reading *reading);
int refnpu_core_arm(struct npuprof_ring *ring);
int refnpu_unit_arm(struct npuprof_ring *ring);
u32 refnpu_sample_cost(struct npuprof_device *npu, const struct npuprof_add_ring *add);
bool refnpu_latch(struct npuprof_group *group);
bool refnpu_sample(struct npuprof_ring *ring, bool latched, u64 until);

/* refnpu_perf.c */
void refnpu_core_enable(struct npuprof_device *npu, unsigned int core, bool on);
void refnpu_counter_set(struct npuprof_device *npu, unsigned int core, unsigned int counter,
			u16 event, u64 value);
bool refnpu_counters_read(struct npuprof_device *npu, unsigned int core, u32 counters,
			  struct npc_core_reading *reading);
bool refnpu_unit_total(struct npuprof_device *npu, u32 channel, u16 event, u64 *total);

#endif /* NPUPROF_REFNPU_H */
