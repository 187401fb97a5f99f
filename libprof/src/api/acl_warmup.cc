// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_prof.h"
#include "api/message.h"
#include "session/manager.h"

extern "C" ACL_FUNC_VISIBILITY int aclprofWarmup(const aclprofConfig* profilerConfig) {
  return npuprof::api::Guarded([&] { return npuprof::Manager::Process().Warmup(profilerConfig); });
}
