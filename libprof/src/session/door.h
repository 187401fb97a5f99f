// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "session/door_block.h"

namespace npuprof {

/// Where the npuprof command finds a running process: a block of shared memory and a thread that waits there
/// ("npuprof-attach", all signals blocked), from the first use of a runtime on. It sleeps but for a look every few seconds
/// whether it is the last thread of the process. The same thread begins and ends recordings in time.
class Door {
 public:
  using Clock = std::chrono::steady_clock;
  struct Duties {
    /// The answer to a request; called on the thread, with no lock held.
    std::function<std::string(const std::string& request)> serve;
    /// Does what is due and tells when it is to be called again, if not only after the bell.
    std::function<std::optional<Clock::time_point>()> see_to_times;
  };

  /// Makes it, once. @param visible whether a command is to find it. @return why there is none, "" if there is one
  std::string Open(const Duties& duties, bool visible);
  bool open() const { return block_ != nullptr; }
  /// Has see_to_times() called soon.
  void Ring();
  /// In a forked child, which has neither thread nor descriptor, and whose memory is not the parent's to share.
  void AbandonInChild();

 private:
  static void* Entry(void* door);
  void Answer(uint32_t request);
  void Run();

  Duties duties_;
  DoorBlock* block_ = nullptr;
  int fd_ = -1;  ///< of the block, if it is visible
};

}  // namespace npuprof
