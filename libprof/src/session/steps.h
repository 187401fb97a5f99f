// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl_prof.h"
#include "base/owned_mutex.h"
#include "session/result.h"

/// A step of training, of which the device notes begin and end. Programs write the number themselves, so the layout is
/// part of the interface.
struct aclprofStepInfo {
  uint8_t started;  // 0: not yet; programs may write anything, so they are no bool
  uint8_t ended;
  uint64_t index;
};
static_assert(sizeof(aclprofStepInfo) == 16 && offsetof(aclprofStepInfo, index) == 8);

namespace npuprof::steps {

/// Numbered from 1. Any thread, as all here.
aclprofStepInfo* Create();
/// Whether @p step was a living one.
bool Destroy(aclprofStepInfo* step);
/// @p tag 0 and 1: begin and end, each once. Other tags go to the device as they are, as often as it is called, and end the
/// step: its end cannot be marked with 1 after one of them. Readers know 60000 and 60001 as begin and end.
Result Mark(aclprofStepInfo* step, int tag, void* stream);

/// For forks; see fork_locks.h.
OwnedMutex& Lock();

}  // namespace npuprof::steps
