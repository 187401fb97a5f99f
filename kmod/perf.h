/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of an NPU as a perf PMU.
 *
 * Events count for the device as a whole, on one CPU that is only the place where perf keeps its
 * books. An event of a kind of core takes one counter, the same one of every core that it covers;
 * cycles and totals of units can be read by any number of events.
 *
 * Sessions and events share hardware under npuprof_device.lock: whoever comes later is refused,
 * nobody is evicted. A core that a session samples has no counter for perf, and a core on which
 * perf counts cannot be sampled; a unit whose totals depend on a setting (LLC) has one owner too.
 * perf adds and removes its events all the time, so it asks again by itself.
 */
#ifndef NPUPROF_PERF_H
#define NPUPROF_PERF_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/types.h>

#include "core/counter.h"
#include "npuprof.h"

struct attribute_group;
struct device;
struct npuprof_device;
struct perf_event;

/* Number of the cycle counter among the counters of a core. */
#define NPUPROF_CYCLES	NPUPROF_MAX_COUNTERS

/* perf_event_attr.config; the format/ files say the same. */
#define NPUPROF_CONFIG_EVENT(config)	((u16)(config))
#define NPUPROF_CONFIG_KIND(config)	((u32)((config) >> 16) & 0xf)
#define NPUPROF_CONFIG_UNIT(config)	((u32)((config) >> 20) & 0xf)
#define NPUPROF_CONFIG_BITS		24
#define NPUPROF_CONFIG_CORE(kind, event)	((u32)(kind) << 16 | (event))
#define NPUPROF_CONFIG_TOTAL(channel, event)	((u32)(channel) << 20 | (event))

/* Events of the last-level cache: those of reads, then those of writes. */
#define NPUPROF_LLC_EVENTS	8

/**
 * struct npuprof_account - what is done on behalf of a session, of perf, or of the driver itself
 * @interrupts: interrupts taken
 * @reads: register reads
 * @writes: register writes
 * @busy_ns: time spent in interrupts, timers and requests
 * @max_callback_ns: longest single interrupt or timer callback; written under npuprof_device.lock
 */
struct npuprof_account {
	atomic64_t interrupts;
	atomic64_t reads;
	atomic64_t writes;
	atomic64_t busy_ns;
	atomic64_t max_callback_ns;
};

/**
 * struct npuprof_perf_core - what perf has of one core
 * @users: events that cover it
 * @taken: bit k: counter k belongs to an event
 * @counting: bit k: counter k counts
 * @on: its registers are set up for that
 * @events: what the counters count
 * @counters: extended counters, cycles after the others
 */
struct npuprof_perf_core {
	unsigned int users;
	u8 taken;
	u8 counting;
	bool on;
	u16 events[NPUPROF_MAX_COUNTERS];
	struct npc_counter counters[NPUPROF_MAX_COUNTERS + 1];
};

/**
 * struct npuprof_perf - what perf has of a device; all but @power under npuprof_device.lock
 * @cores: by number, matrix cores first
 * @busy_cores: how many of them have users
 * @units: events that read a unit, by channel
 * @llc_writes: those of the last-level cache want writes counted
 * @active: events that count in units, by active_entry
 * @epoch: how often the device came back without its totals; see perf_event.hw.event_base
 * @off: the device is away, for a while or for good: registers are not touched
 * @timer: reads counters before they have gone round, whatever becomes of interrupts
 * @cursor: core at which @timer goes on
 * @account: what all this costs
 * @power: references to runtime power management that events hold; under npuprof_device.mutex
 */
struct npuprof_perf {
	struct npuprof_perf_core *cores;
	unsigned int busy_cores;
	unsigned int units[NPUPROF_CHANNEL_COUNT];
	bool llc_writes;
	struct list_head active;
	unsigned long epoch;
	bool off;
	struct hrtimer timer;
	unsigned int cursor;
	struct npuprof_account account;
	unsigned int power;
};

#ifdef NPUPROF_PERF

/* perf.c; process context */
int npuprof_perf_init(void);
void npuprof_perf_exit(void);
void npuprof_perf_setup(struct npuprof_device *npu);
int npuprof_perf_prepare(struct npuprof_device *npu);
void npuprof_perf_attach(struct npuprof_device *npu);
void npuprof_perf_detach(struct npuprof_device *npu);
void npuprof_perf_remove(struct npuprof_device *npu);

/* perf_events.c */
extern const struct attribute_group npuprof_perf_events;
void npuprof_perf_events_init(void);
struct npuprof_device *npuprof_perf_device(struct device *dev);

/* perf_check.c */
int npuprof_perf_check(struct npuprof_device *npu, const struct perf_event *event);

/* perf_core.c */
enum hrtimer_restart npuprof_perf_timer(struct hrtimer *timer);
bool npuprof_perf_holds(const struct npuprof_device *npu, const struct npuprof_add_ring *add);
bool npuprof_perf_overflow(struct npuprof_device *npu, unsigned int core);

/* perf_count.c */
int npuprof_perf_add(struct perf_event *event, int flags);
void npuprof_perf_del(struct perf_event *event, int flags);
void npuprof_perf_start(struct perf_event *event, int flags);
void npuprof_perf_stop(struct perf_event *event, int flags);
void npuprof_perf_read(struct perf_event *event);
void npuprof_perf_pause(struct npuprof_device *npu);
void npuprof_perf_resume(struct npuprof_device *npu);

#else

static inline int npuprof_perf_init(void)
{
	return 0;
}

static inline void npuprof_perf_exit(void) {}

static inline void npuprof_perf_setup(struct npuprof_device *npu) {}

static inline int npuprof_perf_prepare(struct npuprof_device *npu)
{
	return 0;
}

static inline void npuprof_perf_attach(struct npuprof_device *npu) {}
static inline void npuprof_perf_detach(struct npuprof_device *npu) {}

static inline bool npuprof_perf_holds(const struct npuprof_device *npu,
				      const struct npuprof_add_ring *add)
{
	return false;
}

static inline bool npuprof_perf_overflow(struct npuprof_device *npu, unsigned int core)
{
	return false;
}

static inline void npuprof_perf_pause(struct npuprof_device *npu) {}
static inline void npuprof_perf_resume(struct npuprof_device *npu) {}
static inline void npuprof_perf_remove(struct npuprof_device *npu) {}

#endif /* NPUPROF_PERF */

#endif /* NPUPROF_PERF_H */
