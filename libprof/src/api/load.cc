// SPDX-License-Identifier: Apache-2.0
#include "drain/fork_guard.h"
#include "host/dictionary.h"
#include "session/config.h"
#include "session/manager.h"
#include "session/mstx.h"
#include "session/op_item.h"
#include "session/stamps.h"
#include "session/steps.h"
#include "session/subscription.h"

namespace npuprof {
namespace {

// Objects of the process are made before anybody calls: one that is made while another thread forks stays half made in
// the child, where whoever asks for it waits for ever.
__attribute__((constructor)) void MakeAtLoad() {
  try {
    drain::InstallForkHandlers();
    host::Dictionary::Process();
    ConfigLock();
    stamps::Lock();
    steps::Lock();
    mstx::Lock();
    op_item::Lock();
    SubscribeConfigLock();
    Manager::Process();
  } catch (...) {
    // No memory; the first call tries again.
  }
}

}  // namespace
}  // namespace npuprof
