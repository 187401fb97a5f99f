// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_mutex.h"
#include "profiling/prof_api.h"

namespace npuprof {

/// The callbacks of the runtime and its components. Any thread; callbacks are called outside the lock, each by one thread
/// at a time, so that a component sees INIT, START, STOP and FINALIZE in order even while it registers.
class Components {
 public:
  /// What a running session tells a component that registers late.
  struct Command {
    uint64_t data_types = 0;  ///< ACL_PROF_* bits
    std::vector<uint32_t> devices;
    std::string path;                       ///< PROF directory
    std::string sample;                     ///< text of sample.json
    uint32_t model = PROF_INVALID_MODE_ID;  ///< of a subscription
  };

  /// Of a callback that names no module; it comes after all others.
  static constexpr uint32_t kNoModule = UINT32_MAX;

  /// 0, or MSPROF_ERROR_CONFIG_INVALID for NULL.
  int32_t Register(uint32_t module, ProfCommandHandle handle);

  // Each tells all components in the documented order and returns sentences about those that failed.
  std::vector<std::string> Init();
  /// While started: what they know changes to @p command, without a stop in which they would report nothing.
  std::vector<std::string> Start(const Command& command);
  std::vector<std::string> Stop();
  std::vector<std::string> Finalize();
  /// A model is subscribed, and no longer; between Start() and Stop(), which ends all subscriptions that are left.
  std::vector<std::string> Subscribe(const Command& command);
  std::vector<std::string> Unsubscribe(uint32_t model);

  /// True on a thread that is inside a callback: control functions refuse then instead of waiting for themselves.
  static bool InCallback();

  /// For forks; see fork_locks.h.
  OwnedMutex& mutex() { return mutex_; }
  /// In a forked child, which has told nobody anything; after the lock was renewed.
  void ForgetInChild();

 private:
  /// What the profiler is at, and what a component was told of it.
  struct State {
    bool initialised = false;
    uint64_t start = 0;    ///< number of the running start, 0: none
    uint64_t command = 0;  ///< number of what was told at the start or since
    std::map<uint32_t, std::shared_ptr<const Command>> models;  ///< that are subscribed
  };
  struct Entry {
    uint32_t module;
    ProfCommandHandle handle;
    State told;
    std::shared_ptr<const Command> command;  ///< of the start it was told
    bool busy = false;                       ///< somebody is inside its callback
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  std::vector<std::string> TellAll(bool stopping);
  /// Tells @p entry what it does not know yet. @p lock is held before and after.
  void Catch(Entry& entry, std::unique_lock<OwnedMutex>& lock, std::vector<std::string>* failures);
  /// The next thing that @p entry does not know, which it knows from here on; false if there is none. Needs the lock.
  bool Next(Entry& entry, uint32_t* type, std::shared_ptr<const Command>* command) const;
  static int32_t Call(const Entry& entry, uint32_t type, const Command& command);

  OwnedMutex mutex_;
  std::condition_variable idle_;  // an entry is no longer busy
  Entries entries_;
  State state_;
  uint64_t starts_ = 0;
  std::shared_ptr<const Command> command_;
};

}  // namespace npuprof
