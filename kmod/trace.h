/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: what happens to sessions, never to records. All of them may fire with interrupts
 * off and npuprof_device.lock held. Clocks are device clocks.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npuprof

#if !defined(NPUPROF_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NPUPROF_TRACE_H

#include <linux/tracepoint.h>

#include "npuprof.h"
#include "session.h"

TRACE_DEFINE_ENUM(NPUPROF_LOSS_RING_FULL);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_FIFO_OVERFLOW);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_NO_CREDIT);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_THROTTLED);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_RESET);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_REMOVED);
TRACE_DEFINE_ENUM(NPUPROF_LOSS_UNKNOWN);

#define npuprof_trace_cause(cause)				\
	__print_symbolic(cause,					\
		{ NPUPROF_LOSS_RING_FULL, "ring_full" },	\
		{ NPUPROF_LOSS_FIFO_OVERFLOW, "fifo_overflow" },\
		{ NPUPROF_LOSS_NO_CREDIT, "no_credit" },	\
		{ NPUPROF_LOSS_THROTTLED, "throttled" },	\
		{ NPUPROF_LOSS_RESET, "reset" },		\
		{ NPUPROF_LOSS_REMOVED, "removed" },		\
		{ NPUPROF_LOSS_UNKNOWN, "unknown" })

DECLARE_EVENT_CLASS(npuprof_session_class,
		    TP_PROTO(const struct npuprof_session *session),
		    TP_ARGS(session),
		    TP_STRUCT__entry(__field(u32, device)
				     __field(u32, session)
				     __field(pid_t, owner)
		    ),
		    TP_fast_assign(__entry->device = npuprof_number(session->npu);
				   __entry->session = session->id;
				   __entry->owner = pid_nr(session->owner);
		    ),
		    TP_printk("device=%u session=%u owner=%d", __entry->device, __entry->session,
			      __entry->owner)
);

DEFINE_EVENT(npuprof_session_class, npuprof_open,
	     TP_PROTO(const struct npuprof_session *session),
	     TP_ARGS(session)
);

DEFINE_EVENT(npuprof_session_class, npuprof_close,
	     TP_PROTO(const struct npuprof_session *session),
	     TP_ARGS(session)
);

DECLARE_EVENT_CLASS(npuprof_window_class,
		    TP_PROTO(const struct npuprof_session *session, u64 clock, u32 straddling),
		    TP_ARGS(session, clock, straddling),
		    TP_STRUCT__entry(__field(u32, device)
				     __field(u32, session)
				     __field(u32, rings)
				     __field(u32, straddling)
				     __field(u64, clock)
				     __field(u64, started)
				     __field(u64, ended)
		    ),
		    TP_fast_assign(__entry->device = npuprof_number(session->npu);
				   __entry->session = session->id;
				   __entry->rings = session->ring_count;
				   __entry->straddling = straddling;
				   __entry->clock = clock;
				   __entry->started = session->tasks_started;
				   __entry->ended = session->tasks_ended;
		    ),
		    TP_printk("device=%u session=%u rings=%u clock=%llu straddling=%u started=%llu ended=%llu",
			      __entry->device, __entry->session, __entry->rings, __entry->clock,
			      __entry->straddling, __entry->started, __entry->ended)
);

/* A session began to record; @straddling tasks ran already. */
DEFINE_EVENT(npuprof_window_class, npuprof_start,
	     TP_PROTO(const struct npuprof_session *session, u64 clock, u32 straddling),
	     TP_ARGS(session, clock, straddling)
);

/* A session stopped for good; @straddling recorded tasks ran when its window closed at @clock. */
DEFINE_EVENT(npuprof_window_class, npuprof_stop,
	     TP_PROTO(const struct npuprof_session *session, u64 clock, u32 straddling),
	     TP_ARGS(session, clock, straddling)
);

/* Counters of a core (bit k: counter k, bit NPUPROF_MAX_COUNTERS: cycles) passed their range. */
TRACE_EVENT(npuprof_overflow,
	    TP_PROTO(const struct npuprof_device *npu, u32 core, u32 counters),
	    TP_ARGS(npu, core, counters),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, core)
			     __field(u32, counters)
	    ),
	    TP_fast_assign(__entry->device = npuprof_number(npu);
			   __entry->core = core;
			   __entry->counters = counters;
	    ),
	    TP_printk("device=%u core=%u counters=%#x", __entry->device, __entry->core,
		      __entry->counters)
);

/* A gap of a ring is known in full: @count records are missing from @position on. */
TRACE_EVENT(npuprof_loss,
	    TP_PROTO(const struct npuprof_ring *ring, u32 cause, const struct npc_gap *gap),
	    TP_ARGS(ring, cause, gap),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, session)
			     __field(u32, ring)
			     __field(u32, channel)
			     __field(u32, core)
			     __field(u32, cause)
			     __field(u64, position)
			     __field(u64, count)
			     __field(u64, first)
			     __field(u64, last)
	    ),
	    TP_fast_assign(__entry->device = npuprof_number(ring->session->npu);
			   __entry->session = ring->session->id;
			   __entry->ring = ring->config.ring;
			   __entry->channel = ring->config.channel;
			   __entry->core = ring->config.core;
			   __entry->cause = cause;
			   __entry->position = gap->position;
			   __entry->count = gap->count;
			   __entry->first = gap->first;
			   __entry->last = gap->last;
	    ),
	    TP_printk("device=%u session=%u ring=%u channel=%u core=%#x cause=%s position=%llu count=%llu first=%llu last=%llu",
		      __entry->device, __entry->session, __entry->ring, __entry->channel,
		      __entry->core, npuprof_trace_cause(__entry->cause), __entry->position,
		      __entry->count, __entry->first, __entry->last)
);

/* Rounds of sampling did not come to pass, so that the CPU is left alone. */
TRACE_EVENT(npuprof_throttle,
	    TP_PROTO(const struct npuprof_session *session, u64 period_ns, u64 rounds),
	    TP_ARGS(session, period_ns, rounds),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, session)
			     __field(u64, period_ns)
			     __field(u64, rounds)
	    ),
	    TP_fast_assign(__entry->device = npuprof_number(session->npu);
			   __entry->session = session->id;
			   __entry->period_ns = period_ns;
			   __entry->rounds = rounds;
	    ),
	    TP_printk("device=%u session=%u period_ns=%llu rounds=%llu", __entry->device,
		      __entry->session, __entry->period_ns, __entry->rounds)
);

/* The device lost its state (reset: also by suspend), or went. */
TRACE_EVENT(npuprof_epoch,
	    TP_PROTO(const struct npuprof_session *session, u32 cause),
	    TP_ARGS(session, cause),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, session)
			     __field(u32, epoch)
			     __field(u32, cause)
	    ),
	    TP_fast_assign(__entry->device = npuprof_number(session->npu);
			   __entry->session = session->id;
			   __entry->epoch = session->epoch;
			   __entry->cause = cause;
	    ),
	    TP_printk("device=%u session=%u epoch=%u cause=%s", __entry->device, __entry->session,
		      __entry->epoch, npuprof_trace_cause(__entry->cause))
);

#endif /* NPUPROF_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
