// SPDX-License-Identifier: GPL-2.0-only
#include "session.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * npuprof_trace_gap() - npc_ring_setup.gap_closed of every ring
 * @producer: ring of a session
 * @cause: why records are missing
 * @gap: which
 *
 * Context: Any context. npuprof_device.lock is held.
 */
void npuprof_trace_gap(const struct npc_ring *producer, enum npuprof_loss_cause cause,
		       const struct npc_gap *gap)
{
	const struct npuprof_ring *ring = container_of(producer, struct npuprof_ring, producer);

	lockdep_assert_held(&ring->session->npu->lock);
	trace_npuprof_loss(ring, cause, gap);
}
