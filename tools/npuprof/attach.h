// SPDX-License-Identifier: Apache-2.0
// A running process that has the profiling library loaded, as `record --pid` speaks to it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "npuprof/interruption.h"
#include "npuprof/record_options.h"

namespace npuprof::cli {

/**
 * A process that has the library loaded has nobody yet who answers, until it first uses a runtime.
 * @throws Error if it cannot be attached to whatever it does: no library, another user's, told not to be found
 */
bool HasUsedRuntime(int pid);
/** Waits until it has. @throws Error as above, and if it ends or @p interruption comes before */
void AwaitRuntime(int pid, const Interruption& interruption);

class Target {
 public:
  /** What a process answered. */
  struct Answer {
    std::string state;  ///< none, waiting, recording, own (a session of the program)
    std::string
        directory;  ///< of the running or last session, "" before the first and of one that never began
    std::string recording;  ///< which recording that was, of those asked for by any command
  };

  /** @throws Error naming why the process cannot be spoken to */
  explicit Target(int pid);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /**
   * Other commands may speak to the process between two of these.
   * @throws Error with the sentence of the process if it refuses, and if it does not answer in time; what it has not begun
   *         by then it never will
   */
  Answer Start(const Variables& variables, const Interruption& interruption);
  Answer Stop();
  Answer Status();
  int pid() const { return pid_; }
  /** Whether the process still exists. */
  bool lives() const;

 private:
  Answer Ask(const std::string& request, std::chrono::seconds patience,
             const Interruption* interruption = nullptr);

  class Block;
  class Wait;
  int pid_;
  std::unique_ptr<Block> block_;
};

}  // namespace npuprof::cli
