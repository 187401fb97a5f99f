// SPDX-License-Identifier: Apache-2.0
#include "runtime/hccl/operation.h"

#include <array>

namespace npusim {
namespace {

constexpr uint64_t kWanted =
    PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_TASK_TIME_L2 | PROF_TASK_TIME_L3 | PROF_HCCL_TRACE;
constexpr double kLinkBytesPerUs = 28'000;  // a chip-to-chip link, for the estimate in the records
constexpr uint64_t kNone = UINT64_MAX;

Switches g_switches;

constexpr std::array<const char*, 5> kNodeNames = {"hcom_allReduce_", "hcom_allGather_",
                                                   "hcom_reduceScatter_", "hcom_broadcast_", "hcom_barrier_"};

int32_t OnCommand(uint32_t type, void* data, uint32_t length) {
  g_switches.Handle(type, data, length);
  return 0;
}

struct Registration {
  Registration() {
    NameTypes(MSPROF_REPORT_ACL_LEVEL, MSPROF_REPORT_ACL_HOST_HCCL_BASE_TYPE,
              {"HcclAllReduce", "HcclAllGather", "HcclReduceScatter", "HcclBroadcast", "HcclBarrier"});
    NameTypes(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE, {"hccl_op_info"});
    NameTypes(MSPROF_REPORT_HCCL_NODE_LEVEL, 0, {"hccl_info"});
    NameTypes(MSPROF_REPORT_HCCL_NODE_LEVEL, MSPROF_REPORT_HCCL_MASTER_TYPE, {"master", "slave"});
    MsprofRegisterCallback(MSPROF_MODULE_HCCL, OnCommand);
  }
} g_registration;

// Numbers of names that never change.
uint64_t CachedHash(const char* literal) {
  static std::mutex mutex;
  static std::vector<std::pair<const char*, uint64_t>> known;
  std::lock_guard lock(mutex);
  for (const auto& [text, hash] : known)
    if (text == literal) return hash;
  known.emplace_back(literal, HashOf(literal));
  return known.back().second;
}

}  // namespace

Switches& HcclSwitches() {
  return g_switches;
}

Operation::Operation(Collective which, Rank& rank, void* stream, uint64_t count, HcclDataType type,
                     HcclReduceOp op)
    : lock_(rank.mutex),
      rank_(rank),
      stream_(stream),
      count_(count),
      type_(type),
      op_(op),
      algorithm_(rank.group->algorithms[static_cast<size_t>(which)]),
      traced_(g_switches.Any(kWanted)),
      node_name_(traced_ ? CachedHash(kNodeNames[static_cast<size_t>(which)]) : 0),
      acl_span_(g_switches.Any(PROF_ACL_API), MSPROF_REPORT_ACL_LEVEL,
                MSPROF_REPORT_ACL_HOST_HCCL_BASE_TYPE + static_cast<uint32_t>(which)) {
  void* graph = nullptr;
  code_ = rtCaptureInfo(stream, &graph);
  captured_ = graph != nullptr;
  if (code_ == 0 && !captured_ && rank.last_stream != nullptr && rank.last_stream != stream)
    code_ = rtStreamWaitEvent(stream, rank.last_event);
  // From here to the launch's end every task belongs to the collective.
  launch_.emplace(traced_, MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE, node_name_);
}

Operation::~Operation() {
  const uint64_t end = launch_->End();
  if (code_ == 0 && !captured_) {
    rtEventRecord(rank_.last_event, stream_);
    rank_.last_stream = stream_;
  }
  if (end != 0) {
    MsprofCompactInfo node = CompactRecord(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_BASIC_INFO_TYPE, end,
                                           sizeof(MsprofNodeBasicInfo));
    node.data.nodeBasicInfo.opName = node_name_;
    node.data.nodeBasicInfo.taskType = MSPROF_GE_TASK_TYPE_HCCL;
    node.data.nodeBasicInfo.opType = node_name_;
    Report(node);
    MsprofCompactInfo info = CompactRecord(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE,
                                           end, sizeof(MsprofHCCLOPInfo));
    info.data.hcclopInfo.dataType = static_cast<uint8_t>(type_);
    info.data.hcclopInfo.algType = CachedHash(NameOf(algorithm_));
    info.data.hcclopInfo.count = count_;
    info.data.hcclopInfo.groupName = rank_.group->name_hash;
    Report(info);
  }
  acl_span_.End();
}

template <typename Put>
void Operation::Run(const Task& task, Put put) {
  if (code_ != 0) return;
  const uint64_t name = traced_ ? CachedHash(task.name) : 0;
  Span span(traced_, MSPROF_REPORT_HCCL_NODE_LEVEL,
            task.plane == 0 ? MSPROF_REPORT_HCCL_MASTER_TYPE : MSPROF_REPORT_HCCL_SLAVE_TYPE, name);
  code_ = put(StreamOf(task.plane));
  if (!span.on()) return;
  const bool local = task.remote == rank_.rank;
  MsprofHcclInfo info{};
  info.itemId = name;
  info.cclTag = node_name_;
  info.groupName = rank_.group->name_hash;
  info.localRank = rank_.rank;
  info.remoteRank = task.remote;
  info.rankSize = rank_.group->size;
  info.planeID = task.plane;
  info.ctxID = UINT32_MAX;
  info.notifyID = task.notify;
  info.durationEstimated = task.bytes == 0 ? 1 : static_cast<double>(task.bytes) / kLinkBytesPerUs;
  info.srcAddr = reinterpret_cast<uint64_t>(task.src);
  info.dstAddr = reinterpret_cast<uint64_t>(task.dst);
  info.dataSize = task.bytes;
  info.opType = op_;
  info.dataType = type_;
  info.linkType = local ? 0 : 1;  // on chip, or HCCS
  info.transportType =
      local && task.bytes == 0 ? 2 : 0;  // local, or SDMA, which also copies within the device
  info.rdmaType = 255;
  Report(AdditionalRecord(MSPROF_REPORT_HCCL_NODE_LEVEL, 0, MsprofSysCycleTime(), &info, sizeof info));
}

void Operation::CopyLocal(void* dst, const void* src, size_t bytes) {
  CopyFrom(0, rank_.rank, dst, src, bytes);
}

void Operation::CopyFrom(uint32_t plane, uint32_t peer, void* dst, const void* src, size_t bytes) {
  if (bytes == 0 || dst == src) return;
  Run({"Memcpy", plane, peer, kNone, src, dst, bytes},
      [&](void* s) { return rtMemcpyAsync(dst, src, bytes, RtCopyKind::kDeviceToDevice, s); });
}

void Operation::ReduceFrom(uint32_t plane, uint32_t peer, void* dst, const void* src, size_t bytes) {
  if (bytes == 0) return;
  Run({"Reduce_Inline", plane, peer, kNone, src, dst, bytes}, [&](void* s) {
    return rtReduceAsync(dst, src, bytes, {type_, op_}, s);
  });
}

void Operation::Raise(uint32_t plane, uint32_t peer, std::vector<void*> Rank::*notify) {
  void* n = (rank_.group->ranks[peer]->*notify)[rank_.rank];
  Run({"Notify_Record", plane, peer, rtNotifyId(n), nullptr, nullptr, 0},
      [&](void* s) { return rtNotifyRecord(n, s); });
}

void Operation::Await(uint32_t plane, uint32_t peer, std::vector<void*> Rank::*notify) {
  void* n = (rank_.*notify)[peer];
  Run({"Notify_Wait", plane, peer, rtNotifyId(n), nullptr, nullptr, 0},
      [&](void* s) { return rtNotifyWait(n, s); });
}

void Operation::Fork(size_t planes) {
  for (uint32_t plane = 1; plane < planes; plane++) {
    const size_t i = plane - 1;
    if (captured_) {  // only events draw another stream into a capture
      if (code_ == 0) code_ = rtEventRecord(rank_.fork_events[i], stream_);
      if (code_ == 0) code_ = rtStreamWaitEvent(StreamOf(plane), rank_.fork_events[i]);
      continue;
    }
    const uint64_t id = rtNotifyId(rank_.fork[i]);
    Run({"Notify_Record", 0, rank_.rank, id, nullptr, nullptr, 0},
        [&](void* s) { return rtNotifyRecord(rank_.fork[i], s); });
    Run({"Notify_Wait", plane, rank_.rank, id, nullptr, nullptr, 0},
        [&](void* s) { return rtNotifyWait(rank_.fork[i], s); });
  }
}

void Operation::Join(size_t planes) {
  for (uint32_t plane = 1; plane < planes; plane++) {
    const size_t i = plane - 1;
    if (captured_) {
      if (code_ == 0) code_ = rtEventRecord(rank_.join_events[i], StreamOf(plane));
      if (code_ == 0) code_ = rtStreamWaitEvent(stream_, rank_.join_events[i]);
      continue;
    }
    const uint64_t id = rtNotifyId(rank_.join[i]);
    Run({"Notify_Record", plane, rank_.rank, id, nullptr, nullptr, 0},
        [&](void* s) { return rtNotifyRecord(rank_.join[i], s); });
    Run({"Notify_Wait", 0, rank_.rank, id, nullptr, nullptr, 0},
        [&](void* s) { return rtNotifyWait(rank_.join[i], s); });
  }
}

}  // namespace npusim
