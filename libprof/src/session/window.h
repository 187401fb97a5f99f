// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "session/keeper.h"
#include "session/session.h"
#include "session/settings.h"

namespace npuprof {

/// A window that runs: its session, and what the sessions after it need when directories take turns.
struct Window {
  unsigned number = 0;               ///< never used again
  std::unique_ptr<Session> session;  ///< nullptr for moments between two directories
  Settings settings;
  bool overdue = false;  ///< the next directory could not be begun when it was time, which has been said
  Keeper keeper;
};

}  // namespace npuprof
