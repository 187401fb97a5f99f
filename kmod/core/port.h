/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What kmod/core needs from its surroundings, in the kernel and outside of it: errno values, memcpy
 * and memset, and 64-bit loads and stores with acquire and release order.
 */
#ifndef NPUPROF_CORE_PORT_H
#define NPUPROF_CORE_PORT_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/kernel.h>
#include <asm/barrier.h>
/* The reader's word, with what he did before he wrote it; he stores with release order. */
#define npc_load_acquire(p)	smp_load_acquire(p)
/* A word for the reader, after what it tells of; he loads it with acquire order. */
#define npc_store_release(p, v) smp_store_release(p, v)
#define npc_store(p, v)		WRITE_ONCE(*(p), v)
#define npc_array_size(a)	ARRAY_SIZE(a)
#else
#include <linux/types.h>
#include <asm/errno.h>
#include <stdbool.h>
#include <stddef.h>
#define npc_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define npc_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define npc_store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define npc_array_size(a)	(sizeof(a) / sizeof((a)[0]))
#ifdef __cplusplus
#include <cstring>
#else
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
#endif
#endif

#define NPC_TIME_NEVER (~(__u64)0)

#endif /* NPUPROF_CORE_PORT_H */
