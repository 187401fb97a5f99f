/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The producer's side of one ring of uapi/npuprof.h.
 *
 * The producer keeps its own copy of everything it decides by. From shared memory it reads one
 * word, the tail, and believes it only if it lies within the last `slots` records. Calls on one
 * ring, and on the event ring it reports to, must not run at the same time: the caller holds the
 * producer lock of the session.
 *
 * Accounting holds at any moment between two calls:
 *	records offered = head + lost, and
 *	lost            = sum of lost by cause
 *	                = records counted in gap events sent so far + records in gaps still open.
 */
#ifndef NPUPROF_CORE_RING_H
#define NPUPROF_CORE_RING_H

#include "core/port.h"
#include "npuprof.h"
#include "npuprof_records.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPC_CAUSES 8 /* entries of npuprof_ring_ctrl.lost_by_cause */

/**
 * struct npc_gap - records missing in one place and for one cause, not yet told to the reader
 * @position: head of the ring when the first of them was lost
 * @count: how many; 0 means there is no such gap
 * @first: device clock of the first
 * @last: device clock of the last
 */
struct npc_gap {
	__u64 position;
	__u64 count;
	__u64 first;
	__u64 last;
};

struct npc_ring;

/* For the driver's own purposes, such as tracing. */
typedef void npc_gap_closed(const struct npc_ring *ring, enum npuprof_loss_cause cause,
			    const struct npc_gap *gap);

/**
 * struct npc_ring - producer state of one ring; private to the producer
 * @ctrl: the ring's entry in the control area
 * @tail: the ring's entry in the tails area, writable by the reader
 * @data: slot 0
 * @events: event ring for gap records; NULL for the event ring itself
 * @head: records written, of which @ctrl->head is what the reader was told
 * @tail_seen: the last tail that could be believed; rings that the device writes: the furthest
 * @lost: records lost, all causes
 * @lost_by_cause: the same by enum npuprof_loss_cause
 * @gaps: open gaps by cause
 * @open_gaps: bit k set if @gaps[k].count is not 0
 * @slots: records the ring holds, a power of two
 * @record_size: bytes of one record
 * @index: number of the ring in its session
 * @epoch: current epoch
 * @gap_closed: see struct npc_ring_setup
 * @overwrite: keep the newest records instead of the oldest
 * @frozen: an overwrite ring that is being read
 */
struct npc_ring {
	struct npuprof_ring_ctrl *ctrl;
	const struct npuprof_ring_tail *tail;
	__u8 *data;
	struct npc_ring *events;
	__u64 head;
	__u64 tail_seen;
	__u64 lost;
	__u64 lost_by_cause[NPC_CAUSES];
	struct npc_gap gaps[NPC_CAUSES];
	__u32 open_gaps;
	__u32 slots;
	__u32 record_size;
	__u32 index;
	__u32 epoch;
	npc_gap_closed *gap_closed;
	bool overwrite;
	bool frozen;
};

/**
 * struct npc_ring_setup - what npc_ring_init() needs to know
 * @ctrl: entry in the control area; @channel, @core, @core_kind and @data_offset are set by the
 * caller
 * @tail: entry in the tails area
 * @data: slot 0, @slots times @record_size bytes
 * @events: initialised event ring or NULL
 * @slots: a power of two
 * @record_size: bytes of one record, a multiple of 8
 * @index: number of the ring in its session
 * @gap_closed: told of every gap that goes to @events, before it is forgotten; may be NULL
 * @overwrite: keep the newest records
 */
struct npc_ring_setup {
	struct npuprof_ring_ctrl *ctrl;
	const struct npuprof_ring_tail *tail;
	void *data;
	struct npc_ring *events;
	__u32 slots;
	__u32 record_size;
	__u32 index;
	npc_gap_closed *gap_closed;
	bool overwrite;
};

/**
 * npc_ring_init() - start with an empty ring in state NPUPROF_RING_IDLE and publish that
 * @ring: filled
 * @setup: what it is about
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_init(struct npc_ring *ring, const struct npc_ring_setup *setup);

/**
 * npc_ring_reserve() - find room for the next record
 * @ring: ring
 * @clock: device clock of the record, told in the gap event if there is no room
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: the slot to fill, or NULL if the record does not fit; it has then been counted as lost.
 * Calling again without npc_ring_commit() returns the same slot.
 */
void *npc_ring_reserve(struct npc_ring *ring, __u64 clock);

/**
 * npc_ring_commit() - the reserved slot is filled; the reader sees it after npc_ring_publish()
 * @ring: ring
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_commit(struct npc_ring *ring);

/**
 * npc_ring_publish() - show the reader all committed records
 * @ring: ring
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_publish(struct npc_ring *ring);

/**
 * npc_ring_write() - reserve, copy and commit one record of the ring's record size
 * @ring: ring
 * @record: as many bytes as the ring's record size
 * @clock: device clock of the record
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: true if the record was kept, false if it was counted as lost.
 */
bool npc_ring_write(struct npc_ring *ring, const void *record, __u64 clock);

/**
 * npc_ring_lose() - count records that never reached the ring
 * @ring: ring
 * @cause: why, not NPUPROF_LOSS_NONE
 * @count: how many; 0 does nothing
 * @first: device clock of the first, as well as it is known
 * @last: device clock of the last
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_lose(struct npc_ring *ring, enum npuprof_loss_cause cause, __u64 count, __u64 first,
		   __u64 last);

/**
 * npc_ring_lose_at() - npc_ring_lose() for records missing before record number @position
 * @ring: ring
 * @cause: why, not NPUPROF_LOSS_NONE
 * @position: head of the ring at the first of them
 * @count: how many; 0 does nothing
 * @first: device clock of the first
 * @last: device clock of the last
 *
 * For the device-written path, where the device noted where it dropped. A gap of this cause that is
 * still open keeps its position.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_lose_at(struct npc_ring *ring, enum npuprof_loss_cause cause, __u64 position,
		      __u64 count, __u64 first, __u64 last);

/**
 * npc_ring_follow_device() - the device itself has written and published records up to @head
 * @ring: ring
 * @head: records the device says it has written
 *
 * For rings in the device-written path, whose slots and head the driver does not write. Gaps
 * before the new head are sent to the event ring.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: 0, or -EINVAL if @head is impossible (it went back, or beyond the room that the reader
 * left and what was promised, whatever the reader says of it later), which is the device's fault;
 * nothing changes then.
 */
int npc_ring_follow_device(struct npc_ring *ring, __u64 head);

/**
 * npc_ring_promise() - the device may write all records before @limit
 * @ring: ring in the device-written path
 * @limit: of the room that the reader's tail left
 *
 * The device is believed up to there from now on, even if the reader takes its tail back.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_promise(struct npc_ring *ring, __u64 limit);

/**
 * npc_ring_close_gaps() - send open gaps to the event ring
 * @ring: ring
 *
 * Called by itself when a ring takes records again; to be called at stop, and after the reader made
 * room in the event ring. A gap that finds no room there stays open and grows with later losses of
 * the same cause.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: true if no gap is left open.
 */
bool npc_ring_close_gaps(struct npc_ring *ring);

/**
 * npc_ring_set_state() - publish the state of a ring
 * @ring: ring
 * @state: NPUPROF_RING_*
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_set_state(struct npc_ring *ring, __u32 state);

/**
 * npc_ring_set_epoch() - counters start anew, publish that
 * @ring: ring
 * @epoch: number of the new epoch
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_set_epoch(struct npc_ring *ring, __u32 epoch);

/**
 * npc_ring_freeze() - stop or resume writing into an overwrite ring
 * @ring: ring
 * @frozen: stop
 *
 * While frozen the ring counts what it is offered as lost (ring full). Other rings are left alone.
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_ring_freeze(struct npc_ring *ring, bool frozen);

/**
 * npc_ring_pending() - committed records the reader has not consumed
 * @ring: ring
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 * Return: 0 to slots; slots also if the tail cannot be believed.
 */
__u64 npc_ring_pending(const struct npc_ring *ring);

/**
 * npc_event_gap() - fill a gap record
 * @event: filled
 * @ring: number of the ring
 * @epoch: its epoch
 * @cause: why records are missing
 * @gap: which
 *
 * Context: Any context.
 */
void npc_event_gap(struct npuprof_rec_event *event, __u32 ring, __u32 epoch,
		   enum npuprof_loss_cause cause, const struct npc_gap *gap);

/**
 * npc_event_epoch() - fill an epoch record
 * @event: filled
 * @epoch: the new epoch
 * @cause: why there is one
 * @clock: device clock from which on numbers belong to it; 0 if it is not known
 *
 * Context: Any context.
 */
void npc_event_epoch(struct npuprof_rec_event *event, __u32 epoch, enum npuprof_loss_cause cause,
		     __u64 clock);

/**
 * npc_event_throttle() - fill a throttle record
 * @event: filled
 * @ring: number of the ring
 * @epoch: its epoch
 * @period_ns: how often it is sampled from now on
 * @clock: device clock of now
 *
 * Context: Any context.
 */
void npc_event_throttle(struct npuprof_rec_event *event, __u32 ring, __u32 epoch, __u64 period_ns,
			__u64 clock);

/**
 * npc_event_clock() - fill a clock record
 * @event: filled
 * @epoch: current epoch
 * @bracket: device clock between two readings of the host's
 *
 * Context: Any context.
 */
void npc_event_clock(struct npuprof_rec_event *event, __u32 epoch,
		     const struct npuprof_clock *bracket);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_RING_H */
