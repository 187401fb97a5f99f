// SPDX-License-Identifier: Apache-2.0
#include "api/message.h"
#include "npuprof/acl_prof_loaded.h"
#include "session/manager.h"

extern "C" int aclprofWarmup(const aclprofConfig* profilerConfig) {
  return npuprof::api::Guarded([&] { return npuprof::Manager::Process().Warmup(profilerConfig); });
}
