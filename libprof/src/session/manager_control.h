// SPDX-License-Identifier: Apache-2.0
// What the parts of the manager share.
#pragma once

#include <fmt/format.h>

#include <chrono>

#include "session/manager.h"

namespace npuprof {

/// Who profiles in a recording, for sentences.
inline constexpr const char* kRecorder = "`npuprof record`";
/// The same for a process that waits to be attached to.
inline constexpr const char* kDynamicOwner = "whoever attaches to it, as PROFILING_MODE=dynamic asks";

inline constexpr std::chrono::seconds kCallPatience{5}, kNoticePatience{1};

inline Result RefuseInCallback(const char* function) {
  return Result::Fail(
      code::kFailure,
      fmt::format("{} was called from a component's callback, which would wait for itself", function));
}

inline Result RefuseWhileInCallback(const char* function) {
  return Result::Fail(
      code::kFailure,
      fmt::format("{} has waited for {} s for a component's callback, which may be waiting for this thread",
                  function, kCallPatience.count()));
}

class Manager::Control {
 public:
  Control(Manager& manager, std::chrono::nanoseconds patience)
      : manager_(manager), held_(manager.control_.LockUnlessInCallback(patience)) {}
  explicit Control(Manager& manager) : Control(manager, kCallPatience) {}
  ~Control() {
    if (!held_) return;
    // Whoever leaves a notice after the last look finds the lock free, or leaves it to its next holder.
    do {
      manager_.TakeNotices();
      manager_.control_.unlock();
    } while (manager_.HasNotices() && manager_.control_.try_lock());
  }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  explicit operator bool() const { return held_; }

 private:
  Manager& manager_;
  const bool held_;
};

template <typename Tell>
void Manager::TellComponents(Tell&& tell) {
  const ControlLock::Calling calling(control_);
  LogAll(tell());
}

}  // namespace npuprof
