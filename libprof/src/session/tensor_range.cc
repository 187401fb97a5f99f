// SPDX-License-Identifier: Apache-2.0
#include "session/tensor_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "host/clock.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "profiling/aprof_pub.h"
#include "session/mark_record.h"
#include "session/stamps.h"

namespace npuprof::tensor_range {
namespace {

static_assert(sizeof(aclprofTensor) == 48);
static_assert(sizeof(aclprofTensorInfo) == 48);
static_assert(offsetof(aclprofTensorInfo, stream) == 32);
static_assert(sizeof(aclprofEventAttributes) == 16);
static_assert(MSPROF_GE_TENSOR_DATA_SHAPE_LEN == 8);

constexpr uint32_t kMostTensors = 4096;

struct Range {
  uint64_t op_name = 0;
  uint64_t start = 0;
  unsigned unkept_before = 0;  ///< ranges that were begun directly before it and not kept
  std::vector<MsrofTensorData> tensors;
};
thread_local std::vector<Range> t_stack;

}  // namespace

constinit thread_local unsigned t_unkept = 0;

Result Push(const aclprofEventAttributes* attributes) {
  if (!attributes) return Result::Null("the description of the range");
  if (attributes->messageType != ACL_PROF_MESSAGE_TENSOR_INFO)
    return Result::Fail(stamps::kFailed,
                        fmt::format("message type {}; allowed is 0, tensors", attributes->messageType));
  const aclprofTensorInfo* info = attributes->message.tensorInfo;
  if (!info) return Result::Null("tensorInfo of the range");
  if (info->tensorNum > kMostTensors || (info->tensorNum && !info->tensors))
    return Result::Fail(code::kInvalidParam,
                        fmt::format("{} tensors{}; at most {} are possible", info->tensorNum,
                                    info->tensors ? "" : " whose list is NULL", kMostTensors));
  Range range;
  range.op_name = info->opNameId;
  for (uint32_t i = 0; i < info->tensorNum; ++i) {
    const aclprofTensor& from = info->tensors[i];
    if (from.shapeDim > std::size(from.shape))
      return Result::Fail(
          code::kInvalidParam,
          fmt::format("tensor {} has {} dimensions; at most 8 are possible", i, from.shapeDim));
    MsrofTensorData to{};
    to.tensorType = from.type;
    to.format = from.format;
    to.dataType = from.dataType;
    std::copy_n(from.shape, from.shapeDim, to.shape);
    range.tensors.push_back(to);
  }
  range.start = host::Cycles();
  range.unkept_before = t_unkept;
  t_stack.push_back(std::move(range));
  t_unkept = 0;
  return Result::Ok();
}

Result Pop() {
  if (t_stack.empty())
    return Result::Fail(code::kInvalidParam, "aclprofRangePop without aclprofRangePushEx on this thread");
  const Range range = std::move(t_stack.back());
  t_stack.pop_back();
  t_unkept = range.unkept_before;
  if (!host::QueueSet::Collecting()) return Result::Ok();
  static const bool named = [] {
    host::Dictionary::Process().Name(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_TENSOR_INFO_TYPE,
                                     "tensor_info");
    return true;
  }();
  static_cast<void>(named);
  // Readers look for the launch that this moment lies in.
  const uint64_t middle = range.start + (host::Cycles() - range.start) / 2;
  for (size_t first = 0; first < range.tensors.size(); first += MSPROF_GE_TENSOR_DATA_NUM) {
    MsprofTensorInfo info{};
    info.opName = range.op_name;
    info.tensorNum =
        static_cast<uint32_t>(std::min<size_t>(range.tensors.size() - first, MSPROF_GE_TENSOR_DATA_NUM));
    std::copy_n(range.tensors.begin() + static_cast<ptrdiff_t>(first), info.tensorNum, info.tensorData);
    MsprofAdditionalInfo record{};
    record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
    record.level = MSPROF_REPORT_NODE_LEVEL;
    record.type = MSPROF_REPORT_NODE_TENSOR_INFO_TYPE;
    record.threadId = marks::ThreadId();
    record.dataLen = sizeof(info);
    record.timeStamp = middle;
    std::memcpy(record.data, &info, sizeof(info));
    host::QueueSet::Process().Report(host::RecordClass::kAdditional, true, &record);
  }
  return Result::Ok();
}

}  // namespace npuprof::tensor_range
