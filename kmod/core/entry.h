/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * FIFO entries of the reference NPU (refnpu_regs.h) turned into records of npuprof_records.h.
 */
#ifndef NPUPROF_CORE_ENTRY_H
#define NPUPROF_CORE_ENTRY_H

#include "core/record.h"
#include "core/ring.h"
#include "refnpu_regs.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct npc_entry_context - what an entry does not say about itself
 * @slots: counters of the ring's events by core kind, 0 cube and 1 vector
 * @core: index within its kind of the core whose block FIFO this is; block entries only
 */
struct npc_entry_context {
	struct npc_slots slots[2];
	__u8 core;
};

/**
 * npc_entry_words() - how many words of an entry must be read
 * @word0: first word
 *
 * Context: Any context.
 * Return: 2 to REFNPU_FIFO_WORDS, or 0 for a type this driver does not know.
 */
unsigned int npc_entry_words(__u64 word0);

/**
 * npc_entry_clock() - when what an entry is about happened
 * @words: entry of a known type, as many words as npc_entry_words() said
 *
 * Context: Any context.
 * Return: device clock; PMU and AI CPU entries: when it began.
 */
__u64 npc_entry_clock(const __u64 *words);

/**
 * npc_entry_record() - build the record of an entry
 * @record: room for the record of @channel
 * @channel: enum npuprof_channel of the FIFO
 * @words: as many words as npc_entry_words() said
 * @context: see there
 *
 * Context: Any context.
 * Return: 0, or -EINVAL if the entry does not belong into this channel; @record is untouched then.
 */
int npc_entry_record(void *record, __u32 channel, const __u64 *words,
		     const struct npc_entry_context *context);

/**
 * npc_entry_put() - bring an entry into a ring
 * @ring: ring
 * @channel: its channel
 * @words: as many words as npc_entry_words() said
 * @context: see npc_entry_record()
 * @clock: device clock of the entry, or of now if it has none that is known
 *
 * An entry that does not belong into the channel, perhaps of a newer device, is counted as lost
 * (NPUPROF_LOSS_UNKNOWN).
 *
 * Context: Any context; the caller holds the lock under which the ring has one producer.
 */
void npc_entry_put(struct npc_ring *ring, __u32 channel, const __u64 *words,
		   const struct npc_entry_context *context, __u64 clock);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_CORE_ENTRY_H */
