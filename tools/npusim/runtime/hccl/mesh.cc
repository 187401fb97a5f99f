// SPDX-License-Identifier: Apache-2.0
// Meshes: every rank reads what it needs from its peers' staging buffers, a peer per plane. The last step of each is to
// wait until the peers have read, so the buffers are free for the next one.
#include "runtime/hccl/rounds.h"

namespace npusim {
namespace {

void RaiseAll(Operation& o, const Rank& r, std::vector<void*> Rank::*notify) {
  for (uint32_t plane = 0; plane < r.Planes(); plane++) o.Raise(0, r.Peer(plane), notify);
}

void AwaitAll(Operation& o, const Rank& r, std::vector<void*> Rank::*notify) {
  for (uint32_t plane = 0; plane < r.Planes(); plane++) o.Await(0, r.Peer(plane), notify);
}

void AllReduce(Operation& o, Rank& r, const char* send, char* receive, uint64_t count, size_t size) {
  const uint64_t ranks = r.group->size;
  auto begin = [&](uint64_t rank) { return count * rank / ranks * size; };
  auto bytes = [&](uint64_t rank) { return begin(rank + 1) - begin(rank); };
  const size_t mine = begin(r.rank), my_bytes = bytes(r.rank);
  o.CopyLocal(r.in, send, count * size);
  o.CopyLocal(r.out + mine, send + mine, my_bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork(r.Planes());
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.ReduceFrom(plane, peer, r.out + mine, r.group->ranks[peer]->in + mine, my_bytes);
  }
  o.Join(r.Planes());
  RaiseAll(o, r, &Rank::reduced);
  o.CopyLocal(receive + mine, r.out + mine, my_bytes);
  o.Fork(r.Planes());
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::reduced);
    o.CopyFrom(plane, peer, receive + begin(peer), r.group->ranks[peer]->out + begin(peer), bytes(peer));
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join(r.Planes());
  AwaitAll(o, r, &Rank::done);
}

void AllGather(Operation& o, Rank& r, const char* send, char* receive, size_t stride, uint64_t count,
               size_t size) {
  const size_t bytes = count * size;
  o.CopyLocal(r.in, send, bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork(r.Planes());
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.CopyFrom(plane, peer, receive + peer * stride, r.group->ranks[peer]->in, bytes);
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join(r.Planes());
  o.CopyLocal(receive + r.rank * stride, r.in, bytes);
  AwaitAll(o, r, &Rank::done);
}

void ReduceScatter(Operation& o, Rank& r, const char* send, char* receive, size_t stride, uint64_t count,
                   size_t size) {
  const size_t bytes = count * size;
  for (uint32_t part = 0; part < r.group->size; part++)
    o.CopyLocal(r.in + part * bytes, send + part * stride, bytes);
  o.CopyLocal(r.out, send + r.rank * stride, bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork(r.Planes());
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.ReduceFrom(plane, peer, r.out, r.group->ranks[peer]->in + r.rank * bytes, bytes);
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join(r.Planes());
  o.CopyLocal(receive, r.out, bytes);
  AwaitAll(o, r, &Rank::done);
}

void Broadcast(Operation& o, Rank& r, char* buffer, uint32_t root, uint64_t count, size_t size) {
  if (r.rank == root) {
    o.CopyLocal(r.in, buffer, count * size);
    RaiseAll(o, r, &Rank::ready);
    AwaitAll(o, r, &Rank::done);
  } else {
    o.Await(0, root, &Rank::ready);
    o.CopyFrom(0, root, buffer, r.group->ranks[root]->in, count * size);
    o.Raise(0, root, &Rank::done);
  }
}

}  // namespace

const Rounds& MeshRounds() {
  static constexpr Rounds kRounds = {AllReduce, AllGather, ReduceScatter, Broadcast};
  return kRounds;
}

void MeshBarrier(Operation& o, Rank& r) {
  RaiseAll(o, r, &Rank::ready);
  AwaitAll(o, r, &Rank::ready);
}

}  // namespace npusim
