/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Register-level model of the reference NPU (kmod/refnpu_regs.h, docs/reference-npu.md).
 *
 * The model is passive: it has no thread and no clock, and equal calls give equal results. Its host tells it the
 * time with npusim_model_advance() and asks npusim_model_next_event() when to come back. Register accesses and
 * submissions take place at the time of the last advance. One caller at a time; operations (struct
 * npusim_model_ops) are called from within model functions and must not call the model again.
 *
 * All times named ns are CLOCK_MONOTONIC_RAW nanoseconds of the host; device clock values appear only in
 * registers and records.
 */
#ifndef NPUSIM_MODEL_H
#define NPUSIM_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npusim_model;

/** Properties of one device. npusim_model_defaults() fills in the reference device. */
struct npusim_model_config {
	uint32_t cube_cores;	 /* 1 to 128; default 24 */
	uint32_t vector_cores;	 /* 1 to 128; default 48 */
	uint32_t core_mhz;	 /* 1 to 10000; default 1800 */
	uint32_t aicpu_cores;	 /* 1 to 64; default 6 */
	uint64_t clock_hz;	 /* device clock, 1 to 10^10; default 50 MHz */
	uint64_t clock_start;	 /* device clock at origin_ns, offset 0; default 0 */
	int64_t clock_offset_ns; /* added to elapsed host time before conversion; default 0 */
	int32_t clock_ppm;	 /* drift, -100000 to 100000; default 0 */
	uint32_t
		time_scale_ppm; /* scale of task durations, 1 to 10^9; default 1000000. The core clock slows with it */
	uint64_t origin_ns; /* host time at which the device was powered; default 0 */
	uint64_t seed;	    /* seed of the jitter */
	uint32_t
		jitter_ppm; /* kernels take up to so much longer, by seed and submission; default 0 */
	uint32_t
		stream_depth; /* tasks queued per stream before submit refuses; 0 (default) means no limit */
	uint32_t fifo_depth;	   /* entries of each task FIFO, 1 to 65535; default 1024 */
	uint32_t block_fifo_depth; /* entries of each core's block FIFO, 1 to 65535; default 64 */
};

/** Functions of the host. Any may be NULL. */
struct npusim_model_ops {
	/** Interrupt cause @p vector (bit number in REFNPU_INT_STATUS) went from clear to pending while enabled. */
	void (*irq)(void *ctx, uint32_t vector);
	/** Writes @p len bytes to @p addr of memory. Eight aligned bytes at a queue's HEAD_ADDRESS publish all
	 *  earlier writes: store them with release order. */
	void (*dma_write)(void *ctx, uint64_t addr, const void *data, size_t len);
	/** A task with a cookie other than 0 started or ended, in the order in which it happened. */
	void (*task_started)(void *ctx, uint64_t cookie, uint64_t ns);
	void (*task_ended)(void *ctx, uint64_t cookie, uint64_t ns);
	/** The device was reset or went away before the task ended. */
	void (*task_aborted)(void *ctx, uint64_t cookie, uint64_t ns);
	/** A notify record addressed to device @p peer ran: signal @p id there (npusim_model_signal). */
	void (*notify_peer)(void *ctx, uint32_t peer, uint32_t id, uint64_t ns);
};

enum npusim_task_kind {
	NPUSIM_TASK_CUBE,     /* kernel on cube cores */
	NPUSIM_TASK_VECTOR,   /* kernel on vector cores */
	NPUSIM_TASK_MIX_AIC,  /* kernel on core groups, main part on the cube core */
	NPUSIM_TASK_MIX_AIV,  /* the same, main part on the vector cores */
	NPUSIM_TASK_AICPU,    /* kernel on an AI CPU: duration_ns */
	NPUSIM_TASK_SDMA,     /* copy inside the device or between devices: copy, work.copy_bytes */
	NPUSIM_TASK_PCIE_DMA, /* copy between host and device */
	NPUSIM_TASK_DVPP,     /* media engine `engine`: duration_ns, frames */
	NPUSIM_TASK_EVENT_RECORD, /* sync_id */
	NPUSIM_TASK_EVENT_WAIT,	  /* waits for the records of sync_id submitted before it */
	NPUSIM_TASK_NOTIFY_RECORD, /* adds one to notify sync_id, of device `peer` if not NPUSIM_LOCAL */
	NPUSIM_TASK_NOTIFY_WAIT, /* waits until notify sync_id is above zero, then takes one */
	NPUSIM_TASK_WRITE_VALUE,
	NPUSIM_TASK_PLACE_HOLDER,
	NPUSIM_TASK_STEP, /* mark: no task log, ts_track step record with step_* */
	NPUSIM_TASK_FLIP, /* mark: the stream's task ids begin anew with task_id; flip_count */
	NPUSIM_TASK_KINDS
};

enum npusim_copy {
	NPUSIM_COPY_LOCAL,     /* within the device's memory: reads and writes HBM */
	NPUSIM_COPY_FROM_HOST, /* writes HBM */
	NPUSIM_COPY_TO_HOST,   /* reads HBM */
	NPUSIM_COPY_FROM_PEER, /* over the chip-to-chip link; writes HBM */
	NPUSIM_COPY_TO_PEER,   /* reads HBM */
	NPUSIM_COPY_NIC_SEND,  /* network: reads HBM, counts as sent on port 0 */
	NPUSIM_COPY_NIC_RECEIVE,
	NPUSIM_COPIES
};

enum npusim_dvpp {
	NPUSIM_DVPP_VPC,
	NPUSIM_DVPP_JPEGE,
	NPUSIM_DVPP_JPEGD,
	NPUSIM_DVPP_PNGD,
	NPUSIM_DVPP_VDEC,
	NPUSIM_DVPP_VENC,
	NPUSIM_DVPP_ENGINES
};

#define NPUSIM_LOCAL 0xffffffffu

#define NPUSIM_MAX_WORK	       10000000000000000ull /* of each field of struct npusim_work */
#define NPUSIM_MAX_CYCLES      10000000000ull
#define NPUSIM_MAX_DURATION_NS 1000000000000000ull

/**
 * What a task does, summed over all its blocks. Of mixed kernels MACs and L1/L0 traffic fall to the cube cores,
 * element operations and UB traffic to the vector cores. Local traffic that is zero is derived: see
 * docs/reference-npu.md.
 */
struct npusim_work {
	uint64_t macs_fp16; /* multiply-accumulates of the cube unit, fp16/bf16 */
	uint64_t macs_int8;
	uint64_t vec_fp32; /* element operations of the vector unit, by type */
	uint64_t vec_fp16;
	uint64_t vec_int32;
	uint64_t vec_misc;	  /* conversions, selections, transcendental steps */
	uint64_t scalar;	  /* scalar instructions */
	uint64_t read_bytes;	  /* global memory read by the cores, L2 hits included */
	uint64_t write_bytes;	  /* global memory written by the cores, L2 hits included */
	uint64_t l1_read_bytes;	  /* L1 to L0A and L0B */
	uint64_t l0c_to_l1_bytes; /* results of the cube unit kept in L1 */
	uint64_t ub_read_bytes;	  /* UB reads of the vector unit */
	uint64_t ub_write_bytes;  /* UB writes of the vector unit */
	uint64_t copy_bytes;	  /* SDMA and PCIE_DMA */
	uint32_t l2_hit_ppm; /* share of read and written bytes that stays in L2, 0 to 1000000 */
	uint32_t frames;     /* DVPP */
};

/*
 * An FFTS+ task is submitted as its contexts, one kernel each, in the order in which they run and with nothing else of
 * the stream between them. They share stream and task id, and are one task in the task log and in counts of tasks.
 */
#define NPUSIM_PART	  1u /* this is a context of such a task */
#define NPUSIM_PART_FIRST 2u /* the task starts with it */
#define NPUSIM_PART_LAST  4u /* the task ends with it */

/** One task. Zeroed fields mean "nothing" or "default". */
struct npusim_task {
	uint16_t stream; /* tasks of a stream run in the order of submission */
	uint16_t task_id;
	uint8_t kind;	     /* enum npusim_task_kind */
	uint8_t mix_ratio;   /* mixed kernels: vector blocks per cube block, 1 or 2 */
	uint8_t copy;	     /* enum npusim_copy */
	uint8_t engine;	     /* enum npusim_dvpp */
	uint32_t block_dim;  /* kernels: blocks, 1 to 65535 */
	uint32_t sync_id;    /* event or notify, 0 to 65535 */
	uint32_t peer;	     /* NOTIFY_RECORD: NPUSIM_LOCAL or the device to signal */
	uint16_t step_tag;   /* STEP: 60000 step start, 60001 step end, ... */
	uint16_t flip_count; /* FLIP */
	uint16_t context;    /* parts of an FFTS+ task: which one, see NPUSIM_PART */
	uint16_t part;	     /* NPUSIM_PART_*, or 0 */
	uint64_t step_index;
	uint64_t step_model;
	uint64_t
		cycles; /* kernels: cycles of each block; 0 computes them from work. With work given, the larger */
	uint64_t duration_ns; /* other tasks: 0 takes the default of the kind */
	uint64_t ready_ns;    /* not before this host time; 0: at once */
	uint64_t cookie;      /* handed to task_started and task_ended; 0: no calls */
	struct npusim_work work;
};

/** What happened since creation; reset() does not clear it. The oracle that profilers are checked against. */
struct npusim_totals {
	uint64_t submitted; /* tasks accepted, marks not included */
	uint64_t started;
	uint64_t ended;
	uint64_t aborted;
	uint64_t
		kernels_ended; /* of ended: tasks on cube or vector cores, each one task PMU record */
	uint64_t aicpu_ended; /* of ended: AI CPU tasks */
	uint64_t marks;	      /* steps and flips that ran */
	uint64_t blocks[2];   /* blocks ended, by core kind: 0 cube, 1 vector */
	uint64_t cycles[2];   /* their core cycles */
	uint64_t
		task_cycles; /* sum of the cycles field of all task PMU snapshots, recorded or not */
	uint64_t macs;	     /* multiply-accumulates of ended kernels */
	uint64_t vector_ops;
	uint64_t hbm_bytes[2];	/* read, written by ended tasks */
	uint64_t nic_bytes[2];	/* received, sent by ended tasks */
	uint64_t link_bytes[2]; /* the same between chips */
	uint64_t pcie_bytes[2]; /* the same between host and device */
	uint64_t l2_lines[2];	/* of ended tasks: found in L2, not found */
	uint64_t dvpp_frames;
	uint64_t recorded_started; /* tasks that started in a window */
	uint64_t recorded_ended;
	uint64_t straddled_open; /* tasks running when a window opened */
	uint64_t fifo_produced
		[5]; /* entries produced for each task FIFO (REFNPU_FIFO_*), kept or lost */
	uint64_t fifo_lost[5];
	uint64_t queue_written; /* records written by all queues */
	uint64_t queue_dropped;
	uint64_t reg_reads; /* register accesses by the driver */
	uint64_t reg_writes;
	uint64_t busy_ticks; /* device clock from start to end, of all ended tasks together */
};

/** Records that the device made for one ring, by queue or by FIFO, since creation; reset() does not clear it. */
struct npusim_record_counts {
	uint64_t kept; /* written to memory, or put into a FIFO */
	uint64_t lost; /* the queue had no credit, or the FIFO was full */
};

#define NPUSIM_NO_CORE 0xffffu /* of channels that are not about one core */

/** Fills @p config with the reference device. */
void npusim_model_defaults(struct npusim_model_config *config);

/** New device at config->origin_ns. @return NULL if a value is out of range or memory is short. */
struct npusim_model *npusim_model_create(const struct npusim_model_config *config,
					 const struct npusim_model_ops *ops, void *ctx);
void npusim_model_destroy(struct npusim_model *m);

/** Power-on reset at the current time: all tasks are aborted, all register state and the clock start anew. */
void npusim_model_reset(struct npusim_model *m);
/** The registers alone lose their power: profiling state is at its defaults, tasks and clock go on. */
void npusim_model_lose_registers(struct npusim_model *m);
/** The device goes away at once: tasks are aborted, reads give all ones, writes and submissions do nothing. */
void npusim_model_remove(struct npusim_model *m);

/** Register accesses; @p offset must be aligned to the width and inside the region (else all ones, no effect). */
uint32_t npusim_model_read32(struct npusim_model *m, uint32_t offset);
uint64_t npusim_model_read64(struct npusim_model *m, uint32_t offset);
void npusim_model_write32(struct npusim_model *m, uint32_t offset, uint32_t value);
void npusim_model_write64(struct npusim_model *m, uint32_t offset, uint64_t value);

/** Lets time pass until @p now_ns; earlier values leave the time alone. */
void npusim_model_advance(struct npusim_model *m, uint64_t now_ns);
/** Time of the next thing that happens by itself, or UINT64_MAX. */
uint64_t npusim_model_next_event(const struct npusim_model *m);
/** Time of the last advance. */
uint64_t npusim_model_now(const struct npusim_model *m);

/**
 * Queues @p task at the current time.
 * @return 0, -EINVAL (a field out of range), -EAGAIN (stream_depth reached), -ENODEV (removed), -ENOMEM
 */
int npusim_model_submit(struct npusim_model *m, const struct npusim_task *task);
/** @return 0 if every device takes the values of @p task, else -EINVAL */
int npusim_model_check_task(const struct npusim_task *task);
/** Adds one to notify @p id at the current time, as another device or the host does. @return 0 or -EINVAL */
int npusim_model_signal(struct npusim_model *m, uint32_t id);
/** Tasks of @p stream that are queued or running. */
uint32_t npusim_model_pending(const struct npusim_model *m, uint16_t stream);

/** Copies the totals. */
void npusim_model_totals(const struct npusim_model *m, struct npusim_totals *totals);
/**
 * Records made for channel @p channel (enum npuprof_channel) and core @p core (cube cores first; NPUSIM_NO_CORE).
 * Samples that a driver takes over registers are not records of the device.
 * @return 0 or -EINVAL (no such channel or core)
 */
int npusim_model_record_counts(struct npusim_model *m, uint32_t channel, uint32_t core,
			       struct npusim_record_counts *counts);
/** Device clock at host time @p ns, exact. */
uint64_t npusim_model_clock_at(const struct npusim_model *m, uint64_t ns);
/**
 * Sum of event @p event (public number) over all blocks of core kind @p kind (0 cube, 1 vector) that ended.
 * 0 for events the device does not know.
 */
uint64_t npusim_model_event_total(const struct npusim_model *m, int kind, uint16_t event);
/** 1 if the device knows event @p event, else 0. A core without the unit in question counts zero. */
int npusim_model_event_known(uint16_t event);

#ifdef __cplusplus
}
#endif
#endif /* NPUSIM_MODEL_H */
