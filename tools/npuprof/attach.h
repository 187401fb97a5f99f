// SPDX-License-Identifier: Apache-2.0
// A running process that has the profiling library loaded, as `record --pid` speaks to it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "npuprof/record_options.h"

namespace npuprof::cli {

class Target {
 public:
  /** What a process answered. */
  struct Answer {
    std::string state;      ///< none, waiting, recording, own (a session of the program)
    std::string directory;  ///< of the running or last session, "" before the first
  };

  /** @throws Error naming why the process cannot be spoken to */
  explicit Target(int pid);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /** @throws Error with the sentence of the process if it refuses, and if it does not answer in time */
  Answer Start(const Variables& variables);
  Answer Stop();
  Answer Status();
  /** Whether the process still exists. */
  bool lives() const;

 private:
  Answer Ask(const std::string& request, std::chrono::seconds patience);

  class Block;
  int pid_;
  std::unique_ptr<Block> block_;
};

}  // namespace npuprof::cli
