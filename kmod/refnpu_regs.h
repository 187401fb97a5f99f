/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Register map of the reference NPU (docs/reference-npu.md has the prose).
 *
 * One region of REFNPU_REGION_SIZE bytes, little-endian. 32-bit registers take aligned 32-bit
 * accesses, 64-bit registers (marked "64") one 64-bit access or two 32-bit ones. A 32-bit read of
 * the low half of REFNPU_CLOCK or REFNPU_MONO_NS holds the high half for the next read of it; other
 * 64-bit registers are read high, low, high until both highs agree. A 32-bit write of the low half
 * is held until the high half of the same register is written right after it; then both take
 * effect.
 *
 * Unassigned offsets read as zero and ignore writes. A device that is gone reads as all ones.
 */
#ifndef REFNPU_REGS_H
#define REFNPU_REGS_H

/* --- On the PCI bus: one function, all addresses that it is given are bus addresses ----------- */
#define REFNPU_PCI_VENDOR	0x1234
#define REFNPU_PCI_DEVICE	0x4e50
#define REFNPU_PCI_BAR		0	/* 64-bit memory BAR: the region below */
/* MSI-X table and pending bits, REFNPU_INT_VECTORS vectors */
#define REFNPU_PCI_MSIX_BAR	4

#define REFNPU_REGION_SIZE	0x80000
#define REFNPU_MAX_CORES	256	/* cube cores first, vector cores after them */
#define REFNPU_MAX_QUEUES	512
#define REFNPU_COUNTERS		8
#define REFNPU_COUNTER_BITS	32
#define REFNPU_CYCLE_BITS	48
#define REFNPU_EVENT_LIMIT	0x800	/* numbers of events are below this */

/* --- Identity and capabilities, read-only ----------------------------------------------------- */
#define REFNPU_ID		0x000	/* REFNPU_ID_VALUE */
#define REFNPU_ID_VALUE		0x55504e52u	/* "RNPU" */
#define REFNPU_VERSION		0x004	/* REFNPU_VERSION_VALUE: major << 16 | minor */
#define REFNPU_VERSION_VALUE	0x00010001u
#define REFNPU_CAP_CORES	0x008	/* cube cores [15:0], vector cores [31:16] */
/* counters [7:0], their bits [15:8], bits of the cycle counter [23:16] */
#define REFNPU_CAP_COUNTERS	0x00c
#define REFNPU_CAP_CLOCK_HZ	0x010	/* 64: nominal frequency of REFNPU_CLOCK */
#define REFNPU_CAP_CORE_HZ	0x018	/* 64: nominal core frequency */
/* entries of a task FIFO [15:0], of a core's block FIFO [31:16] */
#define REFNPU_CAP_FIFO		0x020
/* HBM channels [7:0], LLC slices [15:8], ports [23:16], DVPP engines [31:24] */
#define REFNPU_CAP_UNITS	0x024
#define REFNPU_CAP_AICPU	0x028	/* AI CPU cores */
#define REFNPU_CAP_QUEUES	0x02c	/* device-written queues */
#define REFNPU_CAP_FLAGS	0x030	/* REFNPU_CAP_SIMULATED */
#define REFNPU_CAP_SIMULATED	0x1u
#define REFNPU_EPOCH		0x034	/* number of device resets so far */

/* --- Control ---------------------------------------------------------------------------------- */
/* write REFNPU_CONTROL_RESET_PMU: profiling state to its defaults */
#define REFNPU_CONTROL		0x040
#define REFNPU_CONTROL_RESET_PMU 0x1u

/* --- Interrupts: vector n is status bit n ----------------------------------------------------- */
#define REFNPU_INT_STATUS	0x100	/* pending causes; write ones to acknowledge */
#define REFNPU_INT_ENABLE	0x104	/* causes that interrupt */
/* a task FIFO reached its watermark or lost an entry: FIFO_PENDING */
#define REFNPU_INT_FIFO		0x01u
#define REFNPU_INT_OVERFLOW	0x02u	/* a core counter overflowed: OVERFLOW_PENDING */
/* a queue reached its wake index or dropped: QUEUE_PENDING */
#define REFNPU_INT_QUEUE	0x04u
/* a block FIFO reached its watermark or lost an entry: BLOCK_PENDING */
#define REFNPU_INT_BLOCK	0x08u
#define REFNPU_INT_DRAINED	0x10u	/* the window is closed and its last task has ended */
#define REFNPU_INT_VECTORS	5
#define REFNPU_FIFO_PENDING	0x108	/* bit f: task FIFO f; write ones to acknowledge */
/* i < 16, bit b: queue 32 i + b; write ones */
#define REFNPU_QUEUE_PENDING(i)	(0x140 + 4 * (i))
/* i < 8, bit b: core 32 i + b; cleared in the core */
#define REFNPU_OVERFLOW_PENDING(i) (0x180 + 4 * (i))
/* i < 8, bit b: core 32 i + b; write ones */
#define REFNPU_BLOCK_PENDING(i)	(0x1a0 + 4 * (i))

/* --- Clock ------------------------------------------------------------------------------------ */
#define REFNPU_CLOCK		0x200	/* 64: device clock, the time of all records */
#define REFNPU_MONO_NS		0x208	/* 64: the same clock in nanoseconds, rounded down */

/* --- Tracing of tasks ------------------------------------------------------------------------- */
/*
 * A window is open from the write of 1 to TRACE_WINDOW until the write of 0. Tasks that start in it
 * are recorded, start and end, however late they end. What is recorded is TRACE_ENABLE. A record
 * goes to the device-written queue of its channel if one is enabled, else to the FIFO.
 */
#define REFNPU_TRACE_ENABLE	0x300	/* bits REFNPU_TRACE_* */
#define REFNPU_TRACE_LOG	0x01u	/* task start and end */
#define REFNPU_TRACE_PMU	0x02u	/* counters at task end */
#define REFNPU_TRACE_TRACK	0x04u	/* step marks and task id flips */
#define REFNPU_TRACE_AICPU	0x08u	/* AI CPU tasks */
#define REFNPU_TRACE_BLOCK	0x10u	/* counters of every block */
/* counters of the second core kind's blocks of mixed kernels */
#define REFNPU_TRACE_MIX_BLOCK	0x20u
#define REFNPU_TRACE_SOC	0x40u	/* L2 events of tasks on cores */
#define REFNPU_TRACE_WINDOW	0x304	/* 1 opens the window, 0 closes it */
#define REFNPU_TRACE_T0		0x308	/* 64: device clock at which the window last opened */
#define REFNPU_TRACE_T1		0x310	/* 64: device clock at which it last closed */
#define REFNPU_TRACE_AT_OPEN	0x318	/* tasks already running at T0; they are not recorded */
#define REFNPU_TRACE_AT_CLOSE	0x31c	/* recorded tasks running at T1 */
#define REFNPU_TRACE_RUNNING	0x320	/* recorded tasks running now */
#define REFNPU_TRACE_STARTED	0x328	/* 64: tasks recorded since the window opened */
#define REFNPU_TRACE_ENDED	0x330	/* 64: of them, ended */
/*
 * Events of task and block snapshots by core kind (0 cube, 1 vector); 0 counts nothing, unknown
 * ones read as 0.
 */
#define REFNPU_TRACE_EVENT(kind, i) (0x340 + 0x20 * (kind) + 4 * (i))
/*
 * Records that tasks running at the time would still have had when their bit of TRACE_ENABLE was
 * cleared, since the window opened: of task FIFO or queue f here, of blocks in REFNPU_CORE_CUT.
 * Since version 1.1, before that zero.
 */
#define REFNPU_TRACE_CUT(f)	(0x380 + 4 * (f))

/* --- Task FIFOs ------------------------------------------------------------------------------- */
#define REFNPU_FIFO_LOG		0
#define REFNPU_FIFO_PMU		1
#define REFNPU_FIFO_TRACK	2
#define REFNPU_FIFO_AICPU	3
#define REFNPU_FIFO_SOC		4
#define REFNPU_FIFOS		5
#define REFNPU_FIFO(f, reg)	(0x400 + 0x100 * (f) + (reg))
/* The same registers form the block FIFO of a core at REFNPU_CORE(c, REFNPU_CORE_FIFO). */
#define REFNPU_FIFO_CTRL	0x00	/* bit 0: enabled; write bit 1: empty it */
#define REFNPU_FIFO_ENABLE	0x1u
#define REFNPU_FIFO_FLUSH	0x2u
#define REFNPU_FIFO_COUNT	0x04	/* entries waiting */
#define REFNPU_FIFO_WATERMARK	0x08	/* interrupt when so many wait; 0: never for this reason */
#define REFNPU_FIFO_POP		0x0c	/* write n: drop the n oldest entries */
#define REFNPU_FIFO_LOST	0x10	/* 64: entries lost to a full FIFO since it was flushed */
#define REFNPU_FIFO_LOST_FIRST	0x18	/* 64: device clock of the first lost one since LOST_ACK */
#define REFNPU_FIFO_LOST_LAST	0x20	/* 64: device clock of the last lost one */
/* write: the next loss sets LOST_FIRST again and interrupts */
#define REFNPU_FIFO_LOST_ACK	0x28
/* 64: word w of the oldest entry; 0 if none */
#define REFNPU_FIFO_DATA(w)	(0x40 + 8 * (w))
#define REFNPU_FIFO_WORDS	16

/*
 * Word 0 of every entry:
 *	[5:0] type REFNPU_ENTRY_*	[15:8] task type of the scheduler (NPUPROF_SQE_*)
 *	[31:16] stream			[47:32] task
 *	[55:48] sub-task type		[58:56] FFTS type
 *	[59] core kind of the counters (1 vector)
 */
#define REFNPU_ENTRY_START	1	/* LOG: word 1 clock */
#define REFNPU_ENTRY_END	2	/* LOG: word 1 clock */
/* LOG: word 1 clock, word 2 context id [15:0], thread [31:16] */
#define REFNPU_ENTRY_SUB_START	3
#define REFNPU_ENTRY_SUB_END	4
/* PMU: words 1 start, 2 end, 3 cycles, 4 context id, 5 to 12 counters */
#define REFNPU_ENTRY_PMU	5
#define REFNPU_ENTRY_STEP	6	/* TRACK: word 1 clock, 2 index, 3 model, 4 tag [15:0] */
#define REFNPU_ENTRY_FLIP	7	/* TRACK: word 1 clock, 2 flip count [15:0] */
#define REFNPU_ENTRY_AICPU	8	/* AICPU: words 1 submitted, 2 scheduled, 3 start, 4 end */
/* BLOCK: as PMU; word 4 context [15:0], block [31:16], sub-block [47:32] */
#define REFNPU_ENTRY_BLOCK	9
/* SOC: words 1 clock, 2 to 9 as counters of npuprof_rec_soc_pmu */
#define REFNPU_ENTRY_SOC	10

#define REFNPU_W0_TYPE(w)	((unsigned int)(w) & 0x3fu)
#define REFNPU_W0_SQE(w)	((unsigned int)((w) >> 8) & 0xffu)
#define REFNPU_W0_STREAM(w)	((unsigned int)((w) >> 16) & 0xffffu)
#define REFNPU_W0_TASK(w)	((unsigned int)((w) >> 32) & 0xffffu)
#define REFNPU_W0_SUBTASK(w)	((unsigned int)((w) >> 48) & 0xffu)
#define REFNPU_W0_FFTS(w)	((unsigned int)((w) >> 56) & 0x7u)
#define REFNPU_W0_VECTOR(w)	((unsigned int)((w) >> 59) & 0x1u)

/* --- Latching --------------------------------------------------------------------------------- */
#define REFNPU_LATCH_ALL	0x900	/* write: latch every core at one instant */

/* --- Samplers of shared units: LATCH, then read the running totals ---------------------------- */
/* channel c: counters 2 c read bytes, 2 c + 1 written bytes */
#define REFNPU_UNIT_HBM		0
/* slice s: counters 8 s + event 0 to 7, of reads or of writes by CTRL */
#define REFNPU_UNIT_LLC		1
#define REFNPU_UNIT_L2		2	/* counters 0 hits, 1 misses (lines of 128 bytes) */
/* port p: counters 2 p received bytes, 2 p + 1 sent bytes */
#define REFNPU_UNIT_NIC		3
/* engine e: counters 2 e busy microseconds, 2 e + 1 frames */
#define REFNPU_UNIT_DVPP	4
/* link between chips: counters 0 received bytes, 1 sent bytes */
#define REFNPU_UNIT_LINK	5
/* link to the host: counters 0 received bytes, 1 sent bytes */
#define REFNPU_UNIT_PCIE	6
/* flow f: counters 2 f read bytes, 2 f + 1 written bytes of HBM */
#define REFNPU_UNIT_FLOWS	7
/* engine e: 4 e, 4 e + 1 bytes read, written; then their microseconds */
#define REFNPU_UNIT_ACC		8
#define REFNPU_UNITS		9
#define REFNPU_UNIT(u, reg)	(0x1000 + 0x400 * (u) + (reg))
#define REFNPU_UNIT_LATCH	0x00	/* write: freeze the totals of this unit */
#define REFNPU_UNIT_CTRL	0x04	/* LLC: 0 counts reads, 1 counts writes */
#define REFNPU_UNIT_COUNT	0x08	/* number of totals */
#define REFNPU_UNIT_TIME	0x10	/* 64: device clock of the latch */
#define REFNPU_UNIT_TOTAL(i)	(0x40 + 8 * (i))	/* 64 */
#define REFNPU_UNIT_TOTALS	64

/* --- Cores: cube cores from 0, vector cores after them ---------------------------------------- */
#define REFNPU_CORE(c, reg)	(0x20000 + 0x200 * (c) + (reg))
#define REFNPU_CORE_CTRL	0x00	/* REFNPU_CORE_* */
#define REFNPU_CORE_ENABLE	0x1u	/* counters count */
#define REFNPU_CORE_RESET	0x2u	/* write: counters, cycles and overflow to zero */
#define REFNPU_CORE_INT		0x4u	/* overflow interrupts */
#define REFNPU_CORE_KIND	0x04	/* 1 cube, 2 vector */
#define REFNPU_CORE_BUSY	0x08	/* 1 while a block runs */
/* latched; bit i: counter i wrapped; bit 31: cycles; write ones to clear */
#define REFNPU_CORE_OVERFLOW	0x0c
#define REFNPU_CORE_OVERFLOW_CYCLES 0x80000000u
/* event; writing clears counter i; unknown ones read as 0 */
#define REFNPU_CORE_EVENT(i)	(0x10 + 4 * (i))
/* write: freeze counters, cycles, overflow and time of this core for reading */
#define REFNPU_CORE_LATCH	0x30
#define REFNPU_CORE_CUT		0x34	/* blocks whose record was cut off, see REFNPU_TRACE_CUT */
/* read: latched value; write: value to count on from */
#define REFNPU_CORE_COUNTER(i)	(0x40 + 4 * (i))
#define REFNPU_CORE_CYCLES	0x60	/* 64: latched cycles spent in blocks, 48 bits */
#define REFNPU_CORE_TIME	0x68	/* 64: device clock of the latch */
#define REFNPU_CORE_TIME_NS	0x70	/* 64: REFNPU_MONO_NS of the latch */
#define REFNPU_CORE_FIFO	0x100	/* block FIFO, registers of REFNPU_FIFO_* */

/* --- Device-written queues -------------------------------------------------------------------- */
/*
 * The device composes records of npuprof_records.h and writes record k to slot k & (slots - 1)
 * while k < CREDIT; beyond that it drops and counts. CREDIT is the consumer's tail plus the number
 * of slots.
 */
#define REFNPU_QUEUE(q, reg)	(0x40000 + 0x80 * (q) + (reg))
/*
 * bit 0: enabled; going from 0 to 1 zeroes PRODUCER and DROPPED; before it goes from 1 to 0, a
 * queue of samples writes one for the time since the last
 */
#define REFNPU_QUEUE_CTRL	0x00
#define REFNPU_QUEUE_ENABLE	0x1u
/* read-only: configuration refused, queue stays off */
#define REFNPU_QUEUE_ERROR	0x80000000u
/* enum npuprof_channel [15:0], core [31:16] (index in the map; 0xffff: all) */
#define REFNPU_QUEUE_CHANNEL	0x04
#define REFNPU_QUEUE_BASE	0x08	/* 64: address of slot 0 if PAGE_SHIFT is 0 */
#define REFNPU_QUEUE_SLOTS	0x10	/* number of slots, a power of two */
/* 0: one stretch at BASE; 12 to 30: list of pages of that size */
#define REFNPU_QUEUE_PAGE_SHIFT	0x14
#define REFNPU_QUEUE_PAGE_INDEX	0x18	/* entry that PAGE_ADDRESS sets next */
#define REFNPU_QUEUE_PAGE_ADDRESS 0x20	/* 64: address of a page; the write advances PAGE_INDEX */
/* 64: where the device writes PRODUCER after records; 0: nowhere */
#define REFNPU_QUEUE_HEAD_ADDRESS 0x28
#define REFNPU_QUEUE_CREDIT	0x30	/* 64: first record index the device must not write */
#define REFNPU_QUEUE_PRODUCER	0x38	/* 64: records written */
#define REFNPU_QUEUE_DROPPED	0x40	/* 64: records dropped */
#define REFNPU_QUEUE_WAKE	0x48	/* 64: interrupt once PRODUCER reaches this; 0: never */
#define REFNPU_QUEUE_PERIOD_NS	0x50	/* 64: sampled channels: period in device nanoseconds */
#define REFNPU_MIN_PERIOD_NS	1000ull
#define REFNPU_MAX_PERIOD_NS	3600000000000ull
#define REFNPU_QUEUE_GAP_COUNT	0x58	/* 64: records dropped since GAP_ACK */
#define REFNPU_QUEUE_GAP_POSITION 0x60	/* 64: PRODUCER at the first of them */
#define REFNPU_QUEUE_GAP_FIRST	0x68	/* 64: device clock of the first */
#define REFNPU_QUEUE_GAP_LAST	0x70	/* 64: device clock of the last */
#define REFNPU_QUEUE_GAP_ACK	0x78	/* write: the gap is noted, a new one may begin */

#endif /* REFNPU_REGS_H */
