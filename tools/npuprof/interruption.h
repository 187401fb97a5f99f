// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace npuprof::cli {

/**
 * While one lives, the first SIGINT, SIGTERM or SIGHUP only sets a mark, so that the command can clear away what is half
 * done; the second one ends it as usual. A signal that was ignored before (nohup) stays ignored. One at a time.
 */
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /** The signal that came, or 0. */
  int signal() const;

 private:
  struct Changed {
    int signal;
    struct sigaction before;
  };
  std::vector<Changed> changed_;
};

/** "SIGTERM" for SIGTERM; for signals without a name their number. */
std::string SignalName(int signal);

}  // namespace npuprof::cli
