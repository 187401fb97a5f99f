// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/activity.h"

#include <string_view>

#include "analysis/names.h"
#include "npuprof_records.h"

namespace npuprof::analysis {
namespace {

constexpr int32_t kNone = -1, kNotLookedUp = -2;
constexpr uint32_t kNodeMedia = 8;
// Media engines in the scheduler's numbers: VPC, JPEGE, JPEGD.
constexpr uint8_t kMediaFirst = 12, kMediaLast = 14, kNetwork = 16;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

const Operator* Activities::CollectiveOf(const TaskView& view) {
  if (!view.track || view.track->operators == 0) return nullptr;
  const uint32_t id = view.track->operators;
  if (id >= collective_.size()) collective_.resize(id + 1, kNotLookedUp);
  int32_t& place = collective_[id];
  const auto set = host_.Operators(*view.track);
  if (place == kNotLookedUp) {
    place = kNone;
    for (size_t i = 0; i < set.size() && place == kNone; ++i) {
      if (set[i].task_type == kNodeCommunication) place = static_cast<int32_t>(i);
    }
  }
  return place == kNone ? nullptr : &set[static_cast<size_t>(place)];
}

Activity Activities::Of(const TaskView& view) {
  const std::string_view kind = view.kernel_type;
  const bool waits = Contains(kind, "WAIT");
  if (CollectiveOf(view)) {
    if (waits) return Activity::kCollectiveWait;
    return Contains(kind, "RECORD") ? Activity::kNothing : Activity::kTransfer;
  }
  if (waits) return Activity::kWait;
  const uint8_t sqe = view.task->sqe;
  if ((sqe >= kMediaFirst && sqe <= kMediaLast) || (view.op && view.op->task_type == kNodeMedia))
    return Activity::kCopy;
  if (view.op) return Activity::kCompute;
  if (view.is_copy || Contains(kind, "MEMCPY") || Contains(kind, "MEMSET") || sqe == NPUPROF_SQE_SDMA ||
      sqe == NPUPROF_SQE_PCIE_DMA)
    return Activity::kCopy;
  if (sqe == kNetwork || Contains(kind, "RDMA")) return Activity::kTransfer;
  if (sqe == NPUPROF_SQE_AI_CORE || sqe == NPUPROF_SQE_AI_CPU || sqe == NPUPROF_SQE_AIV) {
    // A host that did not describe its operators still says which tasks are kernels.
    if (!view.track || RunsOperator(view.kernel_type)) return Activity::kCompute;
  }
  return Activity::kNothing;
}

}  // namespace npuprof::analysis
