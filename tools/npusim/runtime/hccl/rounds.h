// SPDX-License-Identifier: Apache-2.0
// Collectives of as many elements as fit into the staging buffers, by algorithm. Each puts the tasks of one rank; when
// they have run, nobody reads that rank's staging buffers any more.
#ifndef NPUSIM_RUNTIME_HCCL_ROUNDS_H
#define NPUSIM_RUNTIME_HCCL_ROUNDS_H

#include "runtime/hccl/operation.h"

namespace npusim {

// Sizes in bytes unless they are counts of elements; @p size is that of an element.
struct Rounds {
  // @p count elements; at most kStagingBytes.
  void (*all_reduce)(Operation& o, Rank& r, const char* send, char* receive, uint64_t count, size_t size);
  // @p count elements of every rank, @p stride apart in @p receive; at most kStagingBytes of all ranks together.
  void (*all_gather)(Operation& o, Rank& r, const char* send, char* receive, size_t stride, uint64_t count,
                     size_t size);
  // @p count elements for every rank, @p stride apart in @p send; at most kStagingBytes of all ranks together.
  void (*reduce_scatter)(Operation& o, Rank& r, const char* send, char* receive, size_t stride,
                         uint64_t count, size_t size);
  // @p count elements; at most kStagingBytes.
  void (*broadcast)(Operation& o, Rank& r, char* buffer, uint32_t root, uint64_t count, size_t size);
};

const Rounds& RingRounds();
const Rounds& MeshRounds();

// The ready and done of each rank to each other, as a barrier.
void MeshBarrier(Operation& o, Rank& r);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_HCCL_ROUNDS_H
