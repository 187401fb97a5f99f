/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * npuprof: the contract between whoever drives an NPU's performance monitoring unit (npuprof.ko, or
 * the simulated NPU in a process) and whoever reads the records (libaclprof).
 *
 * Opening /dev/npuprof<N> is the session: the file owns configuration, rings and hardware, closing
 * it releases everything. One request sequence is
 *
 *	QUERY -> ADD_RING ... -> mmap control, tails, data ->
 *	START -> poll and read -> STOP -> close
 *
 * Rings
 * -----
 * A session maps three areas. Offsets for mmap() are NPUPROF_MMAP_*; the whole area is mapped at
 * once.
 *
 *	control, read-only               tails, read-write            data, read-only
 *	+---------------------------+    +------------------------+   +---------------------------+
 *	| ring 0  (128 bytes)       |    | ring 0 (64 bytes) tail |   | ring 0: slots x record    |
 *	|  head   lost_records ...  |    +------------------------+   |  +----+----+----+--   --+ |
 *	+---------------------------+    | ring 1            tail |   |  | r0 | r1 | r2 | ....  | |
 *	| ring 1                    |    +------------------------+   |  +----+----+----+--   --+ |
 *	|  ...                      |    | ...                    |   | ring 1 (page aligned) ... |
 *	+---------------------------+    +------------------------+   +---------------------------+
 *
 * head and tail count records, run freely in 64 bits and never wrap in practice; record k lives in
 * slot k & (slots - 1). The producer owns head, the single consumer owns tail:
 *
 *	producer: write record, then store-release head
 *	consumer: load-acquire head, copy records [tail, head), then store-release tail
 *
 * The producer loads tail once per decision with acquire order and trusts nothing in it: a
 * difference head - tail greater than slots counts as a full ring. A record that finds no room is
 * not written; lost_records and lost_bytes of its ring grow instead, and a gap record goes to the
 * session's event ring (channel NPUPROF_CHANNEL_EVENTS, ring 0, always present) once the ring takes
 * records again or is stopped. In overwrite mode the newest records are kept and the ring is read
 * only after FREEZE: head counts every record written, and the reader begins at head - slots if its
 * tail is further back. What a frozen ring is offered counts as lost.
 *
 * Mappings are shared (MAP_SHARED), begin at the offset of their area, and are no longer than it:
 * else EINVAL. Execution, and writing anywhere but to the tails, is refused with EACCES. A forked
 * child does not inherit them. They stay readable for as long as they exist, also when the device
 * is gone.
 *
 * Who may profile
 * ---------------
 * Records tell of the tasks of everybody who uses the device. ADD_RING, START and mmap() need
 * CAP_PERFMON (or CAP_SYS_ADMIN) of whoever opened the file, unless the module is loaded with
 * unprivileged=1, when opening the node is enough; else EPERM. QUERY, STATS and CLOCK need nothing.
 *
 * ADD_RING and START also need a file that is open for reading and writing (O_RDWR), because the
 * tails of rings are written; else EBADF. A file that is open for reading alone may ask, and map
 * control, tails and data read-only.
 *
 * The session belongs to the process that opened the file. When that process has closed its last
 * descriptor of it, or has ended, the hardware is released even if a child still holds one;
 * requests then fail with EBADF.
 *
 * poll() reports POLLIN while a ring has records that its watermark or latency made worth a wakeup,
 * and POLLHUP, with POLLIN or without, once the session has stopped: by STOP, or by itself because
 * the device came back from a reset or a suspend and could not go on. What is in the rings then is
 * all there will be; but a device that goes later is told of in the event ring. Both last until
 * their reason is gone.
 *
 * Without a device
 * ----------------
 * A device that went away leaves its rings in state NPUPROF_RING_GONE with one epoch event of cause
 * NPUPROF_LOSS_REMOVED; poll() reports POLLHUP and POLLERR, requests but STATS fail with ENODEV. If
 * it went by surprise nobody could ask it what it still had, and lost_records is a lower bound.
 * While a device is being reset or is suspended requests that need it fail with EAGAIN; when that
 * begins, readers are woken for whatever their rings have.
 *
 * Errors
 * ------
 * Those of single requests are told with their structures. Besides, each request can fail with
 *
 *	ENOTTY	it is none of these
 *	EFAULT	the structure cannot be read or written
 *	EINVAL	its size is below the shortest there ever was, or a flag, a reserved field or a
 *		value is not allowed
 *	E2BIG	it is longer than known, and the rest not zero
 *	ENOMEM	there is no memory for a copy of it
 *	EBADF	the session has ended, see above; the file is not open for what the request needs
 *	ENODEV	the device is gone, or goes during the request; not STATS
 *	EIO	the device cannot be given power, or does not do what it is told; not QUERY,
 *		ADD_RING and STATS
 *
 * A request that fails returns nothing in its structure, except where told.
 *
 * Every structure starts with its size and with flags. A caller built against an older, shorter
 * structure is served; a longer one is accepted if the part unknown to the callee is zero, else
 * E2BIG. Reserved fields and unknown flags must be zero, else EINVAL. Enumerations only ever grow
 * at their end.
 *
 * The ring layout is provisional until NPUPROF_ABI_MAJOR reaches 1.
 */
#ifndef NPUPROF_H
#define NPUPROF_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NPUPROF_ABI_MAJOR 0
#define NPUPROF_ABI_MINOR 4

#define NPUPROF_MAX_COUNTERS	8	/* programmable counters per core */
#define NPUPROF_MAX_RINGS	512	/* per session, the event ring included */
#define NPUPROF_MIN_SLOTS	16
#define NPUPROF_MAX_SLOTS	0x400000u

/* mmap offsets of the three areas of a session. */
#define NPUPROF_MMAP_CONTROL	0x000000000ULL
#define NPUPROF_MMAP_TAILS	0x100000000ULL
#define NPUPROF_MMAP_DATA	0x200000000ULL

/**
 * enum npuprof_core_kind - which cores a ring or an event list is about
 * @NPUPROF_CORE_NONE: the device as a whole
 * @NPUPROF_CORE_CUBE: matrix cores (AIC)
 * @NPUPROF_CORE_VECTOR: vector cores (AIV)
 */
enum npuprof_core_kind {
	NPUPROF_CORE_NONE = 0,
	NPUPROF_CORE_CUBE = 1,
	NPUPROF_CORE_VECTOR = 2,
};

/**
 * enum npuprof_channel - what a ring carries
 * @NPUPROF_CHANNEL_EVENTS: struct npuprof_rec_event; ring 0 of every session, never added by hand
 * @NPUPROF_CHANNEL_TASK_LOG: struct npuprof_rec_task_log, start and end of every task and sub-task
 * @NPUPROF_CHANNEL_TASK_PMU: struct npuprof_rec_task_pmu, counters of one task summed over its
 *	blocks
 * @NPUPROF_CHANNEL_TS_TRACK: struct npuprof_rec_ts_track, marks, steps and task id flips
 * @NPUPROF_CHANNEL_BLOCK_PMU: struct npuprof_rec_block_pmu, counters of one block on one core
 * @NPUPROF_CHANNEL_CORE_SAMPLE: struct npuprof_rec_core_sample, counters of one core every period
 * @NPUPROF_CHANNEL_HBM: struct npuprof_rec_bandwidth of the high-bandwidth memory, every period
 * @NPUPROF_CHANNEL_LLC: the same of the last-level cache
 * @NPUPROF_CHANNEL_NIC: the same of the network interface
 * @NPUPROF_CHANNEL_DVPP: the same of the media engines
 * @NPUPROF_CHANNEL_L2: the same of the L2 buffer
 * @NPUPROF_CHANNEL_AICPU: struct npuprof_rec_aicpu, one record per AI CPU task
 * @NPUPROF_CHANNEL_LINK: struct npuprof_rec_bandwidth of the link between chips, every period
 * @NPUPROF_CHANNEL_PCIE: the same of the link to the host
 * @NPUPROF_CHANNEL_SOC_PMU: struct npuprof_rec_soc_pmu, L2 events of one task on cores
 * @NPUPROF_CHANNEL_FLOWS: struct npuprof_rec_bandwidth of the main memory by who uses it, every
 *	period
 * @NPUPROF_CHANNEL_ACCELERATORS: the same of the copy engines
 * @NPUPROF_CHANNEL_COUNT: number of channels known to this header
 */
enum npuprof_channel {
	NPUPROF_CHANNEL_EVENTS = 0,
	NPUPROF_CHANNEL_TASK_LOG = 1,
	NPUPROF_CHANNEL_TASK_PMU = 2,
	NPUPROF_CHANNEL_TS_TRACK = 3,
	NPUPROF_CHANNEL_BLOCK_PMU = 4,
	NPUPROF_CHANNEL_CORE_SAMPLE = 5,
	NPUPROF_CHANNEL_HBM = 6,
	NPUPROF_CHANNEL_LLC = 7,
	NPUPROF_CHANNEL_NIC = 8,
	NPUPROF_CHANNEL_DVPP = 9,
	NPUPROF_CHANNEL_L2 = 10,
	NPUPROF_CHANNEL_AICPU = 11,
	NPUPROF_CHANNEL_LINK = 12,
	NPUPROF_CHANNEL_PCIE = 13,
	NPUPROF_CHANNEL_SOC_PMU = 14,
	NPUPROF_CHANNEL_FLOWS = 15,
	NPUPROF_CHANNEL_ACCELERATORS = 16,
	NPUPROF_CHANNEL_COUNT
};

/**
 * enum npuprof_loss_cause - why records are missing
 * @NPUPROF_LOSS_NONE: nothing is missing
 * @NPUPROF_LOSS_RING_FULL: the reader did not move the tail in time
 * @NPUPROF_LOSS_FIFO_OVERFLOW: the device's own FIFO overflowed before it was read
 * @NPUPROF_LOSS_NO_CREDIT: the device dropped records because it had no credit to write
 * @NPUPROF_LOSS_THROTTLED: the driver skipped periods to stay within its CPU bound
 * @NPUPROF_LOSS_RESET: the device was reset
 * @NPUPROF_LOSS_REMOVED: the device went away
 * @NPUPROF_LOSS_UNKNOWN: the device reported something that the driver knows no record for
 */
enum npuprof_loss_cause {
	NPUPROF_LOSS_NONE = 0,
	NPUPROF_LOSS_RING_FULL = 1,
	NPUPROF_LOSS_FIFO_OVERFLOW = 2,
	NPUPROF_LOSS_NO_CREDIT = 3,
	NPUPROF_LOSS_THROTTLED = 4,
	NPUPROF_LOSS_RESET = 5,
	NPUPROF_LOSS_REMOVED = 6,
	NPUPROF_LOSS_UNKNOWN = 7,
};

/**
 * struct npuprof_ring_ctrl - one ring's entry in the control area, written by the producer only
 * @head: records published so far
 * @lost_records: records that were not kept, all causes
 * @lost_bytes: the same in bytes
 * @lost_by_cause: records lost per enum npuprof_loss_cause (entry 0 unused)
 * @epoch: grows with each reset or resume; counters start anew
 * @state: 0 idle, 1 running, 2 frozen, 3 stopped, 4 device gone
 * @record_size: bytes of one record
 * @slots: number of records the ring holds, a power of two
 * @data_offset: where slot 0 lies in the data area
 * @channel: enum npuprof_channel
 * @core: index of the core, or 0xffff for the device
 * @core_kind: enum npuprof_core_kind
 * @reserved0: zero
 */
struct npuprof_ring_ctrl {
	__u64 head;
	__u64 lost_records;
	__u64 lost_bytes;
	__u32 epoch;
	__u32 state;
	__u32 record_size;
	__u32 slots;
	__u64 data_offset;
	__u32 channel;
	__u16 core;
	__u16 core_kind;
	__u64 reserved0;
	__u64 lost_by_cause[8];
};

#define NPUPROF_RING_IDLE	0
#define NPUPROF_RING_RUNNING	1
#define NPUPROF_RING_FROZEN	2
#define NPUPROF_RING_STOPPED	3
#define NPUPROF_RING_GONE	4

/**
 * struct npuprof_ring_tail - one ring's entry in the tails area, written by the consumer only
 * @tail: records consumed so far
 * @reserved: zero
 */
struct npuprof_ring_tail {
	__u64 tail;
	__u64 reserved[7];
};

/**
 * struct npuprof_query - what the device can do (NPUPROF_IOC_QUERY)
 * @size: input: sizeof(struct npuprof_query) of the caller
 * @flags: must be zero
 * @abi_major: returned: NPUPROF_ABI_MAJOR of the callee
 * @abi_minor: returned: NPUPROF_ABI_MINOR of the callee
 * @device_id: returned: number in /dev/npuprof<N>
 * @chip: returned: chip generation as in info.json's platform_version; 5 is A2
 * @device_flags: returned: NPUPROF_DEVICE_*
 * @cube_cores: returned: number of matrix cores
 * @vector_cores: returned: number of vector cores
 * @counters: returned: programmable counters per core
 * @counter_bits: returned: width of a programmable counter
 * @cycle_bits: returned: width of the cycle counter
 * @clock_hz: returned: frequency of the device clock that stamps records
 * @core_hz: returned: nominal core frequency
 * @channels: returned: bit k set if enum npuprof_channel k can be added
 * @min_period_ns: returned: shortest sampling period
 * @max_period_ns: returned: longest sampling period
 * @sample_cost_ns: returned: cost of one core sample on the host CPU, as measured by the driver
 * @hbm_channels: returned: number of HBM channel ids
 * @llc_channels: returned: number of LLC ids
 * @max_data_bytes: returned: bytes of ring data one session may ask for
 * @record_formats: returned: NPUPROF_RECORDS_VERSION
 * @aicpu_cores: returned: number of AI CPU cores
 * @name: returned: NUL-terminated device name
 * @reserved: zero
 *
 * Errors: those of all requests alone.
 */
struct npuprof_query {
	__u32 size;
	__u32 flags;
	__u16 abi_major;
	__u16 abi_minor;
	__u32 device_id;
	__u32 chip;
	__u32 device_flags;
	__u16 cube_cores;
	__u16 vector_cores;
	__u16 counters;
	__u8 counter_bits;
	__u8 cycle_bits;
	__u64 clock_hz;
	__u64 core_hz;
	__u64 channels;
	__u64 min_period_ns;
	__u64 max_period_ns;
	__u32 sample_cost_ns;
	__u16 hbm_channels;
	__u16 llc_channels;
	__u64 max_data_bytes;
	__u32 record_formats;
	__u32 aicpu_cores;
	char name[32];
	__u64 reserved[4];
};

#define NPUPROF_DEVICE_SIMULATED	0x1u /* figures come from a model, not from silicon */
#define NPUPROF_DEVICE_OVERWRITE	0x2u /* overwrite mode is supported */
/* the device can write records to memory itself */
#define NPUPROF_DEVICE_WRITTEN		0x4u

/**
 * struct npuprof_add_ring - add one ring to a session that is not running (NPUPROF_IOC_ADD_RING)
 * @size: input: sizeof(struct npuprof_add_ring) of the caller
 * @flags: input: NPUPROF_RING_*
 * @channel: input: enum npuprof_channel, not EVENTS
 * @core: input: core index within its kind for per-core channels, else 0xffff
 * @core_kind: input: enum npuprof_core_kind for per-core channels, else 0
 * @slots: input: records the ring holds, a power of two, NPUPROF_MIN_SLOTS to NPUPROF_MAX_SLOTS
 * @watermark: input: wake the reader when so many records wait, 1 to slots; 0 means slots / 2
 * @latency_ns: input: wake the reader at the latest so long after a record came into the ring, at
 *	most 60 s; 0 means 100 ms
 * @period_ns: input: sampling period of sampled channels, 0 for others; returned with ERANGE:
 *	shortest period that the driver would accept now, 0 if none
 * @cube_events: input: events of matrix cores (task PMU, and samples of matrix cores)
 * @vector_events: input: events of vector cores
 * @cube_event_count: input: used entries of @cube_events
 * @vector_event_count: input: used entries of @vector_events
 * @options: input: channel specific; LLC: 0 read, 1 write; BLOCK_PMU: 0 all blocks, 1 only those
 *	that mixed kernels run on their second core kind; other channels: 0
 * @ring: returned: index of the ring in the control and tails areas
 * @record_size: returned: bytes of one record
 * @data_offset: returned: offset of slot 0 in the data area
 * @owner_pid: returned with EBUSY: process whose session has the channel or core, as the caller's
 *	pid namespace numbers it; 0 if it is not visible there or nobody else's session is in the
 *	way
 * @reserved0: must be zero
 * @reserved1: must be zero
 * @reserved: must be zero
 *
 * TASK_LOG, TASK_PMU, TS_TRACK, AICPU, SOC_PMU and BLOCK_PMU rings record one window of tasks and
 * so belong to one session at a time; the event lists of TASK_PMU and BLOCK_PMU share the counters
 * of a core kind, and the options of all BLOCK_PMU rings must agree.
 *
 * A ring sampled over registers takes time of the host CPU: sample_cost_ns of struct npuprof_query
 * per core and period. All such rings of a device together get 5 % of one CPU. Beyond that a ring
 * without path flags goes to the device-written path if there is one, and else it is refused with
 * ERANGE.
 *
 * Errors: EINVAL (a value outside its range), EOPNOTSUPP (channel, event or mode not available),
 * EBUSY (session was started, or the channel or core is taken), ENOSPC (too many rings, or more
 * events than counters), ENOMEM (max_data_bytes of struct npuprof_query, no memory, or the user's
 * limit on locked memory: RLIMIT_MEMLOCK plus mlock_kb of the module for each device), ERANGE
 * (period too short), EPERM (not privileged, see above), E2BIG (unknown tail not zero).
 */
struct npuprof_add_ring {
	__u32 size;
	__u32 flags;
	__u32 channel;
	__u16 core;
	__u16 core_kind;
	__u32 slots;
	__u32 watermark;
	__u64 latency_ns;
	__u64 period_ns;
	__u16 cube_events[NPUPROF_MAX_COUNTERS];
	__u16 vector_events[NPUPROF_MAX_COUNTERS];
	__u8 cube_event_count;
	__u8 vector_event_count;
	__u16 reserved0;
	__u32 options;
	__u32 ring;
	__u32 record_size;
	__u64 data_offset;
	__u32 owner_pid;
	__u32 reserved1;
	__u64 reserved[3];
};

#define NPUPROF_RING_OVERWRITE		0x1u /* keep the newest instead of the oldest */
#define NPUPROF_RING_REGISTER_PATH	0x2u /* records built by the driver from registers */
/* records written by the device; neither: driver chooses */
#define NPUPROF_RING_DEVICE_PATH	0x4u

/**
 * struct npuprof_control - START, STOP, FREEZE and FLUSH
 * @size: input: sizeof(struct npuprof_control) of the caller
 * @flags: input: NPUPROF_STOP_* for STOP, else zero
 * @timeout_ns: input: STOP with NPUPROF_STOP_WAIT: how long tasks that started in the window may
 *	take to end, at most 600 s; else zero
 * @clock: returned: device clock at which the request took effect
 * @monotonic_raw_ns: returned: CLOCK_MONOTONIC_RAW at the same moment
 * @straddling: returned: START: tasks already running, which are not recorded; STOP: recorded tasks
 *	that still ran when the window ended. How many of them never ended is tasks_started -
 *	tasks_ended of STATS
 * @reserved0: must be zero
 * @reserved: must be zero
 *
 * START arms all rings at one device clock value; a task belongs to the window in which it started.
 * STOP ends the window for starts at once, waits for the ends, then publishes all that is buffered
 * anywhere, so that after it head is final. A signal interrupts that wait (EINTR, or the call is
 * restarted): the window stays closed, and the next STOP goes on waiting until the moment the first
 * would have. FREEZE makes overwrite rings readable and is undone by START. FLUSH publishes what
 * the device buffers without stopping.
 *
 * Errors, besides those of all requests:
 *
 *	START	EPERM (not privileged, see above), EBUSY (the session runs or is being stopped; or
 *		all queues of the device are taken, and a ring asks for one or is too fast for
 *		registers), EINVAL (it was stopped), ENOMEM, EIO (the device refuses; the session is
 *		as before), EAGAIN (the device is suspended or being reset)
 *	STOP	EINVAL (it does not run, or ended by itself while STOP waited, because the device
 *		stays away), EBUSY (another thread waits in STOP), EINTR (a signal came, see
 *		above), EAGAIN
 *	FREEZE	EINVAL (it does not run, or has no ring in overwrite mode), EBUSY (it is being
 *		stopped), EAGAIN
 *	FLUSH	EINVAL (it does not run), EBUSY (it is being stopped), EAGAIN
 */
struct npuprof_control {
	__u32 size;
	__u32 flags;
	__u64 timeout_ns;
	__u64 clock;
	__u64 monotonic_raw_ns;
	__u32 straddling;
	__u32 reserved0;
	__u64 reserved[2];
};

/**
 * struct npuprof_stats - what the driver itself did (NPUPROF_IOC_STATS)
 * @size: input: sizeof(struct npuprof_stats) of the caller
 * @flags: must be zero
 * @interrupts: returned: interrupts taken. Those of a device, whatever their cause, are counted for
 *	the session that records tasks, and with none for nobody
 * @register_reads: returned: register reads
 * @register_writes: returned: register writes
 * @records: returned: records published in all rings
 * @lost_records: returned: records lost in all rings
 * @busy_ns: returned: host CPU time spent for the session inside the driver
 * @tasks_started: returned: tasks the device started since the session started
 * @tasks_ended: returned: tasks the device ended since the session started
 * @reserved: zero
 *
 * Works without a device, too, and then tells what was last known. Errors: those of all requests
 * but ENODEV and EIO.
 */
struct npuprof_stats {
	__u32 size;
	__u32 flags;
	__u64 interrupts;
	__u64 register_reads;
	__u64 register_writes;
	__u64 records;
	__u64 lost_records;
	__u64 busy_ns;
	__u64 tasks_started;
	__u64 tasks_ended;
	__u64 reserved[4];
};

/**
 * struct npuprof_clock - one bracket host, device, host (NPUPROF_IOC_CLOCK)
 * @size: input: sizeof(struct npuprof_clock) of the caller
 * @flags: must be zero
 * @host_before_ns: returned: CLOCK_MONOTONIC_RAW just before the device clock was read
 * @device_clock: returned: device clock in ticks of npuprof_query.clock_hz
 * @host_after_ns: returned: CLOCK_MONOTONIC_RAW just after
 * @reserved: zero
 *
 * Errors, besides those of all requests: EAGAIN (the device is suspended or being reset).
 */
struct npuprof_clock {
	__u32 size;
	__u32 flags;
	__u64 host_before_ns;
	__u64 device_clock;
	__u64 host_after_ns;
	__u64 reserved[2];
};

/* wait for tasks of the window to end, up to timeout_ns */
#define NPUPROF_STOP_WAIT	0x1u

#define NPUPROF_IOC_MAGIC	'N'
#define NPUPROF_IOC_QUERY	_IOWR(NPUPROF_IOC_MAGIC, 0xc0, struct npuprof_query)
#define NPUPROF_IOC_ADD_RING	_IOWR(NPUPROF_IOC_MAGIC, 0xc1, struct npuprof_add_ring)
#define NPUPROF_IOC_START	_IOWR(NPUPROF_IOC_MAGIC, 0xc2, struct npuprof_control)
#define NPUPROF_IOC_STOP	_IOWR(NPUPROF_IOC_MAGIC, 0xc3, struct npuprof_control)
#define NPUPROF_IOC_FREEZE	_IOWR(NPUPROF_IOC_MAGIC, 0xc4, struct npuprof_control)
#define NPUPROF_IOC_FLUSH	_IOWR(NPUPROF_IOC_MAGIC, 0xc5, struct npuprof_control)
#define NPUPROF_IOC_STATS	_IOWR(NPUPROF_IOC_MAGIC, 0xc6, struct npuprof_stats)
#define NPUPROF_IOC_CLOCK	_IOWR(NPUPROF_IOC_MAGIC, 0xc7, struct npuprof_clock)

#endif /* NPUPROF_H */
