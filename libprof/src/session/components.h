// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "profiling/prof_api.h"

namespace npuprof {

/// The callbacks of the runtime and its components. Any thread; callbacks are called outside the lock.
class Components {
 public:
  /// What a running session tells a component that registers late.
  struct Command {
    uint64_t data_types = 0;  ///< ACL_PROF_* bits
    std::vector<uint32_t> devices;
    std::string path;    ///< PROF directory
    std::string sample;  ///< text of sample.json
  };

  /// 0, or MSPROF_ERROR_CONFIG_INVALID for NULL.
  int32_t Register(uint32_t module, ProfCommandHandle handle);

  // Each tells all components in the documented order and returns sentences about those that failed.
  std::vector<std::string> Init();
  std::vector<std::string> Start(const Command& command);
  std::vector<std::string> Stop(const Command& command);
  std::vector<std::string> Finalize();

  /// True on a thread that is inside a callback: control functions refuse then instead of waiting for themselves.
  static bool InCallback();

  /// For forks; see fork_locks.h.
  std::mutex& mutex() { return mutex_; }

 private:
  struct Entry {
    uint32_t module;
    ProfCommandHandle handle;
  };
  std::vector<Entry> Ordered(bool stopping);
  std::vector<std::string> Tell(const std::vector<Entry>& entries, uint32_t type, const Command& command);
  static int32_t Call(const Entry& entry, uint32_t type, const Command& command);

  std::mutex mutex_;
  std::vector<Entry> entries_;
  bool initialised_ = false;
  bool started_ = false;
  Command command_;
};

}  // namespace npuprof
