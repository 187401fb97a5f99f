/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* State of the model, shared by its files only. */
#ifndef NPUSIM_MODEL_INTERNAL_H
#define NPUSIM_MODEL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "npuprof.h"
#include "npuprof_records.h"
#include "npusim_model.h"
#include "refnpu_regs.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int64_t s64;
typedef unsigned __int128 u128;

#define KIND_CUBE   0
#define KIND_VECTOR 1
#define KIND_NONE   2

#define SYNC_IDS   65536
#define STREAM_IDS 65536
#define NEVER	   UINT64_MAX

/* a * num / den without losing high bits. */
static inline u64 mul_div(u64 a, u64 num, u64 den)
{
	u64 product;

	if (!__builtin_mul_overflow(a, num, &product))
		return product / den;
	return (u64)((u128)a * num / den);
}

static inline u64 mul_div_up(u64 a, u64 num, u64 den)
{
	u64 product;

	if (!__builtin_mul_overflow(a, num, &product))
		return product / den + (product % den != 0);
	return (u64)(((u128)a * num + den - 1) / den);
}

static inline u64 div_up(u64 a, u64 b)
{
	return a / b + (a % b != 0);
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* A fraction in lowest terms. */
struct ratio {
	u64 num;
	u64 den;
};

/* Cost (cost.c) */

/*
 * What one task does on the cores of one kind, summed over its blocks. Events are these numbers,
 * shifted (events.c).
 */
enum quantity {
	Q_TOTAL, /* core cycles */
	Q_VEC,	 /* busy cycles of the pipes */
	Q_CUBE,
	Q_CUBE_FP16,
	Q_CUBE_INT8,
	Q_SCALAR,
	Q_MTE1,
	Q_MTE2,
	Q_MTE3,
	Q_FIXPIPE,
	Q_VEC_FP32,
	Q_VEC_FP16_128,
	Q_VEC_FP16_64,
	Q_VEC_INT32,
	Q_VEC_MISC,
	Q_INSTR_VEC, /* instructions */
	Q_INSTR_CUBE,
	Q_INSTR_MTE1,
	Q_INSTR_MTE2,
	Q_INSTR_MTE3,
	Q_INSTR_TOTAL,
	Q_ICACHE_REQ,
	Q_ICACHE_MISS,
	Q_READ, /* bytes */
	Q_WRITE,
	Q_HBM_READ,
	Q_HBM_READ_0,
	Q_HBM_READ_1,
	Q_HBM_WRITE,
	Q_READ_HIT_0,
	Q_READ_HIT_1,
	Q_READ_MISS_0,
	Q_READ_MISS_1,
	Q_WRITE_HIT,
	Q_WRITE_MISS,
	Q_L1_READ,
	Q_L1_WRITES, /* requests */
	Q_L0A_WRITE,
	Q_L0B_WRITE,
	Q_L0C_READ,
	Q_L0C_TO_L1,
	Q_L0C_OUT, /* requests */
	Q_UB_READ,
	Q_UB_WRITE,
	Q_UB_VEC_READ,
	Q_UB_VEC_WRITE,
	Q_UB_SCALAR, /* requests */
	Q_UB_TO_GM,
	Q_GM_TO_UB,
	Q_COUNT
};

struct cost {
	u64 block_cycles; /* of each block, both kinds alike */
	u64 block_ns;
	u32 blocks[2];
	u8 main_kind;
	u64 macs;
	u64 vector_ops;
	u64 hbm[2]; /* bytes read, written */
	u64 l2[4];  /* bytes: read hit, read miss, write hit, write miss */
	u64 q[2][Q_COUNT];
};

/* Tasks and streams (task.c, sched.c) */

struct segment;

struct task {
	struct task *next; /* queue of the stream, waiters of a sync object, free list */
	struct task *run_prev, *run_next;
	struct npusim_task d;
	u64 seq;
	u64 submit_ns;
	u64 ready_ns;
	u64 start_ns;
	u64 end_ns;
	u64 wait_target;
	struct segment *segments;
	struct cost *cost; /* kernels, from placement to end */
	bool running;
	bool recorded;
};

/* Consecutive blocks of one task on one core. */
struct segment {
	struct segment *task_next;
	struct segment *core_next;
	struct task *task;
	u64 start_ns;
	u64 end_ns;
	u32 count;	 /* blocks */
	u32 first, step; /* block ids first, first + step, ... */
	u32 reported;	 /* blocks handed to the block trace */
	u16 core;
	bool retired;
};

struct stream {
	struct task *head, *tail; /* queued, not dispatched */
	struct task *current;	  /* dispatched or running */
	u32 depth;
	u64 parts_start_ns; /* of the FFTS+ task whose contexts run */
	bool parts_recorded;
};

/* Of all contexts of an FFTS+ task one begins it and one ends it; any other task does both. */
static inline bool begins_task(const struct task *t)
{
	return !t->d.part || t->d.part & NPUSIM_PART_FIRST;
}

static inline bool ends_task(const struct task *t)
{
	return !t->d.part || t->d.part & NPUSIM_PART_LAST;
}

struct sync {
	u64 submitted;
	u64 done;
	struct task *waiters, *waiters_tail;
};

/* Cores (core.c) */

struct fifo {
	u64 *words; /* depth * REFNPU_FIFO_WORDS */
	u32 depth;
	u32 head, count;
	u32 ctrl;
	u32 watermark;
	u64 lost;
	u64 lost_first, lost_last;
	bool loss_noted;
};

struct core {
	struct segment *first, *last; /* blocks running or waiting, in order */
	u64 free_at;
	u8 kind;
	u32 ctrl;
	u16 event[REFNPU_COUNTERS];
	s16 index[REFNPU_COUNTERS]; /* in the event table, or -1 */
	u64 acc[REFNPU_COUNTERS];   /* full width; registers show the low bits */
	u64 cycles;
	u64 seen[REFNPU_COUNTERS]; /* part of the first segment already accounted for */
	u64 seen_cycles;
	u32 overflow;
	u64 overflow_at; /* time of the foreseen overflow, 0: none */
	u32 latched[REFNPU_COUNTERS];
	u64 latched_cycles;
	u32 latched_overflow;
	u64 latch_clock, latch_mono;
	u64 sample_acc[REFNPU_COUNTERS]; /* values at the previous device-written sample */
	u64 sample_cycles;
	u32 cut;
	struct fifo fifo;
};

/* Queues (queue.c) */

struct queue {
	u32 ctrl;
	u32 channel;
	u64 base;
	u32 slots;
	u32 page_shift;
	u32 page_index;
	u32 page_count, page_room;
	u64 *pages;
	u64 head_address;
	u64 credit;
	u64 producer;
	u64 dropped;
	u64 wake;
	u64 period;
	u64 gap_count, gap_position, gap_first, gap_last;
	u64 timer_base; /* host ns at which sampling began */
	u64 timer_tick;
	u64 sampled_at; /* host ns of the last sample */
	u32 timer_gen;
	u64 last_total[REFNPU_UNIT_TOTALS];
	u64 published;	/* producer as last written to head_address */
	bool wake_done; /* the interrupt for this wake index was raised */
	bool gap_told;
	bool dirty;
};

/* Shared units (units.c) */

#define HBM_CHANNELS 4
#define LLC_SLICES   2
#define NIC_PORTS    1
#define L2_LINE	     128

struct hbm_slot {
	u64 start_ns, end_ns;
	u64 bytes[2];
	u32 flow; /* NPUPROF_FLOW_* */
};

struct hbm {
	struct hbm_slot *slots; /* ring, a power of two */
	u32 room, head, count;
	u64 free_at;
	u64 done[NPUPROF_FLOWS][2];
};

struct unit {
	u32 ctrl;
	u64 latch_clock;
	u64 latched[REFNPU_UNIT_TOTALS];
};

/* Quantities of a task that grow evenly from its start to its end. */
enum linear {
	L_READ_HIT,
	L_READ_MISS,
	L_WRITE_HIT,
	L_WRITE_MISS,
	L_NIC_RX,
	L_NIC_TX,
	L_LINK_RX,
	L_LINK_TX,
	L_PCIE_RX,
	L_PCIE_TX,
	L_LOCAL,
	L_DVPP_NS,
	L_DVPP_FRAMES = L_DVPP_NS + NPUSIM_DVPP_ENGINES,
	L_COPY_NS = L_DVPP_FRAMES + NPUSIM_DVPP_ENGINES, /* by enum npusim_copy */
	L_COUNT = L_COPY_NS + NPUSIM_COPIES
};

/* Engines that serve one task at a time each. */
enum engine {
	ENGINE_AICPU,
	ENGINE_SDMA,
	ENGINE_PCIE_IN,
	ENGINE_PCIE_OUT,
	ENGINE_PEER_IN,
	ENGINE_PEER_OUT,
	ENGINE_NIC_IN,
	ENGINE_NIC_OUT,
	ENGINE_DVPP, /* NPUSIM_DVPP_ENGINES of them */
	ENGINE_COUNT = ENGINE_DVPP + NPUSIM_DVPP_ENGINES
};

#define ENGINE_MAX_SERVERS 64

struct servers {
	u32 count;
	u64 free_at[ENGINE_MAX_SERVERS];
};

/* Timed events (heap.c) */

enum timed_kind {
	TIMED_READY, /* ptr: task */
	TIMED_START,
	TIMED_END,
	TIMED_BLOCK,	/* ptr: segment */
	TIMED_OVERFLOW, /* arg: core, gen */
	TIMED_SAMPLE,	/* arg: queue, gen */
};

struct timed {
	u64 ns;
	u64 seq;
	void *ptr;
	u16 kind;
	u16 arg;
	u32 gen;
};

struct heap {
	struct timed *v;
	size_t count, room;
	u64 seq;
};

/* The device */

struct pool {
	void *free;
	void *slabs;
	size_t size;
};

struct trace {
	u32 enable;
	u32 window;
	u64 t0, t1;
	u32 at_open, at_close;
	u32 running;
	u64 started, ended;
	u32 cut[REFNPU_FIFOS];
	u32 event[2][REFNPU_COUNTERS];
	s16 index[2][REFNPU_COUNTERS]; /* in the event table, or -1 */
};

struct npusim_model {
	struct npusim_model_config cfg;
	struct npusim_model_ops ops;
	void *ctx;
	bool gone;
	u64 now;
	u64 origin;
	u32 epoch;
	struct ratio tick;	   /* device clock ticks per host ns */
	struct ratio mono;	   /* device ns per tick */
	struct ratio cycle_ns;	   /* host ns per core cycle */
	u32 clock_held, mono_held; /* high halves after a read of the low one */
	u32 held_low;		   /* low half of a 64-bit write in two steps */

	u32 int_status, int_enable;
	u32 fifo_pending;
	u32 queue_pending[REFNPU_MAX_QUEUES / 32];
	u32 overflow_pending[REFNPU_MAX_CORES / 32];
	u32 block_pending[REFNPU_MAX_CORES / 32];

	struct heap heap;
	struct pool tasks, segments, costs;
	struct task *running; /* list */
	u32 running_count;
	u64 task_seq;
	struct stream **streams;
	struct sync *events, *notifies;

	u32 core_count;
	u32 cores_of[2];
	u32 first_core[2];
	u64 all_free_at[2]; /* latest free_at of a kind */
	struct core *cores;
	struct servers engines[ENGINE_COUNT];

	struct trace trace;
	struct fifo fifos[REFNPU_FIFOS];
	struct queue *queues;
	u16 dirty[REFNPU_MAX_QUEUES];
	u32 dirty_count;
	int channel_queue[NPUPROF_CHANNEL_COUNT];
	int core_queue[2][REFNPU_MAX_CORES]; /* 0 block PMU, 1 samples */

	struct hbm hbm;
	u64 linear[L_COUNT];
	struct unit units[REFNPU_UNITS];

	struct npusim_totals totals;
	u64 *event_totals[2]; /* by index in the event table */
	struct npusim_record_counts made[NPUPROF_CHANNEL_COUNT];
	struct npusim_record_counts core_made[2][REFNPU_MAX_CORES]; /* 0 block PMU, 1 samples */
};

/* clock.c */
void clock_setup(struct npusim_model *m);
u64 clock_at(const struct npusim_model *m, u64 ns);
u64 mono_at(const struct npusim_model *m, u64 ns);
u64 cycles_to_ns(const struct npusim_model *m, u64 cycles);
u64 ns_to_cycles(const struct npusim_model *m, u64 ns);
u64 scaled_ns(const struct npusim_model *m, u64 ns);
/* Host time of tick k of a sampler with a period in device nanoseconds. */
u64 sample_time(const struct npusim_model *m, u64 base, u64 period, u64 k);

/* heap.c */
void heap_push(struct heap *h, u64 ns, enum timed_kind kind, void *ptr, u16 arg, u32 gen);
void heap_pop(struct heap *h, struct timed *out);
void *pool_get(struct pool *p);
void pool_put(struct pool *p, void *item);
void pool_destroy(struct pool *p);

/* events.c */
int event_index(u32 event);
u32 event_count(void);
u64 event_value(int index, const u64 *q);

/* cost.c: everything but the stretch by HBM. */
void cost_kernel(const struct npusim_model *m, const struct task *t, struct cost *c);
/* Settles block_cycles and block_ns so that the task lasts at least @hbm_span_ns. */
void cost_finish(const struct npusim_model *m, struct cost *c, u64 hbm_span_ns);
u64 hbm_ns(const struct npusim_model *m, u64 bytes);

/* sched.c */
void sched_dispatch(struct npusim_model *m, struct stream *s);
void sched_ready(struct npusim_model *m, struct task *t);
void sched_start(struct npusim_model *m, struct task *t);
void sched_end(struct npusim_model *m, struct task *t);
void sched_notify(struct npusim_model *m, u32 id);
void sched_abort_all(struct npusim_model *m);

/* place.c */
void place_kernel(struct npusim_model *m, struct task *t);
void place_engine(struct npusim_model *m, struct task *t);
void copy_hbm_bytes(const struct task *t, u64 *read, u64 *written);

/* core.c */
void core_add(struct npusim_model *m, struct segment *s);
void core_sync(struct npusim_model *m, u32 index);
void core_overflow_due(struct npusim_model *m, u32 index);
void core_latch(struct npusim_model *m, u32 index);
u64 core_read(struct npusim_model *m, u32 index, u32 reg);
void core_write(struct npusim_model *m, u32 index, u32 reg, u64 value);
void core_reset(struct core *c);
/* Part of @total that falls to @block; the parts of all blocks add up to it. */
u64 block_share(u64 total, u32 blocks, u32 block);

/* fifo.c */
bool fifo_init(struct fifo *f, u32 depth);
void fifo_reset(struct fifo *f);
/* @return true if the driver is to be interrupted: watermark reached, or first loss since the last
 * one noted */
bool fifo_push(struct fifo *f, const u64 *words, u32 count, u64 clock, bool *lost);
u64 fifo_read(const struct fifo *f, u32 reg);
void fifo_write(struct fifo *f, u32 reg, u64 value);

/* trace.c */
void trace_open(struct npusim_model *m);
void trace_close(struct npusim_model *m);
void trace_enable(struct npusim_model *m, u32 enable);
void trace_start(struct npusim_model *m, struct task *t);
void trace_end(struct npusim_model *m, struct task *t);
void trace_mark(struct npusim_model *m, const struct task *t);
void trace_block(struct npusim_model *m, struct segment *s);
void trace_reset(struct npusim_model *m);
void trace_select(struct npusim_model *m, u32 kind, u32 slot, u32 event);

/* queue.c */
struct queue *queue_for(struct npusim_model *m, u32 channel);
struct queue *core_queue_for(struct npusim_model *m, u32 channel, u32 core);
void queue_put(struct npusim_model *m, struct queue *q, const void *record, u32 size, u64 clock);
void queue_publish(struct npusim_model *m);
u64 queue_read(const struct queue *q, u32 reg);
void queue_write(struct npusim_model *m, u32 index, u32 reg, u64 value);
void queue_reset(struct npusim_model *m);
void queue_sample(struct npusim_model *m, u32 index, u32 gen);

/* units.c */
u64 hbm_reserve(struct npusim_model *m, u64 start_ns, u32 flow, u64 read, u64 written);
void units_task_ended(struct npusim_model *m, const struct task *t);
u32 units_totals(struct npusim_model *m, u32 unit, bool llc_writes, u64 *out);
void units_latch(struct npusim_model *m, u32 unit);

/* model.c */
/* Where records of a channel and core are counted; NULL if there is no such channel or core. */
struct npusim_record_counts *made_for(struct npusim_model *m, u32 channel, u32 core);

/* regs.c */
void raise_cause(struct npusim_model *m, u32 cause);
void regs_reset(struct npusim_model *m);

#endif /* NPUSIM_MODEL_INTERNAL_H */
