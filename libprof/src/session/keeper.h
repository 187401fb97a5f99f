// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "session/keeping.h"

namespace npuprof {

/// The thread that begins the next directory in time and removes old ones. It exists only while a session runs whose
/// settings ask for either ("npuprof-keeper", all signals blocked); it is never waited for.
class Keeper {
 public:
  struct Duties {
    Keeping keeping;
    std::string output;
    /// Name of the directory that is being written, and what it takes; called on the thread, with no lock held.
    std::function<std::string()> own;
    std::function<uint64_t()> used_bytes;
    /// Ends the directory and begins the next. False if it was not done, and should be tried again soon.
    std::function<bool()> rotate;
    std::function<void(const std::string& removed)> told;
  };

  ~Keeper();
  /// @return why there is no thread, "" if there is one
  std::string Start(Duties duties);
  /// Nothing is begun any more; what is being done goes on. Any thread.
  void Stop();
  /// In a forked child, where the thread is not.
  void AbandonInChild();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;
    Duties duties;
  };
  static void* Entry(void* state);
  static void Run(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace npuprof
