// SPDX-License-Identifier: Apache-2.0
// Communicators: a group of ranks, each with staging buffers that its peers read, notifies that they raise, and
// one stream per further plane. In a mesh plane k of a rank talks to peer (rank + 1 + k) mod ranks, in rings there is
// a plane for each way round; plane 0 is the caller's stream.
#ifndef NPUSIM_RUNTIME_HCCL_COMM_H
#define NPUSIM_RUNTIME_HCCL_COMM_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "runtime/hccl/algorithm.h"

namespace npusim {

struct Rank;

struct Group {
  std::string name;
  uint64_t name_hash = 0;
  uint32_t size = 0;
  Algorithms algorithms{};
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t joined = 0;
  std::vector<Rank*> ranks;
};

struct Rank {
  static constexpr uint64_t kMagic = 0x4b4e4152434c4348;
  static constexpr size_t kStagingBytes = size_t{32} << 20;  // larger collectives run in rounds

  uint64_t magic = kMagic;
  std::shared_ptr<Group> group;
  uint32_t rank = 0;
  int32_t device = 0;
  // Read by peers: what this rank contributes, and its part of a reduction.
  char* in = nullptr;
  char* out = nullptr;
  // Raised on this rank's device, one per peer (the own entry is unused).
  std::vector<void*> ready;    // the peer's `in` is filled
  std::vector<void*> reduced;  // the peer's `out` is final
  std::vector<void*> done;     // the peer has read what it needs
  // Planes 1 and up.
  std::vector<void*> streams;
  std::vector<void*> fork;
  std::vector<void*> join;
  std::vector<void*> fork_events;  // take the notifies' place in a captured graph
  std::vector<void*> join_events;
  // Collectives of a rank never overlap, even from different streams.
  std::mutex mutex;
  void* last_stream = nullptr;
  void* last_event = nullptr;

  uint32_t Planes() const { return group->size - 1; }
  uint32_t Peer(uint32_t plane) const { return (rank + 1 + plane) % group->size; }
};

// Makes @p r a working member on the calling thread's device; @p r->group and rank are set. Waits until all
// ranks joined if @p wait. Returns an HcclResult.
HcclResult Join(std::unique_ptr<Rank> r, bool wait, HcclComm* comm);

// The rank behind a handle, or nullptr with the sentence set.
Rank* Resolve(HcclComm comm);

std::shared_ptr<Group> NewGroup(uint32_t size, const Algorithms& algorithms);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_HCCL_COMM_H
