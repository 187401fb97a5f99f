// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_prof.h"
#include "api/message.h"
#include "session/stamps.h"

using npuprof::api::Guarded;
namespace stamps = npuprof::stamps;

extern "C" {

void* aclprofCreateStamp(void) {
  if (stamps::Resting()) return nullptr;
  void* stamp = nullptr;
  Guarded([&] { return stamps::Create(&stamp); });
  return stamp;
}

void aclprofDestroyStamp(void* stamp) {
  if (!stamp && stamps::Resting()) return;  // what aclprofCreateStamp() gave
  Guarded([&] {
    return stamps::Destroy(stamp)
               ? npuprof::Result::Ok()
               : npuprof::Result::Fail(stamps::kFailed,
                                       "the stamp to destroy is none, or was destroyed already");
  });
}

aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::SetMessage(stamp, msg, msgLen); });
}

aclError aclprofMark(void* stamp) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::Mark(stamp); });
}

aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::MarkEx(msg, msgLen, stream); });
}

aclError aclprofPush(void* stamp) {
  if (stamps::Resting() && stamp) return stamps::kFailed;
  return Guarded([=] { return stamps::Push(stamp); });
}

aclError aclprofPop(void) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([] { return stamps::Pop(); });
}

aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  if (stamps::Resting() && stamp && rangeId) return stamps::kFailed;
  return Guarded([=] { return stamps::RangeStart(stamp, rangeId); });
}

aclError aclprofRangeStop(uint32_t rangeId) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::RangeStop(rangeId); });
}

}  // extern "C"
