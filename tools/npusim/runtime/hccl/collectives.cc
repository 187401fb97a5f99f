// SPDX-License-Identifier: Apache-2.0
// The functions that programs call: checks, and rounds that fit into the staging buffers.
#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_rt.h"
#include "runtime/hccl/rounds.h"

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

const Rounds& RoundsOf(const Operation& o) {
  return o.algorithm() == Algorithm::kRing ? RingRounds() : MeshRounds();
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
      RoundsOf(o).all_reduce(o, *r, send + first * size, receive + first * size, n, size);
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
  const auto* send = static_cast<const char*>(sendBuf);
  auto* receive = static_cast<char*>(recvBuf);
  if (r->group->size == 1)
    o.CopyLocal(receive, send, sendCount * size);
  else
    InRounds(sendCount, Rank::kStagingBytes / size / r->group->size, [&](uint64_t first, uint64_t n) {
      RoundsOf(o).all_gather(o, *r, send + first * size, receive + first * size, sendCount * size, n, size);
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
  const auto* send = static_cast<const char*>(sendBuf);
  auto* receive = static_cast<char*>(recvBuf);
  if (r->group->size == 1)
    o.CopyLocal(receive, send, recvCount * size);
  else
    InRounds(recvCount, Rank::kStagingBytes / size / r->group->size, [&](uint64_t first, uint64_t n) {
      RoundsOf(o).reduce_scatter(o, *r, send + first * size, receive + first * size, recvCount * size, n,
                                 size);
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
  if (r->group->size > 1)
    InRounds(count, Rank::kStagingBytes / size, [&](uint64_t first, uint64_t n) {
      RoundsOf(o).broadcast(o, *r, static_cast<char*>(buf) + first * size, root, n, size);
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
  MeshBarrier(o, *r);
  return Result(o);
}
