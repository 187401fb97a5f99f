// SPDX-License-Identifier: Apache-2.0
// Running the profiled program as if npuprof were not there.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace npuprof::cli {

/** How a program ended: `code` is its exit status, or with `signalled` the number of the signal. */
struct Outcome {
  bool signalled = false;
  int code = 0;
  bool core_dumped = false;
};

/**
 * Runs @p program (found in PATH) with @p environment added (an empty value removes the variable) and waits
 * for it.
 *
 * Signals that another process sends to npuprof meanwhile (INT, TERM, HUP, QUIT, USR1, USR2) are passed on.
 * Those of the terminal are not: the program is in the same foreground group and has them already; npuprof
 * outlives it to report.
 * @throws Error with status 127 if the program does not exist, 126 if it cannot be run
 */
Outcome Run(const std::vector<std::string>& program,
            const std::vector<std::pair<std::string, std::string>>& environment);

/** Ends this process the way the program ended: same exit status, or death by the same signal. */
[[noreturn]] void EndLike(const Outcome& outcome);

}  // namespace npuprof::cli
