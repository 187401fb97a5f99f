// SPDX-License-Identifier: Apache-2.0
// The collectives as meshes: every rank reads what it needs from its peers' staging buffers, a peer per plane. The
// last step of each is to wait until the peers have read, so the buffers are free for the next one.
#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_rt.h"
#include "runtime/hccl/operation.h"

namespace npusim {
namespace {

size_t SizeOf(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8:
      return 1;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
      return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
      return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return 8;
    default:
      return 0;
  }
}

HcclResult Fail(HcclResult code, const std::string& text) {
  rtFail(code, text);
  return code;
}

struct Arguments {
  void* send;
  void* receive;
  uint64_t count;
  HcclDataType type;
  HcclReduceOp op;
  HcclComm comm;
  aclrtStream stream;
};

HcclResult Check(const Arguments& a, Rank** rank) {
  *rank = Resolve(a.comm);
  if (*rank == nullptr) return HCCL_E_PARA;
  if (a.send == nullptr || a.receive == nullptr) return Fail(HCCL_E_PTR, "a buffer is null");
  if (SizeOf(a.type) == 0)
    return Fail(HCCL_E_NOT_SUPPORT,
                fmt::format("data type {}: allowed are 0 to 11", static_cast<int>(a.type)));
  if (a.op < HCCL_REDUCE_SUM || a.op > HCCL_REDUCE_MIN)
    return Fail(HCCL_E_NOT_SUPPORT, fmt::format("reduction {}: allowed are 0 to 3", static_cast<int>(a.op)));
  if (a.count > (uint64_t{1} << 48) / SizeOf(a.type))
    return Fail(HCCL_E_PARA, fmt::format("{} elements", a.count));
  int32_t device = 0;
  if (rtStreamGetDevice(a.stream, &device) != ACL_SUCCESS) return HCCL_E_PARA;
  if (device != (*rank)->device)
    return Fail(HCCL_E_PARA, fmt::format("rank {} is on device {}, the stream on {}", (*rank)->rank,
                                         (*rank)->device, device));
  return HCCL_SUCCESS;
}

HcclResult Result(const Operation& o) {
  return o.failed() ? HCCL_E_RUNTIME : HCCL_SUCCESS;
}

void RaiseAll(Operation& o, const Rank& r, std::vector<void*> Rank::*notify) {
  for (uint32_t plane = 0; plane < r.Planes(); plane++) o.Raise(0, r.Peer(plane), notify);
}

void AwaitAll(Operation& o, const Rank& r, std::vector<void*> Rank::*notify) {
  for (uint32_t plane = 0; plane < r.Planes(); plane++) o.Await(0, r.Peer(plane), notify);
}

// One round of an all-reduce over @p count elements that fit into the staging buffers.
void AllReduceRound(Operation& o, Rank& r, const char* send, char* receive, uint64_t count, size_t size) {
  const uint64_t ranks = r.group->size;
  auto begin = [&](uint64_t rank) { return count * rank / ranks * size; };
  auto bytes = [&](uint64_t rank) { return begin(rank + 1) - begin(rank); };
  const size_t mine = begin(r.rank), my_bytes = bytes(r.rank);
  o.CopyLocal(r.in, send, count * size);
  o.CopyLocal(r.out + mine, send + mine, my_bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork();
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.ReduceFrom(plane, peer, r.out + mine, r.group->ranks[peer]->in + mine, my_bytes);
  }
  o.Join();
  RaiseAll(o, r, &Rank::reduced);
  o.CopyLocal(receive + mine, r.out + mine, my_bytes);
  o.Fork();
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::reduced);
    o.CopyFrom(plane, peer, receive + begin(peer), r.group->ranks[peer]->out + begin(peer), bytes(peer));
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join();
  AwaitAll(o, r, &Rank::done);
}

void AllGatherRound(Operation& o, Rank& r, const char* send, char* receive, size_t stride, size_t bytes) {
  o.CopyLocal(r.in, send, bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork();
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.CopyFrom(plane, peer, receive + peer * stride, r.group->ranks[peer]->in, bytes);
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join();
  o.CopyLocal(receive + r.rank * stride, r.in, bytes);
  AwaitAll(o, r, &Rank::done);
}

void ReduceScatterRound(Operation& o, Rank& r, const char* send, char* receive, size_t stride, size_t bytes) {
  for (uint32_t part = 0; part < r.group->size; part++)
    o.CopyLocal(r.in + part * bytes, send + part * stride, bytes);
  o.CopyLocal(r.out, send + r.rank * stride, bytes);
  RaiseAll(o, r, &Rank::ready);
  o.Fork();
  for (uint32_t plane = 0; plane < r.Planes(); plane++) {
    const uint32_t peer = r.Peer(plane);
    o.Await(plane, peer, &Rank::ready);
    o.ReduceFrom(plane, peer, r.out, r.group->ranks[peer]->in + r.rank * bytes, bytes);
    o.Raise(plane, peer, &Rank::done);
  }
  o.Join();
  o.CopyLocal(receive, r.out, bytes);
  AwaitAll(o, r, &Rank::done);
}

// Calls round(first element, elements) for pieces of at most @p limit elements.
template <typename Round>
void InRounds(uint64_t count, uint64_t limit, Round round) {
  for (uint64_t first = 0; first < count; first += limit) round(first, std::min(limit, count - first));
}

}  // namespace
}  // namespace npusim

using namespace npusim;

HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
  Rank* r;
  if (auto code = Check({sendBuf, recvBuf, count, dataType, op, comm, stream}, &r); code != HCCL_SUCCESS)
    return code;
  Operation o(Collective::kAllReduce, *r, stream, count, dataType, op);
  const size_t size = SizeOf(dataType);
  const auto* send = static_cast<const char*>(sendBuf);
  auto* receive = static_cast<char*>(recvBuf);
  if (r->group->size == 1)
    o.CopyLocal(receive, send, count * size);
  else
    InRounds(count, Rank::kStagingBytes / size, [&](uint64_t first, uint64_t n) {
      AllReduceRound(o, *r, send + first * size, receive + first * size, n, size);
    });
  return Result(o);
}

HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream) {
  Rank* r;
  if (auto code = Check({sendBuf, recvBuf, sendCount, dataType, HCCL_REDUCE_SUM, comm, stream}, &r);
      code != HCCL_SUCCESS)
    return code;
  Operation o(Collective::kAllGather, *r, stream, sendCount, dataType, HCCL_REDUCE_SUM);
  const size_t size = SizeOf(dataType);
  InRounds(sendCount, Rank::kStagingBytes / size, [&](uint64_t first, uint64_t n) {
    AllGatherRound(o, *r, static_cast<const char*>(sendBuf) + first * size,
                   static_cast<char*>(recvBuf) + first * size, sendCount * size, n * size);
  });
  return Result(o);
}

HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                             HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  Rank* r;
  if (auto code = Check({sendBuf, recvBuf, recvCount, dataType, op, comm, stream}, &r); code != HCCL_SUCCESS)
    return code;
  Operation o(Collective::kReduceScatter, *r, stream, recvCount, dataType, op);
  const size_t size = SizeOf(dataType);
  InRounds(recvCount, Rank::kStagingBytes / size / r->group->size, [&](uint64_t first, uint64_t n) {
    ReduceScatterRound(o, *r, static_cast<const char*>(sendBuf) + first * size,
                       static_cast<char*>(recvBuf) + first * size, recvCount * size, n * size);
  });
  return Result(o);
}

HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream) {
  Rank* r;
  if (auto code = Check({buf, buf, count, dataType, HCCL_REDUCE_SUM, comm, stream}, &r); code != HCCL_SUCCESS)
    return code;
  if (root >= r->group->size)
    return Fail(HCCL_E_PARA, fmt::format("root {} of {} ranks", root, r->group->size));
  Operation o(Collective::kBroadcast, *r, stream, count, dataType, HCCL_REDUCE_SUM);
  const size_t size = SizeOf(dataType);
  InRounds(count, Rank::kStagingBytes / size, [&](uint64_t first, uint64_t n) {
    char* part = static_cast<char*>(buf) + first * size;
    if (r->rank == root) {
      o.CopyLocal(r->in, part, n * size);
      RaiseAll(o, *r, &Rank::ready);
      AwaitAll(o, *r, &Rank::done);
    } else {
      o.Await(0, root, &Rank::ready);
      o.CopyFrom(0, root, part, r->group->ranks[root]->in, n * size);
      o.Raise(0, root, &Rank::done);
    }
  });
  return Result(o);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  Rank* r;
  char nothing;
  if (auto code = Check({&nothing, &nothing, 0, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comm, stream}, &r);
      code != HCCL_SUCCESS)
    return code;
  Operation o(Collective::kBarrier, *r, stream, 0, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM);
  RaiseAll(o, *r, &Rank::ready);
  AwaitAll(o, *r, &Rank::ready);
  return Result(o);
}
