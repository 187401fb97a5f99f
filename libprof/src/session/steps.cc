// SPDX-License-Identifier: Apache-2.0
#include "session/steps.h"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "session/mark_record.h"

namespace npuprof::steps {
namespace {

struct State {
  OwnedMutex mutex;
  std::unordered_map<const aclprofStepInfo*, std::unique_ptr<aclprofStepInfo>> living;
  uint64_t last = 0;
};

State& Get() {
  static State& state = *new State;  // outlives every thread
  return state;
}

// Readers of device marks know begin and end of a step by these; 0 and 1 are a model's.
uint16_t DeviceTag(int tag) {
  if (tag == ACL_STEP_START) return marks::kStepStartTag;
  if (tag == ACL_STEP_END) return marks::kStepEndTag;
  return static_cast<uint16_t>(tag);
}

}  // namespace

OwnedMutex& Lock() {
  return Get().mutex;
}

aclprofStepInfo* Create() {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  auto made = std::make_unique<aclprofStepInfo>();
  made->index = ++state.last;
  aclprofStepInfo* step = made.get();
  state.living.emplace(step, std::move(made));
  return step;
}

bool Destroy(aclprofStepInfo* step) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  return state.living.erase(step) != 0;
}

Result Mark(aclprofStepInfo* step, int tag, void* stream) {
  if (!step) return Result::Null("the step");
  if (tag < 0 || tag > UINT16_MAX)
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("tag {} of a step; allowed are ACL_STEP_START, ACL_STEP_END and others of 16 bits", tag));
  const uint16_t device_tag = DeviceTag(tag);
  uint64_t index = 0;
  bool was_marked = false;
  {
    State& state = Get();
    std::lock_guard<OwnedMutex> lock(state.mutex);
    if (!state.living.contains(step))
      return Result::Fail(
          code::kInvalidParam,
          fmt::format("step {} is not one made by aclprofCreateStepInfo, or was destroyed already",
                      static_cast<const void*>(step)));
    uint8_t& marked = tag == ACL_STEP_START ? step->started : step->ended;
    if (marked && (tag == ACL_STEP_START || tag == ACL_STEP_END))
      return Result::Fail(code::kInvalidParam,
                          fmt::format("the {} of step {} is marked already",
                                      tag == ACL_STEP_START ? "begin" : "end", step->index));
    was_marked = std::exchange(marked, 1) != 0;
    index = step->index;
  }
  if (Result result = marks::MarkDevice(index, device_tag, stream); !result.ok()) {
    // As if it had not been called: a mark that failed may be tried again.
    std::lock_guard<OwnedMutex> lock(Get().mutex);
    if (!was_marked && Get().living.contains(step)) (tag == ACL_STEP_START ? step->started : step->ended) = 0;
    return Result::Fail(code::kStepFailure, std::move(result.text));
  }
  return Result::Ok();
}

}  // namespace npuprof::steps
