// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "acl/acl_prof.h"
#include "api/message.h"
#include "api/numbers.h"
#include "host/dictionary.h"
#include "session/steps.h"
#include "session/tensor_range.h"

using npuprof::Result;
using npuprof::api::Guarded;
namespace steps = npuprof::steps;
namespace tensor_range = npuprof::tensor_range;

extern "C" {

aclprofStepInfo* aclprofCreateStepInfo(void) {
  aclprofStepInfo* step = nullptr;
  Guarded([&] {
    step = steps::Create();
    return Result::Ok();
  });
  return step;
}

aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream) {
  return Guarded([&] { return steps::Mark(stepInfo, npuprof::api::AsInt(tag), stream); });
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  Guarded([&] {
    return steps::Destroy(stepinfo) ? Result::Ok()
                                    : Result::Fail(npuprof::code::kInvalidParam,
                                                   "the step to destroy is none, or was destroyed already");
  });
}

uint64_t aclprofStr2Id(const char* message) {
  uint64_t id = UINT64_MAX;
  Guarded([&] {
    if (!message) return Result::Null("the text");
    if (!*message) return Result::Fail(npuprof::code::kInvalidParam, "the text is empty");
    id = npuprof::host::Dictionary::Process().Id({message, std::strlen(message)});
    return Result::Ok();
  });
  return id;
}

aclError aclprofRangePushEx(aclprofEventAttributes* attr) {
  if (tensor_range::PushUnkept(attr)) return 0;
  return Guarded([&] { return tensor_range::Push(attr); });
}

aclError aclprofRangePop(void) {
  if (tensor_range::PopUnkept()) return 0;
  return Guarded([] { return tensor_range::Pop(); });
}

}  // extern "C"
